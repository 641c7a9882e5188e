//! What ends a piece of work: turns, attempts, time and money. Time and money also end a turn of it in the middle, before
//! its next model call: that is this hook. The calls of specialists count with the turn that asked them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::agents::AgentBoard;
use aethon_core::clock::Clock;
use aethon_core::failure::{EndReason, Failure};
use aethon_core::hook::{Hook, TurnContext};
use aethon_core::message::Message;
use aethon_core::model::{ModelRequest, Usage};
use aethon_core::work::Work;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use super::book::WorkOptions;
use super::places::task_of;

/// The word for a turn that a limit of work has ended.
const CODE: &str = "work_limit";

/// The hook, and what the runner reads of it. Cheap to clone; clones share it.
#[derive(Clone)]
pub struct WorkLimits(Arc<Inner>);

struct Inner {
    board: AgentBoard,
    clock: Arc<dyn Clock>,
    running: Mutex<HashMap<String, Running>>,
}

struct Running {
    spent_usd: f64,
    /// How much more a turn of it may spend.
    left_usd: Option<f64>,
    ends_at: Timestamp,
}

impl WorkLimits {
    /// The hook; the board says which turn was asked by which.
    pub fn new(board: AgentBoard, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Inner { board, clock, running: Mutex::default() }))
    }

    /// A turn of this work begins.
    pub(super) fn begin(&self, work: &Work, options: &WorkOptions) {
        let left = SignedDuration::try_from_secs_f64((options.max_seconds - work.spent.seconds).max(0.0));
        let now = self.0.clock.now();
        let ends_at = left.ok().and_then(|left| now.checked_add(left).ok()).unwrap_or(Timestamp::MAX);
        let left_usd = (options.max_usd > 0.0).then_some(options.max_usd - work.spent.cost_usd);
        let running = Running { spent_usd: 0.0, left_usd, ends_at };
        self.lock().insert(work.work_id.clone(), running);
    }

    /// The turn is over: what it has cost, specialists included.
    pub(super) fn end(&self, work_id: &str) -> f64 {
        self.lock().remove(work_id).map_or(0.0, |running| running.spent_usd)
    }

    /// The work that a turn is for, itself or by who asked it.
    fn with<T>(&self, turn: &TurnContext, look: impl FnOnce(&mut Running) -> T) -> Option<T> {
        let caller = self.0.board.caller(&turn.session);
        let session = caller.as_ref().map_or(&turn.session, |caller| &caller.session);
        let (work_id, _) = task_of(session)?;
        self.lock().get_mut(work_id).map(look)
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
        let now = self.0.clock.now();
        let over = self.with(turn, |running| {
            let is_spent = running.left_usd.is_some_and(|left| running.spent_usd >= left);
            match (is_spent, now >= running.ends_at) {
                (true, _) => Some("`work.max_usd` is used up"),
                (false, true) => Some("`work.max_minutes` is over"),
                (false, false) => None,
            }
        });
        match over.flatten() {
            Some(why) => Err(Failure::new(EndReason::Other(CODE.into()), format!("Stopped: {why}."))),
            None => Ok(()),
        }
    }

    async fn after_model(&self, turn: &TurnContext, _outcome: Result<&Message, &Failure>, usage: &Usage) {
        self.with(turn, |running| running.spent_usd += usage.cost_usd);
    }
}

/// Which limit a piece of work has reached, as a sentence for its receipt.
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
