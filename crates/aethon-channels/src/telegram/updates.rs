//! Long polling: what arrives is passed to the intake, and only then is the offset stored and sent to Telegram.
//!
//! An offset confirms everything below it, so each message is stored before Telegram forgets it; duplicates are
//! recognised by id. The first start begins with messages from then on, judged by their dates: a message written while
//! the program signs in is answered, and a crash before the first poll is through loses none of it. Another program polling with the same token,
//! a webhook, or a broken connection is reported and retried with growing pauses.

use aethon_core::shutdown::Shutdown;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::api::Failure;
use super::inbound::{self, Ourselves};
use super::platform::Telegram;
use super::wire::{Callback, Message, Update, User};
use crate::talk::{self, Arrival, Fault, Intake, ReceiveLoop, Receiver, Stop};

/// How long Telegram holds a call without news.
pub const POLL: Duration = Duration::from_secs(50);

/// How long to wait after another program was found polling. Telegram reports this at most every three seconds.
const CONFLICT_PAUSE: Duration = Duration::from_secs(5);
/// The requested updates.
const WANTED: [&str; 3] = ["message", "edited_message", "callback_query"];
/// Where the offset is stored.
const OFFSET: &str = "offset";
/// Where the time of the first start is stored, until all messages that waited then were examined.
const SINCE: &str = "since";
/// How much older than the first start a message may be, in seconds: two clocks differ a little.
const SLACK: i64 = 10;
/// How many updates are requested at once.
const LIMIT: usize = 100;

/// Receives updates for a bot, once it is signed in.
pub(super) struct Updates<'t> {
    telegram: &'t Telegram,
    session: Option<Session>,
}

impl<'t> Updates<'t> {
    pub(super) fn new(telegram: &'t Telegram) -> Self {
        Self { telegram, session: None }
    }
}

#[async_trait]
impl ReceiveLoop for Updates<'_> {
    async fn round(&mut self, intake: &Intake) -> Result<(), Stop> {
        match &mut self.session {
            Some(session) => session.round(self.telegram, intake).await,
            None => {
                self.telegram.remember_moves(intake.records()).await?;
                self.session = Some(Session::begin(self.telegram, intake).await?);
                Ok(())
            }
        }
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Token(message) => Self::Refused(message),
            Failure::Conflict(message) => Self::Again {
                message: format!("{message}; another program polls with this token, or a webhook is set"),
                after: Some(CONFLICT_PAUSE),
            },
            other => Fault::from(other).into(),
        }
    }
}

/// A signed-in bot, and how far its updates were read.
struct Session {
    us: Ourselves,
    offset: i64,
    /// During the first run, until all waiting messages were examined: messages from before this time are history.
    since: Option<i64>,
    /// Whether the last call failed. If so, the next one returns immediately; otherwise recovery would show only
    /// after Telegram held a call for its full time.
    has_failed: bool,
}

impl Session {
    async fn begin(telegram: &Telegram, intake: &Intake) -> Result<Self, Stop> {
        if !telegram.api().has_token() {
            return Err(Stop::Useless("channels.telegram.token is empty".into()));
        }
        let stored = intake.records().get("telegram", OFFSET).await?;
        let stored = stored.and_then(|offset| offset.parse().ok());
        let since = first_start(intake, stored.is_none()).await?;
        let me: User = telegram.api().call("getMe", &json!({})).await?;
        let us = Ourselves { id: me.id, username: me.username.unwrap_or_default() };
        let commands = json!({"commands": [
            {"command": "new", "description": "Begin a new conversation"},
            {"command": "stop", "description": "Stop what runs"},
            {"command": "model", "description": "Show or choose the model"},
            {"command": "help", "description": "List the commands"},
        ]});
        // The menu of commands is not essential.
        let _ = telegram.api().call::<Value>("setMyCommands", &commands).await;
        let account = format!("@{}", us.username);
        tracing::info!(channel = "telegram", account, "the channel runs");
        intake.health().runs(Some(&account));
        Ok(Self { us, offset: stored.unwrap_or(0), since, has_failed: false })
    }

