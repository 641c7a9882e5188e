//! Hears the frames of the turns that run elsewhere.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use aethon_core::ids::SessionId;
use aethon_core::peers::{PeerId, Peers};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::super::hub::Hub;
use super::super::room::Room;
use super::notes::{FOLLOW, Follow, Frames, Why};

/// How often a request is repeated.
const REPEATED: Duration = Duration::from_secs(20);
/// How long missed frames are waited for until they are asked for again, at first and at most: the request may be lost, or its answer,
/// while the connection of the other instance is made anew as well.
const ASKED_AGAIN: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(2));
/// How long they are waited for while others come behind them.
const GIVEN_UP: Duration = Duration::from_secs(10);

/// The sessions that are read here.
pub(super) struct Hearing {
    hub: Arc<Hub>,
    peers: Arc<dyn Peers>,
    followed: HashMap<SessionId, Followed>,
    /// When missed frames are to be asked for again, at the earliest.
    due: Option<Instant>,
}

/// A session that is read here.
struct Followed {
    room: Arc<Room>,
    asked: Instant,
    heard: HashMap<PeerId, Standing>,
    /// Clients that wait for the frames after one that they have seen elsewhere.
    resuming: Vec<(u64, oneshot::Sender<()>)>,
}

/// Where this instance stands in what another one tells of a session.
#[derive(Default)]
struct Standing {
    /// The last frame that it has told, with its number there; 0 for none.
    last: u64,
    /// Set while something is missing behind that one.
    waiting: Option<Waiting>,
}

/// Waits for what was lost. What is told meanwhile is passed over: the answer begins behind the last known frame and has
/// that, too, so nothing comes out of order and nothing has to be kept.
struct Waiting {
    since: Instant,
    asked: Instant,
    has_passed_over: bool,
}

impl Waiting {
    /// Returns when the request is to be repeated.
    fn due(&self) -> Instant {
        self.asked + self.asked.duration_since(self.since).clamp(ASKED_AGAIN.0, ASKED_AGAIN.1)
    }
}

impl Standing {
    /// Begins to wait for what comes behind the last known frame.
    fn wait(&mut self, now: Instant) {
        let begun = Waiting { since: now, asked: now, has_passed_over: false };
        self.waiting.get_or_insert(begun).asked = now;
    }

    /// Returns whether frames follow what was told before. If so, nothing is missing any more.
    fn takes(&mut self, frames: &Frames) -> bool {
        let Some(waiting) = &mut self.waiting else { return true };
        let is_answer = frames.why == Why::Missed && frames.after == self.last;
        let is_whole = frames.is_exact && frames.after <= self.last;
        if is_answer || is_whole {
            self.waiting = None;
            return true;
        }
        waiting.has_passed_over |= !frames.frames.is_empty();
        false
    }
}

impl Hearing {
    pub(super) fn new(hub: Arc<Hub>, peers: Arc<dyn Peers>) -> Self {
        Self { hub, peers, followed: HashMap::new(), due: None }
    }

    /// Follows the session of a room that somebody reads.
    pub(super) fn read(&mut self, room: &Arc<Room>) {
        if !self.followed.contains_key(room.session()) {
            let (heard, resuming) = (HashMap::new(), Vec::new());
            let followed = Followed { room: room.clone(), asked: Instant::now(), heard, resuming };
            self.followed.insert(room.session().clone(), followed);
            self.ask(None, room.session(), Why::Read, 0);
        }
    }

    /// Asks for the frames after one that was seen at another instance.
    pub(super) fn resume(&mut self, room: &Arc<Room>, after: u64, done: oneshot::Sender<()>) {
        self.read(room);
        if let Some(followed) = self.followed.get_mut(room.session()) {
            followed.resuming.retain(|(_, waiting)| !waiting.is_closed());
            followed.resuming.push((after, done));
            self.ask(None, room.session(), Why::Resumed, after);
        }
    }

