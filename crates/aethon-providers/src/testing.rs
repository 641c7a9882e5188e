//! Requests and capabilities for the tests of this crate.

use std::sync::Arc;

use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Block, Message, Role, ToolCall, ToolResult};
use aethon_core::model::{Capabilities, ModelRequest};
use aethon_core::secret::Secret;
use aethon_core::tool::ToolSpec;
use serde_json::{Value, json};

use crate::options::{Options, Provider};

pub(crate) fn message(role: Role, content: Vec<Block>) -> Arc<Message> {
    Arc::new(Message::new(role, content, "2026-11-20T10:00:00Z".parse().unwrap()))
}

pub(crate) fn request(messages: Vec<Arc<Message>>) -> ModelRequest {
    ModelRequest {
        session: SessionId::parse("webchat:default").unwrap(),
        turn: TurnId::fresh(),
        attempt: 0,
        system: "You help.".into(),
        messages: messages.into(),
        turn_start: 0,
        tools: Arc::new([]),
    }
}

pub(crate) fn call(id: &str, name: &str, input: Value) -> Block {
    Block::ToolCall(ToolCall { id: id.into(), name: name.into(), input, opaque: None })
}

pub(crate) fn result(id: &str, name: &str, output: &str) -> Block {
    Block::ToolResult(ToolResult {
        call: id.into(),
        name: name.into(),
        output: output.into(),
        is_error: false,
        denied: false,
        ms: None,
    })
}

pub(crate) fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "Reads a file.".into(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
        roles: Default::default(),
        untrusted_output: false,
        timeout: None,
    }
}

/// A conversation with a picture, two calls at once, one of them failed, and a new message.
pub(crate) fn conversation() -> ModelRequest {
    let failed = ToolResult {
        call: "call_2".into(),
        name: "file_read".into(),
        output: "no such file".into(),
        is_error: true,
        denied: false,
        ms: None,
    };
    let mut request = request(vec![
        message(
            Role::User,
            vec![
                Block::text("What is this?"),
                Block::Image { mime: "image/png".into(), data: "iVBORw0KGgo=".into() },
            ],
        ),
        message(
            Role::Assistant,
            vec![
                call("call_1", "file_read", json!({"path": "a.txt"})),
                call("call_2", "file_read", json!({"path": "b.txt"})),
            ],
        ),
        message(Role::Tool, vec![result("call_1", "file_read", "alpha"), Block::ToolResult(failed)]),
        message(Role::Assistant, vec![Block::text("It is **a**.")]),
        message(Role::User, vec![Block::text("Thanks, and b?")]),
    ]);
    request.tools = Arc::new([tool("file_read")]);
    request
}

pub(crate) fn capabilities() -> Capabilities {
    crate::capabilities::of(&Options::new(Provider::OpenAi, "gpt-4o"))
}

/// A service with a key at its usual address.
pub(crate) fn service(provider: Provider, model: &str) -> Arc<crate::service::Service> {
    let options =
        Options { api_key: Secret::new("sk-test-0123456789abcdefghij"), ..Options::new(provider, model) };
    let endpoint = crate::endpoint::Endpoint::of(&options).unwrap();
    Arc::new(crate::service::Service::new(&options, endpoint))
}
