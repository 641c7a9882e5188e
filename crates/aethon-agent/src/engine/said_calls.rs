//! Tool calls that a model says in its answer, because it (or what serves it) does not know how to make them otherwise.
//!
//! Strict, because a model may also talk about calls: the whole answer must be the call, and name a tool that it was
//! offered. A call in the special tokens of a model family is always meant. One in plain JSON is taken for a call only if
//! its arguments are right as well, from a model that has not made a proper call in this conversation, and from whom
//! nobody asked for JSON.

use aethon_core::ids::unique;
use aethon_core::message::{Block, Message, Role, ToolCall};
use aethon_core::tool::ToolSpec;
use serde_json::{Map, Value};

use crate::window::SAID_CALL;

/// Longer answers are no calls.
const LONGEST: usize = 256 * 1024;

/// How answers in special tokens begin: Hermes and Qwen, Llama, Mistral, Llama again.
const TOKENS: [&str; 4] = ["<tool_call>", "<function=", "[TOOL_CALLS]", "<|python_tag|>"];

/// What may stand behind the fence of a block that is a call.
const FENCES: [&str; 4] = ["", "json", "tool_call", "tool_calls"];

/// The keys of a call.
const KEYS: [&str; 6] = ["name", "arguments", "parameters", "type", "function", "id"];

/// Who says one of these may want to see a call, and not have it made.
const JSON_WORDS: [&str; 5] = ["json", "example", "tool call", "function call", "code block"];

/// How much of a question is looked at for them.
const LONGEST_QUESTION: usize = 4_000;

/// What is taken for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Belief {
    /// What stands in special tokens.
    Tokens,
    /// Plain JSON too.
    PlainToo,
}

/// What to believe in a conversation in which the model made proper calls or did not, and was asked this.
pub(super) fn belief(calls_properly: bool, asked: Option<&Message>) -> Belief {
    let asks_for_json = asked.filter(|message| message.role == Role::User).is_some_and(|message| {
        let texts = message.content.iter().filter_map(|block| match block {
            Block::Text { text, .. } => Some(&text[..text.floor_char_boundary(LONGEST_QUESTION)]),
            _ => None,
        });
        let mut texts = texts.map(str::to_lowercase);
        texts.any(|text| JSON_WORDS.iter().any(|word| text.contains(word)))
    });
    if calls_properly || asks_for_json { Belief::Tokens } else { Belief::PlainToo }
}

/// Whether what was said so far may become a call, so that it is not shown yet.
pub(super) fn may_become(said: &str, belief: Belief) -> bool {
    let said = said.trim_start();
    if said.len() > LONGEST {
        return false;
    }
    let begins = |whole: &str| said.starts_with(whole) || whole.starts_with(said);
    if TOKENS.iter().any(|token| begins(token)) {
        return true;
    }
    if belief == Belief::Tokens {
        return false;
    }
    match said.strip_prefix("```") {
        Some(fenced) => match fenced.split_once('\n') {
            Some((fence, json)) => FENCES.contains(&fence.trim()) && may_become_json(json),
            None => FENCES.iter().any(|fence| fence.starts_with(fenced.trim())),
        },
        None => "```".starts_with(said) || may_become_json(said),
    }
}

/// Whether it can still be an object (or a list of them) whose first key is one of a call.
fn may_become_json(json: &str) -> bool {
    let json = json.trim_start();
    let json = json.strip_prefix('[').unwrap_or(json).trim_start();
    let Some(object) = json.strip_prefix('{') else { return json.is_empty() };
    let Some(key) = object.trim_start().strip_prefix('"') else { return object.trim().is_empty() };
    match key.split_once('"') {
        Some((key, _)) => KEYS.contains(&key),
        None => KEYS.iter().any(|known| known.starts_with(key)),
    }
}

/// The calls that an answer is; `None` when it is an answer.
pub(super) fn recognise(said: &str, tools: &[ToolSpec], belief: Belief) -> Option<Vec<ToolCall>> {
    let said = said.trim();
    if said.len() > LONGEST || !may_become(said, belief) {
        return None;
    }
    let is_tokens = TOKENS.iter().any(|token| said.starts_with(token));
    let calls = if is_tokens { in_tokens(said)? } else { in_plain_json(said)? };
    let fits = |(name, input): &(String, Value)| {
        let tool = tools.iter().find(|tool| tool.name == *name);
        tool.is_some_and(|tool| is_tokens || is_right(tool, input))
    };
    if calls.is_empty() || !calls.iter().all(fits) {
        return None;
    }
    let call = |(name, input)| ToolCall { id: format!("{SAID_CALL}{}", unique()), name, input, opaque: None };
    Some(calls.into_iter().map(call).collect())
}

/// The tool calls that the engine takes an answer in words for, where nothing speaks against it; `None` when it is an
/// answer. For whoever wants to know how a model makes its calls.
pub fn calls_in_words(answer: &str, tools: &[ToolSpec]) -> Option<Vec<ToolCall>> {
    recognise(answer, tools, Belief::PlainToo)
}

