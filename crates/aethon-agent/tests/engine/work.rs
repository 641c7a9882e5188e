//! Work of several turns: worked to its end, ended by each of its limits, and gone on with after a crash.

use std::sync::Arc;
use std::time::Duration;

use aethon_agent::work::{Idle, Tasks, WorkDoor, WorkLimits, WorkOptions, WorkRunner, Works};
use aethon_core::agents::AgentBoard;
use aethon_core::assistant::{self, Assistant};
use aethon_core::channel::Channels;
use aethon_core::ledger::Price;
use aethon_core::message::Inbound;
use aethon_core::model::StopReason;
use aethon_core::shutdown::{Shutdown, ShutdownTrigger};
use aethon_core::surface::Unattended;
use aethon_core::testkit::{Gate, ManualClock, MemoryStore, Step};
use aethon_core::work::{NewTask, TaskState, Work, WorkBook as _, WorkOrigin, WorkState, WorkWish};
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::harness::{House, Plan, now, says, says_behind, session};

fn options() -> WorkOptions {
    WorkOptions {
        is_enabled: true,
        is_ambient: false,
        approve_plan: false,
        max_iterations: 10,
        max_attempts: 2,
        max_seconds: 3600.0,
        max_usd: 0.0,
    }
}

fn idle() -> Idle {
    Idle { after: Duration::ZERO, prompt: String::new(), every: Duration::from_secs(3600), pulse: None }
}

struct Stage {
    house: House,
    works: Works,
    limits: WorkLimits,
    idle: Idle,
}

impl Stage {
    fn new(responses: impl IntoIterator<Item = Vec<Step>>, options: WorkOptions) -> Self {
        Self::with(responses, options, Plan::default())
    }

    fn with(responses: impl IntoIterator<Item = Vec<Step>>, options: WorkOptions, plan: Plan) -> Self {
        let store = Arc::new(MemoryStore::at(now()));
        let clock = Arc::new(ManualClock::at(now()));
        let works = Works::new(store.clone(), options, clock.clone());
        let limits = WorkLimits::new(AgentBoard::default(), clock.clone());
        let plan = Plan {
            store: Some(store),
            tools: vec![Arc::new(Tasks::new(works.clone()))],
            hooks: vec![Arc::new(limits.clone())],
            clock: Some(clock),
            ..plan
        };
        Self { house: House::with(responses, plan), works, limits, idle: idle() }
    }

    /// A runner at work, until it is told to end.
    fn start(&self) -> (JoinHandle<()>, ShutdownTrigger) {
        let (trigger, shutdown): (ShutdownTrigger, Shutdown) = ShutdownTrigger::pair();
        let kept = (self.works.clone(), self.limits.clone());
        let assistant: Arc<dyn Assistant> = Arc::new(self.house.engine.clone());
        let runner = WorkRunner::new(kept, assistant, Channels::default(), self.idle.clone());
        (tokio::spawn(runner.run(shutdown)), trigger)
    }

    async fn plan(&self, count: usize, origin: WorkOrigin) -> Work {
        let task = |number: usize| NewTask {
            title: format!("task {number}"),
            acceptance: vec!["it holds".into()],
            depends_on: if number > 1 { vec![u32::try_from(number - 1).unwrap()] } else { Vec::new() },
            ..NewTask::default()
        };
        let plan =
            aethon_core::work::Plan { goal: "the whole".into(), tasks: (1..=count).map(task).collect() };
        self.works.plan(session("a").into(), plan, origin).await.unwrap()
    }

