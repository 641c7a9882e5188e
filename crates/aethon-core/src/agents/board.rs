//! The board: one row per working agent, written by the engine and its hook, read by observers.
//!
//! Every method holds the lock only briefly and performs no I/O. A row is removed with its turn; the number of rows is
//! bounded all the same, because some turns end unannounced.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::activity::{AgentActivity, AgentProfile, AgentStanding, AgentState};
use super::run::{AgentHistory, AgentRun, NoAgentHistory, ToolCount};
use crate::clock::{Clock, SystemClock};
use crate::event::{Event, EventBus};
use crate::ids::{AgentName, SessionId, TurnId};
use crate::ledger::WorkKind;
use crate::message::{Inbound, Reply, TurnEnd};
use crate::turn::TurnContext;
use crate::untrusted::shortened_between_words;

/// The most rows: more than turns can run.
const MAX_ROWS: usize = 4096;

/// How many agent-to-agent conversations are remembered.
const MAX_CALLERS: usize = 4096;

/// The most characters kept of an agent's task.
const MAX_TASK: usize = 160;

/// The role of an agent without a profile.
const UNKNOWN_ROLE: &str = "agent";

/// What every agent is doing. Cheap to clone; clones share it.
#[derive(Clone)]
pub struct AgentBoard(Arc<Inner>);

struct Inner {
    bus: EventBus,
    clock: Arc<dyn Clock>,
    history: Arc<dyn AgentHistory>,
    state: Mutex<BoardState>,
}

#[derive(Default)]
struct BoardState {
    profiles: Vec<AgentProfile>,
    rows: BTreeMap<TurnId, Row>,
    /// Agents whose last turn failed.
    failed: Vec<AgentName>,
    /// Who called in an agent's session, oldest first.
    callers: Vec<(SessionId, Caller)>,
}

/// The turn that called another agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Its session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
}

struct Row {
    activity: AgentActivity,
    /// The running calls, with their tools.
    calls: Vec<(String, String)>,
    /// How many of them wait for a person.
    waiting: usize,
    used: Vec<ToolCount>,
}

impl Default for AgentBoard {
    /// A board without history that announces nothing.
    fn default() -> Self {
        Self::new(EventBus::default(), Arc::new(SystemClock), Arc::new(NoAgentHistory))
    }
}

impl AgentBoard {
    /// An empty board that announces changes on this bus and writes finished runs to this history.
    pub fn new(bus: EventBus, clock: Arc<dyn Clock>, history: Arc<dyn AgentHistory>) -> Self {
        Self(Arc::new(Inner { bus, clock, history, state: Mutex::default() }))
    }

    /// Introduces the existing agents, in order.
    pub fn introduce(&self, profiles: Vec<AgentProfile>) {
        self.lock().profiles = profiles;
    }

    /// Returns the history of finished runs.
    pub fn history(&self) -> &Arc<dyn AgentHistory> {
        &self.0.history
    }

    /// Returns every working agent, the longest at work first.
    pub fn active(&self) -> Vec<AgentActivity> {
        self.lock().rows.values().map(|row| row.activity.clone()).collect()
    }

    /// Returns every agent, working or not.
    pub fn standing(&self) -> Vec<AgentStanding> {
        let board = self.lock();
        let standing = |profile: &AgentProfile| {
            let of = |row: &&Row| row.activity.name == profile.name;
            let states: Vec<AgentState> =
                board.rows.values().filter(of).map(|row| row.activity.state).collect();
            let most = [AgentState::WaitingApproval, AgentState::Tool, AgentState::Thinking];
            let state = most.into_iter().find(|state| states.contains(state));
            let rest =
                if board.failed.contains(&profile.name) { AgentState::Failed } else { AgentState::Idle };
            AgentStanding { profile: profile.clone(), state: state.unwrap_or(rest), active: states.len() }
        };
        board.profiles.iter().map(standing).collect()
    }

    /// Records that an agent starts working on a turn.
    pub fn begin(&self, turn: &TurnContext, inbound: &Inbound) {
        let at = self.0.clock.now();
        let mut board = self.lock();
        let profile = board.profiles.iter().find(|profile| profile.name == turn.agent);
        let role = profile.map_or_else(|| UNKNOWN_ROLE.to_owned(), |profile| profile.role.clone());
        let parent = board.caller(&turn.session).map(|caller| caller.turn.to_string());
        let activity = AgentActivity {
            agent_id: turn.turn.to_string(),
            name: turn.agent.clone(),
            role,
            session_id: turn.session.clone(),
            state: AgentState::Thinking,
            since: at,
            tool: None,
            started_at: at,
            kind: turn.kind,
            parent,
            task: shortened(&inbound.text),
        };
        let row = Row { activity: activity.clone(), calls: Vec::new(), waiting: 0, used: Vec::new() };
        board.rows.insert(turn.turn.clone(), row);
        while board.rows.len() > MAX_ROWS {
            board.rows.pop_first();
        }
        drop(board);
        self.announce(activity);
    }

