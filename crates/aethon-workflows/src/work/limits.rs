//! What ends a piece of work: turns, attempts, time and money. Time and money also end a turn midway, before its next
//! model call; this hook does that. The calls of specialists count towards the turn that called them.
//!
//! Spending is recorded in the work ledger at once, so it counts even if the program is killed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::agents::AgentBoard;
use aethon_core::failure::{EndReason, Failure};
use aethon_core::hook::{Hook, TurnContext};
use aethon_core::message::Message;
use aethon_core::model::{ModelRequest, Usage};
use aethon_core::work::Work;
use async_trait::async_trait;
use jiff::Timestamp;

use super::book::{WorkOptions, Works};
use super::places::task_of;
use aethon_core::patience::retry_until_stored;

/// The code for a turn that was ended by a limit of its work.
const CODE: &str = "work_limit";

/// The hook, from which the runner reads as well. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct WorkLimits(Arc<Inner>);

struct Inner {
    board: AgentBoard,
    works: Works,
    running: Mutex<HashMap<String, Running>>,
}

/// A piece of work with a running turn, and the part of its spending that the ledger does not contain yet.
struct Running {
    /// Until when its time has been recorded.
    counted_until: Timestamp,
    /// Money that could not be stored.
    uncounted_usd: f64,
    /// The cost of the turn's own calls, excluding specialists.
    own_usd: f64,
}

impl WorkLimits {
    /// The hook; the board says which turn called which.
    pub fn new(board: AgentBoard, works: Works) -> Self {
        Self(Arc::new(Inner { board, works, running: Mutex::default() }))
    }

    /// A turn of this work is running. After a restart, the turn may have begun before its runner.
    pub(super) fn begin(&self, work_id: &str) {
        let now = self.0.works.clock.now();
        let running = || Running { counted_until: now, uncounted_usd: 0.0, own_usd: 0.0 };
        self.lock().entry(work_id.to_owned()).or_insert_with(running);
    }

    /// Records the spending up to now.
    pub(super) async fn count(&self, work_id: &str) {
        let now = self.0.works.clock.now();
        let Some((since, cost_usd)) = self.change(work_id, |running| {
            (std::mem::replace(&mut running.counted_until, now), std::mem::take(&mut running.uncounted_usd))
        }) else {
            return;
        };
        let seconds = now.duration_since(since).as_secs_f64().max(0.0);
        if let Err(error) = self.0.works.spend(work_id, cost_usd, seconds).await {
            tracing::warn!(%error, work_id, "what work has taken could not be stored; it is added later");
            self.change(work_id, |running| {
                running.counted_until = running.counted_until.min(since);
                running.uncounted_usd += cost_usd;
            });
        }
    }

    /// Ends the turn, whose own cost was `own_usd`. Returns the money and time that the ledger does not contain yet. A
    /// model that failed before another one answered appears only in the turn's total.
    pub(super) fn end(&self, work_id: &str, own_usd: f64) -> (f64, f64) {
        let now = self.0.works.clock.now();
        let Some(running) = self.lock().remove(work_id) else { return (0.0, 0.0) };
        let seconds = now.duration_since(running.counted_until).as_secs_f64().max(0.0);
        (running.uncounted_usd + (own_usd - running.own_usd).max(0.0), seconds)
    }

    /// The work that a turn, or its caller, is for; and whether it is the turn itself.
    fn work_of(&self, turn: &TurnContext) -> Option<(String, bool)> {
        let caller = self.0.board.caller(&turn.session);
        let session = caller.as_ref().map_or(&turn.session, |caller| &caller.session);
        task_of(session).map(|(work_id, _)| (work_id.to_owned(), caller.is_none()))
    }

    fn change<T>(&self, work_id: &str, change: impl FnOnce(&mut Running) -> T) -> Option<T> {
        self.lock().get_mut(work_id).map(change)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Running>> {
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Hook for WorkLimits {
    fn name(&self) -> &'static str {
        "work"
    }

    async fn before_model(&self, turn: &TurnContext, _request: &ModelRequest) -> Result<(), Failure> {
        let Some((work_id, _)) = self.work_of(turn) else { return Ok(()) };
        self.begin(&work_id);
        self.count(&work_id).await;
        let works = &self.0.works;
        let read = || works.store.work(&work_id);
        let work = match retry_until_stored("work could not be read; trying again", read).await {
            Ok(Some(work)) => work,
            Ok(None) => return Ok(()),
            // Without the ledger, the remaining budget is unknown.
            Err(error) => return Err(Failure::new(EndReason::Other(CODE.into()), error.to_string())),
        };
        let is_spent = works.options.max_usd > 0.0 && work.spent.cost_usd >= works.options.max_usd;
        let is_late = work.spent.seconds >= works.options.max_seconds;
        let why = match (is_spent, is_late) {
            (true, _) => "`work.max_usd` is used up",
            (false, true) => "`work.max_minutes` is over",
            (false, false) => return Ok(()),
        };
        Err(Failure::new(EndReason::Other(CODE.into()), format!("Stopped: {why}.")))
    }

    async fn after_model(&self, turn: &TurnContext, _outcome: Result<&Message, &Failure>, usage: &Usage) {
        let Some((work_id, is_own)) = self.work_of(turn) else { return };
        self.change(&work_id, |running| {
            running.uncounted_usd += usage.cost_usd;
            running.own_usd += if is_own { usage.cost_usd } else { 0.0 };
        });
        self.count(&work_id).await;
    }
}

/// Returns which limit a piece of work has reached, as a sentence for its receipt.
pub(super) fn reached(work: &Work, options: &WorkOptions) -> Option<String> {
    let spent = &work.spent;
    if spent.iterations >= options.max_iterations {
        return Some(format!("it has taken {} turns (`work.max_iterations`)", spent.iterations));
    }
    if spent.seconds >= options.max_seconds {
        return Some(format!(
            "it was worked on for {:.0} minutes (`work.max_minutes`)",
            spent.seconds / 60.0
        ));
    }
    if options.max_usd > 0.0 && spent.cost_usd >= options.max_usd {
        return Some(format!("it has cost {:.4} USD (`work.max_usd`)", spent.cost_usd));
    }
    None
}
