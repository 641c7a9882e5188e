//! Adds memories that match a person's message to the model's context, without a request.
//!
//! Recalled memories follow the person's message as context that is marked as data, and are stored with the turn.
//! They are not part of the system prompt, and later requests repeat them byte for byte. Only memories that clearly
//! match are recalled, and a memory that fails or is slow never delays a turn beyond its limit. A person is reminded
//! of their own statements and of shared memories, never of another person's statements.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::hook::{AddedContext, Hook, TurnContext};
use aethon_core::ledger::WorkKind;
use aethon_core::memory::{Memory, MemoryHit, MemoryQuery, Purpose, Reach};
use aethon_core::message::{Failure, Inbound};
use aethon_core::turn::Trust;
use async_trait::async_trait;
use tokio::time::timeout;

/// How long a turn waits for its memories.
const TIMEOUT: Duration = Duration::from_secs(3);

/// How many characters of a message are searched for: its beginning or its end holds the question.
const MAX_CHARS: usize = 2_000;

/// The source that the model is given.
const SOURCE: &str = "memory";

/// The shortest excerpt of a memory that is worth showing, in characters.
const MIN_PIECE: usize = 40;

/// Recalls matching memories.
#[derive(Clone)]
pub struct AutoRecall {
    memory: Arc<dyn Memory>,
    top_k: usize,
    max_chars: usize,
}

impl AutoRecall {
    /// Recalls at most `top_k` memories, with at most `max_chars` characters in all.
    pub fn new(memory: Arc<dyn Memory>, top_k: usize, max_chars: usize) -> Self {
        Self { memory, top_k, max_chars }
    }
}

#[async_trait]
impl Hook for AutoRecall {
    fn name(&self) -> &'static str {
        "recall"
    }

    async fn before_turn(&self, turn: &TurnContext, inbound: &Inbound) -> Result<Vec<AddedContext>, Failure> {
        // A stranger's text must not retrieve the statements of people here, whether it is marked or not.
        let is_strangers = inbound.untrusted || turn.trust() == Trust::Outside;
        let is_own = !is_strangers && matches!(inbound.kind, WorkKind::Turn | WorkKind::Scheduled);
        // The vector of a question is cached, and would outlive a temporary session.
        let is_own = is_own && !turn.session.is_temporary();
        if !is_own || self.top_k == 0 || self.max_chars == 0 {
            return Ok(Vec::new());
        }
        let text = both_ends(&inbound.text);
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        let reach = Reach::of(&inbound.behalf.person);
        let query = MemoryQuery::new(text, self.top_k).of(reach).for_purpose(Purpose::Recall);
        let hits = match timeout(TIMEOUT, self.memory.search(query)).await {
            Ok(Ok(hits)) => hits,
            Ok(Err(error)) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(session = %turn.session, error, "nothing could be recalled; the turn goes on without");
                Vec::new()
            }
            Err(_) => {
                tracing::warn!(session = %turn.session, "the memory is slow; the turn goes on without");
                Vec::new()
            }
        };
        let list = format_hits(&hits, self.max_chars);
        Ok(list.map(|list| AddedContext::new(SOURCE, list)).into_iter().collect())
    }
}

/// Returns a text, or its beginning and its end.
fn both_ends(text: &str) -> String {
    let count = text.chars().count();
    if count <= MAX_CHARS {
        return text.to_owned();
    }
    let half = MAX_CHARS / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    format!("{head}\n{tail}")
}

/// Returns the memories, one per line, as long as there is room; the best one is shortened rather than left out.
fn format_hits(hits: &[MemoryHit], max_chars: usize) -> Option<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut left = max_chars;
    for hit in hits {
        let entry = &hit.entry;
        let day = entry.updated_at.strftime("%Y-%m-%d");
        let content: Vec<&str> = entry.content.split_whitespace().collect();
        let line = format!("- {} ({}, {day})", content.join(" "), entry.category);
        let length = line.chars().count();
        if length <= left {
            left -= length;
            lines.push(line);
        } else if lines.is_empty() && left >= MIN_PIECE {
            let piece: String = line.chars().take(left - 1).collect();
            lines.push(format!("{piece}…"));
            left = 0;
        }
    }
    (!lines.is_empty()).then(|| {
        format!(
            "Remembered from earlier, as it was then; it may have nothing to do with this:\n{}",
            lines.join("\n")
        )
    })
}

#[cfg(test)]
mod tests {
    use aethon_core::ids::{SessionId, TurnId};
    use aethon_core::memory::{NewMemory, Scope};
    use aethon_core::person::Person;
    use aethon_core::testkit::MemoryStore;

    use super::*;

    async fn remembering(contents: &[&str]) -> Arc<MemoryStore> {
        let store = Arc::new(MemoryStore::default());
        for content in contents {
            store.store(NewMemory::new(content, "home", "api").unwrap()).await.unwrap();
        }
        store
    }