    /// Returns what kind of work a turn is, while it is being worked on.
    pub fn kind(&self, turn: &TurnId) -> Option<WorkKind> {
        self.lock().rows.get(turn).map(|row| row.activity.kind)
    }

    /// Records that a tool call begins. A call that a person changes before approving it begins twice and counts once.
    pub fn uses(&self, turn: &TurnId, call: &str, tool: &str) {
        self.change(turn, |row| {
            row.calls.retain(|(id, _)| id != call);
            row.calls.push((call.to_owned(), tool.to_owned()));
        });
    }

    /// Records that a tool call is over; `ran` says whether it was allowed to run.
    pub fn used(&self, turn: &TurnId, call: &str, ran: bool) {
        self.change(turn, |row| {
            let Some(at) = row.calls.iter().position(|(id, _)| id == call) else { return };
            let (_, name) = row.calls.remove(at);
            if !ran {
                return;
            }
            match row.used.iter_mut().find(|count| count.name == name) {
                Some(count) => count.calls += 1,
                None => row.used.push(ToolCount { name, calls: 1 }),
            }
        });
    }

    /// Records that a call waits for a person's approval. The activity counts as waiting until the returned guard is dropped.
    pub fn asks(&self, turn: &TurnId) -> Asking {
        self.change(turn, |row| row.waiting += 1);
        Asking { board: self.clone(), turn: turn.clone() }
    }

    /// Records that the work on a turn is over. Returns the run to store, if anybody worked on it.
    pub fn end(&self, reply: &Reply) -> Option<AgentRun> {
        let at = self.0.clock.now();
        let mut board = self.lock();
        let row = board.rows.remove(&reply.turn)?;
        let Row { mut activity, used, .. } = row;
        let is_failed = matches!(reply.end, TurnEnd::Error | TurnEnd::Limit | TurnEnd::Budget);
        board.failed.retain(|name| *name != activity.name);
        if is_failed {
            board.failed.push(activity.name.clone());
        }
        drop(board);
        activity.state = if is_failed { AgentState::Failed } else { AgentState::Idle };
        (activity.since, activity.tool) = (at, None);
        self.announce(activity.clone());
        let AgentActivity { agent_id, name, role, session_id, started_at, kind, parent, task, .. } = activity;
        let duration = at.duration_since(started_at).as_secs_f64().max(0.0);
        let error = reply.failure.as_ref().map(|failure| failure.message.clone());
        Some(AgentRun {
            agent_id,
            name,
            role,
            session_id,
            kind,
            parent,
            task,
            outcome: reply.end,
            error,
            started_at,
            ended_at: at,
            duration,
            tools: used,
            model: reply.model.clone(),
            usage: reply.usage,
        })
    }

    /// Forgets a turn whose end will not be announced.
    pub fn forget(&self, turn: &TurnId) {
        self.lock().rows.remove(turn);
    }

    /// Records which turn calls in an agent's session, before the first message there.
    pub fn called_by(&self, session: &SessionId, caller: Caller) {
        let mut board = self.lock();
        board.callers.retain(|(known, _)| known != session);
        if board.callers.len() >= MAX_CALLERS {
            board.callers.remove(0);
        }
        board.callers.push((session.clone(), caller));
    }

    /// Returns which turn called in an agent's session; `None` for a session of a person or a channel.
    pub fn caller(&self, session: &SessionId) -> Option<Caller> {
        self.lock().caller(session).cloned()
    }

    fn change(&self, turn: &TurnId, change: impl FnOnce(&mut Row)) {
        let at = self.0.clock.now();
        let mut board = self.lock();
        let Some(row) = board.rows.get_mut(turn) else { return };
        change(row);
        if !row.settle(at) {
            return;
        }
        let activity = row.activity.clone();
        drop(board);
        self.announce(activity);
    }

    fn announce(&self, activity: AgentActivity) {
        self.0.bus.publish(|| Event::Agent(Arc::new(activity)));
    }

    fn lock(&self) -> MutexGuard<'_, BoardState> {
        // Consistent after every statement, so a panic elsewhere does not make it unusable.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BoardState {
    fn caller(&self, session: &SessionId) -> Option<&Caller> {
        self.callers.iter().find(|(known, _)| known == session).map(|(_, caller)| caller)
    }
}

impl Row {
    /// Derives the activity from the calls. Returns whether it changed.
    fn settle(&mut self, at: Timestamp) -> bool {
        let tool = self.calls.last().map(|(_, tool)| tool.clone());
        let state = match (self.waiting > 0, &tool) {
            (true, _) => AgentState::WaitingApproval,
            (false, Some(_)) => AgentState::Tool,
            (false, None) => AgentState::Thinking,
        };
        if (state, &tool) == (self.activity.state, &self.activity.tool) {
            return false;
        }
        (self.activity.state, self.activity.tool, self.activity.since) = (state, tool, at);
        true
    }
}

/// An open question to a person.
pub struct Asking {
    board: AgentBoard,
    turn: TurnId,
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.board.change(&self.turn, |row| row.waiting = row.waiting.saturating_sub(1));
    }
}

