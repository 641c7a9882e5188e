//! Accepts a message: claims a place in the queue, stores it, acknowledges it, and runs the turn.
//!
//! All of it happens in a task that the engine owns, because the caller may go away at any moment and work in
//! progress must be finished.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::assistant::{PendingReply, Submitted};
use aethon_core::error::{Error, Result};
use aethon_core::ids::TurnId;
use aethon_core::message::Inbound;
use aethon_core::session::{Accepted, Begun, TurnRecord};
use aethon_core::surface::Surface;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::shared::Shared;
use crate::admission::{admit, inherit_from_original, mark_files};
use crate::catch_panic::catch_panic;
use crate::control::Cause;
use crate::dispatcher::{Job, Position, Stage};
use crate::documents;

/// How long the documents of one message may take, all together: its sender and the messages behind it wait for them.
const DOCUMENTS: Duration = Duration::from_secs(60);

/// Takes a message in.
pub(super) async fn submit(
    shared: &Arc<Shared>,
    mut inbound: Inbound,
    surface: Arc<dyn Surface>,
) -> Result<Submitted> {
    let services = &shared.services;
    services.health.check()?;
    if shared.agents.current().get(&inbound.agent).is_none() {
        // The agent's file may have appeared since the last check.
        shared.agents.refresh(&inbound.agent).await;
    }
    shared.agents.current().find(&inbound.agent)?;
    if let Some(name) = &inbound.wishes.model {
        shared.agents.check_model(name).await?;
    }
    let names_a_model = inbound.wishes.model.is_some();
    inherit_from_original(&*services.turns, &mut inbound).await?;
    if let Some(name) = inbound.wishes.model.as_ref().filter(|_| !names_a_model) {
        // The model of the repeated message may be gone by now.
        let is_there = shared.agents.check_model(name).await.is_ok();
        inbound.wishes.model = inbound.wishes.model.take().filter(|_| is_there);
    }
    if shared.options.marks_files {
        mark_files(&mut inbound);
    }
    if documents::has_documents(&inbound)
        && let Some(known) = find_duplicate(shared, &inbound).await?
    {
        // A message that is sent again is not read again.
        return Ok(known);
    }
    let message = admit(&*services.turns, &inbound, services.clock.now()).await?;
    let (job, live) = Job::pair(TurnId::fresh(), inbound, message, surface);
    let reply = live.reply.clone();
    let position = match shared.queues.claim(job.session(), live) {
        Ok(position) => position,
        // A message that is already stored needs no place. If it were refused, its sender would send it again
        // behind later ones.
        Err(full) => return find_duplicate(shared, &job.inbound).await?.ok_or(full),
    };
    let (answer, answered) = oneshot::channel();
    let claimed = Claimed { shared: shared.clone(), job, position, reply, answer };
    shared.tasks.spawn(claimed.accept());
    answered.await.unwrap_or_else(|_| Err(Error::internal("the message could not be taken in")))
}

/// A message that has its place in the queue and is not stored yet.
struct Claimed {
    shared: Arc<Shared>,
    job: Job,
    position: Position,
    reply: PendingReply,
    /// Where its sender waits for the acknowledgement.
    answer: oneshot::Sender<Result<Submitted>>,
}

impl Claimed {
    /// Stores the message, acknowledges it, and runs its turn.
    async fn accept(mut self) {
        if let Err(error) = self.read_documents().await {
            return self.give_up(error).await;
        }
        let is_first = self.position == Position::First;
        if is_first {
            self.shared.agents.refresh(&self.job.inbound.agent).await;
            self.shared.attach_context_page(&mut self.job);
        }
        let begin = is_first.then(|| self.job.begin());
        let stored = self.shared.services.turns.accept(&self.job.turn, &self.job.inbound, begin);
        let why = match catch_panic(stored).await {
            Ok(Ok(Accepted::New(begun))) => return self.run(begun).await,
            Ok(Ok(Accepted::Known(record))) => return self.answer_known(*record).await,
            Ok(Err(error)) => error,
            Err(panic) => Error::internal("the storage failed").because(panic),
        };
        self.give_up(why).await;
    }

    async fn run(self, begun: Option<Begun>) {
        let Self { shared, mut job, position, reply, answer } = self;
        let submitted = Submitted { turn: job.turn.clone(), queued: position.queued(), is_new: true, reply };
        job.stage = begun.map_or(Stage::Waiting, Stage::Begun);
        // An error means that the caller has gone; the turn runs all the same.
        let answer = Box::new(move || drop(answer.send(Ok(submitted))));
        if let Some(job) = shared.queues.stored(job, answer) {
            shared.run_queue(job).await;
        }
    }

