//! OpenAI with both of its APIs: chat completions as in `chat`, and responses, where encrypted thoughts are sent back between
//! the steps of a turn.

use serde_json::{Value, json};

use super::chat::{Chat, Host};
use super::{
    Checked, Conversation, ModelResponse, Provider, Refusal, generation, halves, insist, list, only,
    openai_error, png, seal, sse, text, tool,
};
use crate::stub::{Seen, ok};

/// OpenAI.
pub struct OpenAi {
    chat: Chat,
    is_responses: bool,
}

impl Default for OpenAi {
    fn default() -> Self {
        Self { chat: Chat::of(Host::OpenAi), is_responses: false }
    }
}

const KEYS: &[&str] = &[
    "model",
    "input",
    "instructions",
    "stream",
    "store",
    "include",
    "tools",
    "reasoning",
    "max_output_tokens",
    "prompt_cache_key",
    "temperature",
    "top_p",
];

impl Provider for OpenAi {
    fn read(&mut self, seen: &Seen) -> Result<Conversation, Refusal> {
        self.is_responses = seen.line == "POST /v1/responses";
        if !self.is_responses {
            return self.chat.read(seen);
        }
        let refuse =
            |why: String| Refusal { status: "400 Bad Request", body: openai_error(&why, None, None) };
        if seen.header("authorization") != Some("Bearer strict-key") {
            let status = "401 Unauthorized";
            return Err(Refusal {
                status,
                body: openai_error("Incorrect API key", Some("invalid_api_key"), None),
            });
        }
        read(&seen.json()).map_err(refuse)
    }

    fn write(&mut self, said: &ModelResponse) -> Vec<u8> {
        if self.is_responses { write(said) } else { self.chat.write(said) }
    }
}

fn read(body: &Value) -> Checked<Conversation> {
    only(body, KEYS)?;
    let reasons = generation(text(body, "model")?) >= 5.0;
    insist(body["stream"] == true, "only streams are played")?;
    insist(
        body["prompt_cache_key"].as_str().is_none_or(|key| key.len() <= 64),
        "prompt_cache_key is too long",
    )?;
    if reasons {
        for name in ["temperature", "top_p"] {
            insist(
                body.get(name).is_none(),
                &format!("Unsupported parameter: '{name}' is not supported with this model."),
            )?;
        }
        insist(body["store"] == false, "this test keeps nothing: store must be false")?;
        insist(
            body["include"] == json!(["reasoning.encrypted_content"]),
            "encrypted thoughts must be asked for",
        )?;
        only(&body["reasoning"], &["effort", "summary"])?;
    }
    let mut asked = Conversation::default();
    for offered in list(body, "tools") {
        only(offered, &["type", "name", "description", "parameters", "strict"])?;
        asked.has_tools |= tool(&offered["name"], &offered["description"], &offered["parameters"])?;
    }
    let mut waiting: Option<String> = None;
    let mut before = String::new();
    for item in list(body, "input") {
        let kind = item["type"].as_str().unwrap_or("message").to_owned();
        match kind.as_str() {
            "message" if item["role"] == "user" => {
                asked = Conversation { has_tools: asked.has_tools, ..user(item)? }
            }
            "message" => {
                insist(item["role"] == "assistant" && item["content"].is_string(), "a strange message")?
            }
            "reasoning" => insist(*item == thought(asked.steps, true), "the reasoning item was changed")?,
            "function_call" => {
                insist(before == "reasoning" || !reasons, "a function_call without its reasoning item")?;
                text(item, "arguments")?;
                waiting = Some(text(item, "call_id")?.to_owned());
                asked.steps += 1;
            }
            "function_call_output" => {
                insist(
                    waiting.take().as_deref() == item["call_id"].as_str(),
                    "No tool call found for this output",
                )?;
                text(item, "output")?;
            }
            other => return Err(format!("Invalid item: {other}")),
        }
        insist(
            before != "reasoning" || kind != "message" || item["role"] != "user",
            "reasoning without its following item",
        )?;
        before = kind;
    }
    insist(waiting.is_none(), "No tool output found for function call")?;
    Ok(asked)
}

fn user(item: &Value) -> Checked<Conversation> {
    let mut asked = Conversation::default();
    for part in list(item, "content") {
        match text(part, "type")? {
            "input_text" => asked.words.push_str(text(part, "text")?),
            "input_image" => {
                let url = text(part, "image_url")?;
                png(url.strip_prefix("data:image/png;base64,").ok_or("the image is no data URI")?)?;
                asked.sees = true;
            }
            other => return Err(format!("Invalid part: {other}")),
        }
    }
    Ok(asked)
}

fn thought(step: usize, is_done: bool) -> Value {
    let summary = if is_done { json!([{"type": "summary_text", "text": super::THOUGHT}]) } else { json!([]) };
    json!({"type": "reasoning", "id": format!("rs_{step}"), "summary": summary, "encrypted_content": seal(step)})
}

fn write(said: &ModelResponse) -> Vec<u8> {
    let mut events: Vec<(String, Value)> = Vec::new();
    let mut tell = |kind: &str, mut data: Value| {
        data["type"] = kind.into();
        events.push((kind.to_owned(), data));
    };
    let model = json!({"model": "gpt-strict", "status": "in_progress"});
    tell("response.created", json!({ "response": model }));
    tell("response.output_item.added", json!({"output_index": 0, "item": thought(said.step, false)}));
    for piece in halves(said.thought) {
        tell("response.reasoning_summary_text.delta", json!({"output_index": 0, "delta": piece}));
    }
    tell("response.output_item.done", json!({"output_index": 0, "item": thought(said.step, true)}));
    if said.calls {
        let call = |arguments: &str| json!({"type": "function_call", "id": "fc_1", "call_id": said.call_id(), "name": "current_time", "arguments": arguments});
        tell("response.output_item.added", json!({"output_index": 1, "item": call("")}));
        tell("response.function_call_arguments.delta", json!({"output_index": 1, "delta": "{}"}));
        tell("response.function_call_arguments.done", json!({"output_index": 1, "arguments": "{}"}));
        tell("response.output_item.done", json!({"output_index": 1, "item": call("{}")}));
    } else {
        for piece in halves(&said.text) {
            tell("response.output_text.delta", json!({"output_index": 1, "delta": piece}));
        }
    }
    let usage =
        json!({"input_tokens": 100, "output_tokens": 20, "input_tokens_details": {"cached_tokens": 60}});
    tell(
        "response.completed",
        json!({"response": {"model": "gpt-strict", "status": "completed", "usage": usage}}),
    );
    let events: Vec<(Option<&str>, Value)> =
        events.iter().map(|(name, data)| (Some(name.as_str()), data.clone())).collect();
    ok("text/event-stream", &sse(&events))
}
