//! Owners: of several programs on one storage, one writes in a session, and one takes over what another left.

use std::task::{Context, Waker};
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::stage::*;
use crate::ids::TurnId;
use crate::message::{Block, Message, Role};
use crate::owner::LEASE;
use crate::session::{Accepted, Begun, Finish, TurnPhase};
use crate::storage::Storage;

const S: &str = "webchat:default";

fn lease() -> i64 {
    i64::try_from(LEASE.as_secs()).unwrap()
}

/// A turn that was accepted here and had to wait.
async fn waiting(storage: &Storage, text: &str) -> TurnId {
    let turn = TurnId::fresh();
    let accepted = storage.turns.accept(&turn, &say(S, text), Some(begin(text))).await.unwrap();
    assert!(matches!(accepted, Accepted::New(None)), "{accepted:?}");
    turn
}

async fn begun(storage: &Storage, text: &str) -> (TurnId, Begun) {
    let turn = TurnId::fresh();
    match storage.turns.accept(&turn, &say(S, text), Some(begin(text))).await.unwrap() {
        Accepted::New(Some(begun)) => (turn, begun),
        other => panic!("{other:?}"),
    }
}

async fn live(storage: &Storage) -> Vec<String> {
    texts(&storage.turns.window(&session(S), 20).await.unwrap())
}

pub async fn two_programs_never_write_in_one_session_at_once(stage: Stage) {
    let (here, there) = (&stage.storage, &stage.beside);
    let one = stage.open_turn(S, "one").await;
    let two = waiting(there, "two").await;
    assert!(there.turns.begin(&two, begin("two")).await.unwrap_err().is_elsewhere());
    // In another session nothing is in the way.
    let elsewhere = TurnId::fresh();
    let accepted = there.turns.accept(&elsewhere, &say("webchat:b", "x"), Some(begin("x"))).await.unwrap();
    assert!(matches!(accepted, Accepted::New(Some(_))));

    here.turns.finish(finish(&one, S, "1")).await.unwrap();
    // What was accepted first goes first, whoever asks first.
    let three = waiting(here, "three").await;
    assert!(here.turns.begin(&three, begin("three")).await.unwrap_err().is_elsewhere());
    there.turns.begin(&two, begin("two")).await.unwrap();
    assert!(here.turns.begin(&three, begin("three")).await.unwrap_err().is_elsewhere());
    there.turns.finish(finish(&two, S, "2")).await.unwrap();
    here.turns.begin(&three, begin("three")).await.unwrap();
    here.turns.finish(finish(&three, S, "3")).await.unwrap();
    assert_eq!(live(there).await, ["one", "1", "two", "2", "three", "3"]);
}

pub async fn roles_have_one_holder_at_a_time(stage: Stage) {
    let (here, there) = (&stage.storage.owners, &stage.beside.owners);
    let roles = ["a".to_owned(), "b".to_owned()];
    if !here.is_shared() {
        // Only one daemon can be there, and it holds everything.
        assert_eq!(here.hold(&roles).await.unwrap(), roles);
        assert!(here.instances().await.unwrap().is_empty());
        return;
    }
    assert_eq!(here.hold(&roles[..1]).await.unwrap(), roles[..1]);
    assert_eq!(there.hold(&roles).await.unwrap(), roles[1..]);
    assert_eq!(here.hold(&roles).await.unwrap(), roles[..1]);
    // Who renews keeps its own; who does not, loses it.
    stage.advance(lease() - 1);
    assert_eq!(here.hold(&roles).await.unwrap(), roles[..1]);
    stage.advance(2);
    assert_eq!(here.hold(&roles).await.unwrap(), roles);
    assert!(there.hold(&roles).await.unwrap().is_empty());
    // Who leaves in order is not waited for.
    here.let_go().await.unwrap();
    assert_eq!(there.hold(&roles).await.unwrap(), roles);
}

