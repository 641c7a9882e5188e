//! The runner: works what is planned, one piece of work at a time, to its end.
//!
//! Before a turn begins, its attempt is stored; the turn bears the name of the attempt, so that after a crash handing it in
//! again is joining it. After it, the ledger says whether the task is done: the turn has written that itself. Wishes of a
//! person are looked for before each turn and every few seconds while one runs.

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
use aethon_core::work::{NewTask, Plan, TaskState, Work, WorkBook as _, WorkOrigin, WorkState, WorkWish};
use tokio::time::{Instant, sleep};

use super::book::{PAUSED, Works};
use super::brief;
use super::limits::{WorkLimits, reached};
use super::notifier::Notifier;
use super::places::{CHANNEL, session_of};
use crate::patience::until_stored;

/// How often wishes, and whether somebody needs the assistant, are looked for.
const LOOK: Duration = Duration::from_secs(2);

/// The longest wait before the ledger is looked at again: another program may have added to it.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// How often the time of a turn is counted while it waits for no model.
const COUNT: Duration = Duration::from_secs(30);

/// The pause after the storage has failed, and before a full engine is asked again.
const PAUSE: Duration = Duration::from_secs(5);

/// How many pieces of work are looked at, at once.
const BATCH: usize = 100;

/// Where what was found in idle time is told.
const IDLE_SESSION: &str = "idle";

/// What is done in idle time.
#[derive(Debug, Clone)]
pub struct Idle {
    /// How long nothing must have happened.
    pub after: Duration,
    /// What to do when nothing is planned; empty for nothing.
    pub prompt: String,
    /// How long after that it is done again.
    pub every: Duration,
    /// How often the owner is told how work goes; `None` for only at its end.
    pub pulse: Option<Duration>,
}

/// The runner of a daemon.
pub struct WorkRunner {
    works: Works,
    limits: WorkLimits,
    assistant: Arc<dyn Assistant>,
    notifier: Notifier,
    idle: Idle,
    prompted_at: Option<Instant>,
}

/// How an attempt at a task went.
enum Attempt {
    /// Its turn has ended.
    Ended(Arc<Reply>),
    /// A person wants something else.
    Broken,
    /// The program ends.
    Open,
    /// There was no turn.
    Refused(String),
}

impl WorkRunner {
    /// A runner.
    pub fn new(
        (works, limits): (Works, WorkLimits),
        assistant: Arc<dyn Assistant>,
        channels: Channels,
        idle: Idle,
    ) -> Self {
        let notifier = Notifier { assistant: assistant.clone(), channels };
        Self { works, limits, assistant, notifier, idle, prompted_at: None }
    }

