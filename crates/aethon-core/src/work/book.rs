//! The operations on work that every door offers: view, plan, stop, pause.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Serialize;

use super::command::WorkCommand;
use super::plan::{Plan, PlanFault};
use super::task::{PlannedFor, Work, WorkOrigin};
use crate::error::{Error, Result};

/// The overall status of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkStatus {
    /// Whether work is carried out at all (`work.enabled`).
    pub enabled: bool,
    /// Whether idle time is used (`work.ambient.enabled`).
    pub ambient: bool,
    /// Whether a person has paused everything.
    pub paused: bool,
}

/// Why a request was refused.
#[derive(Debug, thiserror::Error)]
pub enum WorkRefusal {
    /// The plan is invalid.
    #[error(transparent)]
    Plan(#[from] PlanFault),
    /// There is no such work.
    #[error("there is no work {0:?}; list what there is")]
    Unknown(String),
    /// The request does not fit the state of the work.
    #[error("{0}")]
    Conflict(String),
    /// The storage failed.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// The operations on work that every door offers.
#[async_trait]
pub trait WorkBook: Send + Sync {
    /// Returns the overall status of work.
    async fn status(&self) -> Result<WorkStatus>;

    /// Returns the newest pieces of work, newest first; with `open`, only unfinished ones, oldest first.
    async fn works(&self, open: bool, limit: usize) -> Result<Vec<Work>>;

    /// Returns one by its id, or by an unambiguous beginning or end of it.
    async fn work(&self, id: &str) -> Result<Option<Work>, WorkRefusal>;

    /// Accepts a plan. It is worked on as soon as its origin allows.
    async fn plan(&self, planned: PlannedFor, plan: Plan, origin: WorkOrigin) -> Result<Work, WorkRefusal>;

    /// Requests that a piece of work stop, pause or resume.
    async fn command(&self, id: &str, command: WorkCommand) -> Result<Work, WorkRefusal>;

    /// Pauses or resumes all work.
    async fn pause(&self, paused: bool) -> Result<()>;
}
