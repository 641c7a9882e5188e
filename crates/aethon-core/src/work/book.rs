//! What every door may do with work: look, plan, stop, pause.

use async_trait::async_trait;
use serde::Serialize;

use super::plan::{Plan, PlanFault};
use super::store::WorkWish;
use super::task::{PlannedFor, Work, WorkOrigin};
use crate::error::{Error, Result};

/// How work stands as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkStatus {
    /// Whether work is worked on at all (`work.enabled`).
    pub enabled: bool,
    /// Whether idle time is used (`work.ambient.enabled`).
    pub ambient: bool,
    /// Whether a person has paused everything.
    pub paused: bool,
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum WorkRefusal {
    /// The plan cannot be worked.
    #[error(transparent)]
    Plan(#[from] PlanFault),
    /// There is no such work.
    #[error("there is no work {0:?}; list what there is")]
    Unknown(String),
    /// What is asked does not fit where it stands.
    #[error("{0}")]
    Conflict(String),
    /// The storage failed.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// What every door may do with work.
#[async_trait]
pub trait WorkBook: Send + Sync {
    /// How work stands as a whole.
    async fn status(&self) -> Result<WorkStatus>;

    /// The newest, newest first; with `open`, those only that are not over, oldest first.
    async fn works(&self, open: bool, limit: usize) -> Result<Vec<Work>>;

    /// One by its name, or by the beginning of its name where that says which.
    async fn work(&self, id: &str) -> Result<Option<Work>, WorkRefusal>;

    /// Takes a plan in. It is worked on as soon as its origin allows.
    async fn plan(&self, planned: PlannedFor, plan: Plan, origin: WorkOrigin) -> Result<Work, WorkRefusal>;

    /// Says what is wished of a piece of work.
    async fn wish(&self, id: &str, wish: WorkWish) -> Result<Work, WorkRefusal>;

    /// Pauses all work, or lets it go on.
    async fn pause(&self, paused: bool) -> Result<()>;
}
