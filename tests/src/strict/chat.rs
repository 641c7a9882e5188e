//! The chat completions API of OpenAI, and of hosts that follow it with their own rules.

use serde_json::{Value, json};

use super::{
    Checked, Conversation, ModelResponse, Provider, Refusal, generation, halves, insist, list, only,
    openai_error, png, seal, sse, text, tool,
};
use crate::stub::{Seen, ok};

/// The host to imitate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// OpenAI: newer models accept tools only in the Responses API.
    OpenAi,
    /// DeepSeek: thoughts are text and must be sent back with the calls of the turn in which they occurred.
    DeepSeek,
    /// DeepSeek, with thoughts required for the calls of all turns.
    DeepSeekAlways,
    /// OpenRouter: thoughts are details with an encrypted part, which must be sent back unchanged.
    OpenRouter,
    /// llama-cpp-python: fails on `content: null`.
    LlamaCppPython,
    /// Mistral: no `stream_options`, ids of nine characters, tool names with results.
    Mistral,
    /// A LiteLLM proxy in front of an older OpenAI-like model, which its owner calls `team-model`.
    LiteLlm,
}

/// The chat completions of one host.
pub struct Chat {
    host: Host,
    /// The answer to the last request, if that was a query about the model.
    description: Option<Value>,
}

impl Chat {
    /// Imitates this host.
    pub fn of(host: Host) -> Self {
        Self { host, description: None }
    }
}

const KEYS: &[&str] =
    &["model", "messages", "stream", "tools", "temperature", "top_p", "reasoning_effort", "max_tokens"];

fn refuse(message: String, code: Option<&str>, param: Option<&str>) -> Refusal {
    Refusal { status: "400 Bad Request", body: openai_error(&message, code, param) }
}

impl Provider for Chat {
    fn read(&mut self, seen: &Seen) -> Result<Conversation, Refusal> {
        let asks_for_models = self.host == Host::LiteLlm && seen.line == "GET /v1/model/info";
        self.description = asks_for_models.then(litellm_models);
        if self.description.is_none() && seen.line != "POST /v1/chat/completions" {
            let status = "404 Not Found";
            return Err(Refusal { status, body: openai_error("Not found", Some("not_found"), None) });
        }
        if seen.header("authorization") != Some("Bearer strict-key") {
            let status = "401 Unauthorized";
            return Err(Refusal {
                status,
                body: openai_error("Incorrect API key", Some("invalid_api_key"), None),
            });
        }
        if self.description.is_some() {
            return Ok(Conversation::default());
        }
        let body = seen.json();
        self.parameters(&body)?;
        self.conversation(&body).map_err(|why| match self.host {
            Host::LlamaCppPython if why.contains("NoneType") => {
                Refusal { status: "500 Internal Server Error", body: openai_error(&why, None, None) }
            }
            _ => refuse(why, None, None),
        })
    }

    fn write(&mut self, said: &ModelResponse) -> Vec<u8> {
        if let Some(description) = &self.description {
            return ok("application/json", &description.to_string());
        }
        let chunk = |delta: Value, finish: Value| {
            let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
            (
                None,
                json!({"id": "c", "object": "chat.completion.chunk", "model": "served", "choices": [choice]}),
            )
        };
        let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
        let thought = |piece: &str| match self.host {
            Host::DeepSeek | Host::DeepSeekAlways => Some(json!({"reasoning_content": piece})),
            Host::OpenRouter => {
                let detail = json!({"type": "reasoning.text", "text": piece, "index": 0});
                Some(json!({"reasoning": piece, "reasoning_details": [detail]}))
            }
            _ => None,
        };
        events.extend(
            halves(said.thought).into_iter().filter_map(thought).map(|delta| chunk(delta, Value::Null)),
        );
        if said.calls {
            let call = |function: Value| json!({"index": 0, "id": said.call_id(), "type": "function", "function": function});
            let mut first = json!({"tool_calls": [call(json!({"name": "current_time", "arguments": "{"}))]});
            if self.host == Host::OpenRouter {
                first["reasoning_details"] = json!([sealed_detail(said.step)]);
            }
            events.push(chunk(first, Value::Null));
            events.push(chunk(
                json!({"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]}),
                Value::Null,
            ));
        }
        events.extend(halves(&said.text).map(|piece| chunk(json!({"content": piece}), Value::Null)));
        events.push(chunk(json!({}), json!(if said.calls { "tool_calls" } else { "stop" })));
        let usage = json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120});
        events.push((
            None,
            json!({"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": usage}),
        ));
        ok("text/event-stream", &format!("{}data: [DONE]\n\n", sse(&events)))
    }
}