    /// Works until the program ends. What is under way then is left open, and so is its turn: the next start goes on.
    pub async fn run(mut self, mut shutdown: Shutdown) {
        if !self.works.options.is_enabled {
            return;
        }
        while !shutdown.is_requested() {
            let worked = tokio::select! {
                () = shutdown.requested() => return,
                worked = self.look() => worked,
            };
            let wait = match worked {
                Ok(true) => continue,
                Ok(false) => LONGEST_WAIT,
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

    /// Takes one step; whether there was one to take.
    async fn look(&mut self) -> Result<bool> {
        let is_idle = self.is_idle();
        let open = self.works.store.works(true, BATCH).await?;
        for work in open.iter().filter(|work| work.wish.is_some()) {
            self.grant(work.clone()).await?;
        }
        if self.works.store.switch(PAUSED).await? {
            return Ok(false);
        }
        let open = self.works.store.works(true, BATCH).await?;
        let can =
            |work: &&Work| work.state != WorkState::Paused && (work.origin == WorkOrigin::Person || is_idle);
        // What is begun comes first, what was asked for before what is for idle time.
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

    /// Whether nobody has needed the assistant for long enough.
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

    /// Plans what the owner wants done in idle time.
    async fn plan_idle(&mut self) -> Result<()> {
        self.prompted_at = Some(Instant::now());
        let task = NewTask {
            title: "Use idle time as the owner wishes".to_owned(),
            detail: self.idle.prompt.clone(),
            acceptance: vec!["what the owner wishes was looked into, and what came of it is told".to_owned()],
            depends_on: Vec::new(),
        };
        let plan = Plan { goal: "Idle time".to_owned(), tasks: vec![task] };
        let Ok(session) = SessionId::of("webchat", IDLE_SESSION) else { return Ok(()) };
        if let Err(refusal) = self.works.plan(session.into(), plan, WorkOrigin::Idle).await {
            tracing::warn!(%refusal, "idle time is not used");
        }
        Ok(())
    }

    /// Does what a person wishes of a piece of work.
    async fn grant(&self, work: Work) -> Result<()> {
        let (id, wish) = (work.work_id.clone(), work.wish);
        self.fulfil(work).await?;
        // Only now, because a crash before would lose it; and only this one, because there may be another by now.
        let is_same = self.works.store.work(&id).await?.is_some_and(|work| work.wish == wish);
        if is_same {
            self.works.store.set_wish(&id, None).await?;
        }
        Ok(())
    }

    async fn fulfil(&self, mut work: Work) -> Result<()> {
        let wish = work.wish.take();
        if wish == Some(WorkWish::Stop) {
            return self.end(work, WorkState::Stopped, None).await;
        }
        // A turn that was taken up after a crash may be at it already.
        let _alone = self.works.alone().await;
        let Some(mut work) = self.works.store.work(&work.work_id).await? else { return Ok(()) };
        work.state = match wish {
            Some(WorkWish::Pause) => WorkState::Paused,
            Some(WorkWish::Resume) if work.state == WorkState::Paused => WorkState::Queued,
            _ => return Ok(()),
        };
        self.works.save(&mut work).await
    }

    /// One attempt at the next task, or the end of the work.
    async fn step(&mut self, mut work: Work) -> Result<()> {
        let Some(task) = work.next_task().cloned() else {
            let is_done = work.done() == work.tasks.len();
            let state = if is_done { WorkState::Done } else { WorkState::Failed };
            let failed = work.tasks.iter().find(|task| task.state == TaskState::Failed);
            let reason = failed.map(|task| format!("task {} could not be done", task.number));
            return self.end(work, state, reason).await;
        };
        let options = self.works.options.clone();
        // An attempt that is under way was begun by an earlier process, and is joined.
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
        self.settle((work.work_id.as_str(), task.number), attempt).await
    }

    /// Hands the attempt in, and waits for its end or for a wish.
    async fn attempt(&self, work: &Work, number: u32) -> Attempt {
        let (Some(task), Some(session)) = (work.task(number), session_of(&work.work_id, number)) else {
            return Attempt::Refused("the task is gone".to_owned());
        };
        let id = format!("work:{}:{number}:{}", work.work_id, task.attempts);
        let inbound = Inbound::say(session.clone(), brief::task(work, task))
            .from_sender(work.session_id.as_str())
            .for_person(work.person.clone())
            .of_kind(WorkKind::Background)
            .with_oneshot(true)
            .with_dedupe(Dedupe { id, fingerprint: None, valid_for: None });
        let submitted = loop {
            match self.assistant.submit(inbound.clone(), Arc::new(Unattended)).await {
                Ok(submitted) => break submitted,
                Err(error) if error.is_busy() => sleep(PAUSE).await,
                Err(error) => return Attempt::Refused(error.to_string()),
            }
        };
        let turn = submitted.turn.clone();
        let mut reply = Box::pin(submitted.reply.wait());
        let mut is_broken = false;
        let mut counted_at = Instant::now();
        loop {
            tokio::select! {
                reply = &mut reply => return match reply {
                    Ok(_) if is_broken => Attempt::Broken,
                    Ok(reply) => Attempt::Ended(reply),
                    Err(_) => Attempt::Open,
                },
                () = sleep(LOOK), if !is_broken => {
                    // Model calls are counted as they end; this is for a tool that takes long.
                    if counted_at.elapsed() >= COUNT {
                        self.limits.count(&work.work_id).await;
                        counted_at = Instant::now();
                    }
                    if self.is_unwanted(&work.work_id).await {
                        is_broken = true;
                        self.assistant.stop(&session, Some(&turn)).await;
                    }
                }
            }
        }
    }

    /// Whether a person wants the work to rest or to end.
    async fn is_unwanted(&self, work_id: &str) -> bool {
        let wished = self.works.store.work(work_id).await.ok().flatten().and_then(|work| work.wish);
        let paused = self.works.store.switch(PAUSED).await.unwrap_or(false);
        paused || matches!(wished, Some(WorkWish::Stop | WorkWish::Pause))
    }

    /// Writes down what an attempt came to.
    async fn settle(&mut self, (work_id, number): (&str, u32), attempt: Attempt) -> Result<()> {
        if matches!(attempt, Attempt::Open) {
            // The turn stays open as well; the next start joins it. Nothing more is begun here.
            return std::future::pending().await;
        }
        let own_usd = if let Attempt::Ended(reply) = &attempt { reply.usage.cost_usd } else { 0.0 };
        let (cost_usd, seconds) = self.limits.end(work_id, own_usd);
        let alone = self.works.alone().await;
        let read = || self.works.store.work(work_id);
        let Some(mut work) = until_stored("work could not be read; trying again", read).await? else {
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
                // It was no fault of the task.
                Attempt::Broken | Attempt::Open => task.attempts = task.attempts.saturating_sub(1),
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

    /// Tells the owner how it goes, when it is time.
    async fn pulse(&self, work: &Work) {
        let Some(every) = self.idle.pulse.filter(|_| work.next_task().is_some()) else { return };
        // As many as fit into the time that it has taken; each is told once.
        let count = (work.spent.seconds / every.as_secs_f64().max(1.0)).floor();
        if count >= 1.0 {
            self.notifier.notify(work, &format!("pulse:{}:{count}", work.work_id), brief::pulse(work)).await;
        }
    }

    /// Ends it with its receipt.
    async fn end(&self, mut work: Work, state: WorkState, reason: Option<String>) -> Result<()> {
        (work.state, work.reason) = (state, reason);
        for task in work.tasks.iter_mut().filter(|task| task.state == TaskState::Running) {
            task.state = TaskState::Todo;
        }
        let receipt = brief::receipt(&work);
        work.receipt = Some(receipt.clone());
        // Told before it is over, and under a name: a crash in between tells it again, which is the same message.
        self.notifier.notify(&work, &format!("receipt:{}", work.work_id), receipt).await;
        self.works.save(&mut work).await?;
        tracing::info!(work = work.work_id, state = state.as_str(), "work is over");
        Ok(())
    }
}

/// Why a turn that has ended has not done its task.
fn unfinished(reply: &Reply) -> String {
    match (&reply.failure, reply.end) {
        (Some(failure), _) => failure.message.clone(),
        (None, TurnEnd::Stopped) => "it was stopped".to_owned(),
        (None, _) => "it ended without saying whether the task is done".to_owned(),
    }
}
