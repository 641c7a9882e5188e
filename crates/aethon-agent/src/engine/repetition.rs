//! Notices when a turn goes round in circles: the same call with the same result, over and over.
//!
//! Two calls in alternation are seen by the same rule, since each of them repeats itself. A call whose result differs from
//! the one before it starts anew: whoever polls something that changes makes progress.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use aethon_core::message::{ToolCall, ToolResult};

/// The calls of one turn. Kept as hashes; a collision in one turn is not to be expected.
#[derive(Debug)]
pub(super) struct Repetition {
    limit: usize,
    /// By call: what it came to last, and in how many responses in a row.
    seen: HashMap<u64, Seen>,
    /// The calls in the order in which they were made, each response without its own repetitions.
    order: Vec<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    result: u64,
    times: usize,
}

/// What the newest response adds to it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Noted {
    /// The places of the calls of which the model is told that one more ends the turn.
    pub(super) warnings: Vec<usize>,
    /// In words, why the turn is a loop.
    pub(super) reason: Option<String>,
}

impl Repetition {
    /// One that calls it a loop after so many times; never when that is 0.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, seen: HashMap::new(), order: Vec::new() }
    }

    /// Notes the calls of one response with their results. Equal ones among them count once.
    pub(super) fn note<'c>(
        &mut self,
        response: impl IntoIterator<Item = (&'c ToolCall, &'c ToolResult)>,
    ) -> Noted {
        let mut noted = Noted::default();
        if self.limit == 0 {
            return noted;
        }
        let from = self.order.len();
        for (place, (call, result)) in response.into_iter().enumerate() {
            // Objects keep their keys sorted, so equal arguments have equal text.
            let asked = hash(&(&call.name, call.input.to_string()));
            let is_first = !self.order[from..].contains(&asked);
            let times = self.count(asked, hash(&result.output), is_first);
            if !is_first {
                continue;
            }
            self.order.push(asked);
            if times >= self.limit {
                noted.reason.get_or_insert_with(|| self.reason(call, times));
            } else if times > 1 && times + 1 == self.limit {
                noted.warnings.push(place);
            }
        }
        noted
    }

    /// How often in a row a call has now come to this result.
    fn count(&mut self, asked: u64, result: u64, is_first: bool) -> usize {
        let seen = self.seen.entry(asked).or_insert(Seen { result, times: 0 });
        if seen.result != result {
            *seen = Seen { result, times: 1 };
        } else if is_first {
            seen.times += 1;
        }
        seen.times
    }

    fn reason(&self, call: &ToolCall, times: usize) -> String {
        if self.alternates() {
            return format!("the model went back and forth between the same two calls {times} times");
        }
        let name = &call.name;
        format!(
            "the model called `{name}` with the same arguments {times} times and got the same result each time"
        )
    }

    /// Whether the newest calls are two in turns.
    fn alternates(&self) -> bool {
        let Some(from) = self.order.len().checked_sub(2 * self.limit - 1) else { return false };
        let newest = &self.order[from..];
        self.limit > 1
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

    /// The calls of a response, as name and result.
    type Response<'r> = &'r [(&'r str, &'r str)];

    fn pair((name, output): &(&str, &str)) -> (ToolCall, ToolResult) {
        let call =
            ToolCall { id: "1".into(), name: (*name).into(), input: json!({"b": 1, "a": 2}), opaque: None };
        let result = ToolResult::ok(&call, *output);
        (call, result)
    }

    /// Notes responses of calls written as `name result`; what happened at which of them.
    fn noted(limit: usize, responses: &[Response<'_>]) -> Vec<Noted> {
        let mut repetition = Repetition::new(limit);
        let note = |response: &Response<'_>| {
            let pairs: Vec<_> = response.iter().map(pair).collect();
            repetition.note(pairs.iter().map(|(call, result)| (call, result)))
        };
        responses.iter().map(note).collect()
    }

    /// At which response the model is warned first, and at which the turn ends.
    fn seen_at(limit: usize, responses: &[Response<'_>]) -> (Option<usize>, Option<usize>) {
        let noted = noted(limit, responses);
        let warned = noted.iter().position(|noted| !noted.warnings.is_empty());
        (warned, noted.iter().position(|noted| noted.reason.is_some()))
    }

    #[test]
    fn loops_are_seen_and_progress_is_not() {
        let check = |responses: &[Response<'_>], expected| {
            assert_eq!(seen_at(3, responses), expected, "{responses:?}");
        };
        let (a, b, c) = (&[("a", "1")], &[("b", "1")], &[("c", "1")]);
        check(&[a, a, a], (Some(1), Some(2)));
        check(&[a, b, a, c, a], (Some(2), Some(4)));
        check(&[a, a, &[("a", "2")], a, a], (Some(1), None));
        check(&[&[("a", "1")], &[("a", "2")], &[("a", "3")], &[("a", "4")]], (None, None));
        // What is polled may come back to what it was.
        check(&[a, &[("a", "2")], a, &[("a", "2")], a, &[("a", "2")]], (None, None));
        check(&[a, b, a, b, a, b], (Some(2), Some(4)));
        let changing: [Response<'_>; 6] =
            [&[("a", "1")], &[("b", "2")], &[("a", "3")], &[("b", "4")], &[("a", "5")], &[("b", "6")]];
        check(&changing, (None, None));
    }

    #[test]
    fn equal_calls_of_one_response_count_once() {
        let check = |responses: &[Response<'_>], expected| {
            assert_eq!(seen_at(3, responses), expected, "{responses:?}");
        };
        let thrice = &[("a", "1"), ("a", "1"), ("a", "1")];
        check(&[thrice], (None, None));
        check(&[thrice, thrice, thrice], (Some(1), Some(2)));
        check(
            &[&[("a", "1"), ("a", "2")], &[("a", "1"), ("a", "2")], &[("a", "1"), ("a", "2")]],
            (None, None),
        );
        assert_eq!(noted(3, &[&[("b", "0")], thrice, thrice])[2].warnings, [0], "one of them is told");
    }

    #[test]
    fn the_limit_is_what_was_set() {
        let a: Response<'_> = &[("a", "1")];
        assert_eq!(seen_at(0, &[a, a, a, a, a]), (None, None));
        assert_eq!(seen_at(2, &[a, a]), (None, Some(1)), "after one call nothing is repeated yet");
        assert_eq!(seen_at(5, &[a, a, a, a, a]), (Some(3), Some(4)));
        assert_eq!(seen_at(1, &[a]), (None, Some(0)));
    }

    #[test]
    fn the_reason_says_what_is_repeated() {
        let (a, b): (Response<'_>, Response<'_>) = (&[("a", "1")], &[("b", "1")]);
        let reason = |responses: &[Response<'_>]| noted(3, responses).pop().unwrap().reason.unwrap();
        assert!(reason(&[a, a, a]).contains("`a` with the same arguments 3 times"));
        assert!(reason(&[a, b, a, b, a]).contains("between the same two calls 3 times"));
    }
}