/// The proxy's own table and its owner's settings, in the proxy's format: `null` for unset values.
fn litellm_models() -> Value {
    let entry = |name: &str, behind: &str, window: u64| {
        json!({
            "model_name": name,
            "litellm_params": {"model": behind, "api_base": "http://inside.example/v1", "use_in_pass_through": false},
            "model_info": {
                "id": "4b1d", "db_model": false, "key": behind, "max_tokens": 4096, "max_input_tokens": window,
                "max_output_tokens": 4096, "supports_function_calling": true, "supports_vision": true,
                "supports_reasoning": null, "input_cost_per_token": 3e-6, "output_cost_per_token": 1.5e-5,
            },
        })
    };
    json!({"data": [entry("other-model", "openai/gpt-4o", 128_000), entry("team-model", "hosted_vllm/team", 6_000)]})
}

fn sealed_detail(step: usize) -> Value {
    json!({"type": "reasoning.encrypted", "data": seal(step), "index": 1})
}

impl Chat {
    fn parameters(&self, body: &Value) -> Result<(), Refusal> {
        let plain = |why: String| refuse(why, Some("unknown_parameter"), None);
        let mut keys = KEYS.to_vec();
        match self.host {
            Host::OpenAi => keys.extend(["stream_options", "max_completion_tokens", "prompt_cache_key"]),
            Host::Mistral => {}
            _ => keys.push("stream_options"),
        }
        only(body, &keys).map_err(plain)?;
        let model = text(body, "model").map_err(plain)?;
        if self.host == Host::Mistral
            && !matches!(body["reasoning_effort"].as_str(), None | Some("none" | "high"))
        {
            return Err(plain("reasoning_effort must be none or high".into()));
        }
        if self.host != Host::OpenAi || generation(model) < 5.0 {
            return Ok(());
        }
        let unsupported = |name: &str| {
            let message = format!("Unsupported parameter: '{name}' is not supported with this model.");
            refuse(message, Some("unsupported_parameter"), Some(name))
        };
        if let Some(name) =
            ["max_tokens", "temperature", "top_p"].iter().find(|name| body.get(**name).is_some())
        {
            return Err(unsupported(name));
        }
        if generation(model) >= 5.4 && body.get("tools").is_some() && body["reasoning_effort"] != "none" {
            let message = format!(
                "Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. Please use \
                 /v1/responses instead."
            );
            return Err(refuse(message, None, Some("reasoning_effort")));
        }
        Ok(())
    }

