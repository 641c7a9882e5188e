//! The frames of `aethon.chat.v1`, as sent on the wire.
//!
//! Server frames of a turn carry `seq` and `turn`, which the room adds; `ready` and errors outside a turn carry
//! neither. Those of clients are `requests`. The types of the chat page are generated from these types
//! (`openapi::typescript`).

use aethon_core::approval::{ApprovalRequest, Resolution};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Reply, TurnEnd};
use aethon_core::model::{Effort, Usage};
use aethon_core::surface::{ToolPhase, ToolState, TurnEvent};
use aethon_core::tool::OutputBlock;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use crate::error::STORAGE_UNAVAILABLE;
use crate::json::CommandList;

/// The name of the protocol.
pub(super) const PROTOCOL: &str = "aethon.chat.v1";

/// The content of a turn's frame.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Body<'a> {
    /// The message is stored.
    Ack { id: &'a str, queued: usize },
    /// Another model than the configured one answers.
    Model { model: &'a str, reason: &'a str },
    /// More of the reply, in Markdown.
    Delta { text: &'a str },
    /// More of the model's reasoning; with `ms` when it is complete.
    Reasoning {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        ms: Option<u64>,
    },
    /// A picture that the model made.
    Image { mime: &'a str, data: &'a str },
    /// Rendered blocks, which replace those from `from` on.
    Blocks { from: usize, html: &'a [String] },
    /// A tool call changed its state.
    Tool(Tool<'a>),
    /// A request for a person's approval.
    Approval(Approval<'a>),
    /// The approval is settled.
    ApprovalDone {
        id: &'a str,
        #[serde(flatten)]
        resolution: Resolution,
        /// The arguments to run with, if a person changed them.
        #[serde(skip_serializing_if = "Option::is_none")]
        edited: Option<&'a Value>,
    },
    /// Tokens and cost so far.
    Usage(Usage),
    /// Older messages were replaced by a summary for the model.
    Folded { messages: u64, from: &'a str, to: &'a str, summary: &'a str },
    /// A notice for the person.
    Notice { code: &'a str, message: &'a str },
    /// The turn failed; `done` follows.
    Error { code: &'a str, message: &'a str },
    /// The turn is over and stored.
    Done { text: &'a str, html: &'a str, stop_reason: TurnEnd, model: &'a str },
    /// The branch of this turn is the live one now: the transcript is another.
    Switched {},
}

impl<'a> Body<'a> {
    /// Returns the frame of an event that maps to exactly one. Texts and the end of a turn become several frames,
    /// which the surface makes.
    pub(super) fn of(event: &'a TurnEvent) -> Option<Self> {
        Some(match event {
            TurnEvent::Started | TurnEvent::Text(_) | TurnEvent::TextWithdrawn | TurnEvent::Done(_) => {
                return None;
            }
            TurnEvent::Model { model, reason } => Self::Model { model, reason },
            TurnEvent::Reasoning(text) => Self::Reasoning { text, ms: None },
            TurnEvent::ReasoningDone { ms } => Self::Reasoning { text: "", ms: Some(*ms) },
            TurnEvent::Image { mime, data } => Self::Image { mime, data },
            TurnEvent::Tool(tool) => Self::Tool(tool.into()),
            TurnEvent::Approval(request) => Self::Approval(request.into()),
            TurnEvent::ApprovalDone { id, resolution, edited } => {
                Self::ApprovalDone { id, resolution: *resolution, edited: edited.as_ref() }
            }
            TurnEvent::Usage(usage) => Self::Usage(*usage),
            TurnEvent::Folded { messages, from, to, summary } => {
                Self::Folded { messages: *messages, from, to, summary }
            }
            TurnEvent::Notice { code, message } => Self::Notice { code, message },
        })
    }
}

/// A tool call.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Tool<'a> {
    call: &'a str,
    name: &'a str,
    state: ToolPhase,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    blocks: &'a [OutputBlock],
    #[serde(skip_serializing_if = "Option::is_none")]
    ms: Option<u64>,
}

impl Tool<'_> {
    /// Returns the id of the call.
    pub(super) fn call(&self) -> &str {
        self.call
    }

    /// Returns whether it only reports the output of a running call so far.
    pub(super) fn is_output(&self) -> bool {
        self.input.is_none() && self.output.is_some() && self.state == ToolPhase::Running
    }
}

impl<'a> From<&'a ToolState> for Tool<'a> {
    fn from(state: &'a ToolState) -> Self {
        Self {
            call: &state.call,
            name: &state.name,
            state: state.phase,
            input: state.input.as_ref(),
            output: state.output.as_deref(),
            blocks: &state.blocks,
            ms: state.milliseconds,
        }
    }
}

/// An approval prompt.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Approval<'a> {
    id: &'a str,
    tool: &'a str,
    input: &'a Value,
    summary: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    preview: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    session_scope: &'a str,
    expires_at: String,
}

impl<'a> From<&'a ApprovalRequest> for Approval<'a> {
    fn from(request: &'a ApprovalRequest) -> Self {
        Self {
            id: &request.id,
            tool: &request.tool,
            input: &request.input,
            summary: &request.summary,
            preview: request.preview.as_deref(),
            reason: &request.reason,
            session_scope: &request.session_scope,
            expires_at: aethon_core::time::text(request.expires_at),
        }
    }
}

/// Returns the frames of a turn's event, without numbers, for a terminal whose assistant runs in the same process.
pub fn frames_of(event: &TurnEvent) -> Vec<Value> {
    let failure = |reply: &'_ Reply| {
        let failure = reply.failure.as_ref()?;
        serde_json::to_value(Body::Error { code: failure.code.as_str(), message: &failure.message }).ok()
    };
    match event {
        TurnEvent::Text(text) => serde_json::to_value(Body::Delta { text }).into_iter().collect(),
        TurnEvent::Done(reply) => {
            let (text, model) = (&reply.text, &reply.model);
            let done = Body::Done { text, html: "", stop_reason: reply.end, model };
            failure(reply).into_iter().chain(serde_json::to_value(done)).collect()
        }
        event => Body::of(event).map(serde_json::to_value).into_iter().flatten().collect(),
    }
}