impl fmt::Debug for AgentBoard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentBoard").field("active", &self.active().len()).finish()
    }
}

/// The first line with words, cut to length.
fn shortened(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    shortened_between_words(line.to_owned(), MAX_TASK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{EndReason, Failure};
    use crate::model::Usage;

    fn turn(name: &str) -> (TurnContext, Inbound) {
        let inbound = Inbound::say(SessionId::of("webchat", "a").unwrap(), "\n look it up \nnow");
        (TurnContext::of(TurnId::existing(name), &inbound), inbound)
    }

    fn reply(turn: &TurnContext, end: TurnEnd) -> Reply {
        let failure = (end == TurnEnd::Error).then(|| Failure::new(EndReason::Internal, "it broke"));
        let usage = Usage { cost_usd: 0.5, ..Usage::default() };
        let (turn, session) = (turn.turn.clone(), turn.session.clone());
        Reply { turn, session, text: "done".into(), end, model: "m".into(), usage, failure }
    }

    fn board() -> AgentBoard {
        let board = AgentBoard::default();
        let profile = |name: &str| AgentProfile {
            name: AgentName::parse(name).unwrap(),
            role: format!("the {name}"),
            model: "m".into(),
        };
        board.introduce(vec![profile("main"), profile("coder")]);
        board
    }

    fn now(board: &AgentBoard) -> Vec<(AgentState, Option<String>)> {
        board.active().into_iter().map(|row| (row.state, row.tool)).collect()
    }

    #[test]
    fn board_publishes_a_turn_from_beginning_to_end() {
        let board = board();
        let mut events = board.0.bus.subscribe();
        let (turn, inbound) = turn("t1");
        board.begin(&turn, &inbound);
        assert_eq!(now(&board), [(AgentState::Thinking, None)]);
        board.uses(&turn.turn, "c1", "shell");
        let asking = board.asks(&turn.turn);
        assert_eq!(now(&board), [(AgentState::WaitingApproval, Some("shell".into()))]);
        drop(asking);
        board.uses(&turn.turn, "c2", "file_read");
        assert_eq!(now(&board), [(AgentState::Tool, Some("file_read".into()))]);
        board.used(&turn.turn, "c2", true);
        board.used(&turn.turn, "c1", false);
        assert_eq!(now(&board), [(AgentState::Thinking, None)]);
        let states: Vec<_> = board.standing().into_iter().map(|one| (one.state, one.active)).collect();
        assert_eq!(states, [(AgentState::Thinking, 1), (AgentState::Idle, 0)]);
        let run = board.end(&reply(&turn, TurnEnd::End)).unwrap();
        assert_eq!(run.tools, [ToolCount { name: "file_read".into(), calls: 1 }]);
        assert_eq!((run.role.as_str(), run.task.as_str()), ("the main", "look it up"));
        assert!((run.usage.cost_usd - 0.5).abs() < 1e-9 && run.error.is_none());
        assert!(board.active().is_empty() && board.end(&reply(&turn, TurnEnd::End)).is_none());
        let mut told = Vec::new();
        while let Ok(Event::Agent(activity)) = events.try_recv() {
            told.push(activity.state);
        }
        use AgentState::{Idle, Thinking, Tool, WaitingApproval};
        assert_eq!(told, [Thinking, Tool, WaitingApproval, Tool, Tool, Tool, Thinking, Idle]);
    }

    #[test]
    fn call_changed_during_approval_counts_once() {
        let board = board();
        let (turn, inbound) = turn("t1");
        board.begin(&turn, &inbound);
        board.uses(&turn.turn, "c1", "file_write");
        board.uses(&turn.turn, "c1", "file_write");
        board.used(&turn.turn, "c1", true);
        assert_eq!(now(&board), [(AgentState::Thinking, None)]);
        let run = board.end(&reply(&turn, TurnEnd::End)).unwrap();
        assert_eq!(run.tools, [ToolCount { name: "file_write".into(), calls: 1 }]);
    }

    #[test]
    fn agent_shows_its_failure_until_it_succeeds() {
        let board = board();
        for (end, expected) in [(TurnEnd::Error, AgentState::Failed), (TurnEnd::Stopped, AgentState::Idle)] {
            let (turn, inbound) = turn("t1");
            board.begin(&turn, &inbound);
            let run = board.end(&reply(&turn, end)).unwrap();
            assert_eq!(run.error.is_some(), end == TurnEnd::Error);
            assert_eq!(board.standing()[0].state, expected);
        }
    }

    #[test]
    fn work_that_another_agent_asked_for_names_it() {
        let board = board();
        let (turn, inbound) = turn("t2");
        let caller = Caller { session: turn.session.clone(), turn: TurnId::existing("t1") };
        board.called_by(&turn.session, caller.clone());
        assert_eq!(board.caller(&turn.session), Some(caller));
        board.begin(&turn, &inbound);
        assert_eq!(board.active()[0].parent.as_deref(), Some("t1"));
        board.forget(&turn.turn);
        assert!(board.active().is_empty());
    }
}
