//! The live conversations: one [`Room`] for each session in use.
//!
//! A room is made when a reader enters it or a turn of it begins. When it was idle for a while, its log is removed; when
//! there are very many rooms, the oldest idle ones are removed whole. Numbers of frames begin with the time, so that they
//! keep growing when the program is started again.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::assistant::Posting;
use aethon_core::channel::made_of;
use aethon_core::clock::Clock;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::TurnEnd;
use aethon_core::peers::PeerId;
use aethon_core::surface::{SessionWatchers, Surface};
use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout};

use super::frames::Body;
use super::in_sight::{InSight, PageInSight};
use super::log_bound::{Bounded, LogBound};
use super::numbers::number_at;
use super::room::Room;
use super::turn_surface::TurnSurface;
use crate::markdown;

/// How long the log of an idle room is kept.
const IDLE: Duration = Duration::from_secs(600);
/// How often rooms are looked through.
pub(crate) const SWEEP: Duration = Duration::from_secs(60);
/// How many news of rooms wait for the relay.
const NEWS: usize = 1024;
/// How long frames of another instance are waited for.
const FETCH: Duration = Duration::from_secs(1);
/// How many rooms there are before idle ones go whole.
const MAX_ROOMS: usize = 4096;
/// How many rooms beyond that are tolerated before a sweep, so that not every new room makes it inspect all others.
const SLACK: usize = 512;

/// The live conversations.
pub struct Hub {
    clock: Arc<dyn Clock>,
    rooms: Mutex<Rooms>,
    /// No room that is made from now on numbers its frames below this.
    numbered: AtomicU64,
    /// The shared limit on the logs of all rooms.
    bound: Arc<LogBound>,
    /// The pages that are in sight.
    in_sight: InSight,
    /// Where other instances serve the same sessions: who relays their frames.
    relay: Option<RelayLink>,
}

/// What the relay learns of rooms.
pub(super) enum RoomNews {
    /// A session has a room.
    Made(Arc<Room>),
    /// Somebody reads a session.
    Read(Arc<Room>),
    /// A client has seen the session at another instance, up to this frame.
    Resumed {
        room: Arc<Room>,
        after: u64,
        /// Dropped when its frames are here.
        done: oneshot::Sender<()>,
    },
}

/// The way to the relay.
struct RelayLink {
    news: mpsc::Sender<RoomNews>,
    /// Until the relay runs.
    unread: Mutex<Option<mpsc::Receiver<RoomNews>>>,
}

struct Rooms {
    by_session: HashMap<SessionId, Arc<Room>>,
    swept: Instant,
    /// From this many on, they are looked through without waiting for the time to come.
    sweep_threshold: usize,
}

