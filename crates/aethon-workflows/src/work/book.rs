//! The work book: requests from tools, the API, the terminal and the chat are handled here.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aethon_core::clock::Clock;
use aethon_core::error::Result;
use aethon_core::ids::unique;
use aethon_core::turn::Trust;
use aethon_core::work::{
    Plan, PlannedFor, Work, WorkBook, WorkCommand, WorkOrigin, WorkRefusal, WorkSpent, WorkState, WorkStatus,
    WorkStore,
};
use async_trait::async_trait;
use tokio::sync::{Mutex as AsyncMutex, MutexGuard, Notify};
use tokio::time::Instant;

/// The most pieces of unfinished work.
const MAX_OPEN: usize = 100;

/// The most of them that turns may plan which the owner's own words did not begin.
const MAX_OPEN_OF_STRANGERS: usize = 25;

/// How many are searched for one whose id is abbreviated.
const LOOKED_THROUGH: usize = 600;

/// The switch that pauses all work.
pub(super) const PAUSED: &str = "work.paused";

/// The configuration of work.
#[derive(Debug, Clone)]
pub struct WorkOptions {
    /// Whether work is carried out.
    pub is_enabled: bool,
    /// Whether idle time is used.
    pub is_ambient: bool,
    /// Whether a person must approve a plan.
    pub approve_plan: bool,
    /// The most turns of a piece of work.
    pub max_iterations: u32,
    /// The most attempts at a task.
    pub max_attempts: u32,
    /// The most seconds spent on a piece of work.
    pub max_seconds: f64,
    /// The most money for a piece of work, in USD; 0 for as much as the day allows.
    pub max_usd: f64,
}

/// An assistant's work. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Works {
    pub(super) store: Arc<dyn WorkStore>,
    pub(super) options: Arc<WorkOptions>,
    pub(super) clock: Arc<dyn Clock>,
    wake: Arc<Notify>,
    /// When the assistant was last needed.
    needed_at: Arc<Mutex<Instant>>,
    /// Held from reading a piece of work until it is saved, deliberately across awaits: a turn reports its task as done
    /// while its cost is being recorded, and neither may undo the other.
    changing: Arc<AsyncMutex<()>>,
}

