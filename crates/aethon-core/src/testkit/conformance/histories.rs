//! Random histories of two programs: every step ends as it does on the storage in memory.
//!
//! Numbers of messages and deliveries differ from storage to storage; their order does not, and so they are compared by the order in
//! which they were first seen.

use std::sync::Arc;

use jiff::SignedDuration;

use super::stage::*;
use crate::channel::DeliveryOutcome;
use crate::error::Error;
use crate::ids::TurnId;
use crate::message::{Message, Role};
use crate::session::{Accepted, Begin, Begun, Clear, SessionPatch, TurnPhase, TurnRecord};
use crate::storage::Storage;
use crate::testkit::{MemoryStore, Random};
use crate::version::Expected;

const SEEDS: u64 = 6;
const STEPS: usize = 150;
const SESSIONS: usize = 3;

/// One call.
#[derive(Debug, Clone)]
enum Step {
    Accept { turn: TurnId, session: String, dedupe: Option<String>, begins: bool, replaces: Option<TurnId> },
    Begin { turn: TurnId },
    Append { turn: TurnId },
    Finish { turn: TurnId, session: String, delivers: bool, next: Option<TurnId> },
    Clear { session: String, deletes: bool },
    Post { session: String, key: String },
    Rename { session: String, title: String },
    TakeOver { session: String },
    Settle { arrives: bool },
    Look { session: String },
}

/// The numbers that a storage gave, in the order in which they were seen.
#[derive(Default)]
struct Numbers(Vec<i64>);

impl Numbers {
    fn place(&mut self, number: i64) -> usize {
        self.0.iter().position(|&known| known == number).unwrap_or_else(|| {
            self.0.push(number);
            self.0.len() - 1
        })
    }
}

/// A storage that two programs have open, and the numbers that it gave.
struct Side {
    programs: [Storage; 2],
    numbers: Numbers,
    deliveries: Numbers,
}

impl Side {
    fn new(programs: [Storage; 2]) -> Self {
        Self { programs, numbers: Numbers::default(), deliveries: Numbers::default() }
    }

    /// Takes a step as one of the programs, and describes its outcome.
    async fn take(&mut self, program: usize, step: &Step, now: jiff::Timestamp) -> String {
        let storage = self.programs[program].clone();
        let done = match step {
            Step::Accept { turn, session, dedupe, begins, replaces } => {
                let text = format!("asks {turn}");
                let inbound = match dedupe {
                    Some(dedupe) => say_as(session, &text, dedupe, Some(5)),
                    None => say(session, &text),
                };
                let begin = begins.then(|| Begin { replaces: replaces.clone(), ..begin(&text) });
                storage.turns.accept(turn, &inbound, begin).await.map(|accepted| match accepted {
                    Accepted::New(None) => "new".to_owned(),
                    Accepted::New(Some(begun)) => format!("new, {}", self.begun(&begun)),
                    Accepted::Known(record) => format!("known: {}", described(&record)),
                })
            }
            Step::Begin { turn } => {
                let begun = storage.turns.begin(turn, begin(&format!("asks {turn}"))).await;
                begun.map(|begun| self.begun(&begun))
            }
            Step::Append { turn } => {
                let messages = vec![message(Role::Assistant, "thinks")];
                let ids = storage.turns.append(turn, messages).await;
                ids.map(|ids| format!("{:?}", self.places(ids.iter().map(|id| id.0))))
            }
            Step::Finish { turn, session, delivers, next } => {
                let mut end = finish(turn, session, &format!("answers {turn}"));
                let record = storage.turns.turn(turn).await.unwrap_or_default();
                if record.is_some_and(|record| record.phase == TurnPhase::Queued) {
                    // One that never began brings its question along.
                    let question = message(Role::User, &format!("asks {turn}"));
                    end.messages = Arc::new([&[question], &end.messages[..]].concat());
                }
                if *delivers {
                    end.deliveries = vec![delivery(&format!("answers {turn}"), 3_600)];
                }
                end.next = next.as_ref().map(|next| (next.clone(), begin(&format!("asks {next}"))));
                storage.turns.finish(end).await.map(|finished| {
                    let places = self.places(finished.messages.iter().map(|id| id.0));
                    let next = finished.next.map(|begun| self.begun(&begun));
                    format!("{places:?}, beside: {}, next: {next:?}", finished.beside)
                })
            }
            Step::Clear { session, deletes } => {
                let how = if *deletes { Clear::Delete } else { Clear::Reset };
                storage
                    .transcripts
                    .clear(&super::stage::session(session), how)
                    .await
                    .map(|was| was.to_string())
            }
            Step::Post { session, key } => {
                let posted = message(Role::Assistant, &format!("posts {key}"));
                let id = storage.transcripts.post(&super::stage::session(session), key, posted).await;
                id.map(|id| format!("{:?}", id.map(|id| self.numbers.place(id.0))))
            }
            Step::Rename { session, title } => {
                let patch = SessionPatch { title: Some(title.clone()), ..SessionPatch::default() };
                let session = super::stage::session(session);
                storage
                    .transcripts
                    .patch(&session, &patch, Expected::Anything)
                    .await
                    .map(|was| was.to_string())
            }
            Step::TakeOver { session } => {
                let taken = storage.owners.take_over(&super::stage::session(session)).await;
                taken.map(|records| records.iter().map(described).collect::<Vec<_>>().join(", "))
            }
            Step::Settle { arrives } => self.settle(&storage, *arrives, now).await,
            Step::Look { session } => self.look(&storage, session).await,
        };
        done.unwrap_or_else(|error| refusal(&error).to_owned())
    }