impl Hub {
    /// Creates a hub without rooms.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let rooms =
            Rooms { by_session: HashMap::new(), swept: Instant::now(), sweep_threshold: MAX_ROOMS + SLACK };
        Self {
            clock,
            rooms: Mutex::new(rooms),
            numbered: AtomicU64::new(0),
            bound: Arc::default(),
            in_sight: InSight::default(),
            relay: None,
        }
    }

    /// Has sessions shared with other instances, whose frames a relay brings.
    #[must_use]
    pub fn shared(self) -> Self {
        let (news, unread) = mpsc::channel(NEWS);
        Self { relay: Some(RelayLink { news, unread: Mutex::new(Some(unread)) }), ..self }
    }

    /// Returns what the relay reads, once.
    pub(super) fn take_news(&self) -> Option<mpsc::Receiver<RoomNews>> {
        let relay = self.relay.as_ref()?;
        relay.unread.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Tells the relay. What it cannot take now, it finds when it looks through the rooms.
    fn tell_relay(&self, news: impl FnOnce() -> RoomNews) {
        if let Some(relay) = &self.relay {
            let _ = relay.news.try_send(news());
        }
    }

    /// Notes that somebody reads a room.
    pub(super) fn is_read(&self, room: &Arc<Room>) {
        if room.session().is_temporary() {
            return;
        }
        self.tell_relay(|| RoomNews::Read(room.clone()));
    }

    /// Gets the frames after one that a client has seen at another instance, if that is possible.
    pub(super) async fn fetch_after(&self, room: &Arc<Room>, after: u64) {
        if self.relay.is_none() || room.session().is_temporary() {
            return;
        }
        let (done, fetched) = oneshot::channel();
        self.tell_relay(|| RoomNews::Resumed { room: room.clone(), after, done });
        let _ = timeout(FETCH, fetched).await;
    }

    /// Returns the room of a session, if it has one.
    pub(super) fn existing(&self, session: &SessionId) -> Option<Arc<Room>> {
        self.lock().by_session.get(session).cloned()
    }

    /// Returns whether somebody reads this session here.
    pub fn is_watched(&self, session: &SessionId) -> bool {
        self.existing(session).is_some_and(|room| room.is_watched_here())
    }

    /// Forgets the frames of a session that is gone.
    pub fn forget(&self, session: &SessionId) {
        if let Some(room) = self.existing(session) {
            room.forget();
        }
    }

    /// Returns the rooms that somebody reads here, except of temporary sessions, which live at one instance.
    pub(super) fn read_here(&self) -> Vec<Arc<Room>> {
        let is_shared = |room: &&Arc<Room>| room.is_watched_here() && !room.session().is_temporary();
        self.lock().by_session.values().filter(is_shared).cloned().collect()
    }

    /// Forgets the turns of an instance that is gone.
    pub(super) fn forget_peer(&self, peer: PeerId) {
        let rooms: Vec<_> = self.lock().by_session.values().cloned().collect();
        rooms.iter().for_each(|room| room.forget_peer(peer));
    }

    /// Starts the numbers of frames no earlier than this time, regardless of the clock.
    #[must_use]
    pub fn numbering_after(self, time: Option<Timestamp>) -> Self {
        self.numbered.fetch_max(time.map_or(0, number_at), Ordering::Relaxed);
        self
    }

    /// Returns whether a page of the owner is in sight, on any device.
    pub fn is_in_sight(&self) -> bool {
        self.in_sight.is_any()
    }

    /// Returns how many pages of the owner are in sight, and how that changes.
    pub fn pages_in_sight(&self) -> watch::Receiver<usize> {
        self.in_sight.count()
    }

    /// Returns the state of a page that a socket serves.
    pub(super) fn page(&self) -> PageInSight {
        self.in_sight.page()
    }

    /// Returns a surface for a turn of this session that no socket has asked for (one taken up again after a crash,
    /// say), so that those who watch the session see it.
    pub fn surface(&self, session: &SessionId) -> Arc<dyn Surface> {
        TurnSurface::open(&self.room(session))
    }

    /// Returns the last frame of a session's sequence that is reflected in its stored messages; 0 when it is not in use.
    pub fn stored_seq(&self, session: &SessionId) -> u64 {
        let room = self.lock().by_session.get(session).cloned();
        room.map_or(0, |room| room.stored_seq())
    }

    /// Shows a message that no turn made: a `done` of a turn of its own.
    pub(super) fn announce(&self, session: &SessionId, posting: &Posting) {
        let (room, turn) = (self.room(session), TurnId::fresh());
        if let Some(outside) = &posting.outside {
            room.push(&turn, &Body::Notice { code: "from_outside", message: &made_of(outside) });
        }
        let (text, html) = (&posting.text, markdown::render(&posting.text));
        room.push(&turn, &Body::Done { text, html: &html, stop_reason: TurnEnd::End, model: "" });
    }

    /// Tells everybody who has a session open that the branch of this turn is the live one now.
    pub(crate) fn switched(&self, session: &SessionId, turn: &TurnId) {
        let room = match self.relay {
            // It may be open at another instance only.
            Some(_) => Some(self.room(session)),
            None => self.existing(session),
        };
        if let Some(room) = room {
            room.push(turn, &Body::Switched {});
        }
    }

    /// Returns the room of a session, which is made if necessary.
    pub(super) fn room(&self, session: &SessionId) -> Arc<Room> {
        let mut rooms = self.lock();
        if let Some(room) = rooms.by_session.get(session) {
            return Arc::clone(room);
        }
        self.sweep_if_due(&mut rooms);
        let base = self.base();
        let mut room = Room::new(session.clone(), base, Arc::clone(&self.bound));
        if self.relay.is_some() {
            room = room.shared_by(self.clock.clone());
        }
        let room = Arc::new(room);
        self.tell_relay(|| RoomNews::Made(room.clone()));
        self.bound.enter(Arc::downgrade(&room) as _);
        rooms.by_session.insert(session.clone(), Arc::clone(&room));
        room
    }

    /// Returns the bytes that the logs of all rooms take.
    pub(crate) fn log_bytes(&self) -> usize {
        self.bound.bytes()
    }

    /// Removes idle rooms and logs, if a sweep is due. The server calls this, so that they are removed even if no reader
    /// comes.
    pub(crate) fn sweep(&self) {
        self.sweep_if_due(&mut self.lock());
    }

    fn base(&self) -> u64 {
        let now = number_at(self.clock.now());
        // Also when the clock was set back since another room was made: its sockets may come back to a later room.
        now.max(self.numbered.fetch_max(now, Ordering::Relaxed))
    }

    fn sweep_if_due(&self, rooms: &mut Rooms) {
        if rooms.swept.elapsed() >= SWEEP || rooms.by_session.len() >= rooms.sweep_threshold {
            self.sweep_rooms(rooms);
            rooms.sweep_threshold = rooms.by_session.len().max(MAX_ROOMS) + SLACK;
        }
    }

    fn sweep_rooms(&self, rooms: &mut Rooms) {
        rooms.swept = Instant::now();
        let mut idle: Vec<(Instant, SessionId)> = Vec::new();
        for (session, room) in &rooms.by_session {
            let stats = room.stats();
            // A holder of the room is about to use it. No new holder can appear while the map is locked.
            let is_held = Arc::strong_count(room) > 1;
            if !stats.is_in_use && !is_held {
                idle.push((stats.touched, session.clone()));
            }
        }
        idle.sort_by_key(|(touched, _)| *touched);
        let mut surplus = rooms.by_session.len().saturating_sub(MAX_ROOMS);
        for (touched, session) in idle {
            if surplus > 0 {
                surplus -= 1;
                if let Some(room) = rooms.by_session.remove(&session) {
                    self.numbered.fetch_max(room.stats().newest, Ordering::Relaxed);
                }
            } else if touched.elapsed() >= IDLE
                && let Some(room) = rooms.by_session.get(&session)
            {
                room.forget();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Rooms> {
        // The map is whole after every statement.
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionWatchers for Hub {
    fn has_watchers(&self) -> bool {
        self.lock().by_session.values().any(|room| room.is_watched_here())
    }

    fn watcher_of(&self, session: &SessionId, turn: &TurnId) -> Option<Arc<dyn Surface>> {
        let room = self.lock().by_session.get(session).cloned()?;
        room.misses_end(turn).then(|| TurnSurface::open(&room) as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aethon_core::testkit::ManualClock;
    use jiff::SignedDuration;

    fn session(name: &str) -> SessionId {
        SessionId::of("webchat", name).unwrap()
    }

    fn hub() -> Arc<Hub> {
        Arc::new(Hub::new(Arc::new(ManualClock::at(Timestamp::from_millisecond(1_700_000_000_000).unwrap()))))
    }

    #[test]
    fn numbers_begin_with_the_time_and_fit_a_double() {
        let hub = hub();
        assert_eq!(hub.stored_seq(&session("a")), 0);
        hub.announce(&session("a"), &Posting::new("hi"));
        assert_eq!(hub.stored_seq(&session("a")), 1_700_000_000_000_001);
        assert!(hub.stored_seq(&session("a")) < 1 << 53);
    }

    #[test]
    fn numbers_do_not_fall_when_the_clock_is_set_back() {
        let at = |millis| Timestamp::from_millisecond(millis).unwrap();
        let clock = Arc::new(ManualClock::at(at(1_700_000_000_000)));
        let hub = Hub::new(clock.clone());
        hub.announce(&session("a"), &Posting::new("hi"));
        clock.advance(SignedDuration::from_hours(-24));
        hub.announce(&session("b"), &Posting::new("hi"));
        hub.announce(&session("a"), &Posting::new("again"));
        assert!(hub.stored_seq(&session("a")) > 1_700_000_000_000_001);
        assert!(hub.stored_seq(&session("b")) > 1_700_000_000_000_000);
        // And not when the program was started again in between.
        let restarted = Hub::new(clock).numbering_after(Some(at(1_700_000_060_000)));
        restarted.announce(&session("b"), &Posting::new("hi"));
        assert_eq!(restarted.stored_seq(&session("b")), 1_700_000_060_000_001);
    }

    #[tokio::test(start_paused = true)]
    async fn logs_of_idle_conversations_are_removed_by_the_sweep() {
        let app = crate::service::tests::app();
        let hub = Arc::clone(&app.deps.chat.hub);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (stop, shutdown) = aethon_core::shutdown::ShutdownTrigger::pair();
        let served = tokio::spawn(crate::Server::over(app, listener).unwrap().serve(shutdown));
        hub.announce(&session("a"), &Posting::new("hi"));
        let before = hub.stored_seq(&session("a"));
        tokio::time::sleep(IDLE / 2).await;
        assert!(hub.bound.bytes() > 0, "somebody may come back");
        tokio::time::sleep(IDLE / 2 + SWEEP * 2).await;
        assert_eq!(hub.bound.bytes(), 0);
        assert_eq!(hub.stored_seq(&session("a")), before, "numbering goes on");
        stop.trigger();
        served.await.unwrap();
    }

    #[test]
    fn rooms_are_bounded_and_numbers_never_go_back() {
        let hub = hub();
        for number in 0..MAX_ROOMS + SLACK + 100 {
            hub.announce(&session(&number.to_string()), &Posting::new("hi"));
            hub.announce(&session(&number.to_string()), &Posting::new("again"));
        }
        assert!(hub.lock().by_session.len() < MAX_ROOMS + SLACK);
        hub.sweep_rooms(&mut hub.lock());
        assert!(hub.lock().by_session.len() <= MAX_ROOMS);
        let gone = session("0");
        assert_eq!(hub.stored_seq(&gone), 0);
        hub.announce(&gone, &Posting::new("back"));
        assert!(hub.stored_seq(&gone) > 1_700_000_000_000_002);
    }
}
