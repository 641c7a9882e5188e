//! Several programs on one storage: one writes in a session at a time, and each takes over the turns that another
//! abandons.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use aethon_core::approval::{Answer, Decision};
use aethon_core::assistant::{Assistant, Submitted};
use aethon_core::message::{EndReason, Inbound, TurnEnd};
use aethon_core::owner::LEASE;
use aethon_core::session::{TurnLookup, TurnPhase};
use aethon_core::surface::TurnEvent;
use aethon_core::testkit::{DeskSurface, Gate, ManualClock, MemoryStore, Step};
use jiff::SignedDuration;
use tokio::sync::{Barrier, oneshot};

use crate::harness::{
    House, Plan, THREE, TestTool, What, calls, now, quiet, says, says_behind, session, with_id,
};

/// Creates two programs on one storage, and the storage's clock.
fn two(one: Vec<Vec<Step>>, other: Vec<Vec<Step>>) -> (House, House, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(now()));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let beside = Arc::new(store.beside());
    let house = |steps, store| House::with(steps, Plan { store: Some(store), ..Plan::default() });
    (house(one, store), house(other, beside), clock)
}

fn end_lease(clock: &ManualClock) {
    clock.advance(SignedDuration::try_from(LEASE).unwrap());
}

#[tokio::test]
async fn two_programs_alternate_in_a_session_and_see_each_other() {
    let gate = Gate::default();
    let (here, there, _) =
        two(vec![says("zero"), says_behind(&gate, "first"), says("third")], vec![says("second")]);
    let session = session("a");
    here.ask(&session, "before").await;
    let one = here.say(&session, "one").await;
    gate.reached().await;
    let surface = quiet();
    let two = there.submit(Inbound::say(session.clone(), "two"), surface.clone()).await;
    surface.saw(|event| matches!(event, TurnEvent::Notice { .. })).await;
    assert!(there.asked().is_empty());
    gate.open();
    assert_eq!(one.reply.wait().await.unwrap().text, "first");
    assert_eq!(two.reply.wait().await.unwrap().text, "second");
    assert_eq!(here.ask(&session, "three").await.text, "third");
    let expected = ["before", "zero", "one", "first", "two", "second", "three", "third"];
    let texts = |house: &House| -> Vec<String> {
        house.asked().last().unwrap().messages.iter().map(|message| message.text()).collect()
    };
    let stored: Vec<_> = here.store.transcript(&session).iter().map(|message| message.text()).collect();
    assert_eq!(stored, expected);
    assert_eq!(texts(&there), expected[..5]);
    // Its window ended with its own answer, and had to be read again.
    assert_eq!(texts(&here), expected[..7]);
}

#[tokio::test]
async fn dead_programs_turn_is_closed_before_the_next_begins() {
    let gate = Gate::default();
    let (gone, there, clock) = two(vec![says_behind(&gate, "too late")], vec![says("second")]);
    let session = session("a");
    let one = gone.say(&session, "one").await;
    gate.reached().await;
    let surface = quiet();
    let two = there.submit(Inbound::say(session.clone(), "two"), surface.clone()).await;
    surface.saw(|event| matches!(event, TurnEvent::Notice { .. })).await;
    end_lease(&clock);
    assert_eq!(two.reply.wait().await.unwrap().text, "second");
    let transcript = ["user: one", "assistant: (interrupted)", "user: two", "assistant: second"];
    assert_eq!(there.transcript(&session), transcript);
    // It only slept. Its answer now is not stored, so its person gets the stored one.
    gate.open();
    let told_here = one.reply.wait().await.unwrap();
    assert_eq!(told_here.failure.as_ref().unwrap().code, EndReason::Interrupted, "{}", told_here.text);
    assert_eq!(there.transcript(&session), transcript);
}

