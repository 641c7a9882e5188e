//! One queue per session: at most one turn runs in it, the others wait in order.
//!
//! A turn claims its place before it is stored, so that nothing overtakes it and a duplicate delivery finds it; while
//! it is being stored behind others it is `arriving`. Its sender is acknowledged once the turn is stored and every turn
//! that came before it has been acknowledged, so the order of acknowledgements is the order of execution. A queue
//! exists only while it holds something, so the map grows with the number of active sessions, not of all sessions. One
//! mutex guards everything and is never held across an await: every method is a few steps in memory, and finer locks
//! would only make a session's order depend on luck.
//!
//! The number of turns, the bytes that they brought and the places in one session are shared out ([`Shares`]): strangers
//! never take the quarter that is kept for the owner.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use aethon_core::assistant::{ActiveTurn, PendingReply};
use aethon_core::error::{Error, Result};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::session::{Begin, Begun};
use aethon_core::share::{Share, Shares};

use super::job::{Claim, Job, Stage, TurnHandle};
use crate::control::Cause;
use crate::options::QueueLimits;

/// The queues of all sessions of one engine.
pub(crate) struct SessionQueues {
    all: Mutex<AllQueues>,
    queue_per_session: usize,
    limits: Limits,
}

/// Limits on all turns together.
struct Limits {
    turns: Shares,
    bytes: Shares,
}

impl Limits {
    /// Takes a turn's place and the room for its bytes.
    fn admit(&self, live: &mut TurnHandle) -> Result<()> {
        let Claim { trust, bytes, .. } = live.claim;
        let turn = self
            .turns
            .take(trust, 1)
            .ok_or_else(|| Error::full("too many turns run at the same time; try again in a moment"))?;
        let bytes = self.bytes.take(trust, bytes).ok_or_else(|| {
            Error::full("too many large messages are worked on at the same time; try again in a moment")
        })?;
        live.claim.held = Some([turn, bytes]);
        Ok(())
    }

    /// Admits a turn that was accepted by an earlier process and is therefore not refused.
    fn admit_anyway(&self, live: &mut TurnHandle) {
        let Claim { trust, bytes, .. } = live.claim;
        let held = || [self.turns.take_anyway(trust, 1), self.bytes.take_anyway(trust, bytes)];
        live.claim.held.get_or_insert_with(held);
    }
}

#[derive(Default)]
struct AllQueues {
    /// Sorted, so that operations on all queues happen in the same order on every run.
    queues: BTreeMap<SessionId, SessionQueue>,
    /// The number of turns in all queues, kept because counting them would take time proportional to that number.
    turns: usize,
    /// Whether the program is shutting down and accepts nothing more.
    ending: bool,
}

#[derive(Default)]
struct SessionQueue {
    running: Option<TurnHandle>,
    /// Whether the running turn is still being stored and its sender not yet acknowledged.
    is_first_arriving: bool,
    /// Turns that have claimed a place and are being stored, in order of arrival. Each moves to `waiting` once its
    /// message and those before it are safe.
    arriving: VecDeque<Arriving>,
    waiting: VecDeque<(TurnHandle, Job)>,
    /// How many callers are clearing the session, which accepts nothing meanwhile. A count, because two may do so at
    /// once.
    clearing: usize,
    /// Whether something other than the running turn changed the transcript while it ran. The next turn must then read
    /// the transcript, so it cannot begin in the transaction that ends this one.
    was_changed_externally: bool,
    /// Whether a search for turns that other programs left in the session is in progress. Nothing begins meanwhile.
    is_reserved: bool,
    /// Whether turns were deferred to the next start because the program is shutting down. Nothing behind them begins
    /// here.
    has_deferred_turns: bool,
}

/// A turn that is being stored.
struct Arriving {
    live: TurnHandle,
    /// The stored job and the acknowledgement of its sender, once it is stored.
    stored: Option<(Job, Acknowledge)>,
}