    fn conversation(&self, body: &Value) -> Checked<Conversation> {
        insist(body["stream"] == true, "only streams are played")?;
        if self.host == Host::Mistral {
            insist(body.get("stream_options").is_none(), "stream_options: Extra inputs are not permitted")?;
        }
        let mut asked = Conversation::default();
        for offered in list(body, "tools") {
            only(offered, &["type", "function"])?;
            let function = &offered["function"];
            asked.has_tools |= tool(&function["name"], &function["description"], &function["parameters"])?;
        }
        let messages = list(body, "messages");
        let last_user = messages.iter().rposition(|message| message["role"] == "user").unwrap_or(0);
        let mut waiting: Vec<String> = Vec::new();
        let mut before = "";
        for (place, message) in messages.iter().enumerate() {
            let role = text(message, "role")?;
            insist(waiting.is_empty() || role == "tool", "tool_calls must be followed by tool messages")?;
            match role {
                "system" => {
                    insist(place == 0 && message["content"].is_string(), "the system message comes first")?
                }
                "user" => {
                    insist(
                        self.host != Host::Mistral || before != "tool",
                        "Unexpected role 'user' after role 'tool'",
                    )?;
                    asked = Conversation { has_tools: asked.has_tools, ..user(message)? };
                }
                "assistant" => waiting = self.assistant(message, place > last_user, &mut asked)?,
                "tool" => {
                    let id = text(message, "tool_call_id")?;
                    let known =
                        waiting.iter().position(|waits| waits == id).ok_or("an unknown tool_call_id")?;
                    waiting.remove(known);
                    insist(!text(message, "content")?.is_empty(), "a tool message without content")?;
                    let named = message["name"] == "current_time";
                    insist(named == (self.host == Host::Mistral), "name beside a result")?;
                }
                other => return Err(format!("Invalid role: {other}")),
            }
            before = role;
        }
        insist(matches!(before, "user" | "tool"), "the last message must be of the user or a tool")?;
        Ok(asked)
    }

    fn assistant(&self, message: &Value, is_current: bool, asked: &mut Conversation) -> Checked<Vec<String>> {
        let mut keys = vec!["role", "content", "tool_calls"];
        keys.extend(match self.host {
            Host::DeepSeek | Host::DeepSeekAlways => Some("reasoning_content"),
            Host::OpenRouter => Some("reasoning_details"),
            _ => None,
        });
        only(message, &keys)?;
        let calls = list(message, "tool_calls");
        let is_null = message["content"].is_null();
        insist(!is_null || !calls.is_empty(), "an assistant message without content")?;
        insist(
            !is_null || self.host != Host::LlamaCppPython,
            "can only concatenate str (not \"NoneType\") to str",
        )?;
        if calls.is_empty() {
            return Ok(Vec::new());
        }
        match self.host {
            Host::DeepSeek | Host::OpenRouter if !is_current => {}
            Host::DeepSeek | Host::DeepSeekAlways => insist(
                message["reasoning_content"] == super::THOUGHT,
                "The `reasoning_content` in the thinking mode must be passed back to the API.",
            )?,
            Host::OpenRouter => {
                let told = json!({"type": "reasoning.text", "text": super::THOUGHT, "index": 0});
                let expected = json!([told, sealed_detail(asked.steps)]);
                insist(message["reasoning_details"] == expected, "reasoning_details were changed")?;
            }
            _ => {}
        }
        asked.steps += 1;
        calls.iter().map(|call| self.call(call)).collect()
    }

    fn call(&self, call: &Value) -> Checked<String> {
        only(call, &["id", "type", "function"])?;
        insist(call["type"] == "function", "a call must be of type function")?;
        let arguments = text(&call["function"], "arguments")?;
        let is_object = serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object());
        insist(is_object, "arguments must be a JSON object in a string")?;
        let id = text(call, "id")?;
        let is_short = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        insist(
            self.host != Host::Mistral || is_short,
            "Tool call id must be a-z, A-Z, 0-9, with a length of 9",
        )?;
        Ok(id.to_owned())
    }
}

fn user(message: &Value) -> Checked<Conversation> {
    only(message, &["role", "content"])?;
    if let Some(words) = message["content"].as_str() {
        return Ok(Conversation { words: words.to_owned(), ..Conversation::default() });
    }
    let mut asked = Conversation::default();
    for part in list(message, "content") {
        match text(part, "type")? {
            "text" => asked.words.push_str(text(part, "text")?),
            "image_url" => {
                let url = text(&part["image_url"], "url")?;
                png(url.strip_prefix("data:image/png;base64,").ok_or("the image is no data URI")?)?;
                asked.sees = true;
            }
            other => return Err(format!("Invalid part: {other}")),
        }
    }
    Ok(asked)
}
