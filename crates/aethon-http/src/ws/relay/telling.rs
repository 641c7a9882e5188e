//! Tells other instances the frames of the turns that run here.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::ids::SessionId;
use aethon_core::peers::{PeerId, Peers};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::super::hub::Hub;
use super::super::room::Room;
use super::notes::{FRAMES, Follow, Frames, Why};

/// How long a request holds. It is repeated in time.
const HELD: Duration = Duration::from_secs(60);
/// How many requests of all instances are kept. Those beyond are heard again when they are repeated.
const MAX_FOLLOWED: usize = 4096;
/// How many bytes of frames are told together: live, and to one that has missed some.
const TOGETHER: usize = 256 << 10;
const MISSED: usize = 8 << 20;

/// The start of the answer to a request.
struct Answered {
    why: Why,
    after: u64,
    is_exact: bool,
}

/// The sessions that others follow.
pub(super) struct Telling {
    hub: Arc<Hub>,
    peers: Arc<dyn Peers>,
    /// Woken by new frames.
    pub(super) wake: Arc<Notify>,
    followers: HashMap<(SessionId, PeerId), Follower>,
}

/// An instance that follows a session.
struct Follower {
    /// The session's room, once there is one.
    room: Option<Told>,
    until: Instant,
}

/// A room that is read for another instance.
struct Told {
    room: Arc<Room>,
    wake: Arc<Notify>,
    reached: u64,
}

impl Told {
    fn enter(room: Arc<Room>, wake: &Arc<Notify>, reached: u64) -> Self {
        room.enter_relay(wake);
        Self { room, wake: wake.clone(), reached }
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.room.leave_relay(&self.wake);
    }
}

impl Telling {
    pub(super) fn new(hub: Arc<Hub>, peers: Arc<dyn Peers>) -> Self {
        Self { hub, peers, wake: Arc::default(), followers: HashMap::new() }
    }

    /// Takes a request in.
    pub(super) fn asked(&mut self, from: PeerId, follow: &Follow) {
        let key = (follow.session.clone(), from);
        if self.followers.len() >= MAX_FOLLOWED && !self.followers.contains_key(&key) {
            return;
        }
        let until = Instant::now() + HELD;
        let follower = self.followers.entry(key).or_insert(Follower { room: None, until });
        follower.until = until;
        let is_new = follower.room.is_none();
        if is_new && let Some(room) = self.hub.existing(&follow.session) {
            let reached = room.stored_seq();
            follower.room = Some(Told::enter(room, &self.wake, reached));
        }
        let Some(told) = &mut follower.room else {
            if follow.why == Why::Missed {
                self.tell_nothing(from, follow);
            }
            return;
        };
        let is_exact = told.room.knows(follow.after);
        match follow.why {
            Why::Resumed if is_exact => told.reached = follow.after,
            // Another instance may know it.
            Why::Resumed => return,
            Why::Missed if is_exact => told.reached = follow.after,
            // What is not told yet does not go missing, either.
            Why::Missed => told.reached = told.reached.min(told.room.stored_seq()),
            Why::Read | Why::News if !is_new => return,
            Why::Read | Why::News => {}
        }
        let answered = Answered { why: follow.why, after: follow.after, is_exact };
        tell_next(&*self.peers, from, told, Some(answered));
    }

    /// Answers one that waits for what it has missed, and of which nothing is left.
    fn tell_nothing(&self, to: PeerId, follow: &Follow) {
        let (session, why, after) = (follow.session.clone(), follow.why, follow.after);
        tell(&*self.peers, to, &Frames { session, why, after, is_exact: false, frames: Vec::new() });
    }

    /// Notes that a session has a room now.
    pub(super) fn has_room(&mut self, room: &Arc<Room>) {
        let waiting = self.followers.iter_mut().filter(|((session, _), _)| session == room.session());
        for (_, follower) in waiting.filter(|(_, follower)| follower.room.is_none()) {
            follower.room = Some(Told::enter(room.clone(), &self.wake, room.floor()));
        }
        self.tell_new();
    }

    /// Tells what is new.
    pub(super) fn tell_new(&mut self) {
        for ((_, peer), follower) in &mut self.followers {
            let Some(told) = &mut follower.room else { continue };
            while tell_next(&*self.peers, *peer, told, None) {}
        }
    }

    /// Forgets requests that were not repeated.
    pub(super) fn tidy(&mut self, is_alive: impl Fn(PeerId) -> bool) {
        let now = Instant::now();
        self.followers.retain(|(_, peer), follower| follower.until > now && is_alive(*peer));
    }
}

/// Tells the next frames, and in any case what was asked for. Returns whether there may be more.
fn tell_next(peers: &dyn Peers, to: PeerId, told: &mut Told, answered: Option<Answered>) -> bool {
    let (before, bytes) = (told.reached, if answered.is_some() { MISSED } else { TOGETHER });
    let mut start = answered.unwrap_or(Answered { why: Why::News, after: before, is_exact: true });
    let (frames, reached) = told.room.own_after(before, bytes).unwrap_or_else(|| {
        // The log was too short for how slowly it is told.
        start = Answered { why: Why::Missed, after: start.after, is_exact: false };
        let stored = told.room.stored_seq().max(told.room.floor());
        told.room.own_after(stored, MISSED).unwrap_or((Vec::new(), stored))
    });
    told.reached = reached;
    if !frames.is_empty() || start.why != Why::News {
        let (session, Answered { why, after, is_exact }) = (told.room.session().clone(), start);
        tell(peers, to, &Frames { session, why, after, is_exact, frames });
    }
    reached != before
}

fn tell(peers: &dyn Peers, to: PeerId, frames: &Frames) {
    if let Ok(body) = serde_json::to_string(frames) {
        peers.tell(Some(to), FRAMES, body);
    }
}
