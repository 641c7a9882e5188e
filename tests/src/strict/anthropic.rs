//! Anthropic's Messages API in the revision of 2026-10-21.

use serde_json::{Value, json};

use super::{
    Checked, Conversation, ModelResponse, Provider, Refusal, generation, halves, insist, list, only, png,
    seal, sse, text, tool,
};
use crate::stub::{Seen, ok};

/// Anthropic.
#[derive(Default)]
pub struct Anthropic {
    thinks: bool,
}

const KEYS: &[&str] = &[
    "model",
    "max_tokens",
    "messages",
    "stream",
    "system",
    "tools",
    "thinking",
    "output_config",
    "temperature",
    "top_p",
];

impl Provider for Anthropic {
    fn read(&mut self, seen: &Seen) -> Result<Conversation, Refusal> {
        let refuse = |status, kind: &str, why: &str| {
            let error = json!({"type": kind, "message": why});
            Refusal { status, body: json!({"type": "error", "error": error, "request_id": "req_strict_1"}) }
        };
        if seen.line != "POST /v1/messages" || seen.header("anthropic-version") != Some("2026-10-21") {
            return Err(refuse("404 Not Found", "not_found_error", "no such path or version"));
        }
        if seen.header("authorization") != Some("Bearer strict-key") || seen.header("x-api-key").is_some() {
            return Err(refuse("401 Unauthorized", "authentication_error", "invalid bearer token"));
        }
        let body = seen.json();
        self.thinks = matches!(body["thinking"]["type"].as_str(), Some("adaptive" | "enabled"));
        read(&body, self.thinks).map_err(|why| refuse("400 Bad Request", "invalid_request_error", &why))
    }

    fn write(&mut self, said: &ModelResponse) -> Vec<u8> {
        let usage = json!({"input_tokens": 40, "cache_read_input_tokens": 50, "cache_creation_input_tokens": 10, "output_tokens": 1});
        let mut events =
            vec![json!({"type": "message_start", "message": {"model": "claude-strict", "usage": usage}})];
        let mut index = 0;
        let mut block = |start: Value, deltas: Vec<Value>| {
            events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
            let delta = |delta| json!({"type": "content_block_delta", "index": index, "delta": delta});
            events.extend(deltas.into_iter().map(delta));
            events.push(json!({"type": "content_block_stop", "index": index}));
            index += 1;
        };
        if self.thinks {
            let mut deltas: Vec<Value> =
                halves(said.thought).map(|piece| json!({"type": "thinking_delta", "thinking": piece})).into();
            deltas.push(json!({"type": "signature_delta", "signature": said.seal()}));
            block(json!({"type": "thinking", "thinking": "", "signature": ""}), deltas);
        }
        if said.calls {
            let start =
                json!({"type": "tool_use", "id": said.call_id(), "name": "current_time", "input": {}});
            let piece = |json: &str| json!({"type": "input_json_delta", "partial_json": json});
            block(start, vec![piece("{"), piece("}")]);
        } else {
            let deltas = halves(&said.text).map(|piece| json!({"type": "text_delta", "text": piece}));
            block(json!({"type": "text", "text": ""}), deltas.into());
        }
        let reason = if said.calls { "tool_use" } else { "end_turn" };
        events.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 20}}));
        events.push(json!({"type": "message_stop"}));
        let named: Vec<(Option<&str>, Value)> =
            events.iter().map(|event| (event["type"].as_str(), event.clone())).collect();
        ok("text/event-stream", &sse(&named))
    }
}

fn read(body: &Value, thinks: bool) -> Checked<Conversation> {
    only(body, KEYS)?;
    let model = text(body, "model")?;
    let version = generation(model);
    insist(body["stream"] == true, "only streams are played")?;
    let limit = body["max_tokens"].as_u64().ok_or("max_tokens: Field required")?;
    insist(limit <= 128_000, "max_tokens: more than the model's maximum")?;
    if version >= 4.7 {
        for name in ["temperature", "top_p"] {
            insist(body.get(name).is_none(), &format!("`{name}` is deprecated for this model."))?;
        }
    }
    thinking(&body["thinking"], body.get("output_config"), version, limit)?;
    if thinks {
        insist(
            body.get("temperature").is_none(),
            "`temperature` may only be set to 1 when thinking is enabled.",
        )?;
    }
    let marks = body.to_string().matches("cache_control").count();
    insist(marks <= 4, &format!("A maximum of 4 blocks with cache_control may be provided. Found {marks}."))?;
    for block in list(body, "system") {
        only(block, &["type", "text", "cache_control"])?;
    }
    let mut asked = Conversation::default();
    for offered in list(body, "tools") {
        only(offered, &["name", "description", "input_schema", "cache_control"])?;
        asked.has_tools |= tool(&offered["name"], &offered["description"], &offered["input_schema"])?;
    }
    let mut waiting: Vec<String> = Vec::new();
    for (place, message) in list(body, "messages").iter().enumerate() {
        only(message, &["role", "content"])?;
        let role = text(message, "role")?;
        let expected = if place % 2 == 0 { "user" } else { "assistant" };
        insist(role == expected, "roles must alternate between \"user\" and \"assistant\"")?;
        let content = list(message, "content");
        insist(!content.is_empty(), "content must not be empty")?;
        if role == "assistant" {
            waiting = assistant(content, &mut asked, thinks)?;
        } else {
            user(content, &mut waiting, &mut asked)?;
        }
    }
    insist(list(body, "messages").len() % 2 == 1, "the conversation must end with a user message")?;
    Ok(asked)
}

