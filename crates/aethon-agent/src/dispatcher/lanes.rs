//! One lane a session: at most one turn runs in it, the others wait in order.
//!
//! A turn takes its seat before it is stored, so that nothing overtakes it and a second delivery finds it; while it is
//! being stored behind others it is `arriving`. A lane exists only while something is in it. One mutex guards all of it
//! and is never held across an await.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use aethon_core::assistant::{ActiveTurn, PendingReply};
use aethon_core::error::{Error, Result};
use aethon_core::ids::{MessageId, SessionId, TurnId};
use aethon_core::session::Begin;

use super::job::{Job, Live, Stage};
use crate::control::Cause;

/// All lanes of an engine.
pub(crate) struct Lanes {
    state: Mutex<State>,
    queue_per_session: usize,
    max_turns: usize,
}

#[derive(Default)]
struct State {
    lanes: HashMap<SessionId, Lane>,
    turns: usize,
    ending: bool,
}

#[derive(Default)]
struct Lane {
    running: Option<Live>,
    arriving: Vec<Live>,
    waiting: VecDeque<(Live, Job)>,
    /// How many are clearing the session; it takes nothing in meanwhile.
    clearing: usize,
    /// Whether somebody else wrote into the session while a turn ran.
    written_beside: bool,
}

impl Lane {
    fn len(&self) -> usize {
        usize::from(self.running.is_some()) + self.arriving.len() + self.waiting.len()
    }

    fn all(&self) -> impl Iterator<Item = &Live> {
        self.running.iter().chain(self.waiting.iter().map(|(live, _)| live)).chain(&self.arriving)
    }
}

/// A turn's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seat {
    /// It may begin at once.
    First,
    /// So many come before it.
    Behind(usize),
}

impl Seat {
    /// How many come before it.
    pub(crate) fn queued(self) -> usize {
        match self {
            Self::First => 0,
            Self::Behind(turns) => turns,
        }
    }
}

impl Lanes {
    pub(crate) fn new(queue_per_session: usize, max_turns: usize) -> Self {
        Self { state: Mutex::default(), queue_per_session, max_turns }
    }

    /// Takes a seat for a turn that is about to be stored.
    pub(crate) fn claim(&self, session: &SessionId, live: Live) -> Result<Seat> {
        let mut state = self.lock();
        if state.ending {
            return Err(Error::shutting_down());
        }
        if state.turns >= self.max_turns {
            return Err(Error::full("too many turns run at the same time; try again in a moment"));
        }
        let limit = self.queue_per_session;
        let lane = state.lanes.entry(session.clone()).or_default();
        if lane.clearing > 0 {
            return Err(Error::full("the session is being cleared; try again in a moment"));
        }
        let before = lane.len();
        if before > limit {
            return Err(Error::full("too many messages wait in this session; wait for an answer first"));
        }
        let seat = if before == 0 {
            lane.running = Some(live);
            Seat::First
        } else {
            lane.arriving.push(live);
            Seat::Behind(before)
        };
        state.turns += 1;
        Ok(seat)
    }

    /// Puts a stored turn in its place behind others. It comes back when all of them are gone: then it is its turn.
    pub(crate) fn arrived(&self, job: Job) -> Option<Job> {
        let mut state = self.lock();
        let ending = state.ending;
        let lane = state.lanes.get_mut(job.session())?;
        let place = lane.arriving.iter().position(|live| live.turn == job.turn)?;
        let live = lane.arriving.swap_remove(place);
        if lane.running.is_none() && lane.waiting.is_empty() {
            lane.running = Some(live);
            return Some(job);
        }
        if ending {
            state.turns -= 1;
            return None;
        }
        lane.waiting.push_back((live, job));
        None
    }

    /// Puts in a turn that an earlier process left behind, whatever the bounds. It comes back if it may run at once.
    pub(crate) fn take_up(&self, live: Live, job: Job) -> Option<Job> {
        let mut state = self.lock();
        state.turns += 1;
        let lane = state.lanes.entry(job.session().clone()).or_default();
        if lane.len() == 0 {
            lane.running = Some(live);
            return Some(job);
        }
        lane.waiting.push_back((live, job));
        None
    }

    /// Gives a seat back that was not needed: the turn was known, or could not be stored. Returns what runs next, if the
    /// seat was the first.
    pub(crate) fn leave(&self, session: &SessionId, turn: &TurnId) -> Option<Job> {
        let mut state = self.lock();
        let lane = state.lanes.get_mut(session)?;
        if lane.running.as_ref().is_some_and(|live| live.turn == *turn) {
            return state.advance(session);
        }
        let before = lane.arriving.len();
        lane.arriving.retain(|live| live.turn != *turn);
        let gone = before - lane.arriving.len();
        state.turns -= gone;
        state.tidy(session);
        None
    }

    /// What the storage needs to begin the next turn of a session together with the end of the running one; none if it
    /// has to wait for that end, because it replaces something or was stopped, or because the transcript was changed beside
    /// them. `prepare` completes it. What came of it is told by [`Self::has_begun`].
    pub(crate) fn begin_next(
        &self,
        session: &SessionId,
        prepare: impl FnOnce(&mut Job),
    ) -> Option<(TurnId, Begin)> {
        let mut state = self.lock();
        let lane = state.lanes.get_mut(session).filter(|lane| !lane.written_beside)?;
        let (_, job) = lane.waiting.front_mut()?;
        if job.stage != Stage::Waiting || job.replaces.is_some() || job.stop.cause().is_some() {
            return None;
        }
        prepare(job);
        job.stage = Stage::Beginning;
        Some((job.turn.clone(), job.begin()))
    }