    async fn recalled(hook: &AutoRecall, inbound: &Inbound) -> Option<String> {
        let turn = TurnContext::of(TurnId::fresh(), inbound);
        let added = hook.before_turn(&turn, inbound).await.unwrap();
        assert!(added.iter().all(|added| added.source == "memory"));
        added.into_iter().next().map(|added| added.text)
    }

    fn say(text: &str) -> Inbound {
        Inbound::say(SessionId::of("webchat", "a").unwrap(), text)
    }

    #[tokio::test]
    async fn matching_memories_are_added_and_counted() {
        let store = remembering(&["The cat is called Momo.", "Rent is due\non the 5th."]).await;
        let hook = AutoRecall::new(store.clone(), 4, 1500);
        let text = recalled(&hook, &say("rent?")).await.unwrap();
        assert!(text.ends_with("\n- Rent is due on the 5th. (home, 1970-01-01)"), "{text}");
        assert_eq!(store.stats(&Reach::default()).await.unwrap().recalled, 1);
        assert_eq!(recalled(&hook, &say("zebra")).await, None);
        assert_eq!(recalled(&hook, &say("  ")).await, None);
    }

    #[tokio::test]
    async fn recall_is_limited_to_own_and_shared_memories() {
        let store = remembering(&["The cat of the owner is called Momo."]).await;
        let ben = Person::member("ben").unwrap();
        for (scope, content) in [
            (Scope::from(&ben), "The cat of Ben is called Tiger."),
            (Scope::shared(), "The cat flap is locked at night."),
            (Scope::named("cleo"), "The cat of Cleo is called Rex."),
        ] {
            store.store(NewMemory::new(content, "home", "api").unwrap().of(scope)).await.unwrap();
        }
        let hook = AutoRecall::new(store, 9, 1500);
        let check = async |person: Person, expected: [bool; 4]| {
            let text = recalled(&hook, &say("the cat").for_person(person.clone())).await.unwrap_or_default();
            assert_eq!(
                ["Momo", "Tiger", "flap", "Rex"].map(|word| text.contains(word)),
                expected,
                "{person}"
            );
        };
        check(Person::default(), [true, false, true, false]).await;
        check(ben, [false, true, true, false]).await;
        check(Person::everybody(), [false, false, true, false]).await;
        check(Person::guest("telegram", "7"), [false; 4]).await;
    }

    #[tokio::test]
    async fn strangers_and_other_work_recall_nothing() {
        let store = remembering(&["The cat is called Momo."]).await;
        let hook = AutoRecall::new(store.clone(), 4, 1500);
        let mut stranger = say("the cat?");
        stranger.untrusted = true;
        assert_eq!(recalled(&hook, &stranger).await, None);
        assert_eq!(recalled(&hook, &say("the cat?").via("webhook")).await, None, "with markers off");
        assert_eq!(recalled(&hook, &say("the cat?").with_outside(true)).await, None, "its job or its work");
        assert_eq!(recalled(&hook, &say("the cat?").of_kind(WorkKind::Embedding)).await, None);
        assert_eq!(recalled(&AutoRecall::new(store.clone(), 0, 1500), &say("the cat?")).await, None);
        assert_eq!(recalled(&AutoRecall::new(store, 4, 0), &say("the cat?")).await, None);
    }

    #[tokio::test]
    async fn temporary_sessions_recall_nothing() {
        let hook = AutoRecall::new(remembering(&["The cat is called Momo."]).await, 4, 1500);
        let session = SessionId::temporary("webchat", None).unwrap();
        assert_eq!(recalled(&hook, &Inbound::say(session, "the cat?")).await, None);
    }

    #[tokio::test]
    async fn a_memory_that_fails_does_not_fail_the_turn() {
        let store = remembering(&["The cat is called Momo."]).await;
        store.fail("search", 1);
        let hook = AutoRecall::new(store, 4, 1500);
        assert_eq!(recalled(&hook, &say("cat")).await, None);
        assert!(recalled(&hook, &say("cat")).await.is_some());
    }

    #[tokio::test]
    async fn recall_is_bounded_in_number_and_length() {
        let long = format!("cat {}", "word ".repeat(100));
        let store = remembering(&["cat one", "cat two", "cat three", &long]).await;
        let lines = async |top_k: usize, max_chars: usize, text: &str| {
            let hook = AutoRecall::new(store.clone(), top_k, max_chars);
            recalled(&hook, &say(text)).await.unwrap_or_default()
        };
        assert_eq!(lines(2, 1500, "cat").await.matches("\n- ").count(), 2);
        assert_eq!(lines(9, 60, "cat").await.matches("\n- ").count(), 2, "a third one has no room");
        let cut = lines(1, 100, "cat word").await;
        assert!(cut.ends_with('…') && cut.lines().last().unwrap().chars().count() == 100, "{cut}");
        let question = format!("cat {}", "x ".repeat(10_000));
        assert!(lines(1, 1500, &question).await.contains("cat"), "the beginning of a long message counts");
    }
}
