//! The frames of `aethon.chat.v1` that clients send.
//!
//! One is read in two steps, its `type` first, so that each kind of error gets its own code. The types of the chat page are
//! generated from these types (`openapi::typescript`).

use aethon_core::answer_schema::{AnswerSchema, BadSchema};
use aethon_core::approval::{Decision, Scope};
use aethon_core::message::Attachment;
use aethon_core::model::Effort;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::frames::{Refusal, sentence};

/// A client's request.
#[derive(Debug, JsonSchema)]
#[schemars(tag = "type", rename_all = "snake_case", rename = "ClientFrame")]
pub(super) enum Request {
    /// Answer this message.
    Message(Message),
    /// Stop a turn, or all turns of the session.
    Stop(Stop),
    /// Decide an approval.
    Approval(ApprovalAnswer),
    /// Replay the frames after a given one.
    Resume(Resume),
    /// Tell of every conversation that changes.
    Watch,
    /// A person has seen this conversation.
    Read(Read),
    /// The page has come into sight, or has gone.
    Visible(Visible),
    /// Answer a turn's message again.
    Retry(Branch),
    /// Replace the text of a turn's message.
    Edit(Branch),
}

/// Whether a page is in sight.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Visible {
    /// It is.
    pub(super) visible: bool,
}

/// A file of a message, as a client sends it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Attached {
    /// One that was uploaded before.
    Upload {
        /// Its id.
        upload: String,
    },
    /// One that comes with the message.
    File(Attachment),
}

/// A message.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) text: String,
    #[serde(default)]
    pub(super) session: Option<String>,
    #[serde(default)]
    pub(super) attachments: Option<Vec<Attached>>,
    #[serde(default)]
    pub(super) effort: Option<Effort>,
    #[serde(default)]
    pub(super) model: Option<String>,
    /// The JSON Schema of the answer. Read by [`schema`], so that a faulty one is answered in words.
    #[serde(default)]
    pub(super) schema: Option<Value>,
}

/// Returns the schema of an answer.
pub(super) fn schema(sent: Option<Value>) -> Result<Option<AnswerSchema>, Refusal> {
    let refused = |why: BadSchema| {
        Refusal::new("bad_schema", format!("The schema of the answer cannot be used: {why}."))
    };
    sent.map(AnswerSchema::parse).transpose().map_err(refused)
}

/// A request to stop.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Stop {
    #[serde(default)]
    pub(super) turn: Option<String>,
    #[serde(default)]
    pub(super) session: Option<String>,
}

/// A decision on an approval.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct ApprovalAnswer {
    pub(super) id: String,
    pub(super) decision: Decision,
    /// How long the approval lasts.
    #[serde(default)]
    pub(super) scope: Scope,
    /// Changed arguments to run the call with.
    #[serde(default)]
    pub(super) input: Option<Value>,
    /// Whether the client denies it for want of a person to ask.
    #[serde(default, rename = "unattended")]
    pub(super) is_unattended: bool,
}

/// Where to resume.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Resume {
    pub(super) session: String,
    pub(super) after: u64,
}

/// What a person has seen.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Read {
    #[serde(default)]
    pub(super) session: Option<String>,
}

/// A retry, or an edit with its text.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct Branch {
    pub(super) turn: String,
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) session: Option<String>,
    /// The effort and the model of the answer. If absent, those of the replaced message are kept.
    #[serde(default)]
    pub(super) effort: Option<Effort>,
    #[serde(default)]
    pub(super) model: Option<String>,
    /// The attachments of an edit. If absent, those of the replaced message are kept.
    #[serde(default)]
    pub(super) attachments: Option<Vec<Attached>>,
}

