//! The runner: carries out planned work, one piece at a time, to its end.
//!
//! Before a turn begins, its attempt is stored. The turn's dedupe id names the attempt, so submitting it again after a
//! crash joins the existing turn. Afterwards the ledger says whether the task is done, because the turn has recorded
//! that itself. Requests by a person are checked before each turn, and every few seconds while one runs.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::assistant::Assistant;
use aethon_core::channel::Channels;
use aethon_core::error::Result;
use aethon_core::ids::SessionId;
use aethon_core::ledger::WorkKind;
use aethon_core::message::{Dedupe, Inbound, Reply, TurnEnd};
use aethon_core::shutdown::Shutdown;
use aethon_core::surface::Unattended;
use aethon_core::work::{NewTask, Plan, TaskState, Work, WorkBook as _, WorkCommand, WorkOrigin, WorkState};
use tokio::time::{Instant, sleep};

use super::book::{PAUSED, Works};
use super::brief;
use super::limits::{WorkLimits, reached};
use super::notifier::Notifier;
use super::places::{CHANNEL, session_of};
use aethon_core::patience::retry_until_stored;

/// How often to check for commands, and whether the assistant is needed.
const POLL: Duration = Duration::from_secs(2);

/// The longest wait before the ledger is read again, because another program may have added to it.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// How often the time of a turn is recorded while it is not waiting for a model.
const COUNT: Duration = Duration::from_secs(30);

/// The pause after a storage failure, and before a full engine is tried again.
const PAUSE: Duration = Duration::from_secs(5);

/// How many pieces of work are read at once.
const BATCH: usize = 100;

/// The conversation in which results of idle time are reported.
const IDLE_SESSION: &str = "idle";

/// The use of idle time.
#[derive(Debug, Clone)]
pub struct Idle {
    /// How long the assistant must have been idle.
    pub after: Duration,
    /// The prompt for when nothing is planned; empty for none.
    pub prompt: String,
    /// How long to wait before doing it again.
    pub every: Duration,
    /// How often the owner gets a progress report; `None` for only at the end.
    pub pulse: Option<Duration>,
}

/// The work runner of a daemon.
pub struct WorkRunner {
    works: Works,
    limits: WorkLimits,
    assistant: Arc<dyn Assistant>,
    notifier: Notifier,
    idle: Idle,
    prompted_at: Option<Instant>,
}

/// How an attempt at a task ended.
enum Attempt {
    /// Its turn has ended.
    Ended(Arc<Reply>),
    /// A person wants something else.
    Interrupted,
    /// The program is shutting down.
    Open,
    /// There was no turn.
    Refused(String),
}

impl WorkRunner {
    /// A runner.
    pub fn new(
        works: Works,
        limits: WorkLimits,
        assistant: Arc<dyn Assistant>,
        channels: Channels,
        idle: Idle,
    ) -> Self {
        let notifier = Notifier { assistant: assistant.clone(), channels };
        Self { works, limits, assistant, notifier, idle, prompted_at: None }
    }

    /// Works until the program shuts down. Running work is then left open, and so is its turn: the next start resumes
    /// both.
    pub async fn run(mut self, mut shutdown: Shutdown) {
        if !self.works.options.is_enabled {
            return;
        }
        while !shutdown.is_requested() {
            let worked = tokio::select! {
                () = shutdown.requested() => return,
                worked = self.step_once() => worked,
            };
            let wait = match worked {
                Ok(true) => continue,
                Ok(false) => MAX_WAIT,
                Err(error) => {
                    tracing::error!(%error, "work cannot be read or written");
                    PAUSE
                }
            };
            tokio::select! {
                () = shutdown.requested() => return,
                () = self.works.rung() => {}
                () = sleep(wait) => {}
            }
        }
    }

