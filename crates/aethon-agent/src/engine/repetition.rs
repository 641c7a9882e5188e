//! Notices when a turn goes round in circles: the same call with the same result, over and over.
//!
//! The same rule catches two alternating calls, since each of them repeats itself. A call whose result differs from the
//! previous one starts afresh: polling something that changes is progress.
//!
//! Polling something that does not change yet is no loop either, as long as it lets time pass. A repetition counts in
//! full if it follows at once, and a third if a second has passed, which the model alone may have taken. It does not
//! count at all if tools have worked for a second since, or if a call that sleeps is among them; then only the time
//! limit ends it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use aethon_core::message::{ToolCall, ToolResult};
use tokio::time::Instant;

use crate::options::LoopLimits;

/// The pause after which a repetition is not hasty.
const PAUSE: Duration = Duration::from_secs(1);

/// The weight of a hasty repetition, and of one after a pause.
const HASTY: usize = 3;
const AFTER_A_PAUSE: usize = 1;

/// The calls of one turn, kept as hashes; a collision within one turn is not to be expected.
#[derive(Debug)]
pub(super) struct Repetition {
    limits: LoopLimits,
    /// For each call, its last result and how it was repeated.
    seen: HashMap<u64, Seen>,
    /// The calls in the order in which they were made, without repetitions within a response.
    order: Vec<u64>,
    /// What the tools have done so far.
    worked: Worked,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    result: u64,
    /// In how many responses in a row it came.
    times: usize,
    /// The sum of the weights of its repetitions.
    weight: usize,
    since: Instant,
    last: Instant,
    /// What the tools had done when it last came.
    worked: Worked,
}

/// How long the tools of a turn have worked, and how many of its calls slept.
#[derive(Debug, Clone, Copy, Default)]
struct Worked {
    time: Duration,
    sleeps: usize,
}

/// The findings about the newest response.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Noted {
    /// The indexes of calls whose results warn the model that one more repetition ends the turn.
    pub(super) warnings: Vec<usize>,
    /// Why the turn counts as a loop, in words, with the setting.
    pub(super) reason: Option<String>,
}

impl Repetition {
    /// Creates a detector.
    pub(super) fn new(limits: LoopLimits) -> Self {
        Self { limits, seen: HashMap::new(), order: Vec::new(), worked: Worked::default() }
    }

    /// Records the calls of one response with their results. Equal calls within it count once.
    pub(super) fn note<'c>(
        &mut self,
        response: impl IntoIterator<Item = (&'c ToolCall, &'c ToolResult)>,
        now: Instant,
    ) -> Noted {
        let mut noted = Noted::default();
        if self.limits.times == 0 {
            return noted;
        }
        let response: Vec<_> = response.into_iter().collect();
        for (call, result) in &response {
            self.worked.time += Duration::from_millis(result.ms.unwrap_or(0));
            self.worked.sleeps += usize::from(sleeps(call));
        }
        let from = self.order.len();
        for (place, (call, result)) in response.into_iter().enumerate() {
            // Objects keep their keys sorted, so equal arguments have equal text.
            let asked = hash(&(&call.name, call.input.to_string()));
            let is_first = !self.order[from..].contains(&asked);
            let seen = self.count(asked, hash(&result.output), is_first, now);
            if !is_first {
                continue;
            }
            self.order.push(asked);
            let end = self.limits.times.saturating_mul(HASTY);
            if seen.weight >= end {
                noted.reason.get_or_insert_with(|| self.reason(call, seen.times));
            } else if seen.times >= self.limits.times && now - seen.since >= self.limits.polling {
                noted.reason.get_or_insert_with(|| self.polled(call));
            } else if seen.times > 1 && seen.weight + HASTY >= end {
                noted.warnings.push(place);
            }
        }
        noted
    }

    /// Records a call and returns how it was repeated.
    fn count(&mut self, asked: u64, result: u64, is_first: bool, now: Instant) -> Seen {
        let worked = self.worked;
        let fresh = Seen { result, times: 0, weight: 0, since: now, last: now, worked };
        let seen = self.seen.entry(asked).or_insert(fresh);
        if seen.result != result {
            *seen = Seen { times: 1, weight: HASTY, ..fresh };
        } else if is_first {
            let lets_time_pass =
                worked.sleeps > seen.worked.sleeps || worked.time.saturating_sub(seen.worked.time) >= PAUSE;
            seen.weight += match (seen.times, lets_time_pass) {
                (0, _) => HASTY,
                (_, true) => 0,
                (_, false) if now - seen.last >= PAUSE => AFTER_A_PAUSE,
                (_, false) => HASTY,
            };
            seen.times += 1;
            (seen.last, seen.worked) = (now, worked);
        }
        *seen
    }

    fn reason(&self, call: &ToolCall, times: usize) -> String {
        if self.alternates() {
            return format!(
                "the model went back and forth between the same two calls {times} times (`agent.loop_limit`)"
            );
        }
        let name = &call.name;
        format!(
            "the model called `{name}` with the same arguments {times} times and got the same result each time \
             (`agent.loop_limit`)"
        )
    }

    fn polled(&self, call: &ToolCall) -> String {
        let (name, minutes) = (&call.name, self.limits.polling.as_secs() / 60);
        format!(
            "the model has waited with `{name}` for more than {minutes} minutes, and the result stayed the same \
             (`agent.loop_minutes`)"
        )
    }

    /// Returns whether the newest calls are two that alternate.
    fn alternates(&self) -> bool {
        let times = self.limits.times;
        let Some(from) = self.order.len().checked_sub(2 * times - 1) else { return false };
        let newest = &self.order[from..];
        times > 1
            && newest[0] != newest[1]
            && newest.iter().skip(2).zip(newest).all(|(late, early)| late == early)
    }
}

