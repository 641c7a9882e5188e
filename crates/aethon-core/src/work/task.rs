//! A piece of work and its tasks, as they are kept.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::store::WorkWish;
use crate::ids::SessionId;
use crate::message::Destination;
use crate::person::Person;

/// A piece of work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Its own name.
    pub work_id: String,
    /// What it is to come to.
    pub goal: String,
    /// The conversation that it was planned in, which is told how it goes.
    pub session_id: SessionId,
    /// Whom it is for.
    #[serde(default, skip_serializing_if = "Person::is_owner")]
    pub person: Person,
    /// Where that conversation is held, where its session does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tell_to: Option<Destination>,
    /// Why it is there.
    pub origin: WorkOrigin,
    /// Where it stands.
    pub state: WorkState,
    /// Why it ended, where it did not end well.
    pub reason: Option<String>,
    /// Its tasks, in the order of the plan.
    pub tasks: Vec<WorkTask>,
    /// What it has taken so far.
    #[serde(flatten)]
    pub spent: WorkSpent,
    /// When it was planned.
    #[serde(serialize_with = "crate::time::serialize")]
    pub created_at: Timestamp,
    /// When it last changed.
    #[serde(serialize_with = "crate::time::serialize")]
    pub updated_at: Timestamp,
    /// What was done, with the evidence; once it is over.
    pub receipt: Option<String>,
    /// What a person wants of it and has not happened yet.
    #[serde(default)]
    pub wish: Option<WorkWish>,
}

/// For whom a piece of work is planned, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedFor {
    /// The conversation.
    pub session: SessionId,
    /// Whom it is for.
    pub person: Person,
    /// Where that conversation is held, where its session does not say.
    pub tell_to: Option<Destination>,
}

impl From<SessionId> for PlannedFor {
    /// For the owner, in this conversation.
    fn from(session: SessionId) -> Self {
        Self { session, person: Person::default(), tell_to: None }
    }
}

/// Why a piece of work is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkOrigin {
    /// Somebody asked for it.
    #[default]
    Person,
    /// It is to be done when nobody needs the assistant.
    Idle,
}

/// What a piece of work has taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkSpent {
    /// How many turns it has had.
    pub iterations: u32,
    /// Money, in USD, what specialists took included.
    #[serde(serialize_with = "crate::ledger::serialize_usd")]
    pub cost_usd: f64,
    /// Time in which it was worked on, in seconds.
    pub seconds: f64,
}

/// Where a piece of work stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkState {
    /// It waits for its time.
    Queued,
    /// It is worked on.
    Running,
    /// A person has paused it.
    Paused,
    /// Every task is done.
    Done,
    /// A task failed for good, or a limit was reached.
    Failed,
    /// A person has ended it.
    Stopped,
}

impl WorkState {
    const ALL: [Self; 6] =
        [Self::Queued, Self::Running, Self::Paused, Self::Done, Self::Failed, Self::Stopped];

    /// The word on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }

    /// The state that goes by this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether nothing more becomes of it.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Stopped)
    }
}

/// A task of a piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkTask {
    /// Its number in the plan, from 1.
    pub number: u32,
    /// What is to be done, in a few words.
    pub title: String,
    /// The same at length; may be empty.
    pub detail: String,
    /// What must hold when it is done.
    pub acceptance: Vec<String>,
    /// The numbers of the tasks that come before it.
    pub depends_on: Vec<u32>,
    /// Where it stands.
    pub state: TaskState,
    /// How often it was begun.
    pub attempts: u32,
    /// What shows that it is done.
    pub evidence: Option<String>,
    /// Why it is not done.
    pub error: Option<String>,
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// It waits.
    Todo,
    /// It is worked on.
    Running,
    /// It is done.
    Done,
    /// It was given up.
    Failed,
}

impl Work {
    /// The next task that can be worked on: one that was begun before others, and none whose turn has not come.
    pub fn next_task(&self) -> Option<&WorkTask> {
        let is_done = |number: &u32| self.task(*number).is_some_and(|task| task.state == TaskState::Done);
        let is_ready = |task: &&WorkTask| {
            matches!(task.state, TaskState::Todo | TaskState::Running) && task.depends_on.iter().all(is_done)
        };
        let begun = self.tasks.iter().filter(is_ready).find(|task| task.state == TaskState::Running);
        begun.or_else(|| self.tasks.iter().find(is_ready))
    }

    /// A task by its number.
    pub fn task(&self, number: u32) -> Option<&WorkTask> {
        self.tasks.iter().find(|task| task.number == number)
    }

    /// The same to change it.
    pub fn task_mut(&mut self, number: u32) -> Option<&mut WorkTask> {
        self.tasks.iter_mut().find(|task| task.number == number)
    }

    /// How many tasks are done.
    pub fn done(&self) -> usize {
        self.tasks.iter().filter(|task| task.state == TaskState::Done).count()
    }
}
