//! Parses the directives of a message: one per line, in parts separated by `!then`.

use std::time::Duration;

use aethon_core::model::ModelErrorKind;
use serde_json::Value;

/// The script in a message.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Script {
    /// The parts between the `!then` lines; never empty.
    pub(crate) parts: Vec<Part>,
}

/// The content of one response.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Part {
    pub(crate) calls: Vec<Call>,
    pub(crate) endless: Option<Call>,
    pub(crate) say: Vec<String>,
    pub(crate) tokens: Option<Tokens>,
    pub(crate) thought: Option<Thought>,
    pub(crate) sleep: Duration,
    /// Failures before the response, in order.
    pub(crate) errors: Vec<Failures>,
    /// Invalid directives, each with its fault.
    pub(crate) mistakes: Vec<String>,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) input: Value,
}

/// A stream of generated words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tokens {
    pub(crate) count: u64,
    pub(crate) gap: Duration,
}

/// A thought before the response, word by word.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Thought {
    pub(crate) text: String,
    pub(crate) gap: Duration,
}

/// The same failure a number of times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Failures {
    pub(crate) kind: ModelErrorKind,
    pub(crate) times: u32,
}

impl Script {
    /// Parses a message. Lines that are not directives are ignored.
    pub(crate) fn parse(text: &str) -> Self {
        let mut parts = vec![Part::default()];
        for line in text.lines().map(str::trim) {
            if line == "!then" {
                parts.push(Part::default());
            } else if let Some(part) = parts.last_mut() {
                part.read(line);
            }
        }
        Self { parts }
    }
}

impl Part {
    fn read(&mut self, line: &str) {
        let (word, said) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = said.trim();
        let read = match word {
            "!say" => {
                // Everything after the one space is taken literally, since leading spaces are significant in
                // Markdown.
                self.say.push(said.to_owned());
                Ok(())
            }
            "!tool" => call(rest).map(|call| self.calls.push(call)),
            "!loop" => call(rest).map(|call| self.endless = Some(call)),
            "!stream" => tokens(rest).map(|tokens| self.tokens = Some(tokens)),
            "!think" => thought(rest).map(|thought| self.thought = Some(thought)),
            "!sleep" => milliseconds(rest).map(|wait| self.sleep = self.sleep.saturating_add(wait)),
            "!error" => failures(rest).map(|failures| self.errors.push(failures)),
            _ => Ok(()),
        };
        if let Err(mistake) = read {
            self.mistakes.push(format!("`{line}` makes no sense: {mistake}."));
        }
    }

    /// Returns the failure that is due after this request has failed `attempt` times.
    pub(crate) fn failure(&self, attempt: u32) -> Option<ModelErrorKind> {
        let mut before = 0_u32;
        self.errors.iter().find_map(|failures| {
            before = before.saturating_add(failures.times);
            (attempt < before).then_some(failures.kind)
        })
    }
}

fn call(rest: &str) -> Result<Call, String> {
    let (name, json) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    // `!tool name{...}` is a common way to type it.
    let (name, json) = match name.find('{') {
        Some(at) => (&rest[..at], &rest[at..]),
        None => (name, json.trim()),
    };
    if name.is_empty() {
        return Err("a tool's name is missing".into());
    }
    let input = if json.is_empty() { Ok(Value::Object(serde_json::Map::new())) } else { json.parse() };
    match input {
        Ok(input @ Value::Object(_)) => Ok(Call { name: name.to_owned(), input }),
        Ok(_) => Err(format!("the arguments of {name} must be a JSON object")),
        Err(error) => Err(format!("the arguments of {name} are not valid JSON ({error})")),
    }
}

fn tokens(rest: &str) -> Result<Tokens, String> {
    let mut words = rest.split_whitespace();
    let count = words.next().and_then(|word| word.parse().ok()).ok_or("write `!stream N MS`")?;
    let gap = words.next().map_or(Ok(Duration::ZERO), milliseconds)?;
    Ok(Tokens { count, gap })
}