    fn places(&mut self, numbers: impl Iterator<Item = i64>) -> Vec<usize> {
        numbers.map(|number| self.numbers.place(number)).collect()
    }

    fn begun(&mut self, begun: &Begun) -> String {
        let after = begun.after.map(|id| self.numbers.place(id.0));
        format!("begun as {} after {after:?}", self.numbers.place(begun.message.0))
    }

    /// Settles the delivery that is due first.
    async fn settle(
        &mut self,
        storage: &Storage,
        arrives: bool,
        now: jiff::Timestamp,
    ) -> Result<String, Error> {
        let due = storage.outbox.due(now, 1, &[]).await?;
        let Some(delivery) = due.first() else { return Ok("nothing is due".to_owned()) };
        let outcome = match arrives {
            true => DeliveryOutcome::Delivered,
            false => DeliveryOutcome::Retry { at: now + SignedDuration::from_secs(1), error: "later".into() },
        };
        storage.outbox.settle(delivery.id, outcome).await?;
        Ok(format!(
            "{} {} at attempt {}",
            self.deliveries.place(delivery.id),
            delivery.content.text,
            delivery.attempts
        ))
    }

    /// Everything that a reader can see of a session.
    async fn look(&mut self, storage: &Storage, name: &str) -> Result<String, Error> {
        let session = session(name);
        let window = storage.turns.window(&session, 100).await?;
        let messages = storage.transcripts.messages(&session, None, 100).await?;
        let pending = storage.transcripts.pending(&session).await?;
        let summary = storage.transcripts.session(&session).await?;
        let summary = summary.map(|summary| format!("{} of {:?}", summary.message_count, summary.title));
        let pending: Vec<String> = pending.iter().map(described).collect();
        Ok(format!("{summary:?} {:?} {:?} {pending:?}", self.lines(&window), self.lines(&messages)))
    }

    fn lines(&mut self, messages: &[Message]) -> Vec<String> {
        let line = |message: &Message| format!("{} {}", self.numbers.place(message.id.0), message.text());
        messages.iter().map(line).collect()
    }
}

