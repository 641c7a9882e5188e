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

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::approval::{ApprovalRequest, Resolution};
use aethon_core::ids::TurnId;
use aethon_core::message::TurnEnd;
use aethon_core::surface::{Surface, TurnEvent, Unattended};
use jiff::SignedDuration;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::acknowledgements::Acknowledgements;
use super::approval_prompts::ApprovalPrompts;
use super::growth::{AppendOnlyMessages, Asked, head};
use super::outlet::RateLimitedSender;
use super::platform::{Content, Fault};
use super::reply_gates::{Gates, Passage, ReplyTerms, terms_record_of};
use super::started_turns::StartedTurns;
use crate::text::{Fit, Styled, split, styled};

/// How long the first words wait for more, so that a short reply is sent once, complete.
const FIRST_WORDS: Duration = Duration::from_millis(700);
/// The minimum time between edits, whatever the budget allows.
const STEP: Duration = Duration::from_secs(1);
/// The interval between typing indicators before there is text.
const TYPING: Duration = Duration::from_secs(4);
/// How long a delivery waits for the stream to end.
const MAX_END: Duration = Duration::from_secs(40);
/// How long the message of a turn is remembered.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How often showing may fail before the rest is left to the delivery.
const MAX_FAILURES: u32 = 3;
/// When an unchanged draft is shown again, well before it expires.
const DRAFT_RENEWAL: Duration = Duration::from_secs(20);
/// How many turns are remembered of which nothing more is shown.
const MAX_SILENCED: usize = 1000;
const GROWS: &str = " …";
const STOPPED: &str = " … (stopped)";
/// Stored while the first message of a turn is being sent.
pub(super) const BEING_SENT: &str = "";

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

/// One reply being written.
struct Stream {
    turn: TurnId,
    chat: String,
    asked: Asked,
    /// The message to which the reply replies.
    question: Option<String>,
    state: Mutex<StreamState>,
    changed: Notify,
    ended: watch::Sender<bool>,
}

#[derive(Default)]
struct StreamState {
    /// The text since the last tool call.
    text: String,
    is_after_tool: bool,
    /// Whether there is text that was not shown yet.
    is_dirty: bool,
    prompts: Vec<PromptUpdate>,
    /// Whether nothing more is to be shown.
    is_closed: bool,
    /// Whether a person stopped the turn, so that its reply is not delivered.
    is_stopped: bool,
    /// Whether its reader may not see any more of it.
    is_silenced: bool,
}

enum PromptUpdate {
    Open(Box<ApprovalRequest>),
    Settled(String, Resolution, Option<Value>),
}

/// Where the message of a turn is stored.
pub(super) fn record_of(turn: &TurnId) -> String {
    format!("reply:{turn}")
}

/// Returns the key of that message.
pub(super) fn key_of(turn: &TurnId) -> String {
    format!("r{turn}")
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
            for ask in asks {
                match ask {
                    PromptUpdate::Open(request) => {
                        self.prompts.ask((&stream.chat, &stream.asked.sender), &request).await;
                    }
                    PromptUpdate::Settled(id, resolution, edited) => {
                        self.prompts.settled(&id, resolution, edited.as_ref()).await;
                    }
                }
            }
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

/// The state of showing a reply.
struct Showing<'s> {
    /// The message to which the reply replies.
    question: Option<String>,
    outlet: &'s RateLimitedSender,
    gates: &'s Gates,
    stream: &'s Stream,
    message: Option<String>,
    /// Lets it grow, for as long as it can.
    growth: Option<&'s dyn AppendOnlyMessages>,
    /// When the current draft was shown.
    drafted: Option<Instant>,
    failures: u32,
}

