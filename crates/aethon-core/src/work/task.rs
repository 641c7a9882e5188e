//! A piece of work and its tasks, as stored.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::WorkCommand;
use crate::ids::SessionId;
use crate::message::Destination;
use crate::person::Person;
use crate::words::words;

/// A piece of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    /// Its id.
    pub work_id: String,
    /// The intended result.
    pub goal: String,
    /// The conversation in which it was planned, which receives progress reports.
    pub session_id: SessionId,
    /// The person it is for.
    #[serde(default, skip_serializing_if = "Person::is_owner")]
    pub person: Person,
    /// Whether a stranger's text asked for it; then its turns count as that stranger's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
    /// Where that conversation is held, if its session does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tell_to: Option<Destination>,
    /// Why it exists.
    pub origin: WorkOrigin,
    /// Its state.
    pub state: WorkState,
    /// Why it ended, if it did not succeed.
    pub reason: Option<String>,
    /// Its tasks, in the order of the plan.
    pub tasks: Vec<WorkTask>,
    /// Its spending so far.
    #[serde(flatten)]
    pub spent: WorkSpent,
    /// When it was planned.
    #[serde(serialize_with = "crate::time::serialize")]
    pub created_at: Timestamp,
    /// When it last changed.
    #[serde(serialize_with = "crate::time::serialize")]
    pub updated_at: Timestamp,
    /// The result with its evidence; set when it is over.
    pub receipt: Option<String>,
    /// The open command of a person, until it is carried out.
    #[serde(default, rename = "wish")]
    pub command: Option<WorkCommand>,
}

/// For whom a piece of work is planned, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedFor {
    /// The conversation.
    pub session: SessionId,
    /// The person it is for.
    pub person: Person,
    /// Whether a stranger's text asks for it.
    pub untrusted: bool,
    /// Where that conversation is held, if its session does not say.
    pub tell_to: Option<Destination>,
    /// Names the call that plans it, so that the same call plans it once.
    pub key: Option<String>,
    /// Whether that call may have planned it before.
    pub is_again: bool,
}

impl From<SessionId> for PlannedFor {
    /// For the owner, in this conversation.
    fn from(session: SessionId) -> Self {
        Self {
            session,
            person: Person::default(),
            untrusted: false,
            tell_to: None,
            key: None,
            is_again: false,
        }
    }
}

/// Why a piece of work exists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum WorkOrigin {
    /// A person asked for it.
    #[default]
    Person,
    /// It is for times when the assistant is idle.
    Idle,
}

/// The spending of a piece of work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkSpent {
    /// The number of turns.
    pub iterations: u32,
    /// Money in USD, including specialists.
    #[serde(serialize_with = "crate::ledger::serialize_usd")]
    pub cost_usd: f64,
    /// Working time, in seconds.
    pub seconds: f64,
}

words! {
    /// The state of a piece of work.
    pub enum WorkState {
        /// It is waiting to be worked on.
        Queued = "queued",
        /// It is being worked on.
        Running = "running",
        /// A person has paused it.
        Paused = "paused",
        /// Every task is done.
        Done = "done",
        /// A task failed for good, or a limit was reached.
        Failed = "failed",
        /// A person ended it.
        Stopped = "stopped",
    }
}

impl WorkState {
    /// Returns whether it has reached a final state.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Stopped)
    }
}

/// A task of a piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkTask {
    /// Its number in the plan, from 1.
    pub number: u32,
    /// The task, in a few words.
    pub title: String,
    /// The task, in detail; may be empty.
    pub detail: String,
    /// The acceptance criteria.
    pub acceptance: Vec<String>,
    /// The numbers of the tasks that must be done before it.
    pub depends_on: Vec<u32>,
    /// Its state.
    pub state: TaskState,
    /// How many times it was begun.
    pub attempts: u32,
    /// The evidence that it is done.
    pub evidence: Option<String>,
    /// Why it is not done.
    pub error: Option<String>,
}

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TaskState {
    /// It waits.
    Todo,
    /// It is being worked on.
    Running,
    /// It is done.
    Done,
    /// It was given up.
    Failed,
}

impl Work {
    /// Returns the next task that can be worked on: first one that has begun, then the first whose dependencies are
    /// done.
    pub fn next_task(&self) -> Option<&WorkTask> {
        let is_done = |number: &u32| self.task(*number).is_some_and(|task| task.state == TaskState::Done);
        let is_ready = |task: &&WorkTask| {
            matches!(task.state, TaskState::Todo | TaskState::Running) && task.depends_on.iter().all(is_done)
        };
        let begun = self.tasks.iter().filter(is_ready).find(|task| task.state == TaskState::Running);
        begun.or_else(|| self.tasks.iter().find(is_ready))
    }

    /// Returns a task by its number.
    pub fn task(&self, number: u32) -> Option<&WorkTask> {
        self.tasks.iter().find(|task| task.number == number)
    }

    /// Returns a task by its number, for changing it.
    pub fn task_mut(&mut self, number: u32) -> Option<&mut WorkTask> {
        self.tasks.iter_mut().find(|task| task.number == number)
    }

    /// Returns how many tasks are done.
    pub fn done(&self) -> usize {
        self.tasks.iter().filter(|task| task.state == TaskState::Done).count()
    }
}