    async fn until(&self, is_so: impl Fn(&Work) -> bool) -> Work {
        let wait = async {
            loop {
                let work = self.works.works(false, 1).await.unwrap().remove(0);
                if is_so(&work) {
                    return work;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), wait).await.expect("the work gets there")
    }

    async fn until_over(&self) -> Work {
        self.until(|work| work.state.is_over()).await
    }
}

fn ends(action: &str, input: Value) -> Vec<Step> {
    let mut input = input;
    input["action"] = json!(action);
    vec![Step::call("d", "tasks", input), Step::finish(StopReason::ToolUse)]
}

fn done() -> Vec<Step> {
    ends("done", json!({"evidence": "the check passed"}))
}

#[tokio::test]
async fn a_plan_is_worked_in_order_and_ends_with_a_receipt() {
    let stage = Stage::new([done(), says("one"), done(), says("two")], options());
    stage.plan(2, WorkOrigin::Person).await;
    let (runner, trigger) = stage.start();
    let work = stage.until_over().await;
    assert_eq!((work.state, work.done(), work.spent.iterations), (WorkState::Done, 2, 2), "{work:?}");
    let receipt = work.receipt.unwrap();
    assert!(receipt.contains("is done") && receipt.contains("the check passed"), "{receipt}");
    let told = stage.house.told(&session("a"));
    assert!(told.last().unwrap().contains("is done"), "{told:?}");
    let asked = stage.house.asked();
    assert!(asked[0].messages[0].text().contains("task 1 of 2"));
    let second = asked[2].messages[0].text();
    assert!(second.contains("Done before") && second.contains("the check passed"), "{second}");
    assert_eq!(asked[2].messages.len(), 1, "each task begins anew");
    trigger.trigger();
    runner.await.unwrap();
}

#[tokio::test]
async fn each_limit_ends_the_work_with_a_receipt() {
    let silent = || says("I looked around.");
    let check = async |stage: Stage, word: &str| {
        stage.plan(3, WorkOrigin::Person).await;
        let (runner, trigger) = stage.start();
        let work = stage.until_over().await;
        assert_eq!(work.state, WorkState::Failed);
        let receipt = work.receipt.unwrap();
        assert!(receipt.contains(word) && receipt.contains("ended early"), "{receipt}");
        trigger.trigger();
        runner.await.unwrap();
    };
    let few = WorkOptions { max_iterations: 1, ..options() };
    check(Stage::new([done(), says("one")], few), "work.max_iterations").await;
    check(Stage::new([silent(), silent(), silent()], options()), "work.max_attempts").await;
    let cannot = ends("failed", json!({"why": "there is no such thing"}));
    check(Stage::new([cannot, says("no")], options()), "task 1 could not be done").await;
    // The second call of the first turn is refused, because the first has used the money up.
    let cheap = WorkOptions { max_usd: 0.000_001, ..options() };
    let priced = Plan { price: Some(Price::new(1.0, 1.0)), ..Plan::default() };
    check(Stage::with([ends("list", json!({}))], cheap, priced), "work.max_usd").await;
}

#[tokio::test]
async fn time_is_a_limit() {
    let gate = Gate::default();
    let short = WorkOptions { max_seconds: 60.0, ..options() };
    let stage = Stage::new([says_behind(&gate, "still at it")], short);
    stage.plan(1, WorkOrigin::Person).await;
    let (runner, trigger) = stage.start();
    gate.reached().await;
    stage.house.clock.advance(SignedDuration::from_secs(61));
    gate.open();
    let work = stage.until_over().await;
    assert!(work.receipt.unwrap().contains("work.max_minutes"));
    trigger.trigger();
    runner.await.unwrap();
}

#[tokio::test]
async fn after_a_crash_what_is_done_stays_done_and_what_runs_is_joined() {
    let gate = Gate::default();
    let second = [Step::Wait(gate.clone())].into_iter().chain(done()).collect();
    let stage = Stage::new([done(), says("one"), second, says("two")], options());
    stage.plan(2, WorkOrigin::Person).await;
    let (runner, _trigger) = stage.start();
    gate.reached().await;
    // The runner is gone in the middle of the second task; another one takes its place.
    runner.abort();
    assert!(runner.await.unwrap_err().is_cancelled());
    let (runner, trigger) = stage.start();
    stage.until(|work| work.tasks[1].state == TaskState::Running).await;
    gate.open();
    let work = stage.until_over().await;
    assert_eq!((work.state, work.spent.iterations), (WorkState::Done, 2), "{work:?}");
    assert_eq!(work.tasks.iter().map(|task| task.attempts).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(stage.house.asked().len(), 4, "no task was begun twice");
    trigger.trigger();
    runner.await.unwrap();
}

#[tokio::test]
async fn a_person_pauses_goes_on_and_ends_it_from_the_chat() {
    let gate = Gate::default();
    let stage = Stage::new([says_behind(&gate, "never"), done(), says("one")], options());
    let door = WorkDoor::new(Arc::new(stage.house.engine.clone()), stage.works.clone());
    let say = async |text: &str| {
        let inbound = Inbound::say(session("b"), text);
        assistant::ask(&door, inbound, Arc::new(Unattended)).await.unwrap().text.clone()
    };
    assert_eq!(say("/work").await, "There is no work yet.");
    stage.plan(1, WorkOrigin::Person).await;
    let (runner, trigger) = stage.start();
    gate.reached().await;
    assert!(say("/work pause").await.contains("paused"));
    // The turn that runs is stopped, and counts as no attempt.
    let work = stage.until(|work| work.tasks[0].state == TaskState::Todo).await;
    assert_eq!((work.tasks[0].attempts, work.state), (0, WorkState::Running));
    assert!(say("/work").await.contains("Everything is paused"));
    assert!(say("/work resume").await.contains("goes on"));
    let work = stage.until_over().await;
    assert_eq!(work.state, WorkState::Done);
    assert!(say(&format!("/work cancel {}", work.work_id)).await.contains("is over"));
    assert!(say("/work dance").await.contains("/work pause"));
    let other = stage.plan(1, WorkOrigin::Idle).await;
    stage.works.wish(&other.work_id, WorkWish::Stop).await.unwrap();
    assert_eq!(stage.until_over().await.state, WorkState::Stopped);
    trigger.trigger();
    runner.await.unwrap();
}

#[tokio::test]
async fn idle_time_is_used_only_where_it_may_be() {
    for (is_ambient, expected) in [(false, WorkState::Queued), (true, WorkState::Done)] {
        let stage = Stage::new([done(), says("one")], WorkOptions { is_ambient, ..options() });
        stage.plan(1, WorkOrigin::Idle).await;
        let (runner, trigger) = stage.start();
        if is_ambient {
            stage.until_over().await;
        } else {
            // Another piece is done meanwhile, so the runner has looked.
            stage.house.model.then(says("x"));
            stage.plan(1, WorkOrigin::Person).await;
            stage.until_over().await;
        }
        let works = stage.works.works(false, 9).await.unwrap();
        assert_eq!(works.last().unwrap().state, expected);
        trigger.trigger();
        runner.await.unwrap();
    }
}

#[tokio::test]
async fn a_plan_waits_for_a_persons_word_where_that_is_wanted() {
    let tasks = json!([{"title": "one", "acceptance": ["it holds"]}]);
    let planned = ends("plan", json!({"goal": "the whole", "tasks": tasks}));
    for approve_plan in [false, true] {
        let options = WorkOptions { approve_plan, ..options() };
        let stage = Stage::new([planned.clone(), says("planned")], options);
        stage.house.ask(&session("a"), "please").await;
        let works = stage.works.works(false, 9).await.unwrap();
        assert_eq!(works.is_empty(), approve_plan, "nobody can approve it here");
    }
}