/// A frame of a turn, with its number.
#[derive(Serialize, JsonSchema)]
pub(super) struct TurnFrame<'a> {
    #[serde(flatten)]
    body: &'a Body<'a>,
    seq: u64,
    turn: &'a TurnId,
}

/// A frame that belongs to no turn.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "LooseFrame")]
pub(super) enum Frame<'a> {
    /// The first one of a connection.
    Ready { session: &'a str, version: &'a str },
    /// All frames up to `seq` were sent; what follows is live.
    Resumed { session: &'a str, seq: u64 },
    /// A conversation that changed.
    Session(SessionFrame<'a>),
    /// A conversation that is gone.
    #[serde(rename = "session")]
    SessionRemoved { session_id: &'a SessionId, removed: bool },
    /// The commands in the background of a conversation, all anew.
    Commands(CommandList),
    /// A notice for the person.
    Notice { code: &'a str, message: &'a str },
    /// Why a frame of the client was refused; `id` is that of its message.
    Error {
        code: &'a str,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
    },
}

/// The state of a conversation, as its watchers see it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SessionFrame<'a> {
    pub(super) session_id: &'a SessionId,
    pub(super) title: &'a str,
    pub(super) busy: bool,
    /// How many approvals wait.
    pub(super) waiting: usize,
    pub(super) unread: bool,
    #[serde(serialize_with = "aethon_core::time::serialize")]
    pub(super) updated_at: Timestamp,
    pub(super) model: Option<&'a str>,
    pub(super) effort: Option<Effort>,
    pub(super) pinned: bool,
    pub(super) archived: bool,
    pub(super) folder: Option<&'a str>,
}

/// Builds a frame of a turn.
pub(super) fn of_turn(seq: u64, turn: &TurnId, body: &Body<'_>) -> Utf8Bytes {
    json(&TurnFrame { body, seq, turn })
}

/// Builds the first frame of a connection.
pub(super) fn ready(session: &str, version: &str) -> Utf8Bytes {
    json(&Frame::Ready { session, version })
}

/// Builds the frame that ends a replay: all frames up to `seq` were sent.
pub(super) fn resumed(session: &str, seq: u64) -> Utf8Bytes {
    json(&Frame::Resumed { session, seq })
}

/// Builds the frame with the commands in the background of a conversation.
pub(super) fn commands(list: CommandList) -> Utf8Bytes {
    json(&Frame::Commands(list))
}

/// Builds a notice outside a turn.
pub(super) fn notice(code: &str, message: &str) -> Utf8Bytes {
    json(&Frame::Notice { code, message })
}

/// Serialises any value.
pub(super) fn written(value: &impl Serialize) -> String {
    // Serialising our own structs with string keys to memory cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}

/// Serialises any value as a text frame.
pub(super) fn json(value: &impl Serialize) -> Utf8Bytes {
    let mut text = written(value);
    // Frames are kept, and a grown buffer would keep up to half of its capacity unused.
    text.shrink_to_fit();
    text.into()
}

/// Why a request was refused: a stable code and a sentence.
#[derive(Debug)]
pub(super) struct Refusal {
    code: &'static str,
    message: String,
    /// The client's id of the refused message.
    id: Option<String>,
}

impl Refusal {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), id: None }
    }

    /// Returns the code and the sentence for an error of the core.
    pub(super) fn of(error: &aethon_core::error::Error) -> Self {
        let code = if error.is_not_found() {
            "not_found"
        } else if error.is_mismatch() {
            "mismatch"
        } else if error.is_invalid() {
            "invalid"
        } else if error.is_denied() {
            "denied"
        } else if error.is_unavailable() {
            STORAGE_UNAVAILABLE
        } else if error.is_busy() {
            "busy"
        } else {
            tracing::error!(error = error as &dyn std::error::Error, "a chat message could not be taken in");
            "internal"
        };
        Self::new(code, sentence(&error.to_string()))
    }

    /// Sets the client's id of the frame that was refused, if it had one.
    #[must_use]
    pub(super) fn about(mut self, id: Option<&str>) -> Self {
        self.id = id.map(str::to_owned);
        self
    }

    /// Builds the frame.
    pub(super) fn frame(&self) -> Utf8Bytes {
        json(&Frame::Error { code: self.code, message: &self.message, id: self.id.as_deref() })
    }

    #[cfg(test)]
    pub(super) fn code(&self) -> &'static str {
        self.code
    }
}