fn thought(rest: &str) -> Result<Thought, String> {
    let (gap, text) = rest.split_once(char::is_whitespace).ok_or("write `!think MS TEXT`")?;
    Ok(Thought { text: text.trim().to_owned(), gap: milliseconds(gap)? })
}

fn milliseconds(text: &str) -> Result<Duration, String> {
    text.parse().map(Duration::from_millis).map_err(|_| "milliseconds must be a whole number".into())
}

fn failures(rest: &str) -> Result<Failures, String> {
    let (word, times) = rest.split_once(char::is_whitespace).unwrap_or((rest, "1"));
    let kind = kind(word).ok_or(
        "the kinds are rate_limit, overloaded, auth, context_length, network, malformed, timeout, quota, \
         not_found, refused and invalid_request",
    )?;
    let times = times.trim().parse().map_err(|_| "how often must be a whole number")?;
    Ok(Failures { kind, times })
}

fn kind(word: &str) -> Option<ModelErrorKind> {
    use ModelErrorKind::{
        Auth, ContextLength, InvalidRequest, Malformed, Network, NotFound, Overloaded, Quota, RateLimit,
        Refused, Timeout,
    };
    let all = [
        RateLimit,
        Overloaded,
        Auth,
        ContextLength,
        Network,
        Malformed,
        Timeout,
        Quota,
        NotFound,
        Refused,
        InvalidRequest,
    ];
    all.into_iter().find(|kind| kind.code() == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn only(text: &str) -> Part {
        Script::parse(text).parts.remove(0)
    }

    #[test]
    fn directives_are_read_line_by_line() {
        let part = only("hello\n  !sleep 20\n!stream 3 5\n!say a  b\n!say   c\n!unknown\nsay !say no");
        assert_eq!(part.sleep, Duration::from_millis(20));
        assert_eq!(part.tokens, Some(Tokens { count: 3, gap: Duration::from_millis(5) }));
        assert_eq!(part.say, ["a  b", "  c"]);
        let thought = Thought { text: "so it is".into(), gap: Duration::from_millis(4) };
        assert_eq!(only("!think 4  so it is").thought, Some(thought));
        assert!(part.mistakes.is_empty());
    }

    #[test]
    fn calls_take_an_object_or_nothing() {
        let check = |line: &str, expected: Result<Value, &str>| {
            let part = only(line);
            match expected {
                Ok(input) => assert_eq!((part.calls[0].name.as_str(), &part.calls[0].input), ("t", &input)),
                Err(words) => assert!(part.mistakes[0].contains(words), "{:?}", part.mistakes),
            }
        };
        check("!tool t", Ok(json!({})));
        check("!tool t {\"a\": 1}", Ok(json!({"a": 1})));
        check("!tool t{\"a\": 1}", Ok(json!({"a": 1})));
        check("!tool t {\"a\": ", Err("not valid JSON"));
        check("!tool t [1]", Err("must be a JSON object"));
        check("!tool", Err("name is missing"));
        check("!stream many", Err("!stream N MS"));
        check("!think well", Err("!think MS TEXT"));
        check("!error tired", Err("the kinds are"));
    }

    #[test]
    fn then_separates_parts() {
        let script = Script::parse("!tool a\n!then\n!tool b\n!tool c\n!then\n!say done");
        let calls: Vec<usize> = script.parts.iter().map(|part| part.calls.len()).collect();
        assert_eq!(calls, [1, 2, 0]);
        assert_eq!(script.parts[2].say, ["done"]);
    }

    #[test]
    fn failures_are_due_one_after_the_other() {
        let part = only("!error rate_limit 2\n!error network");
        let due: Vec<_> = (0..4).map(|attempt| part.failure(attempt)).collect();
        let rate = Some(ModelErrorKind::RateLimit);
        assert_eq!(due, [rate, rate, Some(ModelErrorKind::Network), None]);
    }
}