/// Tells the sender that its message is stored. Called with the queues locked, so it must do nothing else.
pub(crate) type Acknowledge = Box<dyn FnOnce() + Send>;

impl SessionQueue {
    fn len(&self) -> usize {
        usize::from(self.running.is_some() || self.is_reserved) + self.arriving.len() + self.waiting.len()
    }

    /// Refuses a further turn where too many wait already. The running turn does not wait, so the limit does not count it.
    fn check_room(&self, limit: usize, claim: &Claim) -> Result<()> {
        let is_strangers = |live: &&TurnHandle| !live.claim.trust.is_owner();
        let share = usize::try_from(Share::of_count(limit).of_strangers()).unwrap_or(limit);
        let is_full = self.len() > limit
            || (!claim.trust.is_owner() && self.all().filter(is_strangers).count() > share);
        if is_full {
            return Err(Error::full("too many messages wait in this session; wait for an answer first"));
        }
        Ok(())
    }

    fn all(&self) -> impl Iterator<Item = &TurnHandle> {
        let waiting = self.waiting.iter().map(|(live, _)| live);
        self.running.iter().chain(waiting).chain(self.arriving.iter().map(|arriving| &arriving.live))
    }

    /// Acknowledges and enqueues the stored turns at the front, up to the first one that is not stored yet. During
    /// shutdown they are deferred instead: they stay stored as waiting, and the next start finds them. Returns how many
    /// were deferred.
    fn admit_stored(&mut self, is_ending: bool) -> usize {
        let mut deferred = 0;
        while !self.is_first_arriving
            && let Some(Arriving { live, stored }) = self.arriving.pop_front()
        {
            let Some((job, answer)) = stored else {
                self.arriving.push_front(Arriving { live, stored });
                break;
            };
            if is_ending && (self.running.is_some() || self.has_deferred_turns || !self.waiting.is_empty()) {
                self.has_deferred_turns = true;
                deferred += 1;
            } else {
                self.waiting.push_back((live, job));
            }
            answer();
        }
        deferred
    }
}

/// A turn's place in its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// May begin at once.
    First,
    /// This many turns come before it.
    Behind(usize),
}

impl Position {
    /// Returns how many turns come before it.
    pub(crate) fn queued(self) -> usize {
        match self {
            Self::First => 0,
            Self::Behind(turns) => turns,
        }
    }
}

impl SessionQueues {
    /// Creates empty queues with these limits.
    pub(crate) fn new(most: QueueLimits) -> Self {
        let shares = |all| Shares::of(Share::of_count(all));
        let limits = Limits { turns: shares(most.turns), bytes: shares(most.bytes) };
        Self { all: Mutex::default(), queue_per_session: most.per_session, limits }
    }

    /// Claims a place for a turn that is about to be stored.
    pub(crate) fn claim(&self, session: &SessionId, mut live: TurnHandle) -> Result<Position> {
        let mut all = self.lock();
        if all.ending {
            return Err(Error::shutting_down());
        }
        self.limits.admit(&mut live)?;
        let queue = all.queues.entry(session.clone()).or_default();
        if queue.clearing > 0 {
            return Err(Error::full("the session is being cleared; try again in a moment"));
        }
        let before = queue.len();
        queue.check_room(self.queue_per_session, &live.claim)?;
        let position = if before == 0 {
            queue.running = Some(live);
            queue.is_first_arriving = true;
            Position::First
        } else {
            queue.arriving.push_back(Arriving { live, stored: None });
            Position::Behind(before)
        };
        all.turns += 1;
        Ok(position)
    }

    /// Gives back the room that a message needs no more, whose documents have become their text.
    pub(crate) fn shrink(&self, job: &Job) {
        let mut all = self.lock();
        let Some(queue) = all.queues.get_mut(job.session()) else { return };
        let arriving = queue.arriving.iter_mut().map(|arriving| &mut arriving.live);
        if let Some(live) = queue.running.iter_mut().chain(arriving).find(|live| live.turn == job.turn) {
            live.claim.shrink(&job.inbound);
        }
    }