fn described(record: &TurnRecord) -> String {
    let reply = record.reply.as_ref().map(|reply| reply.text.clone());
    format!("{} {:?} {} {reply:?}", record.turn, record.phase, record.attempts)
}

/// What callers tell apart in an error.
fn refusal(error: &Error) -> &'static str {
    match () {
        () if error.is_not_found() => "not found",
        () if error.is_elsewhere() => "elsewhere",
        () if error.is_mismatch() => "mismatch",
        () if error.is_invalid() => "invalid",
        () => "another error",
    }
}

/// Draws the steps.
struct Drawing {
    random: Random,
    seed: u64,
    /// The turns so far, with the session and the program of each.
    turns: Vec<(TurnId, String, usize)>,
}

impl Drawing {
    fn session(&mut self) -> String {
        format!("webchat:history-{}-{}", self.seed, self.random.below(SESSIONS))
    }

    /// One of the last turns.
    fn turn(&mut self) -> Option<(TurnId, String, usize)> {
        let recent = self.turns.len().min(6);
        let from = self.turns.len() - recent;
        (recent > 0).then(|| self.turns[from + self.random.below(recent)].clone())
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.random.below(one_in) == 0
    }

    /// A step, and the program that takes it.
    fn step(&mut self) -> (usize, Step) {
        let program = self.random.below(2);
        let known = self.turn();
        match (self.random.below(16), known) {
            (0..=3, known) | (4..=9, known @ None) => {
                let session = self.session();
                let (turn, begins) = (TurnId::fresh(), self.chance(2));
                let dedupe = self.chance(3).then(|| format!("d{}", self.random.below(6)));
                let replaces = known.filter(|known| begins && known.1 == session && self.chance(2));
                self.turns.push((turn.clone(), session.clone(), program));
                (
                    program,
                    Step::Accept { turn, session, dedupe, begins, replaces: replaces.map(|known| known.0) },
                )
            }
            (4 | 5, Some((turn, _, owner))) => (owner, Step::Begin { turn }),
            (6, Some((turn, _, owner))) => (owner, Step::Append { turn }),
            (7..=9, Some((turn, session, owner))) => {
                let next = self.turn().filter(|next| next.1 == session && next.0 != turn).map(|next| next.0);
                (owner, Step::Finish { turn, session, delivers: self.chance(2), next })
            }
            (10, _) => (program, Step::Clear { session: self.session(), deletes: self.chance(2) }),
            (11, _) => {
                let key = format!("k{}", self.random.below(4));
                (program, Step::Post { session: self.session(), key })
            }
            (12, _) => {
                let title = format!("title {}", self.random.below(9));
                (program, Step::Rename { session: self.session(), title })
            }
            (13, _) => (program, Step::TakeOver { session: self.session() }),
            (14, _) => (program, Step::Settle { arrives: self.chance(2) }),
            _ => (program, Step::Look { session: self.session() }),
        }
    }
}

pub async fn random_histories_end_as_those_in_memory(stage: Stage) {
    let memory = MemoryStore::new(stage.shared_clock());
    let beside = memory.beside();
    let mut model = Side::new([memory, beside].map(MemoryStore::into_storage));
    let mut subject = Side::new([stage.storage.clone(), stage.beside.clone()]);
    for seed in 0..SEEDS {
        let mut drawing = Drawing { random: Random::new(seed), seed, turns: Vec::new() };
        let mut steps = Vec::new();
        for _ in 0..STEPS {
            if drawing.chance(8) {
                stage.advance(1);
            }
            for storage in subject.programs.iter().chain(&model.programs) {
                storage.owners.renew().await.unwrap();
            }
            let (program, step) = drawing.step();
            steps.push((program, step.clone()));
            let now = stage.now();
            let expected = model.take(program, &step, now).await;
            let found = subject.take(program, &step, now).await;
            assert_eq!(found, expected, "seed {seed}, the last of {steps:#?}");
        }
    }
}
