//! Planted mutants: the behaviour of a storage or an engine with a fault. Each breaks one promise, and the simulation has
//! to find it; without a mutant, every function here works.

use std::sync::Arc;

use aethon_core::channel::DeliveryOutcome;
use aethon_core::error::Result;
use aethon_core::ids::{MessageId, SessionId, TurnId};
use aethon_core::message::{Block, Inbound, Message, Role};
use aethon_core::owner::Owners;
use aethon_core::schedule::{BeginRun, JobStore, RunLog, RunRecord};
use aethon_core::session::{
    Accepted, Begin, Begun, Clear, Finish, Finished, Transcripts, TurnLog, TurnLookup, TurnPhase, TurnRecord,
};
use aethon_core::testkit::MemoryStore;
use aethon_core::version::Expected;

use crate::store::FaultyStore;

/// The planted fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// A message is acknowledged before it is stored.
    AcknowledgesEarly,
    /// The end of a turn is shown before it is stored.
    ShowsDoneEarly,
    /// A delivery that failed is not tried again.
    DropsRetry,
    /// Of two messages that wait, the second comes first.
    ReordersTwo,
    /// The reservation of a call is never released.
    ForgetsSettlement,
    /// Turns are taken from a program that lives.
    SkipsLease,
    /// A reply that is to go elsewhere is stored without its delivery.
    LosesDelivery,
    /// A job stays due when its run begins.
    RunsJobTwice,
    /// Results of tools are not stored.
    LosesResults,
    /// A removed conversation stays.
    KeepsRemoved,
    /// A second delivery of a message counts as a new one.
    ForgetsNames,
    /// Turns of programs that are gone are never looked for.
    LeavesOrphans,
}

impl Mutant {
    pub const ALL: [Self; 12] = [
        Self::AcknowledgesEarly,
        Self::ShowsDoneEarly,
        Self::DropsRetry,
        Self::ReordersTwo,
        Self::ForgetsSettlement,
        Self::SkipsLease,
        Self::LosesDelivery,
        Self::RunsJobTwice,
        Self::LosesResults,
        Self::KeepsRemoved,
        Self::ForgetsNames,
        Self::LeavesOrphans,
    ];
}

fn is(store: &FaultyStore, mutant: Mutant) -> bool {
    store.world.mutant == Some(mutant)
}

pub async fn accept(
    store: &FaultyStore,
    turn: &TurnId,
    inbound: &Inbound,
    begin: Option<Begin>,
) -> Result<Accepted> {
    if is(store, Mutant::AcknowledgesEarly) && begin.is_none() {
        let (base, world, life) = (store.base.clone(), store.world.clone(), store.life.clone());
        let (turn, inbound) = (turn.clone(), inbound.clone());
        tokio::spawn(async move {
            world.step(&life, "accept later").await;
            base.accept(&turn, &inbound, None).await
        });
        return Ok(Accepted::New(None));
    }
    if is(store, Mutant::ForgetsNames) {
        let nameless = inbound.clone().with_dedupe(None);
        return store.base.accept(turn, &nameless, begin).await;
    }
    store.base.accept(turn, inbound, begin).await
}

pub async fn begin(store: &FaultyStore, turn: &TurnId, mut begin: Begin) -> Result<Begun> {
    if is(store, Mutant::ReordersTwo) {
        swap(&store.base, turn, &mut begin.message).await?;
    }
    TurnLog::begin(&*store.base, turn, begin).await
}

/// Stores the words of a message that waits behind this one in its place; those of this one come later.
async fn swap(base: &Arc<MemoryStore>, turn: &TurnId, message: &mut Message) -> Result<()> {
    let Some(record) = base.turn(turn).await? else { return Ok(()) };
    let is_same = |other: &TurnRecord| {
        other.inbound.session == record.inbound.session && other.inbound.sender == record.inbound.sender
    };
    let open = base.unfinished().await?;
    let other = open.iter().find(|other| is_same(other) && other.turn != *turn);
    let Some(other) = other.filter(|other| other.phase == TurnPhase::Queued) else { return Ok(()) };
    message.content = vec![Block::text(other.inbound.text.clone())];
    Ok(())
}

pub async fn append(
    store: &FaultyStore,
    turn: &TurnId,
    mut messages: Vec<Message>,
) -> Result<Vec<MessageId>> {
    if is(store, Mutant::LosesResults) {
        messages.retain(|message| message.role != Role::Tool);
    }
    store.base.append(turn, messages).await
}

pub async fn finish(store: &FaultyStore, mut finish: Finish) -> Result<Finished> {
    if is(store, Mutant::LosesDelivery) {
        finish.deliveries.clear();
    }
    if is(store, Mutant::ReordersTwo)
        && let Some((turn, begin)) = &mut finish.next
    {
        swap(&store.base, &turn.clone(), &mut begin.message).await?;
    }
    if is(store, Mutant::ShowsDoneEarly) && finish.next.is_none() {
        let (base, world, life) = (store.base.clone(), store.world.clone(), store.life.clone());
        tokio::spawn(async move {
            world.step(&life, "finish later").await;
            base.finish(finish).await
        });
        return Ok(Finished::default());
    }
    store.base.finish(finish).await
}

pub async fn settle(store: &FaultyStore, id: i64, outcome: DeliveryOutcome) -> Result<()> {
    use aethon_core::channel::Outbox;
    let outcome = match outcome {
        DeliveryOutcome::Retry { .. } if is(store, Mutant::DropsRetry) => DeliveryOutcome::Delivered,
        outcome => outcome,
    };
    store.base.settle(id, outcome).await
}

pub async fn orphaned(store: &FaultyStore) -> Result<Vec<SessionId>> {
    if is(store, Mutant::LeavesOrphans) {
        return Ok(Vec::new());
    }
    if is(store, Mutant::SkipsLease) {
        let open = store.base.unfinished().await?;
        return Ok(open.into_iter().map(|record| record.inbound.session).collect());
    }
    store.base.orphaned().await
}

pub async fn take_over(store: &FaultyStore, session: &SessionId) -> Result<Vec<TurnRecord>> {
    if is(store, Mutant::SkipsLease) {
        for other in store.world.others(&store.life) {
            other.release().await?;
        }
    }
    store.base.take_over(session).await
}

pub async fn clear(store: &FaultyStore, id: &SessionId, how: Clear) -> Result<bool> {
    if is(store, Mutant::KeepsRemoved) {
        return Ok(store.base.session(id).await?.is_some());
    }
    store.base.clear(id, how).await
}

pub async fn begin_run(store: &FaultyStore, begin: BeginRun) -> Result<Option<RunRecord>> {
    let seen = begin.seen;
    let begun = RunLog::begin(&*store.base, begin).await?;
    if is(store, Mutant::RunsJobTwice)
        && let (Some(run), Some(seen)) = (&begun, seen)
        && let Some(record) = store.base.job(&run.job_id).await?
    {
        store.base.replace(&record.job, seen.next_run, Expected::Anything).await?;
    }
    Ok(begun)
}