type Calls = Vec<(String, Value)>;

fn in_tokens(said: &str) -> Option<Calls> {
    let said = ["<|eom_id|>", "<|eot_id|>", "</s>"]
        .iter()
        .fold(said, |said, end| said.strip_suffix(end).unwrap_or(said));
    if let Some(list) = said.strip_prefix("[TOOL_CALLS]") {
        return if list.trim_start().starts_with(['[', '{']) { calls_in(list) } else { named(list) };
    }
    if let Some(list) = said.strip_prefix("<|python_tag|>") {
        return in_sequence(list, |json| json.strip_prefix(';').unwrap_or(json));
    }
    if said.starts_with("<function=") { functions(said) } else { tagged(said) }
}

/// `<tool_call>{...}</tool_call>`, one or more.
fn tagged(said: &str) -> Option<Calls> {
    let (mut calls, mut rest) = (Vec::new(), said.trim());
    while !rest.is_empty() {
        let inside = rest.strip_prefix("<tool_call>")?;
        // The last one may lack its end: some servers take it for the end of the answer.
        let (json, after) = inside.split_once("</tool_call>").unwrap_or((inside, ""));
        calls.extend(calls_in(json)?);
        rest = after.trim_start();
    }
    Some(calls)
}

/// `<function=NAME>{...}</function>`, one or more.
fn functions(said: &str) -> Option<Calls> {
    let (mut calls, mut rest) = (Vec::new(), said.trim());
    while !rest.is_empty() {
        let (name, inside) = rest.strip_prefix("<function=")?.split_once('>')?;
        let (json, after) = inside.split_once("</function>").unwrap_or((inside, ""));
        calls.push((name.trim().to_owned(), object(json)?));
        rest = after.trim_start();
    }
    Some(calls)
}

/// `NAME[ARGS]{...}`, one or more, each behind a `[TOOL_CALLS]` but the first.
fn named(list: &str) -> Option<Calls> {
    let one = |part: &str| {
        let (name, json) = part.split_once("[ARGS]")?;
        Some((name.trim().to_owned(), object(json)?))
    };
    list.split("[TOOL_CALLS]").map(one).collect()
}

/// The whole answer in plain JSON, with or without a fence.
fn in_plain_json(said: &str) -> Option<Calls> {
    let Some(fenced) = said.strip_prefix("```") else { return calls_in(said) };
    let (fence, inside) = fenced.split_once('\n')?;
    if !FENCES.contains(&fence.trim()) {
        return None;
    }
    calls_in(inside.strip_suffix("```")?)
}

/// Objects one after the other.
fn in_sequence(list: &str, separator: impl Fn(&str) -> &str) -> Option<Calls> {
    let (mut calls, mut rest) = (Vec::new(), list.trim());
    while !rest.is_empty() {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        calls.push(call_of(values.next()?.ok()?)?);
        rest = separator(rest[values.byte_offset()..].trim_start()).trim_start();
    }
    Some(calls)
}

/// One call, or a list of them.
fn calls_in(json: &str) -> Option<Calls> {
    match serde_json::from_str(json.trim()).ok()? {
        Value::Array(calls) => calls.into_iter().map(call_of).collect(),
        call => Some(vec![call_of(call)?]),
    }
}

fn call_of(value: Value) -> Option<(String, Value)> {
    let Value::Object(mut fields) = value else { return None };
    if fields.keys().any(|key| !KEYS.contains(&key.as_str())) {
        return None;
    }
    if let Some(function) = fields.remove("function") {
        // The name in one key and the arguments in another is what some models make of it.
        let is_whole = !fields.contains_key("name") && function.is_object();
        return if is_whole { call_of(function) } else { None };
    }
    let Some(Value::String(name)) = fields.remove("name") else { return None };
    let input = match (fields.remove("arguments"), fields.remove("parameters")) {
        (Some(input), None) | (None, Some(input)) => input,
        _ => return None,
    };
    let input = match input {
        Value::String(json) => object(&json)?,
        input => input,
    };
    input.is_object().then_some((name, input))
}

fn object(json: &str) -> Option<Value> {
    let object: Map<String, Value> = serde_json::from_str(json.trim()).ok()?;
    Some(Value::Object(object))
}

/// Whether these are arguments that the tool knows, and all that it needs.
fn is_right(tool: &ToolSpec, input: &Value) -> bool {
    let Some(input) = input.as_object() else { return false };
    let required = tool.parameters.get("required").and_then(Value::as_array);
    let has_all =
        required.into_iter().flatten().filter_map(Value::as_str).all(|name| input.contains_key(name));
    let known = tool.parameters.get("properties").and_then(Value::as_object);
    has_all && known.is_none_or(|known| input.keys().all(|name| known.contains_key(name)))
}

/// Whether a message is nothing but thoughts, so that what is said next is the whole answer.
pub(super) fn only_thoughts(blocks: &[Block]) -> bool {
    blocks.iter().all(|block| matches!(block, Block::Reasoning { .. }))
}

#[cfg(test)]
mod tests;
