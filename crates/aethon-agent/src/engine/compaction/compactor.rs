//! Makes the next request fit: shortens old tool output, then summarises older messages, then cuts what still does not
//! fit. Each step is taken only if the previous one was not enough, and the last always is.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::message::{EndReason, Message, Role};
use aethon_core::surface::{Surface, TurnEvent};
use aethon_core::turn::TurnContext;
use tokio::time::timeout;

use super::conversation::{Allowance, Conversation, Leaving};
use super::passes::summarise;
use super::summarised::Summarised;
use super::summariser::Summariser;
use crate::control::Control;
use crate::engine::agents::RunningAgent;
use crate::engine::outcome::TurnOutcome;
use crate::engine::shared::Shared;
use crate::patience::retry_until_stored;
use crate::storage_log::log_storage;
use crate::window::Target;

/// Below this size a conversation is not cut because a service calls it too long: something else must be.
const WORTH_CUTTING: u64 = 1_000;

/// Compacts the conversation of a running turn, and reports it to the turn's watchers.
pub(in crate::engine) struct Compactor<'a> {
    pub(in crate::engine) shared: &'a Shared,
    pub(in crate::engine) agent: &'a RunningAgent,
    pub(in crate::engine) context: &'a TurnContext,
    pub(in crate::engine) surface: &'a dyn Surface,
}

impl Compactor<'_> {
    /// Makes the next request fit.
    pub(in crate::engine) async fn make_room(
        &self,
        conversation: &mut Conversation,
        allowance: &Allowance,
        control: &mut Control,
    ) -> Result<(), TurnOutcome> {
        if allowance.holds(&conversation.window, 100) {
            return Ok(());
        }
        conversation.window.shorten(allowance.limits.keep);
        if allowance.holds(&conversation.window, 100) {
            return Ok(());
        }
        self.take_prepared(conversation, control).await?;
        if allowance.holds(&conversation.window, 100) {
            return Ok(());
        }
        let target = allowance.target(&conversation.window, conversation.start, false);
        self.compact(conversation, &target, allowance, control).await?;
        if allowance.holds(&conversation.window, 100) {
            return Ok(());
        }
        // The latest tool results stay whole; this turn has already seen the earlier ones.
        conversation.window.shorten(1);
        if allowance.holds(&conversation.window, 100) {
            return Ok(());
        }
        let target = allowance.target(&conversation.window, conversation.start, true);
        self.compact(conversation, &target, allowance, control).await?;
        if !allowance.holds(&conversation.window, 100) {
            conversation.window.shorten(1);
            let room = allowance.room(&conversation.window);
            self.cut(conversation, room);
        }
        Ok(())
    }

    /// Compacts after the service called the conversation too long, whatever our count says; the rejection may have
    /// said how much it accepts. Makes at most one summary, however short the conversation is. `false` if nothing can
    /// be done.
    pub(in crate::engine) async fn compact_for_the_service(
        &self,
        conversation: &mut Conversation,
        allowance: &Allowance,
        control: &mut Control,
    ) -> Result<bool, TurnOutcome> {
        let window = &mut conversation.window;
        let half = (window.tokens() / 2).min(allowance.room(window));
        window.shorten(1);
        let target = allowance.target(window, conversation.start, false);
        let target = Target { soft: half, hard: half, keep: 0, worth: 0, ..target };
        let stays = |leaving: &Leaving| conversation.window.tokens_from(leaving.prefix.len);
        // Steps of the running turn leave as well if nothing else brings it down to half.
        let is_enough = conversation.leaving(&target).is_some_and(|leaving| stays(&leaving) <= half);
        let target = Target { within_the_turn: !is_enough, ..target };
        let mut has_changed = self.compact(conversation, &target, allowance, control).await?;
        let before = conversation.window.tokens();
        if before > half && before > WORTH_CUTTING {
            self.cut(conversation, half);
            has_changed |= conversation.window.tokens() < before;
        }
        Ok(has_changed)
    }

    /// Takes over a summary made in the background, if the conversation still begins the same way. Waits for one that
    /// is being made, because it will be ready sooner than a new one.
    async fn take_prepared(
        &self,
        conversation: &mut Conversation,
        control: &mut Control,
    ) -> Result<(), TurnOutcome> {
        let prepared = self.shared.ahead.take(&self.context.session, &conversation.window);
        let waiting = timeout(control.left() / 2, prepared);
        let Ok(Some(prepared)) = control.guard(waiting).await.map_err(TurnOutcome::interrupted)? else {
            self.shared.ahead.cancel(&self.context.session);
            return Ok(());
        };
        if let Some(message) = prepared.warning {
            let notice = TurnEvent::Notice { code: "budget_warning".into(), message };
            self.surface.emit(&self.context.turn, notice);
        }
        self.replace(conversation, &prepared.summarised).await
    }

    /// Replaces older messages by a summary. `false` if none can leave.
    async fn compact(
        &self,
        conversation: &mut Conversation,
        target: &Target,
        allowance: &Allowance,
        control: &mut Control,
    ) -> Result<bool, TurnOutcome> {
        let Some(leaving) = conversation.leaving(target) else { return Ok(false) };
        let (counter, max_chars) = (conversation.window.counter, allowance.limits.summary_chars());
        // The answer needs time too; on a small machine either takes minutes.
        let time: Duration = control.left() / 2;
        let mut summariser = Summariser::new(self.shared, self.agent, self.context, counter, max_chars, time);
        let session = &self.context.session;
        let summarised = summarise(&mut summariser, (self.shared, session), leaving, control).await;
        conversation.spent += summariser.spent;
        summariser.notify_warning(self.surface);
        self.replace(conversation, &summarised.map_err(TurnOutcome::interrupted)?).await?;
        Ok(true)
    }

    /// Stores a summary, puts it into the window and tells the person.
    async fn replace(
        &self,
        conversation: &mut Conversation,
        summarised: &Summarised,
    ) -> Result<(), TurnOutcome> {
        let services = &self.shared.services;
        let (turn, session) = (&self.context.turn, &self.context.session);
        let mut message = Message::new(Role::System, vec![summarised.block()], services.clock.now());
        message.turn = Some(turn.clone());
        let append = || services.log.append(turn, vec![message.clone()]);
        match retry_until_stored("a summary could not be stored; trying again", append).await {
            Ok(ids) => message.id = ids.first().copied().unwrap_or(message.id),
            Err(error) => {
                log_storage("a summary could not be stored", &error);
                conversation.is_whole = false;
                return Err(TurnOutcome::fault(
                    EndReason::Storage,
                    "The conversation had to be summarised, and that could not be stored; the log has more.",
                ));
            }
        }
        let Summarised { prefix, messages, from, to, text, is_whole } = summarised.clone();
        tracing::info!(%session, messages, by_a_model = is_whole, "older messages were summarised");
        let message = Arc::new(message);
        self.shared.publish_message(session, &message);
        self.surface.emit(turn, TurnEvent::Folded { messages, from, to, summary: text });
        conversation.replace(message, prefix);
        Ok(())
    }

    /// Cuts the longest messages, and says so if the question itself was cut.
    fn cut(&self, conversation: &mut Conversation, room: u64) {
        if !conversation.window.truncate(room, conversation.start) {
            return;
        }
        let message = "This is more than the model can take in at once; it sees the beginning and the end of what is \
                       longest.";
        let notice = TurnEvent::Notice { code: "context_cut".into(), message: message.into() };
        self.surface.emit(&self.context.turn, notice);
    }
}