impl Request {
    /// Parses a client frame.
    pub(super) fn parse(text: &str) -> Result<Self, Refusal> {
        #[derive(Deserialize)]
        struct Head {
            r#type: Option<Value>,
            id: Option<Value>,
        }
        let malformed = || {
            let words = "That frame is not a JSON object. Send one with a `type` in each text frame.";
            Refusal::new("bad_json", words)
        };
        let text = text.trim_start_matches('\u{feff}');
        // Derived deserialisers accept an array for a struct; the protocol does not.
        if !text.trim_start().starts_with('{') {
            return Err(malformed());
        }
        let head: Head = serde_json::from_str(text).map_err(|_| malformed())?;
        let read = match head.r#type.as_ref().and_then(Value::as_str) {
            Some("message") => serde_json::from_str(text).map(Self::Message),
            Some("stop") => serde_json::from_str(text).map(Self::Stop),
            Some("approval") => serde_json::from_str(text).map(Self::Approval),
            Some("resume") => serde_json::from_str(text).map(Self::Resume),
            Some("watch") => Ok(Self::Watch),
            Some("read") => serde_json::from_str(text).map(Self::Read),
            Some("visible") => serde_json::from_str(text).map(Self::Visible),
            Some("retry") => serde_json::from_str(text).map(Self::Retry),
            Some("edit") => serde_json::from_str(text).map(Self::Edit),
            Some(_) => {
                let known = "message, stop, approval, resume, watch, read, visible, retry and edit";
                let words = format!("That type is not known. Known are {known}.");
                return Err(Refusal::new("unknown_type", words));
            }
            None => return Err(Refusal::new("bad_frame", "The frame has no `type`.")),
        };
        read.map_err(|error| {
            // The position is useless to a person, and the offending value may be long.
            let cause = error.to_string();
            let cause = cause.split(" at line ").next().unwrap_or_default();
            Refusal::new("bad_frame", sentence(&cause.chars().take(200).collect::<String>()))
                .about(head.id.as_ref().and_then(Value::as_str))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_being_wrong_has_its_word() {
        let check = |text: &str, expected: &str| {
            let refusal = Request::parse(text).expect_err("refused");
            assert_eq!(refusal.code(), expected, "{text}");
        };
        check("", "bad_json");
        check("hello", "bad_json");
        check("[1]", "bad_json");
        check(r#"["message","a"]"#, "bad_json");
        check("\"message\"", "bad_json");
        check(&"[".repeat(100_000), "bad_json");
        check("{}", "bad_frame");
        check(r#"{"type":7}"#, "bad_frame");
        check(r#"{"type":"dance"}"#, "unknown_type");
        check(r#"{"type":"message"}"#, "bad_frame");
        check(r#"{"type":"message","id":"a"}"#, "bad_frame");
        check(r#"{"type":"message","id":1,"text":"x"}"#, "bad_frame");
        check(r#"{"type":"resume","session":"a","after":-1}"#, "bad_frame");
        check(r#"{"type":"resume","session":"a"}"#, "bad_frame");
        check(r#"{"type":"approval","id":"a","decision":"maybe"}"#, "bad_frame");
        check(r#"{"type":"approval","id":"a","decision":"approve","scope":"ever"}"#, "bad_frame");
        check(r#"{"type":"read","session":7}"#, "bad_frame");
        check(r#"{"type":"retry"}"#, "bad_frame");
        check(r#"{"type":"message","id":"a","text":"x","attachments":[{}]}"#, "bad_frame");
        for effort in [r#""much""#, r#""HIGH""#, r#""""#, "3", "true", "[]"] {
            check(&format!(r#"{{"type":"message","id":"a","text":"x","effort":{effort}}}"#), "bad_frame");
        }
    }

    const FRAMES: [&str; 8] = [
        r#"{"type":"watch"}"#,
        r#"{"type":"read","session":"a"}"#,
        r#"{"type":"message","id":"m1","text":"hello","session":"a","attachments":[{"name":"a.png","mime":"image/png","data":"iVBO"}]}"#,
        r#"{"type":"stop","turn":"0198"}"#,
        r#"{"type":"approval","id":"x","decision":"approve","scope":"session"}"#,
        r#"{"type":"resume","after":17,"session":"a"}"#,
        r#"{"type":"retry","id":"m2","turn":"0198"}"#,
        r#"{"type":"edit","id":"m3","turn":"0198","text":"better","attachments":[]}"#,
    ];

    aethon_core::fuzz_targets! {
        fuzz_frames: FRAMES => |input| {
            if let Err(refusal) = Request::parse(&String::from_utf8_lossy(input)) {
                assert!(["bad_json", "bad_frame", "unknown_type"].contains(&refusal.code()), "{:?}", refusal.code());
            }
        };
    }
}