#[tokio::test]
async fn turn_with_an_id_of_a_dead_program_resumes_here() {
    let gate = Gate::default();
    let (gone, there, clock) = two(vec![says_behind(&gate, "never")], vec![says("here")]);
    let session = session("a");
    let one = gone.submit(with_id(&session, "one", "m1"), quiet()).await;
    gate.reached().await;
    // A program that lives keeps its turns, also from one that has just started.
    assert_eq!(there.engine.recover(|_| quiet()).await.unwrap(), 0);
    let again = there.submit(with_id(&session, "one", "m1"), quiet()).await;
    assert!(!again.is_new && again.turn == one.turn);
    end_lease(&clock);
    assert_eq!(again.reply.wait().await.unwrap().text, "here");
    assert_eq!(there.transcript(&session), ["user: one", "assistant: here"]);
}

#[tokio::test]
async fn second_delivery_to_another_program_gets_the_first_outcome() {
    let gate = Gate::default();
    let (here, there, _) = two(vec![says_behind(&gate, "once")], vec![says("twice")]);
    let session = session("a");
    here.submit(with_id(&session, "one", "m1"), quiet()).await;
    gate.reached().await;
    let surface = quiet();
    let again = there.submit(with_id(&session, "one", "m1"), surface.clone()).await;
    gate.open();
    assert_eq!(again.reply.wait().await.unwrap().text, "once");
    surface.saw(|event| matches!(event, TurnEvent::Done(reply) if reply.text == "once")).await;
    assert!(there.asked().is_empty());
    assert_eq!(here.transcript(&session), ["user: one", "assistant: once"]);
}

#[tokio::test(start_paused = true)]
async fn running_program_finds_turns_that_others_abandon() {
    let gate = Gate::default();
    let (gone, there, clock) = two(vec![says_behind(&gate, "never")], vec![says("here")]);
    let session = session("a");
    let one = gone.submit(with_id(&session, "one", "m1"), quiet()).await;
    gate.reached().await;
    let surface = quiet();
    let shown = surface.clone();
    there.engine.watch(move |_| shown.clone());
    end_lease(&clock);
    surface.saw(|event| matches!(event, TurnEvent::Done(reply) if reply.end == TurnEnd::End)).await;
    assert_eq!(there.transcript(&session), ["user: one", "assistant: here"]);
    let record = there.store.turn(&one.turn).await.unwrap().unwrap();
    assert_eq!((record.phase, record.attempts), (TurnPhase::Done, 2));
}

#[tokio::test(start_paused = true)]
async fn program_with_a_running_turn_renews_its_lease() {
    let gate = Gate::default();
    let (here, there, clock) = two(vec![says_behind(&gate, "mine")], vec![]);
    let session = session("a");
    here.engine.watch(|_| quiet());
    there.engine.watch(|_| quiet());
    let one = here.say(&session, "one").await;
    gate.reached().await;
    for _ in 0..20 {
        clock.advance(SignedDuration::try_from(LEASE / 2).unwrap());
        tokio::time::sleep(LEASE / 2).await;
    }
    gate.open();
    assert_eq!(one.reply.wait().await.unwrap().text, "mine");
    assert_eq!(there.transcript(&session), ["user: one", "assistant: mine"]);
}

/// A program that stands still while a person is asked, and one that has ended its turn meanwhile.
async fn overtaken(plan: Plan, asked: &[&str]) -> (House, House, Arc<DeskSurface>, Submitted) {
    let clock = Arc::new(ManualClock::at(now()));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let beside = Plan { store: Some(Arc::new(store.beside())), ..Plan::default() };
    let frozen = House::with([calls(asked)], Plan { store: Some(store), ..plan });
    let there = House::with([says("second")], beside);
    let surface = Arc::new(DeskSurface::default());
    let one = frozen.submit(Inbound::say(session("a"), "go"), surface.clone()).await;
    surface.saw(|event| matches!(event, TurnEvent::Tool(_) | TurnEvent::Approval(_))).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    end_lease(&clock);
    there.say(&session("a"), "two").await.reply.wait().await.unwrap();
    (frozen, there, surface, one)
}