/// Turns an error message into a sentence, with a capital letter and a full stop.
pub(super) fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first: String = characters.next().map(|first| first.to_uppercase().collect()).unwrap_or_default();
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", characters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_a_frame_without_seq() {
        let frame = Refusal::new("busy", sentence("too many wait")).about(Some("m1")).frame();
        assert_eq!(frame.as_str(), r#"{"type":"error","code":"busy","message":"Too many wait.","id":"m1"}"#);
    }

    #[test]
    fn a_tool_frame_carries_output_blocks_besides_text() {
        let mut state = ToolState {
            call: "c".into(),
            name: "draw".into(),
            phase: ToolPhase::Ok,
            input: None,
            output: Some("drawn".into()),
            blocks: vec![OutputBlock::Image { mime: "image/png".into(), data: "AA==".into() }],
            milliseconds: Some(3),
        };
        let told = |state: &ToolState| serde_json::to_value(Body::Tool(state.into())).unwrap();
        let picture = serde_json::json!([{"type": "image", "mime": "image/png", "data": "AA=="}]);
        assert_eq!(told(&state)["blocks"], picture);
        state.blocks.clear();
        assert!(told(&state).get("blocks").is_none(), "most tools return only text");
    }

    #[test]
    fn a_turn_frame_carries_seq_and_turn() {
        let frame = of_turn(7, &TurnId::existing("t"), &Body::Delta { text: "a" });
        assert_eq!(frame.as_str(), r#"{"type":"delta","text":"a","seq":7,"turn":"t"}"#);
        let usage =
            Usage { input_tokens: 1, output_tokens: 2, cached_tokens: 0, cost_usd: 0.5, ..Usage::default() };
        let frame = of_turn(8, &TurnId::existing("t"), &Body::Usage(usage));
        let value: Value = serde_json::from_str(&frame).unwrap();
        assert_eq!(
            (&value["type"], &value["output_tokens"], &value["seq"]),
            (&"usage".into(), &2.into(), &8.into())
        );
    }
}