pub async fn two_programs_never_wait_for_each_other(stage: Stage) {
    let (here, there) = (&stage.storage, &stage.beside);
    let mut turns = Vec::new();
    for (storage, text) in [(here, "one"), (there, "two"), (here, "three")] {
        let turn = TurnId::fresh();
        storage.turns.accept(&turn, &say(S, text), None).await.unwrap();
        turns.push(turn);
    }
    let [one, two, three] = turns.try_into().unwrap();
    // A program's own queue decides which of its turns is next, and that need not be the one stored first.
    here.turns.begin(&three, begin("three")).await.unwrap();
    assert!(there.turns.begin(&two, begin("two")).await.unwrap_err().is_elsewhere());
    here.turns.finish(finish(&three, S, "3")).await.unwrap();
    assert!(there.turns.begin(&two, begin("two")).await.unwrap_err().is_elsewhere());
    here.turns.begin(&one, begin("one")).await.unwrap();
    here.turns.finish(finish(&one, S, "1")).await.unwrap();
    there.turns.begin(&two, begin("two")).await.unwrap();
    there.turns.finish(finish(&two, S, "2")).await.unwrap();
    assert_eq!(live(there).await, ["three", "3", "one", "1", "two", "2"]);
}

/// A caller need not come back to a call soon: it may be one branch of a `select`, or one of many in a stream.
pub async fn a_caller_that_turns_to_something_else_holds_up_nobody(stage: Stage) {
    const MANY: usize = 32;
    const SOON: Duration = Duration::from_secs(10);
    let (here, there) = (&stage.storage, &stage.beside);
    let (one, _) = begun(here, "one").await;
    let shown = session(S);
    let mut reads: Vec<_> = (0..MANY).map(|_| here.turns.window(&shown, 5)).collect();
    let message = || Message::new(Role::Assistant, vec![Block::text("1")], stage.now());
    let mut writes: Vec<_> = (0..MANY).map(|_| here.turns.append(&one, vec![message()])).collect();
    let mut context = Context::from_waker(Waker::noop());
    // As often as it takes to be in the middle of each, on a storage that needs its callers to go on.
    for _ in 0..5 {
        reads.retain_mut(|read| read.as_mut().poll(&mut context).is_pending());
        writes.retain_mut(|write| write.as_mut().poll(&mut context).is_pending());
        sleep(Duration::from_millis(20)).await;
    }
    let others = async {
        for storage in [here, there] {
            live(storage).await;
            let turn = TurnId::fresh();
            storage.turns.accept(&turn, &say("webchat:other", "hello"), None).await.unwrap();
        }
    };
    timeout(SOON, others).await.unwrap();
    for read in reads {
        read.await.unwrap();
    }
    for write in writes {
        write.await.unwrap();
    }
    assert_eq!(here.turns.window(&shown, MANY * 2).await.unwrap().len(), MANY + 1);
}

pub async fn a_turn_behind_another_programs_begins_when_that_has_ended(stage: Stage) {
    let (here, there) = (&stage.storage, &stage.beside);
    let one = stage.open_turn(S, "one").await;
    let two = waiting(there, "two").await;
    let three = TurnId::fresh();
    here.turns.accept(&three, &say(S, "three"), None).await.unwrap();
    // It would overtake the other program's turn.
    let end = Finish { next: Some((three.clone(), begin("three"))), ..finish(&one, S, "1") };
    assert_eq!(here.turns.finish(end).await.unwrap().next, None);
    assert_eq!(here.turns.turn(&three).await.unwrap().unwrap().phase, TurnPhase::Queued);
    there.turns.begin(&two, begin("two")).await.unwrap();
    there.turns.finish(finish(&two, S, "2")).await.unwrap();
    here.turns.begin(&three, begin("three")).await.unwrap();
    assert_eq!(live(here).await, ["one", "1", "two", "2", "three"]);
}

