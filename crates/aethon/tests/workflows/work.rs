//! Work of several turns: worked to its end, ended by each of its limits, and gone on with after a crash.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::approval::Decision;
use aethon_core::assistant::{self, Assistant};
use aethon_core::channel::Channels;
use aethon_core::ledger::Price;
use aethon_core::message::{Block, Inbound, Message, Role, ToolCall};
use aethon_core::model::StopReason;
use aethon_core::person::Person;
use aethon_core::session::{TurnLog as _, TurnLookup as _, TurnPhase};
use aethon_core::shutdown::{Shutdown, ShutdownTrigger};
use aethon_core::surface::{TurnEvent, Unattended};
use aethon_core::testkit::{DeskSurface, Gate, ManualClock, MemoryStore, ScriptedModel, Step};
use aethon_core::work::{
    NewTask, PlannedFor, TaskState, Work, WorkBook as _, WorkCommand, WorkOrigin, WorkState, WorkStore as _,
};
use aethon_workflows::Commands;
use aethon_workflows::work::{Idle, Tasks, WorkCommands, WorkLimits, WorkOptions, WorkRunner, Works};
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::harness::{Setup, TestEngine, now, quiet, says, says_behind, session, specialist};

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
    test: TestEngine,
    works: Works,
    limits: WorkLimits,
    idle: Idle,
}

impl Stage {
    fn new(responses: impl IntoIterator<Item = Vec<Step>>, options: WorkOptions) -> Self {
        Self::with(responses, options, Setup::default())
    }

    fn with(responses: impl IntoIterator<Item = Vec<Step>>, options: WorkOptions, setup: Setup) -> Self {
        let store = setup.store.clone().unwrap_or_else(|| Arc::new(MemoryStore::at(now())));
        let clock = setup.clock.clone().unwrap_or_else(|| Arc::new(ManualClock::at(now())));
        let board = setup.board.clone().unwrap_or_default();
        let works = Works::new(store.clone(), options, clock.clone());
        let limits = WorkLimits::new(board.clone(), works.clone());
        let setup = Setup {
            store: Some(store),
            tools: vec![Arc::new(Tasks::new(works.clone()))],
            hooks: vec![Arc::new(limits.clone())],
            clock: Some(clock),
            board: Some(board),
            ..setup
        };
        Self { test: TestEngine::new(responses, setup), works, limits, idle: idle() }
    }

    fn entry(&self) -> Commands {
        let commands = Arc::new(WorkCommands::new(self.works.clone()));
        Commands::new(Arc::new(self.test.engine.clone()), vec![commands])
    }