    /// Puts a stored turn in its place and acknowledges its sender. Returns the turn that may run now, if there is one.
    pub(crate) fn stored(&self, job: Job, answer: Acknowledge) -> Option<Job> {
        let mut all = self.lock();
        let session = job.session().clone();
        let queue = all.queues.get_mut(&session)?;
        if queue.running.as_ref().is_some_and(|live| live.turn == job.turn) {
            queue.is_first_arriving = false;
            answer();
            all.admit_stored(&session);
            return Some(job);
        }
        let arriving = queue.arriving.iter_mut().find(|arriving| arriving.live.turn == job.turn)?;
        arriving.stored = Some((job, answer));
        all.admit_stored(&session);
        all.start(&session)
    }

    /// Enqueues a turn that an earlier process left behind, regardless of the limits. Returns the turn that may run
    /// now, if there is one. During shutdown the turn is deferred to the next start.
    pub(crate) fn enqueue_recovered(&self, mut live: TurnHandle, job: Job) -> Option<Job> {
        let mut all = self.lock();
        if all.ending {
            return None;
        }
        self.limits.admit_anyway(&mut live);
        all.turns += 1;
        let queue = all.queues.entry(job.session().clone()).or_default();
        let session = job.session().clone();
        queue.waiting.push_back((live, job));
        all.start(&session)
    }

    /// Releases a claimed place, because the turn turned out to be known or could not be stored. Returns the next turn
    /// to run, if none is running.
    pub(crate) fn release_claim(&self, session: &SessionId, turn: &TurnId) -> Option<Job> {
        let mut all = self.lock();
        let queue = all.queues.get_mut(session)?;
        if queue.running.as_ref().is_some_and(|live| live.turn == *turn) {
            queue.is_first_arriving = false;
            all.admit_stored(session);
            return all.advance(session);
        }
        let before = queue.arriving.len();
        queue.arriving.retain(|arriving| arriving.live.turn != *turn);
        let gone = before - queue.arriving.len();
        all.turns -= gone;
        all.admit_stored(session);
        let next = all.start(session);
        all.remove_if_empty(session);
        next
    }

    /// Keeps everything in a session waiting until [`Self::release`]. Returns `false` if something already runs or
    /// waits there.
    pub(crate) fn reserve(&self, session: &SessionId) -> bool {
        let mut all = self.lock();
        if all.ending || all.queues.get(session).is_some_and(|queue| queue.len() > 0 || queue.clearing > 0) {
            return false;
        }
        all.queues.entry(session.clone()).or_default().is_reserved = true;
        true
    }

    /// Ends [`Self::reserve`] and puts these turns, regardless of the limits, before those that wait. Returns the next
    /// turn to run.
    pub(crate) fn release(&self, session: &SessionId, mut turns: Vec<(TurnHandle, Job)>) -> Option<Job> {
        let mut all = self.lock();
        turns.iter_mut().for_each(|(live, _)| self.limits.admit_anyway(live));
        all.prepend(session, turns);
        all.queues.get_mut(session)?.is_reserved = false;
        all.admit_stored(session);
        let next = all.start(session);
        all.remove_if_empty(session);
        next
    }