pub async fn what_another_program_wrote_is_seen_when_a_turn_begins(stage: Stage) {
    let (here, there) = (&stage.storage, &stage.beside);
    let (one, first) = begun(here, "one").await;
    assert_eq!(first.after, None);
    let ids = here.turns.finish(finish(&one, S, "1")).await.unwrap().messages;
    let (two, second) = begun(here, "two").await;
    assert_eq!(second.after, ids.last().copied());
    here.turns.finish(finish(&two, S, "2")).await.unwrap();

    let (three, _) = begun(there, "three").await;
    let theirs = there.turns.finish(finish(&three, S, "3")).await.unwrap().messages;
    let (four, fourth) = begun(here, "four").await;
    assert_eq!(fourth.after, theirs.last().copied());
    here.turns.finish(finish(&four, S, "4")).await.unwrap();
    there.transcripts.post(&session(S), "k", message(Role::Assistant, "ping")).await.unwrap();
    let newest = here.turns.window(&session(S), 1).await.unwrap();
    let five = TurnId::fresh();
    here.turns.accept(&five, &say(S, "five"), None).await.unwrap();
    assert_eq!(here.turns.begin(&five, begin("five")).await.unwrap().after, Some(newest[0].id));
}

pub async fn a_turn_of_a_program_that_is_gone_is_taken_over_by_one_other(stage: Stage) {
    let (here, there) = (&stage.storage, &stage.beside);
    let one = stage.open_turn(S, "one").await;
    let two = TurnId::fresh();
    here.turns.accept(&two, &say(S, "two"), None).await.unwrap();
    stage.advance(lease() - 1);
    assert!(there.owners.orphaned().await.unwrap().is_empty());
    assert!(there.owners.take_over(&session(S)).await.unwrap().is_empty());
    stage.advance(1);
    // A program never takes over its own turns.
    assert!(here.owners.orphaned().await.unwrap().is_empty());
    assert_eq!(there.owners.orphaned().await.unwrap(), [session(S)]);
    assert!(there.owners.take_over(&session("webchat:none")).await.unwrap().is_empty());
    let taken = there.owners.take_over(&session(S)).await.unwrap();
    let taken: Vec<_> = taken.into_iter().map(|record| (record.turn, record.phase)).collect();
    assert_eq!(taken, [(one.clone(), TurnPhase::Running), (two.clone(), TurnPhase::Queued)]);
    assert!(there.owners.take_over(&session(S)).await.unwrap().is_empty());
    assert!(here.owners.take_over(&session(S)).await.unwrap().is_empty());

    there.turns.begin(&one, begin("one")).await.unwrap();
    assert_eq!(there.turns.turn(&one).await.unwrap().unwrap().attempts, 2);
    let end = Finish { next: Some((two.clone(), begin("two"))), ..finish(&one, S, "1") };
    assert!(there.turns.finish(end).await.unwrap().next.is_some());
    there.turns.finish(finish(&two, S, "2")).await.unwrap();
    assert_eq!(live(here).await, ["one", "1", "two", "2"]);
}

pub async fn a_program_that_lives_keeps_its_turns(stage: Stage) {
    let (here, there) = (&stage.storage, &stage.beside);
    let one = stage.open_turn(S, "one").await;
    for _ in 0..3 {
        stage.advance(lease() / 2);
        here.owners.renew().await.unwrap();
    }
    assert!(there.owners.take_over(&session(S)).await.unwrap().is_empty());
    stage.advance(lease() - 1);
    // Accepting a message renews the lease as well.
    let two = TurnId::fresh();
    here.turns.accept(&two, &say("webchat:b", "two"), None).await.unwrap();
    stage.advance(lease() / 2);
    assert!(there.owners.orphaned().await.unwrap().is_empty());
    here.turns.finish(finish(&one, S, "1")).await.unwrap();
}

pub async fn a_program_that_leaves_in_order_frees_its_turns_at_once(stage: Stage) {
    let (here, there) = (&stage.storage, &stage.beside);
    let one = stage.open_turn(S, "one").await;
    here.owners.release().await.unwrap();
    assert_eq!(there.owners.orphaned().await.unwrap(), [session(S)]);
    assert_eq!(there.owners.take_over(&session(S)).await.unwrap()[0].turn, one);
    // The program may come back as a new owner, which finds what is there.
    stage.turn("webchat:b", "x", "y").await;
}