impl Showing<'_> {
    /// Returns whether the reader sees nothing of the reply yet.
    fn is_blank(&self) -> bool {
        self.message.is_none() && self.drafted.is_none()
    }

    fn fades_soon(&self, now: Instant) -> bool {
        self.message.is_none() && self.drafted.is_some_and(|drafted| drafted + DRAFT_RENEWAL <= now)
    }

    /// Shows the current text. Returns how long to wait before the next step.
    async fn step(&mut self) -> Duration {
        let chat = &self.stream.chat;
        if self.outlet.health.admits(false).is_err() {
            return STEP;
        }
        if self.is_blank() {
            match self.gates.pass(&self.stream.turn) {
                Passage::Open => {}
                Passage::NotBefore(at) => return at.duration_since(Instant::now()),
                Passage::Closed => {
                    self.failures = MAX_FAILURES;
                    return STEP;
                }
            }
        }
        // Earlier messages must appear above it.
        if self.message.is_none() && self.outlet.is_waiting(chat).await {
            return STEP;
        }
        if let Err(wait) = self.outlet.take(chat) {
            return wait;
        }
        let text = {
            let mut state = lock(&self.stream.state);
            state.is_dirty = false;
            state.text.clone()
        };
        let dialect = self.outlet.platform.dialect();
        let is_draft = self.growth.is_none() && self.message.is_none() && (dialect.drafts)(chat);
        let shown = match self.growth {
            Some(growth) => self.grow(growth, &text).await,
            None => self.show(&text, is_draft).await,
        };
        match shown {
            Ok(()) => STEP.max((dialect.pace)(chat)),
            Err(Fault::Refused(why) | Fault::Gone(why)) if self.growth.is_some() => {
                tracing::debug!(
                    channel = self.outlet.channel(),
                    why,
                    "a reply is shown in a message that does not grow"
                );
                self.growth = None;
                lock(&self.stream.state).is_dirty = true;
                Duration::ZERO
            }
            Err(Fault::Later { after, .. }) => {
                lock(&self.stream.state).is_dirty = true;
                after.unwrap_or(STEP * 2)
            }
            // The platform turned out not to have drafts, which its dialect now says.
            Err(Fault::Refused(_)) if is_draft && !(self.outlet.platform.dialect().drafts)(chat) => {
                self.drafted = None;
                lock(&self.stream.state).is_dirty = true;
                STEP
            }
            Err(fault) => {
                self.failures += 1;
                // After a doubtful first message, another one could be a duplicate, unless the platform deduplicates.
                if self.message.is_none() && !is_draft && !dialect.sends_once {
                    self.failures = MAX_FAILURES;
                }
                tracing::debug!(
                    channel = self.outlet.channel(),
                    error = fault.message(),
                    "a reply could not be shown as it grows"
                );
                STEP
            }
        }
    }

    /// Grows the message to this text.
    async fn grow(&mut self, growth: &dyn AppendOnlyMessages, text: &str) -> Result<(), Fault> {
        let Some((text, _)) = head(text, growth.most()) else {
            return Err(Fault::Refused("there is no place to cut it".into()));
        };
        let (outlet, stream) = (self.outlet, self.stream);
        match self.message.clone() {
            _ if text.is_empty() => Ok(()),
            Some(message) => outlet.grown(&stream.chat, growth.grow(&message, text)).await,
            None => {
                let key = key_of(&stream.turn);
                self.first(outlet.start(growth, &stream.chat, &stream.asked, text, &key)).await
            }
        }
    }

    /// Replaces the content of the message or draft.
    async fn show(&mut self, text: &str, is_draft: bool) -> Result<(), Fault> {
        let (outlet, stream) = (self.outlet, self.stream);
        let Some(part) = beginning(text, outlet.platform.dialect().fit, GROWS) else { return Ok(()) };
        match self.message.clone() {
            Some(message) => outlet.edit(&stream.chat, &message, Content::text(&part)).await,
            None if is_draft => self.draft(&part).await,
            None => {
                let key = key_of(&stream.turn);
                let question = self.question.clone();
                let content = Content::text(&part);
                self.first(outlet.post_reply(&stream.chat, content, &key, question.as_deref())).await
            }
        }
    }

    /// Shows the text as a draft. This is idempotent and replaces the earlier draft.
    async fn draft(&mut self, part: &Styled) -> Result<(), Fault> {
        self.outlet.post(&self.stream.chat, Content::Draft(part), &key_of(&self.stream.turn)).await?;
        self.drafted = Some(Instant::now());
        Ok(())
    }

    async fn first(&mut self, sent: impl Future<Output = Result<String, Fault>>) -> Result<(), Fault> {
        let turn = &self.stream.turn;
        let until = self.outlet.services.clock.now() + REMEMBERED;
        let records = &self.outlet.services.records;
        // Stored first, so that after a crash during the attempt, the delivery knows that a message may exist.
        let noted = records.put(self.outlet.channel(), &record_of(turn), BEING_SENT, Some(until)).await;
        noted.map_err(|error| Fault::later(error.to_string()))?;
        let message = sent.await?;
        let stored = records.put(self.outlet.channel(), &record_of(turn), &message, Some(until)).await;
        if let Err(error) = stored {
            tracing::warn!(channel = self.outlet.channel(), %error, "the message of a reply could not be remembered");
        }
        self.message = Some(message);
        Ok(())
    }

    /// Marks the visible part as stopped. Nothing follows it.
    async fn stopped(&mut self) {
        let Some(message) = self.message.clone() else { return };
        let text = lock(&self.stream.state).text.clone();
        let Some(part) = beginning(&text, self.outlet.platform.dialect().fit, STOPPED) else { return };
        let mut growth = self.growth.and_then(|growth| {
            let (head, _) = head(&text, growth.most().saturating_sub(STOPPED.len()))?;
            Some((growth, format!("{head}{STOPPED}")))
        });
        for _ in 0..3 {
            while let Err(wait) = self.outlet.take(&self.stream.chat) {
                tokio::time::sleep(wait).await;
            }
            let chat = &self.stream.chat;
            let ended = match &growth {
                Some((growth, text)) => self.outlet.grown(chat, growth.finish(&message, text)).await,
                None => self.outlet.edit(chat, &message, Content::text(&part)).await,
            };
            match ended {
                Err(Fault::Later { .. } | Fault::Doubtful(_) | Fault::Identity(_) | Fault::Unclear(_)) => {}
                Err(Fault::Refused(_)) if growth.is_some() => growth = None,
                Ok(()) | Err(_) => return,
            }
        }
    }
}

/// Returns the first part of a text that continues.
fn beginning(text: &str, fit: Fit, ending: &str) -> Option<Styled> {
    let fit = Fit { length: fit.length.saturating_sub(ending.len()), ..fit };
    let mut part = split(&styled(text), fit).into_iter().next()?;
    part.text.push_str(ending);
    Some(part)
}

impl Stream {
    fn change(&self, change: impl FnOnce(&mut StreamState)) {
        change(&mut lock(&self.state));
        self.changed.notify_one();
    }

    /// Returns the prompts to show, whether there is something to show, and whether the stream is closed.
    fn take(&self) -> (Vec<PromptUpdate>, bool, bool) {
        let mut state = lock(&self.state);
        (std::mem::take(&mut state.prompts), state.is_dirty, state.is_closed)
    }
}

/// Signals that a task has ended, however it ends.
struct Ended<'s>(&'s Stream);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.ended.send_replace(true);
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every statement leaves the contents consistent, so a poisoned lock is usable.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