    /// Puts the running turn back at the front of the waiting ones, behind `before`, because those turns or another
    /// program must go first. A non-empty `order` re-sorts all waiting turns. Returns the next turn to run. During
    /// shutdown the turn is deferred and stays stored as it is.
    pub(crate) fn requeue_running(
        &self,
        job: Job,
        mut before: Vec<(TurnHandle, Job)>,
        order: &[TurnId],
    ) -> Option<Job> {
        let mut all = self.lock();
        before.iter_mut().for_each(|(live, _)| self.limits.admit_anyway(live));
        let session = job.session().clone();
        if all.ending {
            all.queues.get_mut(&session)?.has_deferred_turns = true;
            return all.advance(&session);
        }
        let queue = all.queues.get_mut(&session)?;
        let live = queue.running.take()?;
        queue.waiting.push_front((live, job));
        all.prepend(&session, before);
        if let Some(queue) = all.queues.get_mut(&session).filter(|_| !order.is_empty()) {
            let place = |turn: &TurnId| order.iter().position(|other| other == turn).unwrap_or(usize::MAX);
            queue.waiting.make_contiguous().sort_by_key(|(live, _)| place(&live.turn));
        }
        all.start(&session)
    }

    /// Returns the data with which the storage begins the next turn in the transaction that ends the running one,
    /// after `prepare` has completed the job. `None` if the next turn has to wait for that end, because it replaces
    /// something, was stopped, or the transcript was changed meanwhile. [`Self::has_begun`] reports the outcome.
    pub(crate) fn begin_next(
        &self,
        session: &SessionId,
        prepare: impl FnOnce(&mut Job),
    ) -> Option<(TurnId, Begin)> {
        let mut all = self.lock();
        let queue = all.queues.get_mut(session).filter(|queue| !queue.was_changed_externally)?;
        let (_, job) = queue.waiting.front_mut()?;
        if job.stage != Stage::Waiting || job.replaces.is_some() || job.stop.cause().is_some() {
            return None;
        }
        prepare(job);
        job.stage = Stage::Beginning;
        Some((job.turn.clone(), job.begin()))
    }

    /// Returns whether a message of this session waits behind the running turn.
    pub(crate) fn is_another_waiting(&self, session: &SessionId) -> bool {
        self.lock().queues.get(session).is_some_and(|queue| !queue.waiting.is_empty())
    }

    /// Records whether the next turn of a session has begun, and with which message.
    pub(crate) fn has_begun(&self, session: &SessionId, begun: Option<Begun>) {
        let mut all = self.lock();
        let ending = all.ending;
        let Some(queue) = all.queues.get_mut(session) else { return };
        let Some((_, job)) = queue.waiting.front_mut().filter(|(_, job)| job.stage == Stage::Beginning)
        else {
            return;
        };
        job.stage = begun.map_or(Stage::Waiting, Stage::Begun);
        if ending && job.stage == Stage::Waiting {
            queue.waiting.pop_front();
            queue.has_deferred_turns = true;
            all.turns -= 1;
        }
    }

    /// Ends the running turn of a session and returns the next.
    pub(crate) fn next(&self, session: &SessionId) -> Option<Job> {
        self.lock().advance(session)
    }

    /// Returns the pending reply of a queued or running turn, and how many turns come before it.
    pub(crate) fn find(&self, session: &SessionId, turn: &TurnId) -> Option<(PendingReply, usize)> {
        let all = self.lock();
        let queue = all.queues.get(session)?;
        let (place, live) = queue.all().enumerate().find(|(_, live)| live.turn == *turn)?;
        Some((live.reply.clone(), place))
    }

    /// Stops one turn, or all turns of a session. A single turn that is still waiting is removed and returned, because
    /// nothing else would end it before its turn comes. Otherwise each turn ends when it reaches the front; so does one
    /// that has begun or is about to.
    pub(crate) fn stop(
        &self,
        session: &SessionId,
        turn: Option<&TurnId>,
        cause: Cause,
    ) -> (usize, Option<Job>) {
        let mut all = self.lock();
        let Some(queue) = all.queues.get_mut(session) else { return (0, None) };
        let Some(turn) = turn else {
            return (queue.all().filter(|live| live.stop.stop(cause)).count(), None);
        };
        // A turn that has begun has messages in the transcript and must end in order.
        let is_apart = |(live, job): &(TurnHandle, Job)| live.turn == *turn && job.stage == Stage::Waiting;
        if let Some(place) = queue.waiting.iter().position(is_apart) {
            let Some((live, job)) = queue.waiting.remove(place) else { return (0, None) };
            live.stop.stop(cause);
            all.turns -= 1;
            return (1, Some(job));
        }
        (queue.all().filter(|live| live.turn == *turn && live.stop.stop(cause)).count(), None)
    }

