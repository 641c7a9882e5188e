//! A reply that is shown while it is written: sent after the first few words, then edited within the chat's rate
//! budget.
//!
//! If the platform has growing messages, it is one of those for as long as it can grow.
//!
//! A task for each turn shows the current text whenever the budget has a call left. The id of its message is stored,
//! so that the delivery of the reply, even after a crash, edits that message instead of sending a second one. Before
//! it does, the delivery closes the stream, so that none of its calls is still in progress.
//!
//! If the platform has drafts, they are shown instead of that message. They expire by themselves, so nothing is
//! stored about them, and the delivery sends the reply as if nothing had been shown.
//!
//! `growing_reply` is one such reply, `showing` is how it is shown.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aethon_core::ids::TurnId;
use aethon_core::message::TurnEnd;
use aethon_core::surface::{Surface, TurnEvent, Unattended};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::acknowledgements::Acknowledgements;
use super::approval_prompts::ApprovalPrompts;
use super::growing_reply::{BEING_SENT, Ended, PromptUpdate, Stream, lock, record_of};
use super::growth::Asked;
use super::outlet::RateLimitedSender;
use super::reply_gates::{Gates, ReplyTerms, terms_record_of};
use super::showing::{MAX_FAILURES, Showing};
use super::started_turns::StartedTurns;

/// How long the first words wait for more, so that a short reply is sent once, complete.
const FIRST_WORDS: Duration = Duration::from_millis(700);
/// The interval between typing indicators before there is text.
const TYPING: Duration = Duration::from_secs(4);
/// How long a delivery waits for the stream to end.
const MAX_END: Duration = Duration::from_secs(40);
/// How many turns are remembered of which nothing more is shown.
const MAX_SILENCED: usize = 1000;

/// The replies of a channel that are being written.
pub(super) struct Streams {
    outlet: Arc<RateLimitedSender>,
    prompts: Arc<ApprovalPrompts>,
    open: Mutex<HashMap<TurnId, Arc<Stream>>>,
    /// Who started which turn.
    pub(super) started_turns: StartedTurns,
    /// Which replies may be shown.
    pub(super) gates: Gates,
    /// The reactions on messages whose turns wait or run.
    pub(super) acknowledgements: Arc<Acknowledgements>,
    tasks: Mutex<JoinSet<()>>,
    /// The turns of which nothing more is shown.
    silenced: Mutex<HashSet<TurnId>>,
}

impl Streams {
    pub(super) fn new(outlet: Arc<RateLimitedSender>, prompts: Arc<ApprovalPrompts>) -> Self {
        let acknowledgements = Arc::new(Acknowledgements::new(outlet.clone()));
        Self {
            acknowledgements,
            outlet,
            prompts,
            open: Mutex::default(),
            started_turns: StartedTurns::default(),
            gates: Gates::default(),
            tasks: Mutex::default(),
            silenced: Mutex::default(),
        }
    }

    /// Returns the surface of a turn that this person started in this chat. People who are not owners see their turn
    /// but get no approval prompts: what needs an owner's approval is denied.
    #[cfg(test)]
    pub(super) fn surface(self: &Arc<Self>, chat: &str, asked: Asked, is_owner: bool) -> Arc<dyn Surface> {
        self.surface_opening(chat, asked, is_owner, ReplyOpening::default())
    }

    /// The same with a reply that may not be shown yet, or not like any other.
    pub(super) fn surface_opening(
        self: &Arc<Self>,
        chat: &str,
        asked: Asked,
        is_owner: bool,
        opening: ReplyOpening,
    ) -> Arc<dyn Surface> {
        if !self.outlet.platform.dialect().is_attended {
            return Arc::new(Unattended);
        }
        Arc::new(ChatSurface { streams: self.clone(), chat: chat.to_owned(), asked, is_owner, opening })
    }

    /// Ends the stream of a turn and waits until none of its calls is in progress.
    pub(super) async fn close(&self, turn: &TurnId) {
        let Some(stream) = lock(&self.open).get(turn).cloned() else { return };
        stream.change(|state| state.is_closed = true);
        let mut ended = stream.ended.subscribe();
        // An error means that the task is gone, which also counts as an end.
        if timeout(MAX_END, ended.wait_for(|ended| *ended)).await.is_err() {
            tracing::warn!(channel = self.outlet.channel(), %turn, "a reply that was shown as it grew did not end");
        }
        lock(&self.open).remove(turn);
    }

    /// Shows nothing more of a turn, not even that it was stopped.
    pub(super) fn silence(&self, turn: &TurnId) {
        {
            let mut silenced = lock(&self.silenced);
            // Those of long ago have ended.
            if silenced.len() >= MAX_SILENCED {
                silenced.clear();
            }
            silenced.insert(turn.clone());
        }
        if let Some(stream) = self.of(turn) {
            stream.change(|state| (state.is_silenced, state.is_closed) = (true, true));
        }
    }

    /// Ends all streams.
    pub(super) async fn shutdown(&self) {
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        tasks.shutdown().await;
        self.acknowledgements.shutdown().await;
        lock(&self.open).clear();
    }

    fn of(&self, turn: &TurnId) -> Option<Arc<Stream>> {
        lock(&self.open).get(turn).cloned()
    }

    fn open(self: &Arc<Self>, turn: &TurnId, surface: &ChatSurface) -> Arc<Stream> {
        let mut open = lock(&self.open);
        if let Some(stream) = open.get(turn) {
            return stream.clone();
        }
        let stream = Arc::new(Stream {
            turn: turn.clone(),
            chat: surface.chat.clone(),
            asked: surface.asked.clone(),
            question: surface.opening.terms.question.clone(),
            state: Mutex::default(),
            changed: Notify::new(),
            ended: watch::Sender::new(false),
        });
        open.insert(turn.clone(), stream.clone());
        let mut tasks = lock(&self.tasks);
        // Finished tasks are removed.
        while tasks.try_join_next().is_some() {}
        let (streams, running) = (self.clone(), stream.clone());
        tasks.spawn(async move { streams.run(&running).await });
        stream
    }

