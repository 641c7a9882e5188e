//! What must hold when everything has come to rest: the promises of the whole, held against what the clients saw.

use std::collections::{BTreeMap, BTreeSet};

use aethon_core::channel::{DeliveryState, Outbox};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Message, Role, TurnEnd};
use aethon_core::schedule::{JobStore, RunLog, RunStatus};
use aethon_core::session::{Transcripts, TurnLookup};

use crate::doubles::unpaired;
use crate::history::{History, Said};
use crate::program::Program;
use crate::world::{World, session};

/// Describes work in progress, if any.
pub async fn unrest(world: &World, programs: &[Program], sessions: usize) -> Option<String> {
    for program in programs {
        if let Some(turn) = program.activity().first() {
            return Some(format!("in program {}: {turn}", program.life.number));
        }
    }
    let store = &world.store;
    if let Some(turn) = store.unfinished().await.unwrap().first() {
        return Some(format!("stored as unfinished: {}", turn.turn));
    }
    for number in 0..sessions {
        if let Some(turn) = store.pending(&session(number)).await.unwrap().first() {
            return Some(format!("waits for its place: {}", turn.turn));
        }
    }
    if let Some(at) = Outbox::next_due(&**store, &[]).await.unwrap() {
        return Some(format!("a delivery that is due at {at}"));
    }
    if let Some(run) = store.open().await.unwrap().first() {
        return Some(format!("an open run of {}", run.job_id));
    }
    RunLog::next_due(&**store).await.unwrap().map(|at| format!("a job that is due at {at}"))
}

/// Checks the storage against the observations of the clients.
pub async fn check(world: &World, sessions: usize) {
    let history = world.history(std::mem::take);
    for number in 0..sessions {
        check_session(world, &history, &session(number)).await;
    }
    check_deliveries(world, &history).await;
    check_jobs(world).await;
    let reserved = world.ledger.reservations();
    if !reserved.is_empty() {
        world.violated(format!("{} reservations are left when nothing runs", reserved.len()));
    }
}

async fn check_session(world: &World, history: &History, session: &SessionId) {
    let transcript = world.store.transcript(session);
    // A posted or withdrawn message may be stored between a call and its result; requests to models never contain it there.
    let mut turns: BTreeMap<&TurnId, Vec<&Message>> = BTreeMap::new();
    for message in &transcript {
        message.turn.iter().for_each(|turn| turns.entry(turn).or_default().push(message));
    }
    for fault in turns.values().filter_map(|messages| unpaired(messages)) {
        world.violated(format!("{session} has {fault}"));
    }
    check_posted(world, history, session, &transcript);
    let texts: Vec<String> =
        transcript.iter().filter(|message| message.role == Role::User).map(Message::text).collect();
    let said: Vec<&Said> = history.said.iter().filter(|said| said.session == *session).collect();
    for one in &said {
        let count = texts.iter().filter(|text| **text == one.text).count();
        if count > 1 {
            world.violated(format!("{} is in {session} {count} times", one.text));
        }
        let is_missing = count == 0 && one.acknowledged.is_some();
        if is_missing && !is_excused(world, history, one).await {
            world.violated(format!("{} was acknowledged and is not in {session}", one.text));
        }
        if count > 0 && is_removed(history, one) {
            world.violated(format!("{} was removed and is in {session}", one.text));
        }
        if count > 0 && is_answered(world, one).await {
            check_edit(world, history, one, &texts);
        }
    }
    let mut last: BTreeMap<usize, usize> = BTreeMap::new();
    for text in &texts {
        let place = history.said.iter().position(|said| said.text == *text);
        let Some(said) = place.and_then(|place| history.said.get(place)) else { continue };
        let number = said.text.split_once('.').and_then(|(_, number)| number.parse().ok()).unwrap();
        if last.insert(said.sender, number).is_some_and(|before| before > number) {
            world.violated(format!("{text} comes too late in {session}: {texts:?}"));
        }
    }
}

/// Checks that each posted message is stored once, unless something in its session was removed since.
fn check_posted(world: &World, history: &History, session: &SessionId, transcript: &[Message]) {
    for posted in history.posted.iter().filter(|posted| posted.session == *session) {
        let count = transcript.iter().filter(|message| message.text() == posted.text).count();
        let is_corrected =
            history.said.iter().any(|said| said.session == *session && said.replaces.is_some());
        let may_be_gone = is_corrected || history.may_be_cleared_since(session, posted.began);
        if count > 1 || (count == 0 && posted.is_sure && !may_be_gone) {
            world.violated(format!("{} was posted and is in {session} {count} times", posted.text));
        }
    }
}