impl Works {
    /// Work kept in this store.
    pub fn new(store: Arc<dyn WorkStore>, options: WorkOptions, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            options: Arc::new(options),
            clock,
            wake: Arc::default(),
            needed_at: Arc::new(Mutex::new(Instant::now())),
            changing: Arc::default(),
        }
    }

    /// Returns the configuration.
    pub fn options(&self) -> &WorkOptions {
        &self.options
    }

    /// Returns a piece of work by its id, if the caller may see it; otherwise it does not exist for them.
    pub(super) async fn visible(
        &self,
        id: &str,
        may_see: impl FnOnce(&Work) -> bool + Send,
    ) -> Result<Work, WorkRefusal> {
        let work = self.work(id).await?.filter(may_see);
        work.ok_or_else(|| WorkRefusal::Unknown(id.to_owned()))
    }

    /// Records that the assistant is needed now.
    pub(super) fn note_need(&self) {
        *self.needed_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns for how long it has not been needed.
    pub(super) fn unneeded_for(&self) -> Duration {
        self.needed_at.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Wakes the runner: there is something to do.
    pub(super) fn ring(&self) {
        self.wake.notify_one();
    }

    pub(super) async fn rung(&self) {
        self.wake.notified().await;
    }

    /// Locks work for reading, changing and saving it while turns of it may run.
    pub(super) async fn alone(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().await
    }

    /// Adds the cost and time of a turn to a piece of work.
    pub(super) async fn spend(&self, id: &str, cost_usd: f64, seconds: f64) -> Result<()> {
        let _alone = self.alone().await;
        let Some(mut work) = self.store.work(id).await? else { return Ok(()) };
        work.spent.cost_usd += cost_usd;
        work.spent.seconds += seconds;
        self.save(&mut work).await
    }

    /// Saves a piece of work.
    pub(super) async fn save(&self, work: &mut Work) -> Result<()> {
        work.updated_at = self.clock.now();
        self.store.save(work).await.map(drop)
    }
}

#[async_trait]
impl WorkBook for Works {
    async fn status(&self) -> Result<WorkStatus> {
        let paused = self.store.switch(PAUSED).await?;
        Ok(WorkStatus { enabled: self.options.is_enabled, ambient: self.options.is_ambient, paused })
    }

    async fn works(&self, open: bool, limit: usize) -> Result<Vec<Work>> {
        self.store.works(open, limit).await
    }

    async fn work(&self, id: &str) -> Result<Option<Work>, WorkRefusal> {
        if let Some(work) = self.store.work(id).await? {
            return Ok(Some(work));
        }
        if id.len() < 4 {
            return Ok(None);
        }
        // People see the last part of an id, which differs soonest.
        let known = self.store.works(false, LOOKED_THROUGH).await?;
        let mut fit =
            known.into_iter().filter(|work| work.work_id.starts_with(id) || work.work_id.ends_with(id));
        let first = fit.next();
        match fit.next() {
            Some(_) => Err(WorkRefusal::Conflict(format!(
                "{id:?} fits several pieces of work; give more of the name"
            ))),
            None => Ok(first),
        }
    }

    async fn plan(
        &self,
        mut planned: PlannedFor,
        plan: Plan,
        origin: WorkOrigin,
    ) -> Result<Work, WorkRefusal> {
        let tasks = plan.tasks()?;
        if let Some(key) = &planned.key
            && let Some(work) = self.store.work(key).await?
        {
            if planned.is_again {
                return Ok(work);
            }
            // Another call of the same name, whose plan must not get lost.
            planned.key = None;
        }
        let open = self.store.works(true, MAX_OPEN).await?;
        if open.len() >= MAX_OPEN {
            return Err(WorkRefusal::Conflict(format!(
                "{MAX_OPEN} pieces of work wait already; end some first"
            )));
        }
        let is_strangers = |person, untrusted| !Trust::of(person, untrusted).is_owner();
        let theirs = open.iter().filter(|work| is_strangers(&work.person, work.untrusted)).count();
        if is_strangers(&planned.person, planned.untrusted) && theirs >= MAX_OPEN_OF_STRANGERS {
            return Err(WorkRefusal::Conflict(format!(
                "{MAX_OPEN_OF_STRANGERS} pieces of work wait already that are not the owner's; the rest of the room is \
                 the owner's"
            )));
        }
        let now = self.clock.now();
        let work = Work {
            work_id: planned.key.unwrap_or_else(unique),
            goal: plan.goal.trim().to_owned(),
            session_id: planned.session,
            person: planned.person,
            untrusted: planned.untrusted,
            tell_to: planned.tell_to,
            origin,
            state: WorkState::Queued,
            reason: None,
            tasks,
            spent: WorkSpent::default(),
            created_at: now,
            updated_at: now,
            receipt: None,
            command: None,
        };
        self.store.add(&work).await?;
        self.ring();
        Ok(work)
    }

    async fn command(&self, id: &str, command: WorkCommand) -> Result<Work, WorkRefusal> {
        let unknown = || WorkRefusal::Unknown(id.to_owned());
        let work = self.work(id).await?.ok_or_else(unknown)?;
        if !self.store.set_command(&work.work_id, Some(command)).await? {
            return Err(WorkRefusal::Conflict(format!("the work is over ({})", work.state.as_str())));
        }
        self.ring();
        self.store.work(&work.work_id).await?.ok_or_else(unknown)
    }

    async fn pause(&self, paused: bool) -> Result<()> {
        self.store.set_switch(PAUSED, paused).await?;
        self.ring();
        Ok(())
    }
}
