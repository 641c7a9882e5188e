//! A reply that grows before the reader's eyes: sent once a little of it is there, then edited at the chat's pace.
//!
//! Where the platform has messages that grow, it is one of those, until it cannot grow any more.
//!
//! A task for each turn shows what there is whenever the budget of the chat has a call left. The id of its message is stored,
//! so that the delivery of the reply, after a crash too, edits that message and sends no second one. Before the delivery
//! does so it closes the stream, and nothing of it is under way any more.
//!
//! Where the platform has drafts, they are shown in the place of that message. They fade by themselves, so nothing is stored of
//! them, and the delivery sends the reply as if nothing had been shown.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::approval::{ApprovalRequest, Decision, Resolution};
use aethon_core::ids::TurnId;
use aethon_core::message::TurnEnd;
use aethon_core::surface::{Surface, TurnEvent, Unattended};
use async_trait::async_trait;
use jiff::SignedDuration;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::growth::{Asked, Growth, head};
use super::outlet::Outlet;
use super::platform::{Content, Fault};
use super::question::Questions;
use super::running::Running;
use crate::text::{Fit, Styled, split, styled};

/// How long the first words wait for more, so that a short reply is sent once and whole.
const FIRST_WORDS: Duration = Duration::from_millis(700);
/// The least time between two edits, whatever the budget allows.
const STEP: Duration = Duration::from_secs(1);
/// How often it is shown that an answer is written, before there is any.
const TYPING: Duration = Duration::from_secs(4);
/// How long a delivery waits for the stream to end.
const LONGEST_END: Duration = Duration::from_secs(40);
/// How long the message of a turn is remembered.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(7 * 24);
/// How often showing may fail before the rest is left to the delivery.
const MOST_FAILURES: u32 = 3;
/// When a draft is shown again that does not grow, well before it fades.
const DRAFT_RENEWAL: Duration = Duration::from_secs(20);
const GROWS: &str = " …";
const STOPPED: &str = " … (stopped)";
/// What is remembered while the first message of a turn is being sent.
pub(super) const BEING_SENT: &str = "";

/// The replies of a channel that are being written.
pub(super) struct Streams {
    outlet: Arc<Outlet>,
    questions: Arc<Questions>,
    open: Mutex<HashMap<TurnId, Arc<Stream>>>,
    /// Who has brought which turn about.
    pub(super) running: Running,
    tasks: Mutex<JoinSet<()>>,
}

/// One of them.
struct Stream {
    turn: TurnId,
    chat: String,
    asked: Asked,
    state: Mutex<StreamState>,
    changed: Notify,
    ended: watch::Sender<bool>,
}

#[derive(Default)]
struct StreamState {
    /// What the model has said since the last tool.
    text: String,
    is_after_tool: bool,
    /// Whether the text was not shown yet.
    is_dirty: bool,
    questions: Vec<Ask>,
    /// Whether nothing more is shown.
    is_closed: bool,
    /// Whether a person has stopped the turn, whose reply then goes nowhere else.
    is_stopped: bool,
}

enum Ask {
    Open(Box<ApprovalRequest>),
    Settled(String, Resolution, Option<Value>),
}

/// Where the message of a turn is remembered.
pub(super) fn record_of(turn: &TurnId) -> String {
    format!("reply:{turn}")
}

/// The key of that message.
pub(super) fn key_of(turn: &TurnId) -> String {
    format!("r{turn}")
}

impl Streams {
    pub(super) fn new(outlet: Arc<Outlet>, questions: Arc<Questions>) -> Self {
        Self {
            outlet,
            questions,
            open: Mutex::default(),
            running: Running::default(),
            tasks: Mutex::default(),
        }
    }

    /// The surface of a turn that this person has brought about in this chat. Whoever is no owner sees their turn, and is asked
    /// nothing: what needs a word of the owner's is denied.
    pub(super) fn surface(self: &Arc<Self>, chat: &str, asked: Asked, is_owner: bool) -> Arc<dyn Surface> {
        if !self.outlet.platform.dialect().is_attended {
            return Arc::new(Unattended);
        }
        Arc::new(ChatSurface { streams: self.clone(), chat: chat.to_owned(), asked, is_owner })
    }

    /// Ends the stream of a turn, and waits until nothing of it is under way.
    pub(super) async fn close(&self, turn: &TurnId) {
        let Some(stream) = lock(&self.open).get(turn).cloned() else { return };
        stream.change(|state| state.is_closed = true);
        let mut ended = stream.ended.subscribe();
        // An error means that the task is gone, which is an end as well.
        if timeout(LONGEST_END, ended.wait_for(|ended| *ended)).await.is_err() {
            tracing::warn!(channel = self.outlet.channel(), %turn, "a reply that was shown as it grew did not end");
        }
        lock(&self.open).remove(turn);
    }

