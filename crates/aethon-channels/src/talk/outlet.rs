//! The exit of a channel: the platform, behind the rate budget of each chat.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::channel::NewDelivery;
use aethon_core::error::{Error, Result};
use aethon_core::ids::{SessionId, TurnId};
use jiff::SignedDuration;
use tokio::time::sleep;

use super::access;
use super::budget::Budget;
use super::growth::{AppendOnlyMessages, Asked};
use super::health::ChannelHealthState;
use super::platform::{Content, Fault, Platform, Sender};
use crate::options::{ChannelServices, Rules};
use crate::pairing;

/// When a message of the program itself is too old to be useful.
const WORD_LIFETIME: SignedDuration = SignedDuration::from_mins(30);

/// How often showing something directly is attempted.
const MAX_ATTEMPTS: usize = 4;

/// How long that waits for the platform to be reachable, in seconds.
const MAX_OUTAGE_SECONDS: usize = 600;

/// The longest pause between those attempts.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// What everything outgoing needs.
pub(super) struct RateLimitedSender {
    pub(super) platform: Arc<dyn Platform>,
    /// Its growing messages, if replies use them.
    pub(super) growth: Option<Arc<dyn AppendOnlyMessages>>,
    pub(super) rules: Rules,
    pub(super) services: ChannelServices,
    pub(super) budget: Budget,
    pub(super) health: ChannelHealthState,
}

impl RateLimitedSender {
    pub(super) fn new(
        (platform, growth): (Arc<dyn Platform>, Option<Arc<dyn AppendOnlyMessages>>),
        rules: Rules,
        services: ChannelServices,
    ) -> Self {
        Self {
            platform,
            growth,
            rules,
            services,
            budget: Budget::default(),
            health: ChannelHealthState::default(),
        }
    }

    pub(super) fn channel(&self) -> &'static str {
        self.rules.channel
    }

    /// Takes a call to this chat from the budget, or returns how long to wait.
    pub(super) fn take(&self, chat: &str) -> std::result::Result<(), Duration> {
        let dialect = self.platform.dialect();
        self.budget.take(chat, ((dialect.pace)(chat), dialect.pace_of_all))
    }

    /// Returns whether someone may write.
    pub(super) async fn may_write(&self, sender: &Sender) -> Result<bool> {
        if access::is_listed(&self.rules, sender) {
            return Ok(true);
        }
        // Pairings are revoked by their command; switching pairing off only stops new ones.
        pairing::is_paired(&*self.services.records, self.channel(), &sender.id).await
    }

    /// Returns whether other deliveries are waiting for this chat.
    pub(super) async fn is_waiting(&self, chat: &str) -> bool {
        // If that cannot be read, only the order suffers.
        self.services.courier.is_waiting(self.channel(), chat).await.unwrap_or(false)
    }

    /// Sends a message. The call was already taken from the budget.
    pub(super) async fn post(
        &self,
        chat: &str,
        content: Content<'_>,
        key: &str,
    ) -> std::result::Result<String, Fault> {
        let posted = self.platform.post(chat, content, key).await;
        self.note(chat, posted.as_ref().err());
        posted
    }

    /// Sends a message that replies to another one, if any. The call was already taken from the budget.
    pub(super) async fn post_reply(
        &self,
        chat: &str,
        content: Content<'_>,
        key: &str,
        question: Option<&str>,
    ) -> std::result::Result<String, Fault> {
        let Some(question) = question else { return self.post(chat, content, key).await };
        let posted = self.platform.reply(chat, content, key, question).await;
        self.note(chat, posted.as_ref().err());
        posted
    }

    /// Edits a message. The call was already taken from the budget.
    pub(super) async fn edit(
        &self,
        chat: &str,
        message: &str,
        content: Content<'_>,
    ) -> std::result::Result<(), Fault> {
        let edited = self.platform.edit(chat, message, content).await;
        self.note(chat, edited.as_ref().err());
        edited
    }

    /// Starts a growing message. The call was already taken from the budget.
    pub(super) async fn start(
        &self,
        growth: &dyn AppendOnlyMessages,
        chat: &str,
        asked: &Asked,
        text: &str,
        key: &str,
    ) -> std::result::Result<String, Fault> {
        let started = growth.start(chat, asked, text, key).await;
        self.note(chat, started.as_ref().err());
        started
    }

    /// Grows or completes a message. The call was already taken from the budget.
    pub(super) async fn grown(
        &self,
        chat: &str,
        growing: impl Future<Output = std::result::Result<(), Fault>>,
    ) -> std::result::Result<(), Fault> {
        let grown = growing.await;
        self.note(chat, grown.as_ref().err());
        grown
    }

    /// Shows a typing indicator, if the budget allows it.
    pub(super) async fn typing(&self, chat: &str) {
        if self.take(chat).is_ok()
            && let Err(fault) = self.platform.typing(chat).await
        {
            self.note(chat, Some(&fault));
        }
    }

    fn note(&self, chat: &str, fault: Option<&Fault>) {
        match fault {
            None => self.health.sent(self.services.clock.now()),
            Some(Fault::Later { after: Some(pause), .. }) => self.budget.close(chat, *pause),
            Some(Fault::Identity(message)) => self.refused(message),
            Some(Fault::Later { after: None, .. } | Fault::Doubtful(_) | Fault::Unclear(_)) => {
                self.health.sending_failed();
            }
            Some(Fault::Refused(_) | Fault::Gone(_)) => {}
        }
    }

    /// Records that the platform does not accept us.
    pub(super) fn refused(&self, message: &str) {
        if self.health.refuses(message) {
            tracing::error!(
                channel = self.channel(),
                message,
                "nothing is sent until the platform accepts us"
            );
        }
    }

    /// Waits until something may be sent, though not for long.
    async fn admitted(&self) {
        for _ in 0..MAX_OUTAGE_SECONDS {
            if self.health.admits(false).is_ok() {
                return;
            }
            sleep(Duration::from_secs(1)).await;
        }
    }

    /// Shows something that is useful only now and so cannot go through the outbox. Tries a few times.
    pub(super) async fn show(&self, chat: &str, content: Content<'_>, key: &str) -> Option<String> {
        for _ in 0..MAX_ATTEMPTS {
            self.admitted().await;
            while let Err(wait) = self.take(chat) {
                sleep(wait.min(MAX_PAUSE)).await;
            }
            match self.post(chat, content, key).await {
                Ok(message) => return Some(message),
                Err(Fault::Later { after: Some(_), .. }) => {}
                Err(Fault::Later { .. } | Fault::Identity(_) | Fault::Unclear(_)) => {
                    sleep(Duration::from_secs(1)).await;
                }
                Err(fault) => {
                    tracing::warn!(
                        channel = self.channel(),
                        error = fault.message(),
                        "a question could not be shown"
                    );
                    return None;
                }
            }
        }
        None
    }

    /// Sends a message of the program's own through the outbox.
    pub(super) async fn say(&self, chat: &str, text: impl Into<String>) -> Result<()> {
        let session = session(self.channel(), chat, 1)?;
        let expires_at = self.services.clock.now() + WORD_LIFETIME;
        let word = NewDelivery::new(self.channel(), text, expires_at).with_recipient(Some(chat.to_owned()));
        self.services.courier.send(&session, &TurnId::fresh(), word).await
    }
}

/// Returns the session of a chat: the first one, or one that `/new` created since.
pub(super) fn session(channel: &str, chat: &str, number: u32) -> Result<SessionId> {
    let name = if number > 1 { format!("{chat}~{number}") } else { chat.to_owned() };
    SessionId::of(channel, &name).map_err(|error| Error::invalid(error.to_string()))
}
