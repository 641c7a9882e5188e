//! Hears the frames of the turns that run elsewhere.

use std::collections::HashMap;
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

/// The sessions that are read here.
pub(super) struct Hearing {
    hub: Arc<Hub>,
    peers: Arc<dyn Peers>,
    followed: HashMap<SessionId, Followed>,
}

/// A session that is read here.
struct Followed {
    room: Arc<Room>,
    asked: Instant,
    /// The last frame that each instance has told, with its number there.
    last: HashMap<PeerId, u64>,
    /// Clients that wait for the frames after one that they have seen elsewhere.
    resuming: Vec<(u64, oneshot::Sender<()>)>,
}

impl Hearing {
    pub(super) fn new(hub: Arc<Hub>, peers: Arc<dyn Peers>) -> Self {
        Self { hub, peers, followed: HashMap::new() }
    }

    /// Follows the session of a room that somebody reads.
    pub(super) fn read(&mut self, room: &Arc<Room>) {
        if !self.followed.contains_key(room.session()) {
            let (last, resuming) = (HashMap::new(), Vec::new());
            let followed = Followed { room: room.clone(), asked: Instant::now(), last, resuming };
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
        let Followed { room, last, resuming, .. } = followed;
        let is_known = last.contains_key(&from);
        match frames.why {
            Why::Resumed if !room.knows(frames.after) && room.rewind(frames.after) => {
                last.clear();
                last.insert(from, frames.after);
            }
            Why::Missed if !frames.is_exact && is_known => room.lose(),
            _ => {}
        }
        for frame in &frames.frames {
            if last.get(&from).is_none_or(|last| frame.seq > *last) {
                last.insert(from, frame.seq);
                room.push_relayed(from, frame);
            }
        }
        if frames.why == Why::Resumed {
            resuming.retain(|(after, waiting)| *after != frames.after && !waiting.is_closed());
        }
    }

    /// Asks again for what was lost, of one instance or of all.
    pub(super) fn missed(&self, from: Option<PeerId>) {
        for (session, followed) in &self.followed {
            for (peer, last) in &followed.last {
                if from.is_none_or(|from| from == *peer) {
                    self.ask(Some(*peer), session, Why::Missed, *last);
                }
            }
            // One that has told nothing yet may have begun.
            self.ask(from, session, Why::Read, 0);
        }
    }

    /// Asks an instance that has just started.
    pub(super) fn began(&self, peer: PeerId) {
        for session in self.followed.keys() {
            self.ask(Some(peer), session, Why::Read, 0);
        }
    }

    /// Forgets an instance that is gone.
    pub(super) fn gone(&mut self, peer: PeerId) {
        self.hub.forget_peer(peer);
        for followed in self.followed.values_mut() {
            followed.last.remove(&peer);
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
