//! Processes the content of Meta's calls in order: messages go to the intake, and failures of sent messages go back to
//! the outbox. Processed entries are removed, so after a crash the rest continues.

use super::TERMS;
use aethon_core::shutdown::Shutdown;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio::time::timeout;

use super::calls::WAITING;
use super::platform::WhatsApp;
use super::{edits, inbound, window, words};
use crate::talk::{self, Intake, ReceiveLoop, Receiver, Stop};

/// How many are processed in a round.
const BATCH: usize = 100;
/// How long to wait for a call before checking again.
const LOOK: Duration = Duration::from_secs(300);

/// Receives messages, once Meta has confirmed who we are.
pub(super) struct Inbox<'a> {
    whatsapp: &'a WhatsApp,
    is_open: bool,
}

impl<'a> Inbox<'a> {
    pub(super) fn new(whatsapp: &'a WhatsApp) -> Self {
        Self { whatsapp, is_open: false }
    }

    async fn open(&mut self, intake: &Intake) -> Result<(), Stop> {
        if let Some(missing) = self.whatsapp.missing() {
            return Err(Stop::Useless(missing.to_owned()));
        }
        let number = self.whatsapp.api().look().await?;
        let account = number["display_phone_number"].as_str().unwrap_or_else(|| self.whatsapp.api().number());
        tracing::info!(channel = "whatsapp", account, "the channel runs");
        intake.health().runs(Some(account));
        self.is_open = true;
        Ok(())
    }

    async fn process(&self, intake: &Intake, part: &Value) -> Result<(), Stop> {
        if let Some((message, why)) = inbound::failure(part) {
            let key = intake.records().take("whatsapp", &WhatsApp::sent(&message)).await?;
            match key {
                Some(key) => intake.returned(&key, &why).await?,
                None => tracing::warn!(channel = "whatsapp", why, "something that was sent has failed"),
            }
            return Ok(());
        }
        let (part, replaces) = edits::unfolded(part);
        let arrival = inbound::arrival(&part, |id| self.whatsapp.is_listed(id));
        let Some(mut arrival) = arrival else { return Ok(()) };
        arrival.replaces = replaces;
        if intake.may_write(&arrival.sender).await? {
            words::remember_theirs(intake.records(), &arrival, intake.now()).await?;
            if let Some(answered) = inbound::answered(&part)
                && let Some(original) = words::recall(intake.records(), answered, &arrival.sender.id).await?
            {
                arrival.answering(original);
            }
            window::opened(intake.records(), &arrival.chat, arrival.at).await?;
            self.whatsapp.note_last(&arrival.chat, &arrival.id);
        }
        intake.arrive(arrival).await?;
        Ok(())
    }
}

#[async_trait]
impl ReceiveLoop for Inbox<'_> {
    async fn round(&mut self, intake: &Intake) -> Result<(), Stop> {
        if !self.is_open {
            self.open(intake).await?;
        }
        let waiting = intake.records().list("whatsapp", WAITING, BATCH).await?;
        if waiting.is_empty() {
            // Whatever ended the wait, the next round checks.
            let _ = timeout(LOOK, self.whatsapp.calls().rung.notified()).await;
            return Ok(());
        }
        for (name, part) in waiting {
            let part: Value = serde_json::from_str(&part).unwrap_or_default();
            self.process(intake, &part).await?;
            intake.records().take("whatsapp", &name).await?;
        }
        intake.health().runs(None);
        Ok(())
    }
}

#[async_trait]
impl Receiver for WhatsApp {
    async fn receive(&self, intake: &Intake, shutdown: Shutdown) -> aethon_core::error::Result<()> {
        tracing::warn!(channel = "whatsapp", "{TERMS}");
        talk::receive(&mut Inbox::new(self), intake, shutdown).await
    }
}
