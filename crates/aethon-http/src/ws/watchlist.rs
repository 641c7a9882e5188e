//! The conversations that change, for the sockets that watch the list of them.
//!
//! One task serves all watchers, and runs while there are any. What happens in this program it learns from the event bus,
//! and gathers for a moment; what other programs on the same home write, a look at the newest conversations shows once a
//! second. Each conversation has at most one frame here, its newest: a slow reader skips states and misses none of the
//! conversations. Only if more than [`MAX_CHANGES`] others have changed meanwhile does it miss some, and is told so.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::error::Result;
use aethon_core::event::{Event, EventBus};
use aethon_core::ids::SessionId;
use aethon_core::session::SessionQuery;
use tokio::sync::Notify;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::frames::{self, Frame, SessionFrame};
use crate::deps::Chat;
use crate::json::Listed;

/// How long changes are gathered, so that a busy moment is one frame for each conversation.
const GATHERED: Duration = Duration::from_millis(40);
/// How often running conversations are checked for their end. The end of a turn is announced a little before its
/// conversation is free.
const CHECK: Duration = Duration::from_millis(150);
/// How many checks lie between two looks at what other programs wrote.
const CHECKS_PER_LOOK: u32 = 6;
/// How many of the newest conversations such a look compares.
const LOOKED_AT: usize = 40;
/// How many changed conversations are kept for slow readers.
const MAX_CHANGES: usize = 1024;
/// How many frames a reader takes at a time.
const TOGETHER: usize = 128;

/// The conversations that changed. Cheap to clone; clones share them.
#[derive(Clone, Default)]
pub(crate) struct Watchlist(Arc<Mutex<Changes>>);

/// The newest frame of each conversation, in the order of the changes.
#[derive(Default)]
struct Changes {
    frames: BTreeMap<u64, (SessionId, Utf8Bytes)>,
    places: HashMap<SessionId, u64>,
    newest: u64,
    /// The newest change that was dropped to make room.
    dropped: u64,
    watchers: Vec<Arc<Notify>>,
    /// Whether the task runs. It notices a little later that nobody watches any more.
    is_followed: bool,
}

/// The place of one reader. It stops watching when this is dropped.
pub(super) struct Watch {
    list: Watchlist,
    wake: Arc<Notify>,
    reached: u64,
}

impl Watchlist {
    /// Watches from now on; `wake` is called when there is something to take.
    pub(super) fn watch(&self, chat: &Chat, bus: &EventBus, wake: &Arc<Notify>) -> Watch {
        let mut changes = self.lock();
        changes.watchers.push(Arc::clone(wake));
        if !std::mem::replace(&mut changes.is_followed, true) {
            let follower = Follower {
                list: self.clone(),
                chat: chat.clone(),
                asked: HashMap::new(),
                shown: HashMap::new(),
                changed: BTreeSet::new(),
                due: None,
            };
            tokio::spawn(follower.run(bus.subscribe()));
        }
        Watch { list: self.clone(), wake: Arc::clone(wake), reached: changes.newest }
    }

    /// Puts the newest frame of a conversation behind all others, and wakes the readers.
    fn push(&self, session: &SessionId, frame: Utf8Bytes) {
        let mut changes = self.lock();
        changes.newest += 1;
        let place = changes.newest;
        if let Some(before) = changes.places.insert(session.clone(), place) {
            changes.frames.remove(&before);
        }
        changes.frames.insert(place, (session.clone(), frame));
        while changes.frames.len() > MAX_CHANGES
            && let Some((dropped, (session, _))) = changes.frames.pop_first()
        {
            changes.places.remove(&session);
            changes.dropped = dropped;
        }
        for watcher in &changes.watchers {
            watcher.notify_one();
        }
    }

    /// Returns whether nobody watches any more, and forgets the changes then.
    fn is_left(&self) -> bool {
        let mut changes = self.lock();
        let is_left = changes.watchers.is_empty();
        if is_left {
            changes.is_followed = false;
            changes.frames.clear();
            changes.places.clear();
            changes.dropped = changes.newest;
        }
        is_left
    }