fn thinking(thinking: &Value, output: Option<&Value>, version: f64, limit: u64) -> Checked {
    if let Some(output) = output {
        only(output, &["effort"])?;
        insist(
            matches!(output["effort"].as_str(), Some("low" | "medium" | "high")),
            "output_config.effort is wrong",
        )?;
    }
    match thinking["type"].as_str() {
        None => insist(thinking.is_null(), "thinking.type: Field required"),
        Some("disabled") => only(thinking, &["type"]),
        Some("adaptive") => {
            only(thinking, &["type", "display"])?;
            insist(version >= 4.6, "adaptive thinking is not supported on this model")
        }
        Some("enabled") => {
            only(thinking, &["type", "budget_tokens"])?;
            insist(
                version < 4.7,
                "thinking.type: \"enabled\" is not supported on this model; use \"adaptive\"",
            )?;
            let budget = thinking["budget_tokens"].as_u64().unwrap_or(0);
            insist(budget >= 1024, "thinking.budget_tokens: at least 1024")?;
            insist(budget < limit, "`max_tokens` must be greater than `thinking.budget_tokens`")
        }
        Some(other) => Err(format!("thinking.type: {other}")),
    }
}

fn assistant(content: &[Value], asked: &mut Conversation, thinks: bool) -> Checked<Vec<String>> {
    let mut waiting = Vec::new();
    for block in content {
        match text(block, "type")? {
            "thinking" => {
                only(block, &["type", "thinking", "signature"])?;
                let same = block["thinking"] == super::THOUGHT && block["signature"] == seal(asked.steps);
                insist(same, "`thinking` blocks in the latest assistant message cannot be modified")?;
            }
            "text" => insist(!text(block, "text")?.is_empty(), "text content blocks must be non-empty")?,
            "tool_use" => {
                only(block, &["type", "id", "name", "input", "cache_control"])?;
                insist(block["input"].is_object(), "input must be an object")?;
                waiting.push(text(block, "id")?.to_owned());
            }
            other => return Err(format!("unknown block {other}")),
        }
    }
    if !waiting.is_empty() {
        insist(!thinks || content[0]["type"] == "thinking", "Expected `thinking`, but found `tool_use`")?;
        asked.steps += 1;
    }
    Ok(waiting)
}

fn user(content: &[Value], waiting: &mut Vec<String>, asked: &mut Conversation) -> Checked {
    let mut said = Conversation { has_tools: asked.has_tools, ..Conversation::default() };
    let mut has_words = false;
    for block in content {
        match text(block, "type")? {
            "tool_result" => {
                only(block, &["type", "tool_use_id", "content", "is_error", "cache_control"])?;
                let id = text(block, "tool_use_id")?;
                let known = waiting.iter().position(|waits| waits == id).ok_or("unexpected `tool_use_id`")?;
                waiting.remove(known);
            }
            "text" => {
                insist(waiting.is_empty(), "`tool_use` ids were found without `tool_result` blocks")?;
                said.words.push_str(text(block, "text")?);
                has_words = true;
            }
            "image" => {
                only(&block["source"], &["type", "media_type", "data"])?;
                insist(block["source"]["media_type"] == "image/png", "media_type")?;
                png(text(&block["source"], "data")?)?;
                said.sees = true;
            }
            other => return Err(format!("unknown block {other}")),
        }
    }
    insist(waiting.is_empty(), "`tool_use` ids were found without `tool_result` blocks")?;
    if has_words || said.sees {
        *asked = said;
    }
    Ok(())
}