    /// Polls once and processes the updates.
    async fn round(&mut self, telegram: &Telegram, intake: &Intake) -> Result<(), Stop> {
        let held = if self.has_failed || self.since.is_some() { 0 } else { POLL.as_secs() };
        let ask = json!({
            "offset": self.offset, "timeout": held, "limit": LIMIT, "allowed_updates": WANTED,
        });
        let asked = telegram.api().poll::<Vec<Value>>("getUpdates", &ask).await;
        self.has_failed = asked.is_err();
        let updates = asked?;
        intake.health().runs(None);
        let before = self.offset;
        let is_last = updates.len() < LIMIT;
        let mut outcome = Ok(());
        for update in updates {
            let Some(id) = id(&update) else { continue };
            if id < before {
                continue;
            }
            match serde_json::from_value::<Update>(update) {
                Ok(update) if self.is_history(&update) => {
                    tracing::debug!(
                        channel = "telegram",
                        update = id,
                        "an update from before the first start"
                    );
                }
                Ok(update) => outcome = self.take(telegram, intake, update).await,
                Err(error) => {
                    tracing::warn!(channel = "telegram", update = id, %error, "an update cannot be read and is left out");
                }
            }
            if outcome.is_err() {
                break;
            }
            self.offset = self.offset.max(id + 1);
        }
        if self.offset > before || self.since.is_some() {
            intake.records().put("telegram", OFFSET, &self.offset.to_string(), None).await?;
        }
        if self.since.is_some() && is_last && outcome.is_ok() {
            // In this order, because a start that finds an offset without the time treats every message as new.
            intake.records().take("telegram", SINCE).await?;
            self.since = None;
        }
        outcome
    }

    /// Returns whether an update was waiting before the first start. A press of a button answers a message of ours, and there
    /// was none.
    fn is_history(&self, update: &Update) -> bool {
        let Some(since) = self.since else { return false };
        let message = update.message.as_ref().or(update.edited_message.as_ref());
        update.callback_query.is_some() || message.is_some_and(|message| message.date < since)
    }

    async fn take(&self, telegram: &Telegram, intake: &Intake, update: Update) -> Result<(), Stop> {
        tracing::debug!(channel = "telegram", update = update.update_id, "an update came");
        if let Some(callback) = update.callback_query {
            self.press(telegram, intake, callback).await;
        }
        let is_edit = update.message.is_none();
        let Some(message) = update.message.or(update.edited_message) else { return Ok(()) };
        if let Some(new) = message.migrate_to_chat_id {
            telegram.note_move(intake.records(), message.chat.id, new).await?;
            return Ok(());
        }
        let chat = telegram.first_id(message.chat.id);
        if let Some(arrival) = inbound::arrival(&message, chat, &self.us) {
            intake.arrive(in_its_act(arrival, &message, is_edit)).await?;
        }
        Ok(())
    }

    /// Handles a button press. Every press must be answered, or the button keeps spinning. That answer may get lost;
    /// the outcome is shown elsewhere.
    async fn press(&self, telegram: &Telegram, intake: &Intake, callback: Callback) {
        let told = intake.press(&inbound::press(&callback, |chat| telegram.first_id(chat))).await;
        let answer = json!({"callback_query_id": callback.id, "text": told});
        if let Err(failure) = telegram.api().call::<Value>("answerCallbackQuery", &answer).await {
            tracing::debug!(channel = "telegram", ?failure, "a press could not be answered");
        }
    }
}

/// Returns an arrival with the act that it belongs to, or as an edit of an earlier one.
fn in_its_act(mut arrival: Arrival, message: &Message, is_edit: bool) -> Arrival {
    arrival.act = message.files.media_group_id.clone();
    if is_edit {
        let edit = format!("{}:edit:{}", arrival.id, message.things.edit_date.unwrap_or_default());
        arrival.replaces = Some(std::mem::replace(&mut arrival.id, edit));
    }
    arrival
}

/// Returns since when messages count, if some that waited at the first start are still to be examined.
async fn first_start(intake: &Intake, is_first: bool) -> Result<Option<i64>, Stop> {
    let stored = intake.records().get("telegram", SINCE).await?;
    if let Some(since) = stored.and_then(|since| since.parse().ok()) {
        return Ok(Some(since));
    }
    if !is_first {
        return Ok(None);
    }
    let since = intake.now().as_second().saturating_sub(SLACK);
    intake.records().put("telegram", SINCE, &since.to_string(), None).await?;
    Ok(Some(since))
}

fn id(update: &Value) -> Option<i64> {
    update["update_id"].as_i64()
}

#[async_trait]
impl Receiver for Telegram {
    async fn receive(&self, intake: &Intake, shutdown: Shutdown) -> aethon_core::error::Result<()> {
        talk::receive(&mut Updates::new(self), intake, shutdown).await
    }
}