    /// Takes one step. Returns whether there was one to take.
    async fn step_once(&mut self) -> Result<bool> {
        let is_idle = self.is_idle();
        let open = self.works.store.works(true, BATCH).await?;
        for work in open.iter().filter(|work| work.command.is_some()) {
            self.apply_command(work.clone()).await?;
        }
        if self.works.store.switch(PAUSED).await? {
            return Ok(false);
        }
        let open = self.works.store.works(true, BATCH).await?;
        let can =
            |work: &&Work| work.state != WorkState::Paused && (work.origin == WorkOrigin::Person || is_idle);
        // Running work comes first, then work that a person asked for, then work for idle time.
        let order = |work: &&Work| (work.state != WorkState::Running, work.origin == WorkOrigin::Idle);
        if let Some(work) = open.iter().filter(can).min_by_key(order) {
            self.step(work.clone()).await?;
            return Ok(true);
        }
        if is_idle && self.is_prompt_due() {
            self.plan_idle().await?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Returns whether the assistant has not been needed for long enough.
    fn is_idle(&self) -> bool {
        if !self.works.options.is_ambient {
            return false;
        }
        let is_own = |channel: &str| channel == CHANNEL || channel == "agent";
        if self.assistant.activity().iter().any(|turn| !is_own(turn.session_id.channel())) {
            self.works.note_need();
        }
        self.works.unneeded_for() >= self.idle.after
    }

    fn is_prompt_due(&self) -> bool {
        let is_late = self.prompted_at.is_none_or(|at| at.elapsed() >= self.idle.every);
        !self.idle.prompt.trim().is_empty() && is_late
    }

    /// Plans the owner's prompt for idle time.
    async fn plan_idle(&mut self) -> Result<()> {
        self.prompted_at = Some(Instant::now());
        let task = NewTask {
            title: "Use idle time as the owner wishes".to_owned(),
            detail: self.idle.prompt.clone(),
            acceptance: vec!["the owner's wishes were looked into, and the result is reported".to_owned()],
            depends_on: Vec::new(),
        };
        let plan = Plan { goal: "Idle time".to_owned(), tasks: vec![task] };
        let Ok(session) = SessionId::of("webchat", IDLE_SESSION) else { return Ok(()) };
        if let Err(refusal) = self.works.plan(session.into(), plan, WorkOrigin::Idle).await {
            tracing::warn!(%refusal, "idle time is not used");
        }
        Ok(())
    }

    /// Applies a person's request about a piece of work, then clears it.
    async fn apply_command(&self, work: Work) -> Result<()> {
        let (id, command) = (work.work_id.clone(), work.command);
        self.carry_out(work).await?;
        // Cleared only now, because a crash before this would lose it; and only if it is the same, because there may be
        // a new one.
        let is_same = self.works.store.work(&id).await?.is_some_and(|work| work.command == command);
        if is_same {
            self.works.store.set_command(&id, None).await?;
        }
        Ok(())
    }

    async fn carry_out(&self, mut work: Work) -> Result<()> {
        let command = work.command.take();
        if command == Some(WorkCommand::Stop) {
            return self.end(work, WorkState::Stopped, None).await;
        }
        // A turn that was resumed after a crash may already be working on it.
        let _alone = self.works.alone().await;
        let Some(mut work) = self.works.store.work(&work.work_id).await? else { return Ok(()) };
        work.state = match command {
            Some(WorkCommand::Pause) => WorkState::Paused,
            Some(WorkCommand::Resume) if work.state == WorkState::Paused => WorkState::Queued,
            _ => return Ok(()),
        };
        self.works.save(&mut work).await
    }

    /// Makes one attempt at the next task, or ends the work.
    async fn step(&mut self, mut work: Work) -> Result<()> {
        let Some(task) = work.next_task().cloned() else {
            let is_done = work.done() == work.tasks.len();
            let state = if is_done { WorkState::Done } else { WorkState::Failed };
            let failed = work.tasks.iter().find(|task| task.state == TaskState::Failed);
            let reason = failed.map(|task| format!("task {} could not be done", task.number));
            return self.end(work, state, reason).await;
        };
        let options = self.works.options.clone();
        // A running attempt was begun by an earlier process, and is joined.
        let is_joined = task.state == TaskState::Running;
        if !is_joined {
            if let Some(reason) = reached(&work, &options) {
                return self.end(work, WorkState::Failed, Some(reason)).await;
            }
            if task.attempts >= options.max_attempts {
                if let Some(task) = work.task_mut(task.number) {
                    task.state = TaskState::Failed;
                }
                let why =
                    format!("task {} was tried {} times (`work.max_attempts`)", task.number, task.attempts);
                return self.end(work, WorkState::Failed, Some(why)).await;
            }
            work.state = WorkState::Running;
            work.spent.iterations += 1;
            if let Some(task) = work.task_mut(task.number) {
                (task.state, task.attempts) = (TaskState::Running, task.attempts + 1);
            }
            self.works.save(&mut work).await?;
        }
        self.limits.begin(&work.work_id);
        let attempt = self.attempt(&work, task.number).await;
        self.record_outcome(&work.work_id, task.number, attempt).await
    }

    /// Submits the attempt, and waits for its end or for a request.
    async fn attempt(&self, work: &Work, number: u32) -> Attempt {
        let (Some(task), Some(session)) = (work.task(number), session_of(&work.work_id, number)) else {
            return Attempt::Refused("the task is gone".to_owned());
        };
        let id = format!("work:{}:{number}:{}", work.work_id, task.attempts);
        let inbound = Inbound::say(session.clone(), brief::task(work, task))
            .from_sender(work.session_id.as_str())
            .for_person(work.person.clone())
            .with_outside(work.untrusted)
            .of_kind(WorkKind::Background)
            .with_oneshot(true)
            .with_dedupe(Dedupe { id, fingerprint: None, valid_for: None });
        let submitted = loop {
            match self.assistant.submit(inbound.clone(), Arc::new(Unattended)).await {
                Ok(submitted) => break submitted,
                Err(error) if error.is_busy() || error.is_damaged() => sleep(PAUSE).await,
                Err(error) => return Attempt::Refused(error.to_string()),
            }
        };
        let turn = submitted.turn.clone();
        let mut reply = Box::pin(submitted.reply.wait());
        let mut is_interrupted = false;
        let mut counted_at = Instant::now();
        loop {
            tokio::select! {
                reply = &mut reply => return match reply {
                    Ok(_) if is_interrupted => Attempt::Interrupted,
                    Ok(reply) => Attempt::Ended(reply),
                    Err(_) => Attempt::Open,
                },
                () = sleep(POLL), if !is_interrupted => {
                    // Model calls are recorded as they end; this covers tools that take long.
                    if counted_at.elapsed() >= COUNT {
                        self.limits.count(&work.work_id).await;
                        counted_at = Instant::now();
                    }
                    if self.is_unwanted(&work.work_id).await {
                        is_interrupted = true;
                        self.assistant.stop(&session, Some(&turn)).await;
                    }
                }
            }
        }
    }

    /// Whether a person wants the work to pause or stop.
    async fn is_unwanted(&self, work_id: &str) -> bool {
        let command = self.works.store.work(work_id).await.ok().flatten().and_then(|work| work.command);
        let paused = self.works.store.switch(PAUSED).await.unwrap_or(false);
        paused || matches!(command, Some(WorkCommand::Stop | WorkCommand::Pause))
    }

    /// Records the outcome of an attempt.
    async fn record_outcome(&mut self, work_id: &str, number: u32, attempt: Attempt) -> Result<()> {
        if matches!(attempt, Attempt::Open) {
            // The turn stays open as well, and the next start joins it. Nothing more is begun here.
            return std::future::pending().await;
        }
        let own_usd = if let Attempt::Ended(reply) = &attempt { reply.usage.cost_usd } else { 0.0 };
        let (cost_usd, seconds) = self.limits.end(work_id, own_usd);
        let alone = self.works.alone().await;
        let read = || self.works.store.work(work_id);
        let Some(mut work) = retry_until_stored("work could not be read; trying again", read).await? else {
            return Ok(());
        };
        work.spent.cost_usd += cost_usd;
        work.spent.seconds += seconds;
        let is_budget = matches!(&attempt, Attempt::Ended(reply) if reply.end == TurnEnd::Budget);
        if let Some(task) = work.task_mut(number).filter(|task| task.state == TaskState::Running) {
            task.state = TaskState::Todo;
            match &attempt {
                Attempt::Ended(reply) => task.error = Some(unfinished(reply)),
                Attempt::Refused(why) => task.error = Some(why.clone()),
                // The task was not at fault.
                Attempt::Interrupted | Attempt::Open => task.attempts = task.attempts.saturating_sub(1),
            }
        }
        if is_budget {
            work.state = WorkState::Paused;
            work.reason =
                Some("the day's budget is used up; let it go on when there is money again".to_owned());
        }
        let mut saved = work.clone();
        self.works.save(&mut saved).await?;
        drop(alone);
        if is_budget {
            let text = format!("{} It is paused: the day's budget is used up.", brief::pulse(&work));
            let key = format!("budget:{}:{}", work.work_id, work.spent.iterations);
            self.notifier.notify(&work, &key, text).await;
        } else {
            self.pulse(&work).await;
        }
        Ok(())
    }

    /// Sends the owner a progress report when one is due.
    async fn pulse(&self, work: &Work) {
        let Some(every) = self.idle.pulse.filter(|_| work.next_task().is_some()) else { return };
        // One for each interval that has passed; each is sent only once.
        let count = (work.spent.seconds / every.as_secs_f64().max(1.0)).floor();
        if count >= 1.0 {
            self.notifier.notify(work, &format!("pulse:{}:{count}", work.work_id), brief::pulse(work)).await;
        }
    }

    /// Ends the work with its receipt.
    async fn end(&self, mut work: Work, state: WorkState, reason: Option<String>) -> Result<()> {
        (work.state, work.reason) = (state, reason);
        for task in work.tasks.iter_mut().filter(|task| task.state == TaskState::Running) {
            task.state = TaskState::Todo;
        }
        let receipt = brief::receipt(&work);
        work.receipt = Some(receipt.clone());
        // Reported before it is saved as over, and under a key: if a crash in between causes a second report, it is the
        // same message.
        self.notifier.notify(&work, &format!("receipt:{}", work.work_id), receipt).await;
        self.works.save(&mut work).await?;
        tracing::info!(work = work.work_id, state = state.as_str(), "work is over");
        Ok(())
    }
}

/// Why a turn ended without finishing its task.
fn unfinished(reply: &Reply) -> String {
    match (&reply.failure, reply.end) {
        (Some(failure), _) => failure.message.clone(),
        (None, TurnEnd::Stopped) => "it was stopped".to_owned(),
        (None, _) => "it ended without saying whether the task is done".to_owned(),
    }
}