    /// Ends all of them.
    pub(super) async fn shutdown(&self) {
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        tasks.shutdown().await;
        lock(&self.open).clear();
    }

    fn of(&self, turn: &TurnId) -> Option<Arc<Stream>> {
        lock(&self.open).get(turn).cloned()
    }

    fn open(self: &Arc<Self>, turn: &TurnId, chat: &str, asked: &Asked) -> Arc<Stream> {
        let mut open = lock(&self.open);
        if let Some(stream) = open.get(turn) {
            return stream.clone();
        }
        let stream = Arc::new(Stream {
            turn: turn.clone(),
            chat: chat.to_owned(),
            asked: asked.clone(),
            state: Mutex::default(),
            changed: Notify::new(),
            ended: watch::Sender::new(false),
        });
        open.insert(turn.clone(), stream.clone());
        let mut tasks = lock(&self.tasks);
        // Those that have ended make room.
        while tasks.try_join_next().is_some() {}
        let (streams, running) = (self.clone(), stream.clone());
        tasks.spawn(async move { streams.run(&running).await });
        stream
    }

    async fn run(self: Arc<Self>, stream: &Stream) {
        // Whatever ends the task, a delivery that waits for it goes on.
        let _ended = Ended(stream);
        let records = &self.outlet.around.records;
        let known = records.get(self.outlet.channel(), &record_of(&stream.turn)).await.ok().flatten();
        let is_doubtful = known.as_deref() == Some(BEING_SENT) && !self.outlet.platform.dialect().sends_once;
        let mut showing = Showing {
            outlet: &self.outlet,
            stream,
            message: known.filter(|message| message != BEING_SENT),
            growth: self.outlet.growth.as_deref(),
            drafted: None,
            // Another first message could be a second.
            failures: if is_doubtful { MOST_FAILURES } else { 0 },
        };
        let mut next_typing = Instant::now();
        let mut next_step: Option<Instant> = None;
        loop {
            let (asks, has_grown, is_closed) = stream.take();
            for ask in asks {
                match ask {
                    Ask::Open(request) => {
                        self.questions.ask((&stream.chat, &stream.asked.sender), &request).await;
                    }
                    Ask::Settled(id, resolution, edited) => {
                        self.questions.settled(&id, resolution, edited.as_ref()).await;
                    }
                }
            }
            if is_closed {
                break;
            }
            let now = Instant::now();
            let is_dirty = has_grown || showing.fades_soon(now);
            if is_dirty && self.outlet.rules.streams && showing.failures < MOST_FAILURES {
                let first = if showing.message.is_some() { now } else { now + FIRST_WORDS };
                let due = *next_step.get_or_insert(first);
                if due <= now {
                    next_step = Some(now + showing.step().await);
                }
            } else if showing.is_blank() && next_typing <= now {
                self.outlet.typing(&stream.chat).await;
                next_typing = Instant::now() + TYPING;
            }
            let wake = match next_step.filter(|_| is_dirty && showing.failures < MOST_FAILURES) {
                Some(due) => due.max(now + Duration::from_millis(20)),
                None => next_typing.max(now + TYPING),
            };
            tokio::select! {
                () = stream.changed.notified() => {}
                () = sleep_until(wake) => {}
            }
        }
        if lock(&stream.state).is_stopped {
            showing.stopped().await;
        }
        lock(&self.open).remove(&stream.turn);
    }
}

/// What a task needs to show a reply.
struct Showing<'s> {
    outlet: &'s Outlet,
    stream: &'s Stream,
    message: Option<String>,
    /// What lets it grow, for as long as it can.
    growth: Option<&'s dyn Growth>,
    /// When the draft was shown that stands there in its place.
    drafted: Option<Instant>,
    failures: u32,
}