    fn lock(&self) -> MutexGuard<'_, Changes> {
        // The changes are whole after every statement that matters to a reader.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    /// Returns the next frames, none if there is nothing new, or `None` if some were dropped.
    pub(super) fn next(&mut self) -> Option<Vec<Utf8Bytes>> {
        let changes = self.list.lock();
        if changes.dropped > self.reached {
            return None;
        }
        let new = changes.frames.range(self.reached + 1..).take(TOGETHER);
        let (places, frames): (Vec<u64>, Vec<_>) =
            new.map(|(place, (_, frame))| (*place, frame.clone())).unzip();
        self.reached = places.last().copied().unwrap_or(self.reached);
        Some(frames)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut changes = self.list.lock();
        if let Some(own) = changes.watchers.iter().position(|watcher| Arc::ptr_eq(watcher, &self.wake)) {
            changes.watchers.swap_remove(own);
        }
    }
}

/// The task that finds out what changed.
struct Follower {
    list: Watchlist,
    chat: Chat,
    /// The conversations of open requests for approval: the end of one names only its id.
    asked: HashMap<String, SessionId>,
    /// The last known state of conversations that are new, busy or waiting.
    shown: HashMap<SessionId, Shown>,
    /// The conversations to look at.
    changed: BTreeSet<SessionId>,
    /// When they are looked at.
    due: Option<Instant>,
}

/// A state of a conversation, as far as lists show it.
struct Shown {
    frame: Utf8Bytes,
    is_busy: bool,
    /// Whether watchers were told of it.
    was_told: bool,
}

impl Follower {
    async fn run(mut self, mut events: Receiver<Event>) {
        let pending = self.chat.approvals.pending();
        self.asked.extend(pending.into_iter().map(|request| (request.id, request.session_id)));
        self.look_or_wait(false).await;
        let mut check = interval(CHECK);
        check.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut checks = 0_u32;
        loop {
            let due = self.due;
            tokio::select! {
                event = events.recv() => match event {
                    Ok(event) => self.note(&event),
                    // What was missed, the next look finds.
                    Err(RecvError::Lagged(_)) => checks = CHECKS_PER_LOOK,
                    // The program is shutting down.
                    Err(RecvError::Closed) => return,
                },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => self.tell_changed().await,
                _ = check.tick() => {
                    if self.list.is_left() {
                        return;
                    }
                    checks += 1;
                    self.note_ended();
                    if checks >= CHECKS_PER_LOOK {
                        checks = 0;
                        self.look_or_wait(true).await;
                    }
                }
            }
        }
    }

    /// Notes which conversation an event changes.
    fn note(&mut self, event: &Event) {
        let session = match event {
            Event::Elsewhere(event) => return self.note(event),
            Event::Session { session, .. }
            | Event::TurnStarted { session, .. }
            | Event::TurnEnded { session, .. } => Some(session.clone()),
            Event::ApprovalOpened(request) => {
                self.asked.insert(request.id.clone(), request.session_id.clone());
                Some(request.session_id.clone())
            }
            Event::ApprovalDone { id, .. } => self.asked.remove(id),
            _ => None,
        };
        self.look_at(session);
    }

    /// Notes the conversations that were busy and are no more.
    fn note_ended(&mut self) {
        let is_over = |(id, shown): &(&SessionId, &Shown)| shown.is_busy && !self.chat.assistant.is_busy(id);
        let ended: Vec<_> = self.shown.iter().filter(is_over).map(|(id, _)| id.clone()).collect();
        self.look_at(ended);
    }

    fn look_at(&mut self, sessions: impl IntoIterator<Item = SessionId>) {
        self.changed.extend(sessions);
        if !self.changed.is_empty() {
            self.due.get_or_insert_with(|| Instant::now() + GATHERED);
        }
    }

    /// Tells of the conversations that changed. What cannot be read now is tried again.
    async fn tell_changed(&mut self) {
        self.due = None;
        for session in std::mem::take(&mut self.changed) {
            match self.chat.transcripts.session(&session).await {
                // It is in no list.
                Ok(Some(_)) if session.is_temporary() => {}
                Ok(Some(summary)) => self.tell(&Listed::new(&self.chat, summary), true),
                Ok(None) => self.tell_removed(&session),
                Err(error) => {
                    tracing::debug!(%session, %error, "a changed conversation cannot be read");
                    self.changed.insert(session);
                }
            }
        }
        if !self.changed.is_empty() {
            self.due = Some(Instant::now() + CHECK);
        }
    }

