//! Makes the next request fit: shortens old tool output, then summarises older messages, then cuts what still does not
//! fit. Each step is taken only if the previous one was not enough, and the last always is.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::message::{EndReason, Message, Role};
use aethon_core::surface::{Surface, TurnEvent};
use aethon_core::turn::TurnContext;
use tokio::time::sleep;

use super::conversation::{Allowance, Conversation, Leaving};
use super::passes::summarise;
use super::summarised::Summarised;
use super::summariser::Summariser;
use crate::control::{Control, Interrupt};
use crate::engine::agents::RunningAgent;
use crate::engine::outcome::{OrEnd, TurnOutcome};
use crate::engine::shared::Shared;
use crate::models::Models;
use crate::window::Target;
use aethon_core::patience::retry_until_stored;
use aethon_core::storage_log::log_storage;

/// Below this size a conversation is not cut because a service calls it too long: something else must be.
const WORTH_CUTTING: u64 = 1_000;

/// A person who waits for a summary this long is notified.
const NOTICEABLE: Duration = Duration::from_secs(2);

/// A summary that only a copy of the conversation contains.
pub(in crate::engine) struct Aside {
    pub(in crate::engine) summary: Arc<Message>,
    /// How many messages of the copy it has replaced.
    pub(in crate::engine) len: usize,
    /// Whether a model has seen all of them.
    pub(in crate::engine) is_whole: bool,
}

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
    ) -> OrEnd {
        if allowance.holds(&conversation.window, 100) {
            return Ok(());
        }
        conversation.window.shorten(allowance.limits.keep);
        if allowance.holds(&conversation.window, 100) {
            return Ok(());
        }
        // As long as the model takes the request, the turn does not wait for a summary; at its end, or already now, one
        // is made in the background.
        let may_wait = self.shared.options.compaction.ahead && allowance.is_taken(&conversation.window);
        if may_wait && !self.shared.caches.ahead.is_ready(&self.context.session) {
            return Ok(());
        }
        self.take_prepared(conversation, control).await?;
        if allowance.holds(&conversation.window, 100) || may_wait {
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
    ) -> OrEnd<bool> {
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

    /// Makes a copy of the conversation fit another model, which summarises for itself unless the smaller model does.
    /// Nothing is stored. Returns the summary that was made, if any. Only what came before the turn is summarised;
    /// its own steps are cut.
    pub(in crate::engine) async fn make_room_aside(
        &self,
        conversation: &mut Conversation,
        allowance: &Allowance,
        models: Models,
        control: &mut Control,
    ) -> Option<Aside> {
        if allowance.holds(&conversation.window, 100) {
            return None;
        }
        conversation.window.shorten(allowance.limits.keep);
        let mut aside = None;
        let target = allowance.target(&conversation.window, conversation.start, false);
        if !allowance.holds(&conversation.window, 100)
            && let Some(leaving) = conversation.leaving(&target)
        {
            let summariser = self.summariser(conversation, allowance, control).by(models);
            // An interrupted turn has no use for the request.
            let summarised = self.summarised(summariser, conversation, leaving, control).await.ok()?;
            let mut message =
                Message::new(Role::System, vec![summarised.block()], self.shared.services.clock.now());
            message.turn = Some(self.context.turn.clone());
            let summary = Arc::new(message);
            conversation.replace(summary.clone(), summarised.prefix);
            aside = Some(Aside { summary, len: summarised.prefix.len, is_whole: summarised.is_whole });
        }
        if !allowance.holds(&conversation.window, 100) {
            conversation.window.shorten(1);
        }
        if !allowance.holds(&conversation.window, 100) {
            let room = allowance.room(&conversation.window);
            self.cut(conversation, room);
        }
        aside
    }

    /// Takes over a summary made in the background, if the conversation still begins the same way. Waits for one that
    /// is being made, because it will be ready sooner than a new one.
    async fn take_prepared(&self, conversation: &mut Conversation, control: &mut Control) -> OrEnd {
        let prepared =
            self.shared.caches.ahead.take(&self.context.session, &conversation.window, control.left() / 2);
        let prepared = self.noticeably(control.guard(prepared)).await?;
        let Some(prepared) = prepared else {
            if self.shared.caches.ahead.is_in_progress(&self.context.session) {
                let first = self.agent.agent.small.as_ref().unwrap_or(&self.agent.agent.models);
                self.shared.caches.ahead.silent.note(first);
            }
            self.shared.caches.ahead.cancel(&self.context.session);
            return Ok(());
        };
        if let Some(message) = prepared.warning {
            let notice = TurnEvent::Notice { code: "budget_warning".into(), message };
            self.surface.emit(&self.context.turn, notice);
        }
        self.replace(conversation, &prepared.summarised).await
    }

    /// Creates a summariser for this conversation.
    fn summariser(
        &self,
        conversation: &Conversation,
        allowance: &Allowance,
        control: &Control,
    ) -> Summariser<'_> {
        let (counter, max_chars) = (conversation.window.counter, allowance.limits.summary_chars());
        // The answer needs time too; on a small machine either takes minutes.
        let time: Duration = control.left() / 2;
        Summariser::new(self.shared, self.agent, self.context, counter, max_chars, time)
    }

    /// Has the messages that leave summarised.
    async fn summarised(
        &self,
        mut summariser: Summariser<'_>,
        conversation: &mut Conversation,
        leaving: Leaving,
        control: &mut Control,
    ) -> Result<Summarised, Interrupt> {
        let session = &self.context.session;
        let summarising = summarise(&mut summariser, (self.shared, session), leaving, control);
        let summarised = self.noticeably(summarising).await;
        conversation.spent += summariser.spent;
        summariser.notify_warning(self.surface);
        summarised
    }

    /// Waits for a summary, and tells the person if that takes a while.
    async fn noticeably<T>(&self, summarising: impl Future<Output = T>) -> T {
        tokio::pin!(summarising);
        tokio::select! {
            biased;
            done = &mut summarising => return done,
            () = sleep(NOTICEABLE) => {}
        }
        let message = "The conversation is getting long; its older part is being summarised first.";
        let notice = TurnEvent::Notice { code: "summarising".into(), message: message.into() };
        self.surface.emit(&self.context.turn, notice);
        summarising.await
    }

    /// Replaces older messages by a summary. `false` if none can leave.
    async fn compact(
        &self,
        conversation: &mut Conversation,
        target: &Target,
        allowance: &Allowance,
        control: &mut Control,
    ) -> OrEnd<bool> {
        let Some(leaving) = conversation.leaving(target) else { return Ok(false) };
        let summariser = self.summariser(conversation, allowance, control);
        let summarised = self.summarised(summariser, conversation, leaving, control).await;
        self.replace(conversation, &summarised?).await?;
        Ok(true)
    }

    /// Stores a summary, puts it into the window and tells the person.
    async fn replace(&self, conversation: &mut Conversation, summarised: &Summarised) -> OrEnd {
        let services = &self.shared.services;
        let (turn, session) = (&self.context.turn, &self.context.session);
        let mut message = Message::new(Role::System, vec![summarised.block()], services.clock.now());
        message.turn = Some(turn.clone());
        let append = || services.turns.append(turn, vec![message.clone()]);
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
        self.shared.services.publish_message(session, &message);
        self.surface.emit(turn, TurnEvent::Folded { messages, from, to, summary: text });
        conversation.replace(message, prefix);
        Ok(())
    }

    /// Cuts the longest messages, and says so if the question itself was cut. Its pictures go last: only those that do
    /// not fit even then.
    fn cut(&self, conversation: &mut Conversation, room: u64) {
        if conversation.window.truncate(room, conversation.start) {
            let message = "This is more than the model can take in at once; it sees the beginning and the end of what \
                           is longest.";
            let notice = TurnEvent::Notice { code: "context_cut".into(), message: message.into() };
            self.surface.emit(&self.context.turn, notice);
        }
        let removed = conversation.window.leave_out_pictures(room, conversation.start);
        if removed > 0 {
            let which =
                if removed == 1 { "1 picture does".to_owned() } else { format!("{removed} pictures do") };
            let message = format!(
                "{which} not fit what the model takes in at once and was left out of the request. Send fewer at a time."
            );
            let notice = TurnEvent::Notice { code: "context_cut".into(), message };
            self.surface.emit(&self.context.turn, notice);
        }
    }
}
