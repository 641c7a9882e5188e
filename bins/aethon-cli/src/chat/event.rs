//! Chat events, reduced to the parts that the terminal shows.
//!
//! They are parsed from frames of the chat socket. An assistant in this process emits the same frames, so both connections
//! look the same, and a new frame is handled only here.

use serde_json::Value;

use super::approval::ApprovalRequest;

/// An event, and the turn in which it happened; the turn is empty for events outside of turns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BackendEvent {
    /// The turn's id.
    pub(crate) turn: String,
    /// The event.
    pub(crate) event: ChatEvent,
    /// The frame that it was parsed from; null if there was none.
    pub(crate) frame: Value,
}

impl BackendEvent {
    /// Parses a frame of the chat socket; `None` for frames that a terminal does not show.
    pub(crate) fn of(frame: &Value) -> Option<Self> {
        let turn = frame["turn"].as_str().unwrap_or_default().to_owned();
        Some(Self { turn, event: ChatEvent::of(frame)?, frame: frame.clone() })
    }

    /// Creates an event outside of any turn.
    pub(crate) fn outside(event: ChatEvent) -> Self {
        Self::within("", event)
    }

    /// Creates an event of this turn that came as no frame.
    pub(crate) fn within(turn: &str, event: ChatEvent) -> Self {
        Self { turn: turn.to_owned(), event, frame: Value::Null }
    }
}

/// An event, reduced to the parts that the terminal shows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ChatEvent {
    /// The message is stored and this turn will answer it, after `queued` other turns.
    Accepted {
        /// The number of turns before it.
        queued: u64,
    },
    /// The message was rejected.
    Refused(String),
    /// The turn starts over: the answer shown so far is void.
    Again,
    /// The model thinks.
    Thinking,
    /// The tokens and the cost of the turn so far.
    Usage(Tokens),
    /// More of the reply.
    Text(String),
    /// A tool call has a new state.
    Tool {
        /// The tool.
        name: String,
        /// `running`, `ok`, `error` or `denied`.
        state: String,
        /// The arguments, while the tool runs.
        input: Option<Value>,
        /// The result, once the tool has ended.
        output: Option<String>,
    },
    /// An approval is needed.
    Approval(ApprovalRequest),
    /// The user's edited arguments break a rule; the request is still pending.
    EditRefused {
        /// The request's id.
        id: String,
        /// The reason.
        why: String,
    },
    /// The request is settled, here or in another client.
    ApprovalDone {
        /// The request's id.
        id: String,
        /// How it was settled: `user`, `timeout` or `stopped`.
        reason: String,
        /// The arguments that will run, if the user edited them.
        edited: Option<Value>,
    },
    /// A notice for the user.
    Notice(String),
    /// An error.
    Error(String),
    /// The turn is over.
    Done(Outcome),
    /// A turn that another client started in the session is over.
    OthersTurn(OthersTurn),
    /// News about the connection, in a few words.
    Connection(String),
    /// The connection broke for good.
    Lost(String),
}

/// The tokens and the cost of a turn so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Tokens {
    /// The tokens of the requests.
    pub(crate) input: u64,
    /// The tokens of the answers.
    pub(crate) output: u64,
    /// The cost in US dollars; 0 if it is free or unknown.
    pub(crate) cost_usd: f64,
}

/// A message of another client in the session, and its answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct OthersTurn {
    /// The message, if known.
    pub(crate) said: String,
    /// The answer.
    pub(crate) outcome: Outcome,
}

/// The outcome of a turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Outcome {
    /// The turn's id.
    pub(crate) turn: String,
    /// The complete reply.
    pub(crate) text: String,
    /// `end`, `stopped`, `limit`, `budget` or `error`.
    pub(crate) stop_reason: String,
    /// The model that answered.
    pub(crate) model: String,
}

impl ChatEvent {
    /// Parses a frame of the chat socket; `None` for frames that a terminal does not show.
    fn of(frame: &Value) -> Option<Self> {
        let text = |key: &str| frame[key].as_str().unwrap_or_default().to_owned();
        Some(match frame["type"].as_str()? {
            "delta" => Self::Text(text("text")),
            "reasoning" => Self::Thinking,
            "usage" => Self::Usage(Tokens {
                input: frame["input_tokens"].as_u64().unwrap_or_default(),
                output: frame["output_tokens"].as_u64().unwrap_or_default(),
                cost_usd: frame["cost_usd"].as_f64().unwrap_or_default(),
            }),
            "tool" => Self::Tool {
                name: text("name"),
                state: text("state"),
                input: frame.get("input").cloned(),
                output: frame["output"].as_str().map(str::to_owned),
            },
            "approval" => Self::Approval(ApprovalRequest {
                id: text("id"),
                tool: text("tool"),
                input: frame["input"].clone(),
                summary: text("summary"),
                preview: frame["preview"].as_str().map(str::to_owned),
                session_scope: text("session_scope"),
            }),
            "approval_done" => Self::ApprovalDone {
                id: text("id"),
                reason: text("reason"),
                edited: frame.get("edited").cloned(),
            },
            "image" => Self::Notice(format!(
                "the answer has a picture ({}), which the page shows; `sessions export` has its data in JSON",
                text("mime")
            )),
            "notice" => Self::Notice(text("message")),
            "folded" => Self::Notice(folded(frame["messages"].as_u64().unwrap_or_default())),
            "model" => Self::Notice(format!("{} answers: {}", text("model"), text("reason"))),
            "error" => Self::Error(text("message")),
            "done" => Self::Done(Outcome {
                turn: text("turn"),
                text: text("text"),
                stop_reason: text("stop_reason"),
                model: text("model"),
            }),
            _ => return None,
        })
    }
}

/// Returns the notice that older messages were compacted into a summary.
fn folded(messages: u64) -> String {
    let were = if messages == 1 { "older message was" } else { "older messages were" };
    format!("{messages} {were} summarised for the model; the conversation keeps them")
}

#[cfg(test)]
mod tests {
    use aethon::core::surface::TurnEvent;

    use super::*;

    #[test]
    fn an_assistant_in_this_process_shows_what_a_daemon_shows() {
        let check = |event: TurnEvent, expected: &[ChatEvent]| {
            let frames = aethon::frames_of(&event);
            let shown: Vec<_> =
                frames.iter().filter_map(BackendEvent::of).map(|received| received.event).collect();
            assert_eq!(shown, expected, "{event:?}");
        };
        let notice = |text: &str| ChatEvent::Notice(text.into());
        check(TurnEvent::Started, &[]);
        check(TurnEvent::Text("hi".into()), &[ChatEvent::Text("hi".into())]);
        check(TurnEvent::Reasoning("hm".into()), &[ChatEvent::Thinking]);
        check(TurnEvent::Notice { code: "waiting".into(), message: "Wait.".into() }, &[notice("Wait.")]);
        check(TurnEvent::Model { model: "m".into(), reason: "busy".into() }, &[notice("m answers: busy")]);
        let folded = "1 older message was summarised for the model; the conversation keeps them";
        let event = TurnEvent::Folded { messages: 1, from: "1".into(), to: "1".into(), summary: "s".into() };
        check(event, &[notice(folded)]);
    }
}