    /// Starts a runner, which works until the trigger ends it.
    fn start(&self) -> (JoinHandle<()>, ShutdownTrigger) {
        let (trigger, shutdown): (ShutdownTrigger, Shutdown) = ShutdownTrigger::pair();
        let (works, limits) = (self.works.clone(), self.limits.clone());
        let assistant: Arc<dyn Assistant> = Arc::new(self.test.engine.clone());
        let runner = WorkRunner::new(works, limits, assistant, Channels::default(), self.idle.clone());
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
async fn two_plans_of_one_turn_are_two_pieces_of_work() {
    let plans = |goal: &str| {
        let input = json!({"action": "plan", "goal": goal, "tasks": [{"title": "look", "acceptance": ["it is seen"]}]});
        vec![Step::call("call_0", "tasks", input), Step::finish(StopReason::ToolUse)]
    };
    let stage = Stage::new([plans("the roof"), plans("the cellar"), says("planned")], options());
    stage.test.ask(&session("a"), "look after the house").await;
    let works = stage.works.works(false, 10).await.unwrap();
    let mut goals: Vec<&str> = works.iter().map(|work| work.goal.as_str()).collect();
    goals.sort_unstable();
    assert_eq!(goals, ["the cellar", "the roof"]);
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
    let transcript = stage.test.transcript(&session("a"));
    assert!(transcript.last().unwrap().contains("is done"), "{transcript:?}");
    let asked = stage.test.requests();
    let brief = asked[0].messages[0].text();
    assert!(
        brief.starts_with("Task: ") && brief.contains("task 1 of 2"),
        "it is listed by its beginning: {brief}"
    );
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
    let priced = Setup { price: Some(Price::new(1.0, 1.0)), ..Setup::default() };
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
    stage.test.clock.advance(SignedDuration::from_secs(61));
    gate.open();
    let work = stage.until_over().await;
    assert!(work.receipt.unwrap().contains("work.max_minutes"));
    trigger.trigger();
    runner.await.unwrap();
}

#[tokio::test]
async fn crash_keeps_finished_tasks_and_rejoins_running_ones() {
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
    assert_eq!(stage.test.requests().len(), 4, "no task was begun twice");
    trigger.trigger();
    runner.await.unwrap();
}

/// Kills the program while the second call of a task waits, 40 seconds after the first one began. Returns the work that the
/// next process finds in the ledger, and that process with these limits of money and time.
async fn killed(limits: fn(&Work) -> WorkOptions, then: Vec<Vec<Step>>) -> (Work, Stage) {
    let priced = || Setup { price: Some(Price::new(1.0, 1.0)), ..Setup::default() };
    let gates = [Gate::default(), Gate::default()];
    let first = [Step::Wait(gates[0].clone())].into_iter().chain(ends("list", json!({}))).collect();
    let before = Stage::with([first, says_behind(&gates[1], "never")], options(), priced());
    before.plan(1, WorkOrigin::Person).await;
    let (runner, _trigger) = before.start();
    gates[0].reached().await;
    before.test.clock.advance(SignedDuration::from_secs(40));
    gates[0].open();
    gates[1].reached().await;
    runner.abort();
    assert!(runner.await.unwrap_err().is_cancelled());
    before.test.engine.shutdown(Duration::ZERO).await;
    let found = before.works.works(false, 1).await.unwrap().remove(0);
    let (store, clock) = (Arc::new(before.test.store.beside()), before.test.clock.clone());
    let setup = Setup { store: Some(store), clock: Some(clock), ..priced() };
    let after = Stage::with(then, limits(&found), setup);
    (found, after)
}

#[tokio::test]
async fn spending_of_a_killed_process_counts() {
    let dear = |found: &Work| WorkOptions { max_usd: found.spent.cost_usd + 1e-9, ..options() };
    let looks = || ends("list", json!({}));
    let (found, stage) = killed(dear, vec![looks()]).await;
    assert!(found.spent.cost_usd > 0.0, "{found:?}");
    assert!((found.spent.seconds - 40.0).abs() < 1e-6, "{found:?}");
    stage.test.engine.recover(|_| quiet()).await.unwrap();
    let (runner, trigger) = stage.start();
    let work = stage.until_over().await;
    assert!(work.receipt.as_ref().unwrap().contains("work.max_usd"), "{found:?} {work:?}");
    assert_eq!(stage.test.requests().len(), 1, "the second call would have been over the limit");
    trigger.trigger();
    runner.await.unwrap();

    let short = |_: &Work| WorkOptions { max_seconds: 60.0, ..options() };
    let gate = Gate::default();
    let waits = [Step::Wait(gate.clone())].into_iter().chain(looks()).collect();
    let (_, stage) = killed(short, vec![waits]).await;
    stage.test.engine.recover(|_| quiet()).await.unwrap();
    let (runner, trigger) = stage.start();
    gate.reached().await;
    stage.test.clock.advance(SignedDuration::from_secs(30));
    gate.open();
    let work = stage.until_over().await;
    assert!((work.spent.seconds - 70.0).abs() < 1e-6, "{work:?}");
    assert!(work.receipt.unwrap().contains("work.max_minutes"));
    trigger.trigger();
    runner.await.unwrap();
}

/// Kills the program in the middle of the call that reports a task as done: before it had its effect, or after.
async fn report_cut_off(had_effect: bool) {
    let gate = Gate::default();
    let before = Stage::new([says_behind(&gate, "never")], options());
    before.plan(1, WorkOrigin::Person).await;
    let (runner, _trigger) = before.start();
    gate.reached().await;
    runner.abort();
    assert!(runner.await.unwrap_err().is_cancelled());
    before.test.engine.shutdown(Duration::ZERO).await;
    let (store, clock) = (before.test.store.clone(), before.test.clock.clone());
    let left = store.unfinished().await.unwrap().remove(0);
    let input = json!({"action": "done", "evidence": "the check passed"});
    let call = ToolCall { id: "d".into(), name: "tasks".into(), input, opaque: None };
    let mut message = Message::new(Role::Assistant, vec![Block::ToolCall(call)], now());
    message.turn = Some(left.turn.clone());
    store.append(&left.turn, vec![message]).await.unwrap();
    if had_effect {
        let mut work = before.works.works(false, 1).await.unwrap().remove(0);
        work.tasks[0].evidence = Some("the check passed".into());
        work.tasks[0].state = TaskState::Done;
        store.save(&work).await.unwrap();
    }
    // The next process is another owner of turns; one that it took for its own, it would not take over.
    let setup = Setup { store: Some(Arc::new(store.beside())), clock: Some(clock), ..Setup::default() };
    let after = Stage::with([says("ended")], options(), setup);
    after.test.engine.recover(|_| quiet()).await.unwrap();
    let (runner, trigger) = after.start();
    let work = after.until_over().await;
    assert_eq!((work.state, work.tasks[0].attempts), (WorkState::Done, 1), "{had_effect}: {work:?}");
    // The work ends with its last task, before its turn does.
    let has_ended = async || {
        let turn = after.test.store.turn(&left.turn).await.unwrap();
        turn.is_some_and(|record| record.phase == TurnPhase::Done)
    };
    while !has_ended().await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(after.test.requests().len(), 1, "{had_effect}: no second attempt");
    trigger.trigger();
    runner.await.unwrap();
    let transcript = after.test.transcript(&left.inbound.session);
    let reported = transcript.iter().filter(|line| line.contains("call tasks")).count();
    assert_eq!((reported, transcript.len()), (1, 4), "{had_effect}: {transcript:?}");
    assert!(transcript[2].contains("It is written down"), "{had_effect}: {transcript:?}");
    assert_eq!(transcript[3], "assistant: ended", "{had_effect}");
}

#[tokio::test]
async fn a_task_whose_report_was_cut_off_is_not_done_again() {
    for had_effect in [false, true] {
        report_cut_off(had_effect).await;
    }
}

#[tokio::test]
async fn spending_of_turns_and_specialists_is_counted_once() {
    let scout = Arc::new(ScriptedModel::new([says("it is there")]).with_name("deep-1"));
    let agents = vec![specialist("scout", scout, Vec::new())];
    let setup = Setup { price: Some(Price::new(1.0, 1.0)), specialists: agents, ..Setup::default() };
    let asks = vec![Step::call("a", "ask_scout", json!({"task": "look"})), Step::finish(StopReason::ToolUse)];
    let stage = Stage::with([asks, done(), says("one")], options(), setup);
    stage.plan(1, WorkOrigin::Person).await;
    let (runner, trigger) = stage.start();
    let work = stage.until_over().await;
    let entries = stage.test.ledger.entries();
    let booked: f64 = entries.iter().map(|entry| entry.usage.cost_usd).sum();
    assert_eq!((work.state, entries.len()), (WorkState::Done, 4));
    assert!(booked > 0.0 && (work.spent.cost_usd - booked).abs() < 1e-12, "{work:?}");
    trigger.trigger();
    runner.await.unwrap();
}

#[tokio::test]
async fn owner_gets_progress_reports() {
    let gate = Gate::default();
    let first = [Step::Wait(gate.clone())].into_iter().chain(done()).collect();
    let mut stage = Stage::new([first, says("one"), done(), says("two")], options());
    stage.idle.pulse = Some(Duration::from_secs(60));
    stage.plan(2, WorkOrigin::Person).await;
    let (runner, trigger) = stage.start();
    gate.reached().await;
    stage.test.clock.advance(SignedDuration::from_secs(61));
    gate.open();
    stage.until_over().await;
    let transcript = stage.test.transcript(&session("a"));
    assert_eq!(transcript.len(), 2, "{transcript:?}");
    assert!(transcript[0].contains("1 of 2 tasks done; now: task 2"), "{transcript:?}");
    assert!(transcript[1].contains("is done"), "{transcript:?}");
    trigger.trigger();
    runner.await.unwrap();
}

#[tokio::test]
async fn chat_command_pauses_resumes_and_cancels_work() {
    let gate = Gate::default();
    let stage = Stage::new([says_behind(&gate, "never"), done(), says("one")], options());
    let door = stage.entry();
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
    assert!(say("/work resume").await.contains("continues"));
    let work = stage.until_over().await;
    assert_eq!(work.state, WorkState::Done);
    assert!(say(&format!("/work cancel {}", work.work_id)).await.contains("is over"));
    assert!(say("/work dance").await.contains("/work pause"));
    let other = stage.plan(1, WorkOrigin::Idle).await;
    stage.works.command(&other.work_id, WorkCommand::Stop).await.unwrap();
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
            stage.test.model.then(says("x"));
            stage.plan(1, WorkOrigin::Person).await;
            stage.until_over().await;
        }
        let works = stage.works.works(false, 9).await.unwrap();
        assert_eq!(works.last().unwrap().state, expected);
        trigger.trigger();
        runner.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn idle_time_begins_after_a_period_without_messages() {
    let ambient = WorkOptions { is_ambient: true, ..options() };
    let mut stage = Stage::new([says("hello"), done(), says("one")], ambient);
    stage.idle.after = Duration::from_secs(600);
    let door = stage.entry();
    stage.plan(1, WorkOrigin::Idle).await;
    let (runner, trigger) = stage.start();
    let state = async || stage.works.works(false, 1).await.unwrap().remove(0).state;
    tokio::time::sleep(Duration::from_secs(500)).await;
    let inbound = Inbound::say(session("b"), "hello");
    assistant::ask(&door, inbound, Arc::new(Unattended)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(590)).await;
    assert_eq!(state().await, WorkState::Queued, "somebody wrote less than ten minutes ago");
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(state().await, WorkState::Done);
    trigger.trigger();
    runner.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn idle_prompt_runs_at_its_interval_and_never_while_paused() {
    let ambient = WorkOptions { is_ambient: true, ..options() };
    let mut stage = Stage::new([done(), says("one"), done(), says("two")], ambient);
    stage.idle.prompt = "Tidy the notes.".into();
    let count = async || stage.works.works(false, 9).await.unwrap().len();
    stage.works.pause(true).await.unwrap();
    let (runner, trigger) = stage.start();
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(count().await, 0, "everything is paused");
    stage.works.pause(false).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3500)).await;
    assert_eq!(count().await, 1);
    let asked = stage.test.requests()[0].messages[0].text();
    assert!(asked.contains("Tidy the notes."), "{asked}");
    let transcript = stage.test.transcript(&session("idle"));
    assert!(transcript.last().unwrap().contains("is done"), "{transcript:?}");
    tokio::time::sleep(Duration::from_secs(200)).await;
    assert_eq!(count().await, 2);
    trigger.trigger();
    runner.await.unwrap();
}

#[tokio::test]
async fn plan_runs_after_approval_and_not_after_a_denial() {
    let tasks = json!([{"title": "one", "acceptance": ["it holds"]}]);
    let planned = ends("plan", json!({"goal": "the whole", "tasks": tasks}));
    for (decision, expected) in [(Decision::Approve, 1), (Decision::Deny, 0)] {
        let options = WorkOptions { approve_plan: true, ..options() };
        let stage = Stage::new([planned.clone(), says("planned")], options);
        let surface = Arc::new(DeskSurface::default());
        let submitted = stage.test.submit(Inbound::say(session("a"), "please"), surface.clone()).await;
        surface.saw(|event| matches!(event, TurnEvent::Approval(_))).await;
        let open = stage.test.approvals.pending().remove(0);
        assert!(open.reason.contains("work.approve_plan"), "{open:?}");
        assert_eq!(open.preview.as_deref(), Some("+ one"), "the person sees what is planned");
        assert!(stage.works.works(false, 9).await.unwrap().is_empty(), "nothing happens before");
        assert!(stage.test.approvals.decide(&open.id, decision));
        submitted.reply.wait().await.unwrap();
        assert_eq!(stage.works.works(false, 9).await.unwrap().len(), expected);
    }
}

#[tokio::test]
async fn plan_waits_for_approval_where_configured() {
    let tasks = json!([{"title": "one", "acceptance": ["it holds"]}]);
    let planned = ends("plan", json!({"goal": "the whole", "tasks": tasks}));
    for approve_plan in [false, true] {
        let options = WorkOptions { approve_plan, ..options() };
        let stage = Stage::new([planned.clone(), says("planned")], options);
        stage.test.ask(&session("a"), "please").await;
        let works = stage.works.works(false, 9).await.unwrap();
        assert_eq!(works.is_empty(), approve_plan, "nobody can approve it here");
    }
}

#[tokio::test]
async fn strangers_leave_room_for_the_owners_work() {
    let stage = Stage::new([], options());
    let task = NewTask { title: "t".into(), acceptance: vec!["it holds".into()], ..NewTask::default() };
    let plan = || aethon_core::work::Plan { goal: "the whole".into(), tasks: vec![task.clone()] };
    let (outside, ben) = (session("a"), Person::member("ben").unwrap());
    let planned = |number: usize| match number % 2 {
        0 => PlannedFor { untrusted: true, ..outside.clone().into() },
        _ => PlannedFor { person: ben.clone(), ..outside.clone().into() },
    };
    for number in 0..25 {
        let work = stage.works.plan(planned(number), plan(), WorkOrigin::Person).await.unwrap();
        assert_eq!(work.untrusted, number % 2 == 0);
    }
    for number in 0..2 {
        let refusal = stage.works.plan(planned(number), plan(), WorkOrigin::Person).await.unwrap_err();
        assert!(refusal.to_string().starts_with("25 pieces of work wait already"), "{refusal}");
    }
    stage.plan(1, WorkOrigin::Person).await;
}