    /// Keeps new turns out of a session until [`Self::reopen`]. Returns the pending replies of those already in it.
    pub(crate) fn close(&self, session: &SessionId) -> Vec<PendingReply> {
        let mut all = self.lock();
        let queue = all.queues.entry(session.clone()).or_default();
        queue.clearing += 1;
        queue.all().map(|live| live.reply.clone()).collect()
    }

    /// Admits new turns again.
    pub(crate) fn reopen(&self, session: &SessionId) {
        let mut all = self.lock();
        if let Some(queue) = all.queues.get_mut(session) {
            queue.clearing = queue.clearing.saturating_sub(1);
        }
        all.remove_if_empty(session);
    }

    /// Records that something other than its running turn changed a session's transcript.
    pub(crate) fn mark_changed_externally(&self, session: &SessionId) {
        if let Some(queue) = self.lock().queues.get_mut(session) {
            queue.was_changed_externally = true;
        }
    }

    /// Returns whether that happened since the turn began, and resets the flag. Called once, at the turn's end.
    pub(crate) fn take_external_change(&self, session: &SessionId) -> bool {
        self.lock()
            .queues
            .get_mut(session)
            .is_some_and(|queue| std::mem::take(&mut queue.was_changed_externally))
    }

    /// Stops accepting turns. Waiting turns are deferred: they stay stored as waiting for the next start. A turn that is
    /// just beginning is treated as if it were running.
    pub(crate) fn end(&self) {
        let mut all = self.lock();
        all.ending = true;
        let mut deferred = 0;
        for queue in all.queues.values_mut() {
            let before = queue.waiting.len();
            queue.waiting.retain(|(_, job)| matches!(job.stage, Stage::Beginning | Stage::Begun(_)));
            queue.has_deferred_turns |= queue.waiting.len() < before;
            deferred += before - queue.waiting.len();
        }
        all.turns -= deferred;
    }

    /// Stops every remaining turn.
    pub(crate) fn stop_all(&self, cause: Cause) {
        for live in self.lock().queues.values().flat_map(SessionQueue::all) {
            live.stop.stop(cause);
        }
    }