#[tokio::test(start_paused = true)]
async fn answer_to_a_program_that_stood_still_runs_nothing() {
    let tool = TestTool::new("shell", What::Say("ran"));
    let plan = Plan { tools: vec![tool.clone()], ask_for: vec!["shell".into()], ..Plan::default() };
    let (frozen, there, _, one) = overtaken(plan, &["shell"]).await;
    let question = frozen.approvals.pending().pop().unwrap();
    let answer = Answer::new(Decision::Approve).by("a test");
    frozen.approvals.answer(&question.id, answer).await.unwrap();
    assert_eq!(one.reply.wait().await.unwrap().failure.as_ref().unwrap().code, EndReason::Interrupted);
    assert_eq!(tool.ran(), 0);
    assert!(there.transcript(&session("a")).concat().contains("it has not run"));
}

#[tokio::test(start_paused = true)]
async fn program_that_stood_still_begins_no_other_call() {
    let barrier = Arc::new(Barrier::new(2));
    let (slow, tool) =
        (TestTool::new("slow", What::Meet(barrier.clone())), TestTool::new("shell", What::Say("ran")));
    let plan = Plan { tools: vec![slow.clone(), tool.clone()], ..Plan::default() };
    let (_frozen, _there, _, one) = overtaken(plan, &["slow", "shell"]).await;
    barrier.wait().await;
    one.reply.wait().await.unwrap();
    assert_eq!((slow.ran(), tool.ran()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn program_that_stood_still_withdraws_its_question() {
    let tool = TestTool::new("shell", What::Say("ran"));
    let plan = Plan { tools: vec![tool.clone()], ask_for: vec!["shell".into()], ..Plan::default() };
    let (frozen, _there, surface, one) = overtaken(plan, &["shell"]).await;
    frozen.engine.watch(|_| quiet());
    surface.saw(|event| matches!(event, TurnEvent::ApprovalDone { .. })).await;
    assert_eq!(one.reply.wait().await.unwrap().failure.as_ref().unwrap().code, EndReason::Interrupted);
    assert!(frozen.approvals.pending().is_empty());
    assert_eq!(tool.ran(), 0);
}

/// Runs something in the very moment in which the answer to a sender goes out.
struct AtTheAnswer(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Wake for AtTheAnswer {
    fn wake(self: Arc<Self>) {
        let act = self.0.lock().unwrap().take();
        if let Some(act) = act {
            act();
        }
    }
}

/// How long the moment of an answer is held for something that must not happen in it. If it does not happen, the test
/// passes whatever the machine does; if it can, it does at once.
const MOMENT: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn message_sent_after_an_acknowledgement_comes_after_it() {
    let gate = Gate::default();
    let house = House::new([says_behind(&gate, "first"), says("second"), says("third")]);
    let (house, session) = (Arc::new(house), session("a"));
    house.say(&session, "one").await;
    gate.reached().await;
    // In the moment in which the second message is acknowledged, its sender sends the third.
    let (three, third) = oneshot::channel();
    let (runtime, sender) = (tokio::runtime::Handle::current(), house.clone());
    let send = move || {
        let (acknowledged, is_acknowledged) = channel();
        runtime.spawn(async move {
            let submitted = sender.say(&crate::harness::session("a"), "three").await;
            // The holder of the moment may be gone by now.
            let _ = acknowledged.send(());
            assert!(three.send(submitted).is_ok());
        });
        // An error means that the moment is over, and nothing came between.
        let _ = is_acknowledged.recv_timeout(MOMENT);
    };
    let moment = Arc::new(AtTheAnswer(Mutex::new(Some(Box::new(send)))));
    let mut two = house.engine.submit(Inbound::say(session.clone(), "two"), quiet());
    let waker = Waker::from(moment.clone());
    if two.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        two.await.unwrap();
    }
    // It was so quick that no waiter had to be woken.
    moment.wake();
    let third = third.await.unwrap();
    gate.open();
    third.reply.wait().await.unwrap();
    assert_eq!(house.transcript(&session), THREE);
}