pub async fn a_turn_that_was_taken_over_takes_nothing_from_its_first_owner(stage: Stage) {
    let (here, there) = (&stage.storage, &stage.beside);
    let one = stage.open_turn(S, "one").await;
    stage.advance(lease());
    assert!(here.turns.is_ours(&one).await.unwrap() && !there.turns.is_ours(&one).await.unwrap());
    there.owners.take_over(&session(S)).await.unwrap();
    // Nothing of it begins there any more.
    assert!(!here.turns.is_ours(&one).await.unwrap() && there.turns.is_ours(&one).await.unwrap());
    let late = here.turns.append(&one, vec![message(Role::Assistant, "late")]).await.unwrap_err();
    assert!(late.is_invalid(), "{late}");
    assert!(here.turns.finish(finish(&one, S, "late")).await.unwrap_err().is_invalid());
    there.turns.begin(&one, begin("one")).await.unwrap();
    there.turns.finish(finish(&one, S, "1")).await.unwrap();
    assert!(!there.turns.is_ours(&one).await.unwrap(), "it has ended");
    assert_eq!(live(here).await, ["one", "1"]);
}

pub async fn a_turn_that_another_program_works_on_is_not_begun_here(stage: Stage) {
    let (here, there) = (&stage.storage, &stage.beside);
    let one = TurnId::fresh();
    here.turns.accept(&one, &say_as(S, "one", "k", None), Some(begin("one"))).await.unwrap();
    // Its sender has gone to the other program with it.
    let again = there.turns.accept(&TurnId::fresh(), &say_as(S, "one", "k", None), Some(begin("one"))).await;
    assert!(matches!(again.unwrap(), Accepted::Known(record) if record.turn == one));
    assert!(there.turns.begin(&one, begin("one")).await.unwrap_err().is_elsewhere());
    here.turns.finish(finish(&one, S, "1")).await.unwrap();
    assert!(there.turns.begin(&one, begin("one")).await.unwrap_err().is_invalid());
}

pub async fn what_another_program_has_ended_is_told_once_and_in_order(stage: Stage) {
    let (here, there) = (&stage.storage, &stage.beside);
    stage.turn(S, "before", "0").await;
    let start = there.owners.ended_elsewhere(None).await.unwrap();
    assert_eq!((start.turns.len(), start.through.is_some()), (0, true), "what was before is no news");
    assert_eq!(there.owners.ended_elsewhere(start.through).await.unwrap(), start);

    let (one, _) = begun(here, "one").await;
    let begun_only = there.owners.ended_elsewhere(start.through).await.unwrap();
    assert!(begun_only.turns.is_empty(), "it has not ended");
    here.turns.finish(finish(&one, S, "1")).await.unwrap();
    let (two, _) = begun(here, "two").await;
    here.turns.finish(finish(&two, S, "2")).await.unwrap();
    let (own, _) = begun(there, "own").await;
    there.turns.finish(finish(&own, S, "3")).await.unwrap();
    there.transcripts.post(&session(S), "k", message(Role::Assistant, "ping")).await.unwrap();

    let ended = there.owners.ended_elsewhere(begun_only.through).await.unwrap();
    assert_eq!(ended.turns, [(session(S), one), (session(S), two)]);
    assert!(ended.through > begun_only.through);
    assert!(there.owners.ended_elsewhere(ended.through).await.unwrap().turns.is_empty());
    let theirs = here.owners.ended_elsewhere(start.through).await.unwrap();
    assert_eq!(theirs.turns, [(session(S), own)], "each program hears of the other's");
    assert_eq!(theirs.through, ended.through);
}

pub async fn what_a_program_took_over_is_its_own_end(stage: Stage) {
    let (here, there) = (&stage.storage, &stage.beside);
    let start = there.owners.ended_elsewhere(None).await.unwrap();
    assert_eq!(start.through, None, "nothing is stored");
    let one = stage.open_turn(S, "one").await;
    let start = there.owners.ended_elsewhere(None).await.unwrap();
    stage.advance(lease());
    there.owners.take_over(&session(S)).await.unwrap();
    there.turns.begin(&one, begin("one")).await.unwrap();
    there.turns.finish(finish(&one, S, "1")).await.unwrap();
    assert!(there.owners.ended_elsewhere(start.through).await.unwrap().turns.is_empty());
    assert_eq!(here.owners.ended_elsewhere(start.through).await.unwrap().turns, [(session(S), one)]);
}