    async fn run(self: Arc<Self>, stream: &Stream) {
        // However the task ends, a delivery waiting for it continues.
        let _ended = Ended(stream);
        let records = &self.outlet.services.records;
        let known = records.get(self.outlet.channel(), &record_of(&stream.turn)).await.ok().flatten();
        let is_doubtful = known.as_deref() == Some(BEING_SENT) && !self.outlet.platform.dialect().sends_once;
        let mut showing = Showing {
            question: self.question_of(stream).await,
            outlet: &self.outlet,
            gates: &self.gates,
            stream,
            message: known.filter(|message| message != BEING_SENT),
            growth: self.outlet.growth.as_deref(),
            drafted: None,
            // Another first message could be a duplicate.
            failures: if is_doubtful { MAX_FAILURES } else { 0 },
        };
        let mut next_typing = Instant::now();
        let mut next_step: Option<Instant> = None;
        loop {
            let (asks, has_grown, is_closed) = stream.take();
            self.update_prompts(stream, asks).await;
            if is_closed {
                break;
            }
            let now = Instant::now();
            let is_dirty = has_grown || showing.fades_soon(now);
            if is_dirty && self.outlet.rules.streams && showing.failures < MAX_FAILURES {
                let first = if showing.message.is_some() { now } else { now + FIRST_WORDS };
                let due = *next_step.get_or_insert(first);
                if due <= now {
                    next_step = Some(now + showing.step().await);
                }
            } else if showing.is_blank() && next_typing <= now {
                self.outlet.typing(&stream.chat).await;
                next_typing = Instant::now() + TYPING;
            }
            let wake = match next_step.filter(|_| is_dirty && showing.failures < MAX_FAILURES) {
                Some(due) => due.max(now + Duration::from_millis(20)),
                None => next_typing.max(now + TYPING),
            };
            tokio::select! {
                () = stream.changed.notified() => {}
                () = sleep_until(wake) => {}
            }
        }
        let is_marked = {
            let state = lock(&stream.state);
            state.is_stopped && !state.is_silenced
        };
        if is_marked {
            showing.stopped().await;
        }
        lock(&self.open).remove(&stream.turn);
    }
}

impl Streams {
    /// Shows the approval prompts of a turn, and what became of them.
    async fn update_prompts(&self, stream: &Stream, updates: Vec<PromptUpdate>) {
        for update in updates {
            match update {
                PromptUpdate::Open(request) => {
                    self.prompts.ask((&stream.chat, &stream.asked.sender), &request).await;
                }
                PromptUpdate::Settled(id, resolution, edited) => {
                    self.prompts.settled(&id, resolution, edited.as_ref()).await;
                }
            }
        }
    }

    /// Returns the message to which a reply replies. After a restart, only the storage knows.
    async fn question_of(&self, stream: &Stream) -> Option<String> {
        if stream.question.is_some() {
            return stream.question.clone();
        }
        let name = terms_record_of(&stream.turn);
        let stored = self.outlet.services.records.get(self.outlet.channel(), &name).await.ok().flatten();
        serde_json::from_str::<ReplyTerms>(&stored?).ok()?.question
    }
}

/// How and when the reply of a turn may be shown.
#[derive(Debug, Clone, Default)]
pub(super) struct ReplyOpening {
    /// Until when nothing of it is shown.
    pub(super) opens_at: Option<Instant>,
    /// The terms on which it is shown.
    pub(super) terms: ReplyTerms,
}

/// The surface of a turn in a chat.
struct ChatSurface {
    streams: Arc<Streams>,
    chat: String,
    asked: Asked,
    is_owner: bool,
    opening: ReplyOpening,
}

impl Surface for ChatSurface {
    fn emit(&self, turn: &TurnId, event: TurnEvent) {
        if let (TurnEvent::Done(_), Some(message)) = (&event, &self.asked.message) {
            self.streams.acknowledgements.end(message, turn);
        }
        if lock(&self.streams.silenced).contains(turn) {
            return;
        }
        let opens_at = self.opening.opens_at.unwrap_or_else(Instant::now);
        self.streams.gates.note(turn, opens_at, &self.opening.terms);
        if let TurnEvent::Done(reply) = &event {
            // The delivery may have closed it already.
            if let Some(stream) = self.streams.of(turn) {
                let is_stopped = reply.end == TurnEnd::Stopped;
                stream.change(|state| (state.is_stopped, state.is_closed) = (is_stopped, true));
            }
            return;
        }
        let stream = self.streams.open(turn, self);
        match event {
            TurnEvent::Text(text) => stream.change(|state| {
                if std::mem::take(&mut state.is_after_tool) {
                    state.text.clear();
                }
                state.text.push_str(&text);
                state.is_dirty = true;
            }),
            TurnEvent::TextWithdrawn => stream.change(|state| {
                state.text.clear();
                state.is_dirty = true;
            }),
            TurnEvent::Tool(_) => lock(&stream.state).is_after_tool = true,
            TurnEvent::Approval(request) if self.is_owner => {
                stream.change(|state| state.prompts.push(PromptUpdate::Open(Box::new(request))));
            }
            TurnEvent::ApprovalDone { id, resolution, edited } => {
                stream.change(|state| state.prompts.push(PromptUpdate::Settled(id, resolution, edited)));
            }
            _ => {}
        }
    }

    fn is_attended(&self) -> bool {
        self.is_owner
    }
}