    /// Returns whether nothing runs or waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().turns == 0
    }

    /// Returns whether a turn runs or waits in a session.
    pub(crate) fn is_busy(&self, session: &SessionId) -> bool {
        self.lock().queues.get(session).is_some_and(|queue| queue.len() > 0)
    }

    /// Lists all turns that run or wait.
    pub(crate) fn activity(&self) -> Vec<ActiveTurn> {
        let all = self.lock();
        let mut turns = Vec::with_capacity(all.turns);
        for (session, queue) in &all.queues {
            let running = queue.running.as_ref().map(|live| &live.turn);
            turns.extend(queue.all().map(|live| ActiveTurn {
                session_id: session.clone(),
                turn: live.turn.clone(),
                state: if running == Some(&live.turn) { "running" } else { "queued" },
                since: live.since,
            }));
        }
        turns.sort_by(|a, b| a.turn.cmp(&b.turn));
        turns
    }

    fn lock(&self) -> MutexGuard<'_, AllQueues> {
        // The queues are consistent after every statement, so a panic elsewhere does not make them unusable.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AllQueues {
    fn advance(&mut self, session: &SessionId) -> Option<Job> {
        let queue = self.queues.get_mut(session)?;
        if queue.running.take().is_some() {
            self.turns -= 1;
        }
        let next = self.start(session);
        self.remove_if_empty(session);
        next
    }

    /// Makes the next turn of a session the running one, unless one is running already.
    fn start(&mut self, session: &SessionId) -> Option<Job> {
        let queue = self.queues.get_mut(session)?;
        if queue.running.is_some() || queue.is_reserved {
            return None;
        }
        let (live, job) = queue.waiting.pop_front()?;
        queue.running = Some(live);
        Some(job)
    }

    fn admit_stored(&mut self, session: &SessionId) {
        if let Some(queue) = self.queues.get_mut(session) {
            self.turns -= queue.admit_stored(self.ending);
        }
    }

    fn prepend(&mut self, session: &SessionId, turns: Vec<(TurnHandle, Job)>) {
        let queue = self.queues.entry(session.clone()).or_default();
        if self.ending {
            queue.has_deferred_turns |= !turns.is_empty();
            return;
        }
        self.turns += turns.len();
        turns.into_iter().rev().for_each(|turn| queue.waiting.push_front(turn));
    }

    fn remove_if_empty(&mut self, session: &SessionId) {
        if self.queues.get(session).is_some_and(|queue| queue.len() == 0 && queue.clearing == 0) {
            self.queues.remove(session);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aethon_core::message::{Inbound, Message, Role};
    use aethon_core::surface::Unattended;
    use jiff::Timestamp;

    use super::*;

    struct Turns {
        queues: SessionQueues,
        session: SessionId,
    }

    impl Turns {
        fn pair(&self, name: &str) -> (Job, TurnHandle) {
            let inbound = Inbound::say(self.session.clone(), name);
            let message = Message::new(Role::User, Vec::new(), Timestamp::UNIX_EPOCH);
            Job::pair(TurnId::existing(name), inbound, (message, None), Arc::new(Unattended))
        }

        fn claim(&self, name: &str) -> Job {
            let (job, live) = self.pair(name);
            self.queues.claim(&self.session, live).unwrap();
            job
        }

        fn stored(&self, job: Job) -> Option<String> {
            self.queues.stored(job, Box::new(|| {})).map(|job| job.turn.to_string())
        }
    }

    #[test]
    fn documents_that_became_text_give_back_their_room() {
        let session = SessionId::parse("webchat:a").unwrap();
        let queues = SessionQueues::new(QueueLimits { per_session: 8, turns: 8, bytes: 8000 });
        let claim = |name: &str, bytes: usize| {
            let inbound = Inbound::say(session.clone(), "x".repeat(bytes));
            let message = Message::new(Role::User, Vec::new(), Timestamp::UNIX_EPOCH);
            let (job, live) =
                Job::pair(TurnId::existing(name), inbound, (message, None), Arc::new(Unattended));
            queues.claim(&session, live).unwrap();
            job
        };
        let (mut first, mut second) = (claim("1", 2000), claim("2", 3000));
        first.inbound.text.truncate(100);
        queues.shrink(&first);
        assert_eq!(queues.limits.bytes.used(), 3100);
        second.inbound.text.push_str("more");
        queues.shrink(&second);
        assert_eq!(queues.limits.bytes.used(), 3100, "a claim does not grow");
        queues.release_claim(&session, &second.turn);
        assert_eq!(queues.limits.bytes.used(), 100);
    }

    #[test]
    fn deferred_turns_are_not_overtaken_at_shutdown() {
        let session = SessionId::parse("webchat:a").unwrap();
        let turns = Turns {
            queues: SessionQueues::new(QueueLimits { per_session: 8, turns: 8, bytes: 1 << 20 }),
            session,
        };
        let (first, second, third) = (turns.claim("1"), turns.claim("2"), turns.claim("3"));
        assert_eq!(turns.stored(first).as_deref(), Some("1"));
        assert_eq!(turns.stored(second), None);
        turns.queues.end();
        assert!(turns.queues.next(&turns.session).is_none(), "the second is deferred to the next start");
        assert_eq!(turns.stored(third), None, "so is what came after it");
        assert!(turns.queues.is_empty());
    }
}
