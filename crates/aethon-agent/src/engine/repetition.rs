//! Notices when a turn goes round in circles: the same call with the same result, or two calls in alternation.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use aethon_core::message::{ToolCall, ToolResult};

/// The calls of one turn. Kept as hashes; a collision in one turn is not to be expected.
#[derive(Debug, Default)]
pub(super) struct Repetition {
    outcomes: HashMap<u64, usize>,
    calls: Vec<u64>,
}

impl Repetition {
    /// Notes a call; says in words when it makes the turn a loop.
    pub(super) fn note(&mut self, call: &ToolCall, result: &ToolResult, limit: usize) -> Option<String> {
        if limit == 0 {
            return None;
        }
        // Objects keep their keys sorted, so equal arguments have equal text.
        let asked = hash(&(&call.name, call.input.to_string()));
        let times = self.outcomes.entry(hash(&(asked, &result.output))).or_default();
        *times += 1;
        self.calls.push(asked);
        if *times >= limit {
            return Some(format!(
                "the model called `{}` with the same arguments {times} times and got the same result each time",
                call.name
            ));
        }
        self.alternates(limit)
            .then(|| format!("the model went back and forth between the same two calls {limit} times"))
    }

    fn alternates(&self, limit: usize) -> bool {
        let Some(newest) = self.calls.len().checked_sub(2 * limit).map(|from| &self.calls[from..]) else {
            return false;
        };
        limit > 1
            && newest[0] != newest[1]
            && newest.iter().skip(2).zip(newest).all(|(late, early)| late == early)
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Notes calls written as `name result` and returns at which one the loop was seen.
    fn seen_at(calls: &[(&str, &str)]) -> Option<usize> {
        let mut repetition = Repetition::default();
        calls.iter().position(|(name, output)| {
            let call = ToolCall {
                id: "1".into(),
                name: (*name).into(),
                input: json!({"b": 1, "a": 2}),
                opaque: None,
            };
            let result = ToolResult {
                call: "1".into(),
                name: (*name).into(),
                output: (*output).into(),
                is_error: false,
                denied: false,
                ms: None,
            };
            repetition.note(&call, &result, 3).is_some()
        })
    }

    #[test]
    fn loops_are_seen_and_progress_is_not() {
        assert_eq!(seen_at(&[("a", "1"), ("a", "1"), ("a", "1")]), Some(2));
        assert_eq!(seen_at(&[("a", "1"), ("b", "1"), ("a", "1"), ("c", "1"), ("a", "1")]), Some(4));
        assert_eq!(seen_at(&[("a", "1"), ("a", "2"), ("a", "3"), ("a", "4")]), None);
        let alternating = [("a", "1"), ("b", "2"), ("a", "3"), ("b", "4"), ("a", "5"), ("b", "6")];
        assert_eq!(seen_at(&alternating), Some(5));
        assert_eq!(seen_at(&alternating[..5]), None);
    }
}
