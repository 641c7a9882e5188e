//! Requests and capabilities for the tests of this crate.

use std::sync::Arc;

use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Block, Message, Opaque, Role, ToolCall, ToolResult};
use aethon_core::model::{Capabilities, ModelRequest};
use aethon_core::secret::Secret;
use aethon_core::tool::ToolSpec;
use serde_json::{Value, json};

use crate::options::{Options, Provider};
use crate::policy::RequestPolicy;
use crate::restrictions::LearnedRestrictions;
use crate::rules::ModelRules;
use crate::settings::Settings;

pub(crate) fn message(role: Role, content: Vec<Block>) -> Arc<Message> {
    Arc::new(Message::new(role, content, "2026-11-20T10:00:00Z".parse().unwrap()))
}

pub(crate) fn request(messages: Vec<Arc<Message>>) -> ModelRequest {
    ModelRequest::new(SessionId::parse("webchat:default").unwrap(), TurnId::fresh(), "You help.", messages)
}

pub(crate) fn call(id: &str, name: &str, input: Value) -> Block {
    Block::ToolCall(ToolCall { id: id.into(), name: name.into(), input, opaque: None })
}

pub(crate) fn result(id: &str, name: &str, output: &str) -> Block {
    let call = ToolCall { id: id.into(), name: name.into(), input: Value::Null, opaque: None };
    Block::ToolResult(ToolResult::ok(&call, output))
}

pub(crate) fn tool(name: &str) -> ToolSpec {
    let parameters =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    ToolSpec::new(name, "Reads a file.", parameters)
}

/// Returns a conversation with a picture, two parallel calls, one of which failed, and a new message.
pub(crate) fn conversation() -> ModelRequest {
    let failed = ToolCall { id: "call_2".into(), name: "file_read".into(), input: Value::Null, opaque: None };
    let failed = ToolResult::failed(&failed, "no such file");
    let mut request = request(vec![
        message(Role::User, vec![Block::text("What is this?"), Block::image("image/png", "iVBORw0KGgo=")]),
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

/// Returns a service with a key at its default address.
pub(crate) fn service(provider: Provider, model: &str) -> Arc<crate::service::Service> {
    let options =
        Options { api_key: Secret::new("sk-test-0123456789abcdefghij"), ..Options::new(provider, model) };
    let endpoint = crate::endpoint::Endpoint::of(&options).unwrap();
    Arc::new(crate::service::Service::new(&options, endpoint))
}

/// Returns the policy for a request when nothing was learnt.
pub(crate) fn policy(options: &Options) -> RequestPolicy {
    RequestPolicy {
        capabilities: Arc::new(crate::capabilities::of(options)),
        rules: ModelRules::of(options.facts(), &options.model_id),
        settings: Arc::new(Settings::of(options)),
        restrictions: LearnedRestrictions::default(),
    }
}

/// Returns the policy for a provider's model with default settings.
pub(crate) fn policy_of(provider: Provider, model: &str) -> RequestPolicy {
    policy(&Options::new(provider, model))
}

/// Returns a turn in its second step: a question, and twice a call with its result.
pub(crate) fn two_steps(thoughts: [Option<Opaque>; 2]) -> ModelRequest {
    let mut messages = vec![message(Role::User, vec![Block::text("Compare them.")])];
    for (step, opaque) in (1..).zip(thoughts) {
        let id = format!("call_{step}");
        let thought =
            opaque.map(|opaque| Block::Reasoning { text: "Hm.".into(), opaque: Some(opaque), ms: None });
        let said = thought.into_iter().chain([call(&id, "file_read", json!({"path": "a.txt"}))]).collect();
        messages.push(message(Role::Assistant, said));
        messages.push(message(Role::Tool, vec![result(&id, "file_read", "alpha")]));
    }
    request(messages).with_tools(vec![tool("file_read")])
}
