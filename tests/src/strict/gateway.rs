//! Hosted gateways with OpenAI's chat completions, each with its own path, key and refusals, as documented by them.

use serde_json::{Value, json};

use super::chat::{Chat, Host};
use super::{Conversation, ModelResponse, Provider, Refusal, list, openai_error, text};
use crate::stub::{Seen, ok};

/// The rules of a gateway.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// The path before `/chat/completions`.
    pub path: &'static str,
    /// How its thoughts and errors look.
    pub host: Host,
    /// Whether its models may be offered tools.
    pub takes_tools: bool,
    /// Whether a key is needed.
    pub wants_key: bool,
    /// The beginning of its models' ids.
    pub models: &'static str,
    /// Headers that must come with every request.
    pub headers: &'static [&'static str],
    /// Fields that it refuses beyond those that everybody refuses.
    pub refused: &'static [&'static str],
}

/// What most gateways have in common.
pub const USUAL: Rules = Rules {
    path: "/v1",
    host: Host::LiteLlm,
    takes_tools: true,
    wants_key: true,
    models: "",
    headers: &[],
    refused: &[],
};

/// A gateway.
pub struct Gateway {
    rules: Rules,
    chat: Chat,
    is_listing: bool,
}

impl Gateway {
    /// Imitates a gateway with these rules.
    pub fn of(rules: Rules) -> Self {
        Self { rules, chat: Chat::of(rules.host), is_listing: false }
    }

    fn check(&self, seen: &Seen) -> Result<(), String> {
        let body = seen.json();
        for name in self.rules.headers {
            if seen.header(name).is_none_or(str::is_empty) {
                return Err(format!("the header {name} is missing"));
            }
        }
        if let Some(field) = self.rules.refused.iter().find(|field| body.get(**field).is_some()) {
            return Err(format!("Unsupported parameter: '{field}'."));
        }
        if !self.rules.takes_tools && body.get("tools").is_some() {
            return Err("Tool calling is not supported for this model.".into());
        }
        let model = text(&body, "model")?;
        if !model.starts_with(self.rules.models) {
            return Err(format!("Unknown model: {model}"));
        }
        let roles: Vec<&Value> = list(&body, "messages").iter().map(|message| &message["role"]).collect();
        let has_doubled = roles.windows(2).any(|pair| pair[0] == pair[1] && pair[0] == "user");
        if !self.rules.takes_tools && has_doubled {
            return Err("After the system message, user and assistant messages must alternate.".into());
        }
        Ok(())
    }
}

impl Provider for Gateway {
    fn read(&mut self, seen: &Seen) -> Result<Conversation, Refusal> {
        let path = self.rules.path;
        let has_key = seen.header("authorization") == Some("Bearer strict-key");
        if has_key != self.rules.wants_key {
            let body = openai_error("Incorrect API key", Some("invalid_api_key"), None);
            return Err(Refusal { status: "401 Unauthorized", body });
        }
        self.is_listing = seen.line == format!("GET {path}/models");
        if self.is_listing {
            return Ok(Conversation::default());
        }
        if seen.line != format!("POST {path}/chat/completions") {
            let body = openai_error("Not found", Some("not_found"), None);
            return Err(Refusal { status: "404 Not Found", body });
        }
        self.check(seen)
            .map_err(|why| Refusal { status: "400 Bad Request", body: openai_error(&why, None, None) })?;
        let mut inner = seen.clone();
        inner.line = "POST /v1/chat/completions".into();
        inner.headers.retain(|(name, _)| name != "authorization");
        inner.headers.push(("authorization".into(), "Bearer strict-key".into()));
        self.chat.read(&inner)
    }

    fn write(&mut self, said: &ModelResponse) -> Vec<u8> {
        if self.is_listing {
            return ok("application/json", &json!({"object": "list", "data": []}).to_string());
        }
        self.chat.write(said)
    }
}