/// Whether a message may be missing: its session was emptied, or a correction has taken it away.
async fn is_excused(world: &World, history: &History, one: &Said) -> bool {
    let is_cleared = history.cleared.iter().any(|cleared| {
        cleared.session == one.session && cleared.ended > one.began && cleared.ended > cleared.began
    });
    let acknowledged = one.acknowledged.unwrap_or(u64::MAX);
    let is_cut = history.said.iter().any(|edit| {
        let target = edit.replaces.map(|place| &history.said[place]);
        let reaches = |target: &Said| target.began <= acknowledged;
        edit.session == one.session
            && edit.text != one.text
            && target.is_some_and(reaches)
            && edit.acknowledged.unwrap_or(u64::MAX) > one.began
    });
    // A correction of a message that is gone, or that could not be answered, changes nothing.
    is_cleared || is_cut || (one.replaces.is_some() && !is_answered(world, one).await)
}

async fn is_answered(world: &World, one: &Said) -> bool {
    let Some(turn) = &one.turn else { return false };
    let record = world.store.turn(turn).await.unwrap();
    record.and_then(|record| record.reply).is_some_and(|reply| reply.end == TurnEnd::End)
}

fn is_removed(history: &History, one: &Said) -> bool {
    let Some(acknowledged) = one.acknowledged else { return false };
    history
        .cleared
        .iter()
        .any(|cleared| cleared.is_sure && cleared.session == one.session && cleared.began > acknowledged)
}

/// Checks that a corrected message is gone, with all that followed it.
fn check_edit(world: &World, history: &History, edit: &Said, texts: &[String]) {
    let Some(target) = edit.replaces.map(|place| &history.said[place]) else { return };
    let is_replaced = |said: &&Said| {
        let is_after = said.text == target.text
            || target.acknowledged.is_some_and(|acknowledged| acknowledged < said.began);
        is_after
            && said.session == edit.session
            && said.acknowledged.is_some_and(|acknowledged| acknowledged < edit.began)
    };
    for said in history.said.iter().filter(is_replaced) {
        if texts.contains(&said.text) {
            world.violated(format!("{} was replaced by {} and is still there", said.text, edit.text));
        }
    }
}

async fn check_deliveries(world: &World, history: &History) {
    let mut arrived: BTreeMap<&TurnId, BTreeSet<i64>> = BTreeMap::new();
    let mut times: BTreeMap<i64, usize> = BTreeMap::new();
    let mut last: BTreeMap<&String, i64> = BTreeMap::new();
    for one in &history.arrived {
        arrived.entry(&one.turn).or_default().insert(one.id);
        let times = times.entry(one.id).or_default();
        *times += 1;
        if *times > 1 && history.deaths == 0 && !world.has_storage_faults() {
            world.violated(format!("delivery {} arrived {times} times", one.id));
        }
        if let (Some(recipient), 1) = (&one.recipient, *times)
            && last.insert(recipient, one.id).is_some_and(|before| before > one.id)
        {
            world.violated(format!("delivery {} reached {recipient} too late", one.id));
        }
    }
    for said in history.said.iter().filter(|said| said.is_delivered) {
        let Some(turn) = &said.turn else { continue };
        let Some(record) = world.store.turn(turn).await.unwrap() else { continue };
        let is_wanted = record.reply.is_some_and(|reply| reply.end != TurnEnd::Stopped);
        if is_wanted && !arrived.contains_key(turn) {
            world.violated(format!("the reply to {} was never delivered", said.text));
        }
    }
    let failed = world.store.undelivered(DeliveryState::Failed, 10).await.unwrap();
    if failed.count > 0 {
        world.violated(format!("{} deliveries were given up", failed.count));
    }
}

async fn check_jobs(world: &World) {
    for record in world.store.jobs().await.unwrap() {
        let job = &record.job;
        let runs = RunLog::runs(&*world.store, &job.job_id, 100).await.unwrap();
        let mut begun = BTreeSet::new();
        for run in &runs {
            // A retry is one of its own, and so is each wait for it.
            if run.attempt == 0 && !begun.insert(run.due) {
                world.violated(format!("{} has two runs that were due at {:?}", job.job_id, run.due));
            }
            let session = SessionId::of("schedule", &format!("{}:{}", job.job_id, run.run_id)).unwrap();
            let asked =
                world.store.transcript(&session).iter().filter(|message| message.role == Role::User).count();
            let expected = usize::from(run.status == RunStatus::Ok);
            if asked > 1 || asked < expected {
                world.violated(format!("a run of {} ({:?}) was asked {asked} times", job.job_id, run.status));
            }
        }
        if runs.is_empty() {
            world.violated(format!("{} was due and never ran", job.job_id));
        }
    }
}
