//! Empty workflows for tests about something else: no SOPs, no prompts, no jobs, no work.

use std::sync::Arc;

use async_trait::async_trait;

use crate::error::{Error, Result};
use crate::ids::TurnId;
use crate::prompts::{PromptName, SavedPrompt, SavedPrompts};
use crate::schedule::{JobEdits, JobRecord, JobRefusal, JobRequest, Origin, RunRecord, Schedule};
use crate::sop::{BrokenSop, Sop, SopCatalog, SopCheck, SopName, SopRefusal, SopRunner, SopVersion};
use crate::version::Expected;
use crate::work::{Plan, PlannedFor, Work, WorkBook, WorkCommand, WorkOrigin, WorkRefusal, WorkStatus};

/// No SOPs, no prompts, no jobs and no work.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWorkflows;

#[async_trait]
impl SopCatalog for NoWorkflows {
    async fn sops(&self) -> Result<Vec<Arc<Sop>>> {
        Ok(Vec::new())
    }

    async fn sop(&self, _name: &SopName) -> Result<Option<Arc<Sop>>> {
        Ok(None)
    }

    async fn broken(&self) -> Result<Vec<BrokenSop>> {
        Ok(Vec::new())
    }

    fn check(&self, _content: &str) -> SopCheck {
        SopCheck::default()
    }

    async fn save(&self, _: &SopName, _content: &str, _: Expected) -> Result<Arc<Sop>, SopRefusal> {
        Err(Error::internal("nothing is saved here").into())
    }

    async fn remove(&self, name: &SopName, _: Expected) -> Result<(), SopRefusal> {
        Err(SopRefusal::Unknown(name.clone()))
    }

    async fn versions(&self, _name: &SopName) -> Result<Vec<SopVersion>> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl SavedPrompts for NoWorkflows {
    async fn prompts(&self) -> Result<Vec<SavedPrompt>> {
        Ok(Vec::new())
    }

    async fn prompt(&self, _name: &PromptName) -> Result<Option<SavedPrompt>> {
        Ok(None)
    }

    async fn save(&self, _: &PromptName, _content: &str, _: Expected) -> Result<SavedPrompt> {
        Err(Error::internal("nothing is saved here"))
    }

    async fn remove(&self, _: &PromptName, _: Expected) -> Result<bool> {
        Ok(false)
    }
}

#[async_trait]
impl SopRunner for NoWorkflows {
    async fn resume(&self, run_id: &str) -> Result<TurnId> {
        Err(Error::not_found(format!("there is no run {run_id:?}")))
    }
}

#[async_trait]
impl JobEdits for NoWorkflows {
    async fn change(&self, request: JobRequest, _: Expected) -> Result<JobRecord, JobRefusal> {
        Err(JobRefusal::unknown(request.job_id.unwrap_or_default()))
    }
}

#[async_trait]
impl Schedule for NoWorkflows {
    fn is_enabled(&self) -> bool {
        false
    }

    async fn jobs(&self) -> Result<Vec<JobRecord>, JobRefusal> {
        Ok(Vec::new())
    }

    async fn add(&self, _request: JobRequest, _origin: Origin) -> Result<JobRecord, JobRefusal> {
        Err(JobRefusal::field("cron", "is not understood here"))
    }

    async fn remove(&self, id: &str, _: Expected) -> Result<(), JobRefusal> {
        Err(JobRefusal::unknown(id))
    }

    async fn set_paused(&self, id: &str, _: bool, _: Expected) -> Result<JobRecord, JobRefusal> {
        Err(JobRefusal::unknown(id))
    }

    async fn run(&self, id: &str) -> Result<RunRecord, JobRefusal> {
        Err(JobRefusal::unknown(id))
    }

    async fn runs(&self, id: &str, _limit: usize) -> Result<Vec<RunRecord>, JobRefusal> {
        Err(JobRefusal::unknown(id))
    }
}

#[async_trait]
impl WorkBook for NoWorkflows {
    async fn status(&self) -> Result<WorkStatus> {
        Ok(WorkStatus { enabled: false, ambient: false, paused: false })
    }

    async fn works(&self, _open: bool, _limit: usize) -> Result<Vec<Work>> {
        Ok(Vec::new())
    }

    async fn work(&self, _id: &str) -> Result<Option<Work>, WorkRefusal> {
        Ok(None)
    }

    async fn plan(&self, _: PlannedFor, _: Plan, _: WorkOrigin) -> Result<Work, WorkRefusal> {
        Err(WorkRefusal::Conflict("nothing is planned here".into()))
    }

    async fn command(&self, id: &str, _wish: WorkCommand) -> Result<Work, WorkRefusal> {
        Err(WorkRefusal::Unknown(id.into()))
    }

    async fn pause(&self, _paused: bool) -> Result<()> {
        Ok(())
    }
}
