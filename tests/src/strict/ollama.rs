//! Ollama's native chat API, streamed as JSON lines, with its descriptions of models.

use serde_json::{Value, json};

use super::{
    Checked, Conversation, ModelResponse, Provider, Refusal, halves, insist, list, only, png, text, tool,
};
use crate::stub::{Seen, ok};

/// Ollama with one model. It refuses what the real one punishes in silence: a request without `num_ctx`, one that the
/// model would be loaded anew for, and one that would be cut.
pub struct Ollama {
    thinks: bool,
    /// The answer to a query about the model.
    description: Option<Value>,
    /// What the model is made for.
    longest: u64,
    /// The window for which there is memory.
    memory: u64,
    /// How many queries about the model fail first.
    failures: usize,
    /// Whether the model may be loaded anew once, because its description came late.
    is_late: bool,
    loaded: Option<u64>,
}

impl Default for Ollama {
    fn default() -> Self {
        Self::made_for(131_072)
    }
}

impl Ollama {
    /// Creates one whose model is made for this many tokens.
    pub fn made_for(longest: u64) -> Self {
        Self {
            thinks: false,
            description: None,
            longest,
            memory: u64::MAX,
            failures: 0,
            is_late: false,
            loaded: None,
        }
    }

    /// Limits the memory to a window of this many tokens.
    #[must_use]
    pub fn with_memory_for(self, memory: u64) -> Self {
        Self { memory, ..self }
    }

    /// Fails the first queries about the model.
    #[must_use]
    pub fn failing_first(self, failures: usize) -> Self {
        Self { failures, is_late: true, ..self }
    }

    /// Loads the model with the window of a request, as the real one does.
    fn load(&mut self, body: &Value, bytes: usize) -> Checked<bool> {
        let window = body["options"]["num_ctx"].as_u64().ok_or("num_ctx must be sent")?;
        insist(window <= self.longest, "num_ctx is larger than the model is made for")?;
        if window > self.memory {
            return Ok(false);
        }
        let is_anew = self.loaded.is_some_and(|loaded| loaded != window);
        insist(!is_anew || std::mem::take(&mut self.is_late), "loaded anew")?;
        insist(bytes as u64 / 5 <= window, "the prompt would be cut")?;
        self.loaded = Some(window);
        Ok(true)
    }
}

impl Provider for Ollama {
    fn read(&mut self, seen: &Seen) -> Result<Conversation, Refusal> {
        let refuse = |why: String| Refusal { status: "400 Bad Request", body: json!({ "error": why }) };
        let is_query = matches!(seen.line.as_str(), "GET /api/ps" | "POST /api/show");
        if is_query && self.failures > 0 {
            self.failures -= 1;
            return Err(Refusal { status: "500 Internal Server Error", body: json!({"error": "not now"}) });
        }
        self.description = match seen.line.as_str() {
            "GET /api/ps" => Some(json!({"models": []})),
            "GET /api/tags" => Some(json!({"models": [{"name": "qwen3-vl:8b"}]})),
            "POST /api/show" => Some(json!({
                "model_info": {"qwen3vl.context_length": self.longest},
                "capabilities": ["completion", "tools", "vision", "thinking"],
            })),
            "POST /api/chat" => None,
            _ => return Err(Refusal { status: "404 Not Found", body: json!({"error": "not found"}) }),
        };
        if self.description.is_some() {
            return Ok(Conversation::default());
        }
        let body = seen.json();
        // Thinking models think unless told not to.
        self.thinks = body["think"] != false;
        if !self.load(&body, seen.body.len()).map_err(refuse)? {
            let why = "model requires more system memory (21.3 GiB) than is available (7.1 GiB)";
            return Err(Refusal { status: "500 Internal Server Error", body: json!({ "error": why }) });
        }
        read(&body).map_err(refuse)
    }

    fn write(&mut self, said: &ModelResponse) -> Vec<u8> {
        if let Some(description) = self.description.take() {
            return ok("application/json", &description.to_string());
        }
        let line = |message: Value| {
            json!({"model": "qwen3-vl:8b", "message": message, "done": false}).to_string() + "\n"
        };
        let mut lines: Vec<String> = Vec::new();
        if self.thinks {
            lines.extend(
                halves(said.thought)
                    .map(|piece| line(json!({"role": "assistant", "content": "", "thinking": piece}))),
            );
        }
        if said.calls {
            let call = json!({"function": {"name": "current_time", "arguments": {}}});
            lines.push(line(json!({"role": "assistant", "content": "", "tool_calls": [call]})));
        }
        lines.extend(halves(&said.text).map(|piece| line(json!({"role": "assistant", "content": piece}))));
        let last = json!({"model": "qwen3-vl:8b", "message": {"role": "assistant", "content": ""}, "done": true,
            "done_reason": "stop", "prompt_eval_count": 100, "eval_count": 20});
        ok("application/x-ndjson", &format!("{}{last}\n", lines.concat()))
    }
}

fn read(body: &Value) -> Checked<Conversation> {
    only(body, &["model", "messages", "stream", "tools", "think", "options"])?;
    insist(body["stream"] == true, "stream must be sent")?;
    let think = &body["think"];
    insist(
        think.is_null() || think.is_boolean(),
        &format!("think value {think} is not supported for this model"),
    )?;
    if body.get("options").is_some() {
        only(&body["options"], &["num_predict", "num_ctx", "temperature", "top_p"])?;
    }
    let mut asked = Conversation::default();
    for offered in list(body, "tools") {
        let function = &offered["function"];
        asked.has_tools |= tool(&function["name"], &function["description"], &function["parameters"])?;
    }
    let mut waiting = 0;
    for message in list(body, "messages") {
        let content = text(message, "content")?;
        match text(message, "role")? {
            "system" => only(message, &["role", "content"])?,
            "user" => {
                only(message, &["role", "content", "images"])?;
                let images = list(message, "images");
                images.iter().try_for_each(|image| png(image.as_str().unwrap_or_default()))?;
                asked = Conversation {
                    words: content.to_owned(),
                    sees: !images.is_empty(),
                    has_tools: asked.has_tools,
                    ..Conversation::default()
                };
            }
            "assistant" => {
                only(message, &["role", "content", "tool_calls", "thinking"])?;
                let calls = list(message, "tool_calls");
                let is_object = |call: &Value| call["function"]["arguments"].is_object();
                insist(calls.iter().all(is_object), "arguments must be an object")?;
                waiting = calls.len();
                asked.steps += usize::from(waiting > 0);
            }
            "tool" => {
                only(message, &["role", "content", "tool_name"])?;
                insist(waiting > 0 && message["tool_name"] == "current_time", "a result without a call")?;
                waiting -= 1;
            }
            other => return Err(format!("invalid role {other}")),
        }
    }
    Ok(asked)
}