    async fn answer_known(self, record: TurnRecord) {
        let Self { shared, job, answer, .. } = self;
        let next = shared.queues.release_claim(job.session(), &job.turn);
        let known = match same_content(&job.inbound, &record) {
            Ok(()) => reply_to_duplicate(&shared, record, job.surface).await,
            Err(mismatch) => Err(mismatch),
        };
        let _ = answer.send(known);
        if let Some(next) = next {
            shared.run_queue(next).await;
        }
    }

    /// Gives the place up, and tells the sender why.
    async fn give_up(self, why: Error) {
        let next = self.shared.queues.release_claim(self.job.session(), &self.job.turn);
        let _ = self.answer.send(Err(why));
        if let Some(next) = next {
            self.shared.run_queue(next).await;
        }
    }

    /// Reads the documents of the message: messages behind it wait, as they would for the turn.
    async fn read_documents(&mut self) -> Result<()> {
        let job = &mut self.job;
        let services = &self.shared.services;
        if !documents::has_documents(&job.inbound) {
            return Ok(());
        }
        let reading = documents::read(&*services.documents, &mut job.inbound);
        let left = tokio::select! {
            read = timeout(DOCUMENTS, reading) => {
                read.err().map(|_| format!("the documents of this message took more than {} s", DOCUMENTS.as_secs()))
            }
            cause = job.stop.stopped() => match cause {
                Cause::Person => Some("the turn was stopped before it was read".to_owned()),
                // It is not stored, so its sender brings it again, and then it is read. Nor can another have taken it over.
                Cause::Shutdown | Cause::TakenOver => return Err(Error::shutting_down()),
            },
        };
        if let Some(why) = left {
            documents::leave(&mut job.inbound, &why);
        }
        self.shared.queues.shrink(job);
        // The blocks of the documents have their text now.
        (job.message, job.replaces) = admit(&*services.turns, &job.inbound, job.message.created_at).await?;
        Ok(())
    }
}

/// Answers a duplicate delivery of a turn that has ended, or that waits or runs in this process.
async fn find_duplicate(shared: &Shared, inbound: &Inbound) -> Result<Option<Submitted>> {
    let Some(dedupe) = &inbound.dedupe else { return Ok(None) };
    let Some(record) = shared.services.turns.known(&inbound.channel, &dedupe.id).await? else {
        return Ok(None);
    };
    same_content(inbound, &record)?;
    let found = match record.reply {
        Some(reply) => Some((PendingReply::ready(Arc::new(reply)), 0)),
        None => shared.queues.find(&record.inbound.session, &record.turn),
    };
    Ok(found.map(|(reply, queued)| Submitted { turn: record.turn, queued, is_new: false, reply }))
}

/// Answers a duplicate delivery with the stored outcome, or with the pending one.
async fn reply_to_duplicate(
    shared: &Arc<Shared>,
    record: TurnRecord,
    surface: Arc<dyn Surface>,
) -> Result<Submitted> {
    let turn = record.turn.clone();
    let submitted = |queued, reply| Ok(Submitted { turn: turn.clone(), queued, is_new: false, reply });
    if let Some(reply) = record.reply {
        return submitted(0, PendingReply::ready(Arc::new(reply)));
    }
    if let Some((reply, queued)) = shared.queues.find(&record.inbound.session, &turn) {
        return submitted(queued, reply);
    }
    // It may have ended between the two lookups.
    let Some(record) = shared.services.turns.turn(&turn).await? else {
        return Err(Error::not_found("the turn of this message was removed; send it under a new id"));
    };
    if let Some(reply) = record.reply {
        return submitted(0, PendingReply::ready(Arc::new(reply)));
    }
    // This process does not hold it: another program is working on it, or was.
    let reply = shared.enqueue_stored(record, surface).await?;
    submitted(0, reply)
}

/// Checks that a message with a known id has the same content: different content is the sender's mistake, not a
/// duplicate delivery.
fn same_content(inbound: &Inbound, known: &TurnRecord) -> Result<()> {
    let fingerprint =
        |inbound: &Inbound| inbound.dedupe.as_ref().and_then(|dedupe| dedupe.fingerprint.clone());
    match (fingerprint(inbound), fingerprint(&known.inbound)) {
        (Some(now), Some(before)) if now != before => {
            Err(Error::mismatch("this message id came with another content before; use a new id"))
        }
        _ => Ok(()),
    }
}