/// Returns whether a call waits, as far as its name or its text says so: `sleep 2; cat status.txt`.
fn sleeps(call: &ToolCall) -> bool {
    const WORDS: [&str; 3] = ["sleep", "wait", "timeout /t"];
    let says_so = |text: &str| {
        let text = text.to_ascii_lowercase();
        WORDS.iter().any(|word| text.contains(word))
    };
    says_so(&call.name) || call.input.get("command").and_then(|command| command.as_str()).is_some_and(says_so)
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

    fn limits(times: usize) -> LoopLimits {
        LoopLimits { times, polling: Duration::from_secs(600) }
    }

    /// Records responses whose calls are written as name and result; returns the findings about each of them.
    fn noted(limit: usize, responses: &[Response<'_>]) -> Vec<Noted> {
        let mut repetition = Repetition::new(limits(limit));
        let now = Instant::now();
        let note = |response: &Response<'_>| {
            let pairs: Vec<_> = response.iter().map(pair).collect();
            repetition.note(pairs.iter().map(|(call, result)| (call, result)), now)
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

    /// Makes the same calls in turn, `every` so often, until the turn ends. Each takes the tool `worked`. Returns how many
    /// calls were made, and why the turn ended.
    fn poll(commands: &[&str], every: Duration, worked: Duration) -> (usize, Option<String>) {
        let mut repetition = Repetition::new(limits(3));
        let mut now = Instant::now();
        for made in 1..=2_000 {
            let input = json!({"command": commands[made % commands.len()]});
            let call = ToolCall { id: "1".into(), name: "shell".into(), input, opaque: None };
            let mut result = ToolResult::ok(&call, "pending");
            result.ms = Some(u64::try_from(worked.as_millis()).unwrap());
            if let Some(reason) = repetition.note([(&call, &result)], now).reason {
                return (made, Some(reason));
            }
            now += every;
        }
        (2_000, None)
    }

    #[test]
    fn polling_that_lets_time_pass_is_no_loop_below_the_time_limit() {
        let (second, none) = (Duration::from_secs(1), Duration::ZERO);
        let tenth = second / 10;
        let (made, why) = poll(&["sleep 2; cat status.txt"], second * 2, second * 2);
        assert_eq!(made, 301, "ten minutes");
        assert!(why.unwrap().contains("`agent.loop_minutes`"));
        let (made, _) = poll(&["cat status", "sleep .2"], tenth * 2, tenth);
        assert!(made > 1_000, "{made}");
        let (made, _) = poll(&["check --slowly"], second * 2, second * 2);
        assert!(made > 100, "{made}");
        // The model alone takes seconds for each call.
        assert_eq!(poll(&["cat status"], second * 3, none).0, 7);
        let (made, why) = poll(&["cat status"], none, none);
        assert_eq!(made, 3);
        assert!(why.unwrap().contains("`agent.loop_limit`"));
        assert_eq!(poll(&["cat a", "cat b"], tenth, tenth).0, 5);
    }
}