    /// Takes frames in.
    pub(super) fn told(&mut self, from: PeerId, frames: Frames) {
        let Some(followed) = self.followed.get_mut(&frames.session) else { return };
        let Followed { room, heard, resuming, .. } = followed;
        if frames.why == Why::Resumed && !room.knows(frames.after) && room.rewind(frames.after) {
            heard.clear();
            heard.insert(from, Standing { last: frames.after, waiting: None });
        }
        let standing = heard.entry(from).or_default();
        if standing.takes(&frames) {
            // The answer to a request that was repeated may say it of what has been told since.
            let is_behind = frames.after < standing.last;
            if frames.why == Why::Missed && !frames.is_exact && standing.last > 0 && !is_behind {
                room.lose();
                // They begin with the running turn, of which nothing is left here.
                standing.last = 0;
            }
            for frame in &frames.frames {
                if frame.seq > standing.last {
                    standing.last = frame.seq;
                    room.push_relayed(from, frame);
                }
            }
        }
        if frames.why == Why::Resumed {
            resuming.retain(|(after, waiting)| *after != frames.after && !waiting.is_closed());
        }
    }

    /// Asks again for what was lost, of one instance or of all that live.
    pub(super) fn missed(&mut self, from: Option<PeerId>, others: &BTreeSet<PeerId>) {
        let sessions: Vec<_> = self.followed.keys().cloned().collect();
        for session in sessions {
            match from {
                Some(peer) => self.miss(&session, peer),
                None => others.iter().for_each(|peer| self.miss(&session, *peer)),
            }
        }
    }

    /// Asks for what comes behind the last known frame, also where that is none: the first ones may be lost.
    fn miss(&mut self, session: &SessionId, peer: PeerId) {
        let Some(followed) = self.followed.get_mut(session) else { return };
        let now = Instant::now();
        let standing = followed.heard.entry(peer).or_default();
        standing.wait(now);
        let after = standing.last;
        let due = now + ASKED_AGAIN.0;
        self.due = Some(self.due.map_or(due, |earliest| earliest.min(due)));
        self.ask(Some(peer), session, Why::Missed, after);
    }

    /// Returns when [`Self::ask_again`] is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Asks again where no answer has come. Where frames come that may not be shown without it, the readers have a gap.
    pub(super) fn ask_again(&mut self) {
        let (now, mut unanswered) = (Instant::now(), Vec::new());
        self.due = None;
        for (session, followed) in &mut self.followed {
            for (peer, standing) in &mut followed.heard {
                let Some(waiting) = &standing.waiting else { continue };
                let is_over = now.duration_since(waiting.since) >= GIVEN_UP;
                if is_over && waiting.has_passed_over {
                    followed.room.lose();
                    *standing = Standing::default();
                } else if is_over && standing.last == 0 {
                    standing.waiting = None;
                } else if waiting.due() <= now {
                    unanswered.push((session.clone(), *peer));
                } else {
                    let due = waiting.due();
                    self.due = Some(self.due.map_or(due, |earliest| earliest.min(due)));
                }
            }
        }
        for (session, peer) in unanswered {
            self.miss(&session, peer);
        }
    }

    /// Asks an instance that has just started, or that lives again: then it is known what it has told.
    pub(super) fn began(&mut self, peer: PeerId) {
        let sessions: Vec<_> = self.followed.keys().cloned().collect();
        for session in sessions {
            let is_known =
                |followed: &Followed| followed.heard.get(&peer).is_some_and(|heard| heard.last > 0);
            if self.followed.get(&session).is_some_and(is_known) {
                self.miss(&session, peer);
            } else {
                self.ask(Some(peer), &session, Why::Read, 0);
            }
        }
    }

    /// Forgets the turns of an instance that is gone, and waits for nothing of it.
    pub(super) fn gone(&mut self, peer: PeerId) {
        self.hub.forget_peer(peer);
        for followed in self.followed.values_mut() {
            if let Some(standing) = followed.heard.get_mut(&peer) {
                standing.waiting = None;
            }
        }
    }

    /// Repeats requests in time, and gives up those of sessions that nobody reads any more.
    pub(super) fn tidy(&mut self) {
        self.followed.retain(|_, followed| followed.room.is_followed());
        for room in self.hub.read_here() {
            self.read(&room);
        }
        let (now, mut due) = (Instant::now(), Vec::new());
        for (session, followed) in &mut self.followed {
            if now.duration_since(followed.asked) >= REPEATED {
                followed.asked = now;
                due.push(session.clone());
            }
        }
        for session in due {
            self.ask(None, &session, Why::Read, 0);
        }
    }

    fn ask(&self, to: Option<PeerId>, session: &SessionId, why: Why, after: u64) {
        let follow = Follow { session: session.clone(), why, after };
        if let Ok(body) = serde_json::to_string(&follow) {
            self.peers.tell(to, FOLLOW, body);
        }
    }
}