impl Showing<'_> {
    /// Whether the reader sees nothing of the reply.
    fn is_blank(&self) -> bool {
        self.message.is_none() && self.drafted.is_none()
    }

    fn fades_soon(&self, now: Instant) -> bool {
        self.message.is_none() && self.drafted.is_some_and(|drafted| drafted + DRAFT_RENEWAL <= now)
    }

    /// Shows what there is. Returns how long nothing more is shown.
    async fn step(&mut self) -> Duration {
        let chat = &self.stream.chat;
        // What was said before stands above it.
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
            // The platform has none after all, which its dialect now says.
            Err(Fault::Refused(_)) if is_draft && !(self.outlet.platform.dialect().drafts)(chat) => {
                self.drafted = None;
                lock(&self.stream.state).is_dirty = true;
                STEP
            }
            Err(fault) => {
                self.failures += 1;
                // After a doubtful first message another one could be a second, unless the platform knows it again.
                if self.message.is_none() && !is_draft && !dialect.sends_once {
                    self.failures = MOST_FAILURES;
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

    /// Lets its message grow to this text.
    async fn grow(&mut self, growth: &dyn Growth, text: &str) -> Result<(), Fault> {
        let Some((text, _)) = head(text, growth.most()) else {
            return Err(Fault::Refused("there is no place to cut it".into()));
        };
        let (outlet, stream) = (self.outlet, self.stream);
        match self.message.clone() {
            _ if text.is_empty() => Ok(()),
            Some(message) => outlet.grown(&stream.chat, growth.grow(&message, text)).await,
            None => {
                let key = key_of(&stream.turn);
                self.first(outlet.start(growth, (&stream.chat, &stream.asked), (text, &key))).await
            }
        }
    }

    /// Puts this text in the place of its message, or of its draft.
    async fn show(&mut self, text: &str, is_draft: bool) -> Result<(), Fault> {
        let (outlet, stream) = (self.outlet, self.stream);
        let Some(part) = beginning(text, outlet.platform.dialect().fit, GROWS) else { return Ok(()) };
        match self.message.clone() {
            Some(message) => outlet.edit(&stream.chat, &message, Content::text(&part)).await,
            None if is_draft => self.draft(&part).await,
            None => {
                let key = key_of(&stream.turn);
                self.first(outlet.post(&stream.chat, Content::text(&part), &key)).await
            }
        }
    }

    /// Shows it as a draft: twice is once, and what was shown before is replaced.
    async fn draft(&mut self, part: &Styled) -> Result<(), Fault> {
        self.outlet.post(&self.stream.chat, Content::Draft(part), &key_of(&self.stream.turn)).await?;
        self.drafted = Some(Instant::now());
        Ok(())
    }

    async fn first(&mut self, sent: impl Future<Output = Result<String, Fault>>) -> Result<(), Fault> {
        let turn = &self.stream.turn;
        let until = self.outlet.around.clock.now() + REMEMBERED;
        let records = &self.outlet.around.records;
        // Noted before: after a crash in the middle of it, the delivery of the reply knows that there may be a message.
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

    /// The turn was stopped: what was shown says so, and nothing else comes.
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
                Err(Fault::Later { .. } | Fault::Doubtful(_)) => {}
                Err(Fault::Refused(_)) if growth.is_some() => growth = None,
                Ok(()) | Err(_) => return,
            }
        }
    }
}

/// The first part of a text that goes on.
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

    /// What is to be asked, whether there is something to show, and whether it is over.
    fn take(&self) -> (Vec<Ask>, bool, bool) {
        let mut state = lock(&self.state);
        (std::mem::take(&mut state.questions), state.is_dirty, state.is_closed)
    }
}

/// Tells that a task is over, however it ends.
struct Ended<'s>(&'s Stream);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.ended.send_replace(true);
    }
}

/// The surface of a turn in a chat.
struct ChatSurface {
    streams: Arc<Streams>,
    chat: String,
    asked: Asked,
    is_owner: bool,
}

#[async_trait]
impl Surface for ChatSurface {
    fn emit(&self, turn: &TurnId, event: TurnEvent) {
        if let TurnEvent::Done(reply) = &event {
            // The delivery may have closed it before.
            if let Some(stream) = self.streams.of(turn) {
                let is_stopped = reply.end == TurnEnd::Stopped;
                stream.change(|state| (state.is_stopped, state.is_closed) = (is_stopped, true));
            }
            return;
        }
        let stream = self.streams.open(turn, &self.chat, &self.asked);
        match event {
            TurnEvent::Text(text) => stream.change(|state| {
                if std::mem::take(&mut state.is_after_tool) {
                    state.text.clear();
                }
                state.text.push_str(&text);
                state.is_dirty = true;
            }),
            TurnEvent::Tool(_) => lock(&stream.state).is_after_tool = true,
            TurnEvent::Approval(request) if self.is_owner => {
                stream.change(|state| state.questions.push(Ask::Open(Box::new(request))));
            }
            TurnEvent::ApprovalDone { id, resolution, edited } => {
                stream.change(|state| state.questions.push(Ask::Settled(id, resolution, edited)));
            }
            _ => {}
        }
    }

    async fn decide(&self, _request: &ApprovalRequest) -> Option<Decision> {
        if !self.is_owner {
            return None;
        }
        // Answers come to the desk.
        std::future::pending().await
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is in there is whole after every statement, so a panic elsewhere does not make it unusable.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
