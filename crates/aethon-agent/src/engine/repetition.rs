//! Notices when a turn goes round in circles: the same call with the same result, over and over.
//!
//! The same rule catches two alternating calls, since each of them repeats itself. A call whose result differs from the
//! previous one starts afresh: polling something that changes is progress.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use aethon_core::message::{ToolCall, ToolResult};

/// The calls of one turn, kept as hashes; a collision within one turn is not to be expected.
#[derive(Debug)]
pub(super) struct Repetition {
    limit: usize,
    /// For each call, its last result and in how many responses in a row it came.
    seen: HashMap<u64, Seen>,
    /// The calls in the order in which they were made, without repetitions within a response.
    order: Vec<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    result: u64,
    times: usize,
}

/// The findings about the newest response.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Noted {
    /// The indexes of calls whose results warn the model that one more repetition ends the turn.
    pub(super) warnings: Vec<usize>,
    /// Why the turn counts as a loop, in words.
    pub(super) reason: Option<String>,
}

impl Repetition {
    /// Creates a detector that calls `limit` repetitions a loop; 0 switches it off.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, seen: HashMap::new(), order: Vec::new() }
    }

    /// Records the calls of one response with their results. Equal calls within it count once.
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

    /// Returns how many times in a row the call has now had this result.
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

    /// Returns whether the newest calls are two that alternate.
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

    /// Records responses whose calls are written as name and result; returns the findings about each of them.
    fn noted(limit: usize, responses: &[Response<'_>]) -> Vec<Noted> {
        let mut repetition = Repetition::new(limit);
        let note = |response: &Response<'_>| {
            let pairs: Vec<_> = response.iter().map(pair).collect();
            repetition.note(pairs.iter().map(|(call, result)| (call, result)))
        };
        responses.iter().map(note).collect()
    }

    /// Returns the responses at which the model is first warned, and at which the turn ends.
    fn seen_at(limit: usize, responses: &[Response<'_>]) -> (Option<usize>, Option<usize>) {
        let noted = noted(limit, responses);
        let warned = noted.iter().position(|noted| !noted.warnings.is_empty());
        (warned, noted.iter().position(|noted| noted.reason.is_some()))
    }

    #[test]
    fn loops_are_detected_and_progress_is_not_taken_for_one() {
        let check = |responses: &[Response<'_>], expected| {
            assert_eq!(seen_at(3, responses), expected, "{responses:?}");
        };
        let (a, b, c) = (&[("a", "1")], &[("b", "1")], &[("c", "1")]);
        check(&[a, a, a], (Some(1), Some(2)));
        check(&[a, b, a, c, a], (Some(2), Some(4)));
        check(&[a, a, &[("a", "2")], a, a], (Some(1), None));
        check(&[&[("a", "1")], &[("a", "2")], &[("a", "3")], &[("a", "4")]], (None, None));
        // A polled value may return to an earlier value.
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
    fn repetition_limit_is_configurable() {
        let a: Response<'_> = &[("a", "1")];
        assert_eq!(seen_at(0, &[a, a, a, a, a]), (None, None));
        assert_eq!(seen_at(2, &[a, a]), (None, Some(1)), "after one call nothing is repeated yet");
        assert_eq!(seen_at(5, &[a, a, a, a, a]), (Some(3), Some(4)));
        assert_eq!(seen_at(1, &[a]), (None, Some(0)));
    }

    #[test]
    fn reason_names_the_repeated_calls() {
        let (a, b): (Response<'_>, Response<'_>) = (&[("a", "1")], &[("b", "1")]);
        let reason = |responses: &[Response<'_>]| noted(3, responses).pop().unwrap().reason.unwrap();
        assert!(reason(&[a, a, a]).contains("`a` with the same arguments 3 times"));
        assert!(reason(&[a, b, a, b, a]).contains("between the same two calls 3 times"));
    }
}