    /// Notes whether the next turn of a session has begun, and with which message.
    pub(crate) fn has_begun(&self, session: &SessionId, message: Option<MessageId>) {
        let mut state = self.lock();
        let ending = state.ending;
        let Some(lane) = state.lanes.get_mut(session) else { return };
        let Some((_, job)) = lane.waiting.front_mut().filter(|(_, job)| job.stage == Stage::Beginning) else {
            return;
        };
        job.stage = message.map_or(Stage::Waiting, Stage::Begun);
        if ending && job.stage == Stage::Waiting {
            lane.waiting.pop_front();
            state.turns -= 1;
        }
    }

    /// Ends the running turn of a session and returns the next.
    pub(crate) fn next(&self, session: &SessionId) -> Option<Job> {
        self.lock().advance(session)
    }

    /// The reply to come of a turn that is here.
    pub(crate) fn find(&self, session: &SessionId, turn: &TurnId) -> Option<(PendingReply, usize)> {
        let state = self.lock();
        let lane = state.lanes.get(session)?;
        let (place, live) = lane.all().enumerate().find(|(_, live)| live.turn == *turn)?;
        Some((live.reply.clone(), place))
    }

    /// Stops one turn or all of a session. A waiting turn that alone is stopped is handed back, because it is not its
    /// turn yet and nothing else would end it soon; of all, each is ended when it comes up, and so is one that has begun or
    /// is about to.
    pub(crate) fn stop(
        &self,
        session: &SessionId,
        turn: Option<&TurnId>,
        cause: Cause,
    ) -> (usize, Option<Job>) {
        let mut state = self.lock();
        let Some(lane) = state.lanes.get_mut(session) else { return (0, None) };
        let Some(turn) = turn else {
            return (lane.all().filter(|live| live.stop.stop(cause)).count(), None);
        };
        // One that has begun has messages in the transcript, and is ended in its order.
        let is_apart = |(live, job): &(Live, Job)| live.turn == *turn && job.stage == Stage::Waiting;
        if let Some(place) = lane.waiting.iter().position(is_apart) {
            let Some((live, job)) = lane.waiting.remove(place) else { return (0, None) };
            live.stop.stop(cause);
            state.turns -= 1;
            return (1, Some(job));
        }
        (lane.all().filter(|live| live.turn == *turn && live.stop.stop(cause)).count(), None)
    }

    /// Keeps new turns out of a session until [`Self::reopen`]; returns the replies of those that are in it.
    pub(crate) fn close(&self, session: &SessionId) -> Vec<PendingReply> {
        let mut state = self.lock();
        let lane = state.lanes.entry(session.clone()).or_default();
        lane.clearing += 1;
        lane.all().map(|live| live.reply.clone()).collect()
    }

    /// Lets turns in again.
    pub(crate) fn reopen(&self, session: &SessionId) {
        let mut state = self.lock();
        if let Some(lane) = state.lanes.get_mut(session) {
            lane.clearing = lane.clearing.saturating_sub(1);
        }
        state.tidy(session);
    }

    /// Notes that the transcript of a session was changed beside its running turn.
    pub(crate) fn written_beside(&self, session: &SessionId) {
        if let Some(lane) = self.lock().lanes.get_mut(session) {
            lane.written_beside = true;
        }
    }

    /// Whether that was noted since the turn began; asked once, at its end.
    pub(crate) fn was_written_beside(&self, session: &SessionId) -> bool {
        self.lock().lanes.get_mut(session).is_some_and(|lane| std::mem::take(&mut lane.written_beside))
    }

    /// Takes nothing in any more. What waits is let go: it stays stored as waiting for the next start. What is beginning
    /// just now is looked after as if it ran.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.ending = true;
        let mut let_go = 0;
        for lane in state.lanes.values_mut() {
            let before = lane.waiting.len();
            lane.waiting.retain(|(_, job)| matches!(job.stage, Stage::Beginning | Stage::Begun(_)));
            let_go += before - lane.waiting.len();
        }
        state.turns -= let_go;
    }

    /// Stops everything that is left.
    pub(crate) fn stop_all(&self, cause: Cause) {
        for live in self.lock().lanes.values().flat_map(Lane::all) {
            live.stop.stop(cause);
        }
    }

    /// Whether a turn runs or waits in a session.
    pub(crate) fn is_busy(&self, session: &SessionId) -> bool {
        self.lock().lanes.get(session).is_some_and(|lane| lane.len() > 0)
    }

    /// All turns that run or wait.
    pub(crate) fn activity(&self) -> Vec<ActiveTurn> {
        let state = self.lock();
        let mut turns = Vec::with_capacity(state.turns);
        for (session, lane) in &state.lanes {
            let running = lane.running.as_ref().map(|live| &live.turn);
            turns.extend(lane.all().map(|live| ActiveTurn {
                session_id: session.clone(),
                turn: live.turn.clone(),
                state: if running == Some(&live.turn) { "running" } else { "queued" },
                since: live.since,
            }));
        }
        turns.sort_by(|a, b| a.turn.cmp(&b.turn));
        turns
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The lanes are whole after every statement, so a panic elsewhere does not make them unusable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn advance(&mut self, session: &SessionId) -> Option<Job> {
        let lane = self.lanes.get_mut(session)?;
        if lane.running.take().is_some() {
            self.turns -= 1;
        }
        let next = lane.waiting.pop_front().map(|(live, job)| {
            lane.running = Some(live);
            job
        });
        self.tidy(session);
        next
    }

    fn tidy(&mut self, session: &SessionId) {
        if self.lanes.get(session).is_some_and(|lane| lane.len() == 0 && lane.clearing == 0) {
            self.lanes.remove(session);
        }
    }
}
