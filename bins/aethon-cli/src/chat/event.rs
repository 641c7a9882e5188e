//! What a turn shows, as the terminal needs it.
//!
//! It is read from the frames of the chat socket. An assistant in this process says the same frames, so that both ways
//! show the same, and a new frame is understood in this one place.

use serde_json::Value;

/// Something that happened, and in which turn; the turn is empty for what belongs to none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Told {
    /// The turn's id.
    pub(crate) turn: String,
    /// What happened.
    pub(crate) event: ChatEvent,
}

impl Told {
    /// What a frame of the chat socket tells; `None` for those that a terminal does not show.
    pub(crate) fn of(frame: &Value) -> Option<Self> {
        let turn = frame["turn"].as_str().unwrap_or_default().to_owned();
        Some(Self { turn, event: ChatEvent::of(frame)? })
    }

    /// What happened outside of any turn.
    pub(crate) fn outside(event: ChatEvent) -> Self {
        Self { turn: String::new(), event }
    }
}

/// What a turn shows, as the terminal needs it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ChatEvent {
    /// The message is stored, and this turn answers it; so many turns come before it.
    Accepted {
        /// How many.
        queued: u64,
    },
    /// The message was not taken.
    Refused(String),
    /// The turn begins again: what was shown of its answer does not count.
    Again,
    /// More of the reply.
    Text(String),
    /// A tool call changed its state.
    Tool {
        /// The tool.
        name: String,
        /// `running`, `ok`, `error` or `denied`.
        state: String,
        /// The arguments, while it runs.
        input: Option<Value>,
        /// The result, at its end.
        output: Option<String>,
    },
    /// Somebody must decide.
    Approval {
        /// The question's id.
        id: String,
        /// The tool.
        tool: String,
        /// The exact arguments.
        input: Value,
        /// What would happen.
        summary: String,
        /// What it would change, as a diff, where the tool can tell.
        preview: Option<String>,
        /// What an answer for the rest of the conversation would allow.
        session_scope: String,
    },
    /// The arguments as the person changed them break a rule; the question is still open.
    EditRefused {
        /// The question's id.
        id: String,
        /// Why.
        why: String,
    },
    /// The question is settled, here or elsewhere.
    ApprovalDone {
        /// The question's id.
        id: String,
        /// Why: `user`, `timeout` or `stopped`.
        reason: String,
        /// The arguments that run, where a person has changed them.
        edited: Option<Value>,
    },
    /// Something the person should know.
    Notice(String),
    /// Something went wrong.
    Error(String),
    /// The turn is over.
    Done(Outcome),
    /// A turn of the session that somebody else asked for is over.
    Other(Other),
    /// Something about the way to the assistant, in a few words.
    Link(String),
    /// The way to the assistant broke for good.
    Lost(String),
}

/// What somebody else said in the session, and the answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Other {
    /// What was said, where it is known.
    pub(crate) said: String,
    /// The reply.
    pub(crate) outcome: Outcome,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Outcome {
    /// The turn's id.
    pub(crate) turn: String,
    /// The whole reply.
    pub(crate) text: String,
    /// `end`, `stopped`, `limit`, `budget` or `error`.
    pub(crate) stop_reason: String,
    /// The model that answered.
    pub(crate) model: String,
}

impl ChatEvent {
    /// What a frame of the chat socket shows; `None` for those that a terminal does not show.
    fn of(frame: &Value) -> Option<Self> {
        let text = |key: &str| frame[key].as_str().unwrap_or_default().to_owned();
        Some(match frame["type"].as_str()? {
            "delta" => Self::Text(text("text")),
            "tool" => Self::Tool {
                name: text("name"),
                state: text("state"),
                input: frame.get("input").cloned(),
                output: frame["output"].as_str().map(str::to_owned),
            },
            "approval" => Self::Approval {
                id: text("id"),
                tool: text("tool"),
                input: frame["input"].clone(),
                summary: text("summary"),
                preview: frame["preview"].as_str().map(str::to_owned),
                session_scope: text("session_scope"),
            },
            "approval_done" => Self::ApprovalDone {
                id: text("id"),
                reason: text("reason"),
                edited: frame.get("edited").cloned(),
            },
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

/// What is said when older messages were folded into a summary.
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
            let shown: Vec<_> = aethon::frames_of(&event).iter().filter_map(Told::of).collect();
            let expected: Vec<_> = expected.iter().cloned().map(Told::outside).collect();
            assert_eq!(shown, expected, "{event:?}");
        };
        let notice = |text: &str| ChatEvent::Notice(text.into());
        check(TurnEvent::Started, &[]);
        check(TurnEvent::Text("hi".into()), &[ChatEvent::Text("hi".into())]);
        check(TurnEvent::Reasoning("hm".into()), &[]);
        check(TurnEvent::Notice { code: "waiting".into(), message: "Wait.".into() }, &[notice("Wait.")]);
        check(TurnEvent::Model { model: "m".into(), reason: "busy".into() }, &[notice("m answers: busy")]);
        let folded = "1 older message was summarised for the model; the conversation keeps them";
        let event = TurnEvent::Folded { messages: 1, from: "1".into(), to: "1".into(), summary: "s".into() };
        check(event, &[notice(folded)]);
    }
}