    /// Looks for what other programs changed; a storage that does not answer is asked again later.
    async fn look_or_wait(&mut self, tells: bool) {
        if let Err(error) = self.look(tells).await {
            tracing::debug!(%error, "the list of conversations cannot be read");
        }
    }

    /// Compares the newest conversations with what is known of them.
    async fn look(&mut self, tells: bool) -> Result<()> {
        let page = self.chat.transcripts.sessions(SessionQuery::newest(LOOKED_AT)).await?;
        let mut listed = BTreeSet::new();
        for summary in page.sessions {
            listed.insert(summary.session_id.clone());
            let session = Listed::new(&self.chat, summary);
            match tells {
                true => self.tell(&session, false),
                false => drop(self.shown.insert(session.summary.session_id.clone(), Shown::of(&session))),
            }
        }
        // Others were pushed down the list, or are gone.
        let rest: Vec<_> = self.shown.keys().filter(|id| !listed.contains(*id)).cloned().collect();
        for session in rest {
            match self.chat.transcripts.session(&session).await? {
                None => self.tell_removed(&session),
                Some(_) if self.shown.get(&session).is_some_and(|shown| shown.is_busy) => {}
                Some(_) => drop(self.shown.remove(&session)),
            }
        }
        Ok(())
    }

    /// Tells the state of a conversation, unless watchers know it. If it is certain that it changed, what was only read
    /// when the task began does not count as known.
    fn tell(&mut self, session: &Listed, is_certain: bool) {
        let (id, shown) = (&session.summary.session_id, Shown::of(session));
        let is_known = |before: &Shown| before.frame == shown.frame && (before.was_told || !is_certain);
        if !self.shown.get(id).is_some_and(is_known) {
            self.list.push(id, shown.frame.clone());
            self.shown.insert(id.clone(), Shown { was_told: true, ..shown });
        }
    }

    fn tell_removed(&mut self, session: &SessionId) {
        self.shown.remove(session);
        let frame = Frame::SessionRemoved { session_id: session, removed: true };
        self.list.push(session, frames::json(&frame));
    }
}

impl Shown {
    fn of(session: &Listed) -> Self {
        let summary = &session.summary;
        let frame = Frame::Session(SessionFrame {
            session_id: &summary.session_id,
            title: &summary.title,
            busy: session.busy,
            waiting: session.waiting,
            unread: summary.unread,
            updated_at: summary.updated_at,
            model: summary.settings.turns.model.as_deref(),
            effort: summary.settings.turns.effort,
            pinned: summary.settings.pinned,
            archived: summary.settings.archived,
            folder: summary.settings.folder.as_deref(),
        });
        Self { frame: frames::json(&frame), is_busy: session.busy, was_told: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(name: &str) -> SessionId {
        SessionId::of("webchat", name).unwrap()
    }

    fn reader(list: &Watchlist) -> Watch {
        let wake = Arc::new(Notify::new());
        let mut changes = list.lock();
        changes.watchers.push(Arc::clone(&wake));
        Watch { list: list.clone(), wake, reached: changes.newest }
    }

    #[test]
    fn a_reader_takes_the_newest_state_of_each_conversation_once() {
        let list = Watchlist::default();
        list.push(&session("a"), "before".into());
        let mut reader = reader(&list);
        assert_eq!(reader.next().unwrap(), Vec::<Utf8Bytes>::new(), "what was before is in the list already");
        for (name, frame) in [("a", "a1"), ("b", "b1"), ("a", "a2")] {
            list.push(&session(name), frame.into());
        }
        assert_eq!(reader.next().unwrap(), ["b1", "a2"]);
        assert!(reader.next().unwrap().is_empty());
        list.push(&session("b"), "b2".into());
        assert_eq!(reader.next().unwrap(), ["b2"]);
    }

    #[test]
    fn lagging_reader_is_notified_and_memory_is_bounded() {
        let list = Watchlist::default();
        let (mut slow, mut fast) = (reader(&list), reader(&list));
        for number in 0..MAX_CHANGES + 10 {
            list.push(&session(&number.to_string()), "x".into());
            assert_eq!(fast.next().unwrap().len(), 1);
        }
        assert!(slow.next().is_none());
        let changes = list.lock();
        assert_eq!((changes.frames.len(), changes.places.len()), (MAX_CHANGES, MAX_CHANGES));
        drop(changes);
        drop((slow, fast));
        assert!(list.is_left() && list.lock().frames.is_empty());
    }
}
