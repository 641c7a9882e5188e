//! Plays the tables of `tests/data/shapes`: responses in every shape in which services were seen to send them, and what
//! has to be read.
//!
//! A row has a name (`##`), its chunks (`<`) or its whole body as a JSON string (`<<`), and the expectation (`>`). `\x09`
//! stands for a byte. In an expectation, `text`, `thought`, `calls` and `images` are empty and `end` is `end` unless
//! they are given; `usage` (input, output, cached) and `cost` are compared if they are given.

use aethon_core::model::ModelEvent;
use serde_json::{Value, json};

use crate::dialect::Dialect;
use crate::options::{OpenAiApi, Options, Provider};
use crate::registry;
use crate::stream::Framing;
use crate::stream::binary::writing;
use crate::stream::replay::{Outcome, play};
use crate::testing::{policy, service};

struct Row<'t> {
    name: &'t str,
    chunks: Vec<&'t str>,
    body: Option<String>,
    expected: Value,
}

fn rows(table: &str) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
        let (mark, rest) = line.split_once(' ').unwrap();
        if mark == "##" {
            rows.push(Row { name: rest, chunks: Vec::new(), body: None, expected: Value::Null });
            continue;
        }
        let row = rows.last_mut().unwrap();
        match mark {
            "<" => row.chunks.push(rest),
            "<<" => row.body = Some(serde_json::from_str(rest).unwrap()),
            ">" => row.expected = serde_json::from_str(rest).unwrap(),
            _ => panic!("{line}"),
        }
    }
    rows
}

/// Returns the bytes of a text in which `\x09` stands for a byte.
fn bytes(text: &str) -> Vec<u8> {
    let mut parts = text.split("\\x");
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    bytes
}

fn body(framing: Framing, row: &Row<'_>) -> Vec<u8> {
    if let Some(body) = &row.body {
        return bytes(body);
    }
    let framed = |chunk: &&str| match framing {
        Framing::Events => bytes(&format!("data: {chunk}\n\n")),
        Framing::Binary => writing::recording(&String::from_utf8(bytes(chunk)).unwrap()),
        Framing::Lines | Framing::Whole => bytes(&format!("{chunk}\n")),
    };
    row.chunks.iter().flat_map(framed).collect()
}

/// Describes what was read, with the keys that the expectation has and those that always count.
fn described(outcome: &Outcome, expected: &Value) -> Value {
    let (mut thought, mut calls, mut images, mut end) = (String::new(), Vec::new(), Vec::new(), Value::Null);
    let mut found = json!({});
    for event in &outcome.events {
        match event {
            ModelEvent::ReasoningDone { text, .. } => thought += text,
            ModelEvent::ToolCall(call) => calls.push(json!([call.name, call.input])),
            ModelEvent::Image { mime, data, .. } => images.push(json!([mime, data])),
            ModelEvent::Finished { stop, usage, .. } => {
                end = json!(stop);
                if expected.get("usage").is_some() {
                    found["usage"] = json!([usage.input_tokens, usage.output_tokens, usage.cached_tokens]);
                }
                if expected.get("cost").is_some() {
                    found["cost"] = usage.cost_usd.into();
                }
            }
            ModelEvent::Text(_)
            | ModelEvent::Reasoning(_)
            | ModelEvent::Search(_)
            | ModelEvent::Sources(_)
            | ModelEvent::TextWasReasoning => {}
        }
    }
    if let Some(error) = &outcome.error {
        end = format!("error:{}", error.kind().code()).into();
    }
    let all = [
        ("text", outcome.text().into()),
        ("thought", thought.into()),
        ("calls", calls.into()),
        ("images", images.into()),
        ("end", end),
    ];
    for (key, value) in all {
        found[key] = value;
    }
    found
}

fn check(provider: Provider, api: OpenAiApi, table: &str) -> usize {
    let mut options = Options::new(provider, "homegrown");
    options.api = api;
    let dialect: Box<dyn Dialect> = registry::dialect(&options, service(provider, "homegrown")).ok().unwrap();
    let rows = rows(table);
    let mut faults = Vec::new();
    for row in &rows {
        let mut expected = json!({"text": "", "thought": "", "calls": [], "images": [], "end": "end"});
        for (key, value) in row.expected.as_object().unwrap() {
            expected[key] = value.clone();
        }
        let body = body(dialect.framing(), row);
        let single: Vec<&[u8]> = body.chunks(1).collect();
        for (how, pieces) in [("whole", vec![body.as_slice()]), ("byte by byte", single)] {
            let outcome = play(dialect.framing(), dialect.decoder(1000, &policy(&options)), &pieces);
            let found = described(&outcome, &row.expected);
            if found != expected {
                faults.push(format!("{} ({how})\n  found {found}\n  not   {expected}", row.name));
            }
        }
    }
    assert!(faults.is_empty(), "{provider:?} {api:?}\n{}", faults.join("\n"));
    rows.len()
}

macro_rules! table {
    ($name:literal) => {
        include_str!(concat!("../tests/data/shapes/", $name, ".txt"))
    };
}

#[test]
fn chat_completions_are_read_in_every_shape() {
    assert!(check(Provider::OpenAi, OpenAiApi::Chat, table!("openai")) >= 20);
}

#[test]
fn mistral_is_read_in_every_shape() {
    assert!(check(Provider::Mistral, OpenAiApi::Auto, table!("mistral")) >= 20);
}

#[test]
fn responses_are_read_in_every_shape() {
    assert!(check(Provider::OpenAi, OpenAiApi::Responses, table!("responses")) >= 20);
}

#[test]
fn anthropic_is_read_in_every_shape() {
    assert!(check(Provider::Anthropic, OpenAiApi::Auto, table!("anthropic")) >= 20);
}

#[test]
fn gemini_is_read_in_every_shape() {
    assert!(check(Provider::Gemini, OpenAiApi::Auto, table!("gemini")) >= 20);
}

#[test]
fn bedrock_is_read_in_every_shape() {
    assert!(check(Provider::Bedrock, OpenAiApi::Auto, table!("bedrock")) >= 20);
}

#[test]
fn ollama_is_read_in_every_shape() {
    assert!(check(Provider::Ollama, OpenAiApi::Auto, table!("ollama")) >= 20);
}
