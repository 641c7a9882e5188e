//! One response of the scripted model, as a sequence of steps.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::message::{Block, Message, Role, ToolCall, ToolResult};
use aethon_core::model::{ModelErrorKind, ModelEvent, ModelRequest};
use aethon_core::untrusted;

use super::script::{Call, Part, Script, Thought, Tokens};
use crate::echo::{next_word, plain_text};

/// One response.
#[derive(Debug, Default)]
pub(crate) struct ScriptedResponse {
    pub(crate) sleep: Duration,
    pub(crate) failure: Option<ModelErrorKind>,
    pub(crate) steps: VecDeque<Step>,
    pub(crate) calls_tools: bool,
}

/// A step of a response.
#[derive(Debug)]
pub(crate) enum Step {
    /// Text, word by word, starting at `at`.
    Say { text: String, at: usize },
    /// A thought, word by word, starting at `at`.
    Think { thought: Thought, at: usize },
    /// Generated words at a fixed interval.
    Tokens(Tokens),
    /// A call.
    Call(ToolCall),
}

impl Step {
    fn say(text: impl Into<String>) -> Self {
        Self::Say { text: text.into(), at: 0 }
    }

    /// Returns the next event and the rest of the step.
    pub(crate) fn split(self, told: u64) -> (Option<ModelEvent>, Option<Self>) {
        match self {
            Self::Call(call) => (Some(ModelEvent::ToolCall(call)), None),
            Self::Say { text, at } => {
                let Some(word) = next_word(&text[at..]).map(str::to_owned) else { return (None, None) };
                let at = at + word.len();
                (Some(ModelEvent::Text(word)), Some(Self::Say { text, at }))
            }
            Self::Think { thought, at } => {
                let Some(word) = next_word(&thought.text[at..]).map(str::to_owned) else {
                    return (None, None);
                };
                let at = at + word.len();
                (Some(ModelEvent::Reasoning(word)), Some(Self::Think { thought, at }))
            }
            Self::Tokens(Tokens { count: 0, .. }) => (None, None),
            Self::Tokens(Tokens { count, gap }) => {
                let rest = (count > 1).then_some(Self::Tokens(Tokens { count: count - 1, gap }));
                (Some(ModelEvent::Text(format!("token{told} "))), rest)
            }
        }
    }
}

/// Returns the script's response to this request of the turn.
pub(crate) fn answer(request: &ModelRequest) -> ScriptedResponse {
    let turn = request.messages.get(request.turn_start..).unwrap_or_default();
    let started_by = turn.iter().find(|message| message.role == Role::User);
    let script = Script::parse(&started_by.map(|message| plain_text(message)).unwrap_or_default());
    let answered = answered(turn);
    let results: Vec<&ToolResult> = turn
        .iter()
        .flat_map(|message| &message.content)
        .filter_map(|block| if let Block::ToolResult(result) = block { Some(result) } else { None })
        .collect();

    let last = script.parts.len() - 1;
    let endless = script.parts.iter().take(answered + 1).find_map(|part| part.endless.as_ref());
    let Some(part) = script.parts.get(answered) else {
        let mut answer = ScriptedResponse::default();
        match endless {
            Some(call) => answer.call(answered, std::slice::from_ref(call)),
            None => answer.finish(&script.parts[last], &results),
        }
        return answer;
    };
    let mut answer = ScriptedResponse {
        sleep: part.sleep,
        failure: part.failure(request.attempt),
        ..ScriptedResponse::default()
    };
    answer.steps.extend(part.thought.clone().map(|thought| Step::Think { thought, at: 0 }));
    if !part.mistakes.is_empty() {
        answer.steps.push_back(Step::say(part.mistakes.join("\n\n")));
    } else if let Some(call) = endless {
        answer.call(answered, std::slice::from_ref(call));
    } else if part.calls.is_empty() {
        answer.finish(part, &results);
    } else {
        // The last part's text is the final reply, after its calls; an earlier part speaks as it calls.
        if answered < last {
            answer.speak(part);
        }
        answer.call(answered, &part.calls);
    }
    answer
}

/// Returns how many responses the turn has had. Compacted ones cannot be counted, but the ids of calls contain their
/// numbers.
fn answered(turn: &[Arc<Message>]) -> usize {
    let present = turn.iter().filter(|message| message.role == Role::Assistant).count();
    let number = |call: &ToolCall| call.id.strip_prefix("fake-")?.split_once('-')?.0.parse::<usize>().ok();
    let newest = turn.iter().flat_map(|message| message.tool_calls()).filter_map(number).max();
    newest.map_or(present, |newest| present.max(newest + 1))
}

impl ScriptedResponse {
    fn call(&mut self, response: usize, calls: &[Call]) {
        self.calls_tools = true;
        for (number, call) in calls.iter().enumerate() {
            self.steps.push_back(Step::Call(ToolCall {
                id: format!("fake-{response}-{number}"),
                name: call.name.clone(),
                input: call.input.clone(),
                opaque: None,
            }));
        }
    }

    fn speak(&mut self, part: &Part) {
        self.steps.extend(part.tokens.map(Step::Tokens));
        if !part.say.is_empty() {
            self.steps.push_back(Step::say(part.say.join("\n")));
        }
    }

    /// Adds the reply that ends the turn: the script's text, else the results, else the fixed reply.
    fn finish(&mut self, part: &Part, results: &[&ToolResult]) {
        self.speak(part);
        if !part.say.is_empty() {
            return;
        }
        if !results.is_empty() {
            let quotes: Vec<String> = results.iter().map(|result| quote(result)).collect();
            self.steps.push_back(Step::say(quotes.join("\n\n")));
        } else if part.tokens.is_none() {
            self.steps.push_back(Step::say(FIXED_REPLY));
        }
    }
}

/// Formats a result as a code block with a fence longer than any in it.
fn quote(result: &ToolResult) -> String {
    let output = untrusted::scrub(untrusted::unwrap(&result.output)).into_owned();
    let what = match (result.denied, result.is_error) {
        (true, _) => "was denied",
        (false, true) => "failed",
        (false, false) => "answered",
    };
    let longest = output.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if output.ends_with('\n') { "" } else { "\n" };
    format!("`{}` {what}:\n\n{fence}text\n{output}{end}{fence}", result.name)
}

/// The reply to a message without directives. Most people who see it have just started Aethon for the first time; it
/// also shows how a reply can look.
const FIXED_REPLY: &str = "\
# Hello, this is Aethon

You see a demonstration: the offline model `fake` answers. It understands nothing and gives *every* message this reply, \
unless a line of it is a **directive**.

## What to do next

1. begin a new conversation, and open *Use a real model* there; or, in a terminal, run `aethon-cli init` and start Aethon again
2. ask what you like
   - `aethon-cli doctor` says what is missing

- [x] Aethon runs, and keeps your conversations
- [ ] a real model answers

Until then you can try the page with these:

| directive | effect |
|---|---|
| `!say TEXT` | replies with the text |
| `!tool NAME {json}` | calls the tool |
| `!stream N MS` | streams N words, MS milliseconds apart |

```rust
fn main() {
    println!(\"hello\");
}
```
";
