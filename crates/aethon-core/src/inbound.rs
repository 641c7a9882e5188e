//! An inbound message, with everything a turn must know about its origin and how to handle it.
//!
//! It is stored as JSON with its turn, so every field added later needs a default.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer_schema::AnswerSchema;
use crate::effort::Effort;
use crate::ids::{AgentName, SessionId, TurnId};
use crate::ledger::WorkKind;
use crate::person::Person;
use crate::sop::SopName;
use crate::trust::Trust;
use crate::words::setters;

/// A message from any source: a chat message, a webhook, a line in the terminal, a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Inbound {
    /// The session that it belongs to.
    pub session: SessionId,
    /// The agent that is to work on it.
    #[serde(default)]
    pub agent: AgentName,
    /// The kind of work, under which the ledger books its model calls.
    #[serde(default)]
    pub kind: WorkKind,
    /// The channel that brought it: `webchat`, `webhook`, `cli`, ...
    pub channel: String,
    /// Its sender there.
    pub sender: String,
    /// Whose wish it is.
    #[serde(flatten)]
    pub behalf: Behalf,
    /// The sender's own id for it, by which duplicate deliveries are recognised. A turn with such an id is resumed
    /// after a crash; one without is closed as interrupted, because its sender saw the connection break and will ask
    /// again.
    pub dedupe: Option<Dedupe>,
    /// The kind of request.
    pub intent: Intent,
    /// The unmodified text; empty for a retry.
    pub text: String,
    /// Pictures and files that came with it.
    #[serde(default)]
    pub attachments: Vec<Attachment>,
    /// What the sender wants of the answer.
    #[serde(flatten)]
    pub wishes: Wishes,
    /// Whether the text is untrusted and put between markers before a model sees it.
    #[serde(default)]
    pub untrusted: bool,
    /// Whether the session is used only once and may be removed after `session.oneshot_keep_days`.
    #[serde(default)]
    pub oneshot: bool,
    /// Where the reply is also delivered.
    #[serde(default)]
    pub deliver_to: Option<Destination>,
    /// How it is handled.
    #[serde(default, skip_serializing_if = "Handling::is_plain")]
    pub handling: Handling,
}

impl Inbound {
    /// A message from a trusted person to the main agent, without extras.
    pub fn say(session: SessionId, text: impl Into<String>) -> Self {
        Self {
            channel: session.channel().to_owned(),
            session,
            agent: AgentName::default(),
            kind: WorkKind::default(),
            sender: "owner".into(),
            behalf: Behalf::default(),
            dedupe: None,
            intent: Intent::Say,
            text: text.into(),
            attachments: Vec::new(),
            wishes: Wishes::default(),
            untrusted: false,
            oneshot: false,
            deliver_to: None,
            handling: Handling::Model,
        }
    }

    /// A request to answer an earlier turn's message again.
    pub fn retry(session: SessionId, turn: TurnId) -> Self {
        Self { intent: Intent::Retry { turn }, ..Self::say(session, "") }
    }

    /// A text that replaces an earlier turn's message. That message's files stay unless new ones are given.
    pub fn edit(session: SessionId, turn: TurnId, text: impl Into<String>) -> Self {
        Self { intent: Intent::Edit { turn, keeps_attachments: true }, ..Self::say(session, text) }
    }

    setters! {
        /// Sets the agent.
        pub fn for_agent(agent: AgentName);
        /// Sets the kind of work.
        pub fn of_kind(kind: WorkKind);
    }

    /// Sets the channel.
    #[must_use]
    pub fn via(self, channel: impl Into<String>) -> Self {
        Self { channel: channel.into(), ..self }
    }

    /// Sets the sender.
    #[must_use]
    pub fn from_sender(self, sender: impl Into<String>) -> Self {
        Self { sender: sender.into(), ..self }
    }

    /// Returns how many bytes of text and files it carries.
    pub fn content_bytes(&self) -> usize {
        let files = self.attachments.iter().map(|file| file.data.len());
        self.text.len().saturating_add(files.sum())
    }

    /// Returns whether a stranger may have written it or have caused it: the words of a person who is not trusted, what
    /// another program sends, or what such a text asked for. Independent of `security.mark_untrusted_content`.
    pub fn is_from_outside(&self) -> bool {
        self.untrusted || self.behalf.outside || self.channel == "webhook"
    }

    /// Returns how far its turn may go.
    pub fn trust(&self) -> Trust {
        Trust::of(&self.behalf.person, self.is_from_outside())
    }

    /// Sets the person it is for.
    #[must_use]
    pub fn for_person(self, person: Person) -> Self {
        Self { behalf: Behalf { person, ..self.behalf }, ..self }
    }

    /// Sets the sender's own id.
    #[must_use]
    pub fn with_dedupe(self, dedupe: impl Into<Option<Dedupe>>) -> Self {
        Self { dedupe: dedupe.into(), ..self }
    }

    /// Attaches files.
    #[must_use]
    pub fn with_attachments(self, attachments: Vec<Attachment>) -> Self {
        let intent = match self.intent {
            Intent::Edit { turn, .. } => Intent::Edit { turn, keeps_attachments: false },
            other => other,
        };
        Self { attachments, intent, ..self }
    }

    /// Sets the effort.
    #[must_use]
    pub fn with_effort(self, effort: impl Into<Option<Effort>>) -> Self {
        Self { wishes: Wishes { effort: effort.into(), ..self.wishes }, ..self }
    }

    /// Sets the model.
    #[must_use]
    pub fn with_model(self, model: impl Into<Option<String>>) -> Self {
        Self { wishes: Wishes { model: model.into(), ..self.wishes }, ..self }
    }

    /// Sets the schema that the answer has to fit.
    #[must_use]
    pub fn with_schema(self, schema: impl Into<Option<AnswerSchema>>) -> Self {
        Self { wishes: Wishes { schema: schema.into().map(Box::new), ..self.wishes }, ..self }
    }

    /// Sets whether it is untrusted; if so, models see the text between markers.
    #[must_use]
    pub fn with_untrusted(self, untrusted: bool) -> Self {
        Self { untrusted, ..self }
    }

    /// Sets whether a stranger is behind it although its text needs no markers.
    #[must_use]
    pub fn with_outside(self, outside: bool) -> Self {
        Self { behalf: Behalf { outside, ..self.behalf }, ..self }
    }

    setters! {
        /// Sets whether the session is used only once.
        pub fn with_oneshot(oneshot: bool);
        /// Sets how it is handled.
        pub fn handled_by(handling: Handling);
    }

    /// Sets where the reply is also delivered.
    #[must_use]
    pub fn delivered_to(self, destination: impl Into<Option<Destination>>) -> Self {
        Self { deliver_to: destination.into(), ..self }
    }
}

/// Whose wish a message is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Behalf {
    /// The person it is for: whose memories may be recalled, and for whom new ones are made.
    #[serde(default, skip_serializing_if = "Person::is_owner")]
    pub person: Person,
    /// Whether a stranger is behind it although the text needs no markers, because the program or a model wrote it: the
    /// task of a specialist or of work that a stranger's text asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
}

/// What the sender of a message wants of the answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Wishes {
    /// How much the model should think, if that differs from the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// The model that is to answer, if that differs from the conversation's: a name under `[model.named]`, or an id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The JSON Schema that the answer has to fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Box<AnswerSchema>>,
}

/// A file that comes with a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its name.
    pub name: String,
    /// Its media type.
    pub mime: String,
    /// Its bytes in standard base64.
    pub data: String,
    /// Whether it is untrusted; if so, models see it between markers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
    /// Whether the program itself wrote it, such as the text of a SOP. Anything else may have been written by anybody,
    /// the code that attaches it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
}

/// The media type of words that a message answers.
const QUOTED: &str = "text/x-quoted";

impl Attachment {
    /// A file from a trusted person.
    pub fn new(name: impl Into<String>, mime: impl Into<String>, data: impl Into<String>) -> Self {
        Self { name: name.into(), mime: mime.into(), data: data.into(), untrusted: false, own: false }
    }

    /// Another person's words that a message answers, as text in standard base64. A model sees them between markers, after
    /// the text of the message.
    pub fn quoted(data: impl Into<String>) -> Self {
        Self { untrusted: true, ..Self::new("quoted words", QUOTED, data) }
    }

    /// Returns whether it is the words that the message answers.
    pub fn is_quoted(&self) -> bool {
        self.mime == QUOTED
    }

    /// Declares that the program itself wrote it.
    #[must_use]
    pub fn own(self) -> Self {
        Self { own: true, ..self }
    }
}

/// The request of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "intent", rename_all = "snake_case")]
pub enum Intent {
    /// Answer this message.
    Say,
    /// Answer the message of an earlier turn again. That turn's answer and everything after it leave the transcript.
    Retry {
        /// The turn to answer again.
        turn: TurnId,
    },
    /// Replace an earlier turn's message by this text, and continue from there.
    Edit {
        /// The turn whose message is replaced.
        turn: TurnId,
        /// Whether that message's files stay.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        keeps_attachments: bool,
    },
}

/// How a message is handled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Handling {
    /// By a model, freely.
    #[default]
    Model,
    /// By a model following a SOP, with the text as its input.
    Sop {
        /// The SOP.
        name: SopName,
        /// The run that the turn belongs to, once it exists.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<String>,
    },
    /// By the program itself, with this answer and without a model.
    Program {
        /// The answer, Markdown.
        answer: String,
    },
}

impl Handling {
    /// Handling by this SOP.
    pub fn sop(name: SopName) -> Self {
        Self::Sop { name, run: None }
    }

    fn is_plain(&self) -> bool {
        *self == Self::Model
    }
}

/// Where a reply is also delivered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Destination {
    /// The channel that delivers it.
    pub channel: String,
    /// Its recipient there; the channel's own default if absent.
    pub recipient: Option<String>,
}

/// How a duplicate delivery of the same message is recognised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dedupe {
    /// The sender's id, unique within the channel (which prefixes its session or path if necessary).
    pub id: String,
    /// A value that a duplicate must match (a hash of the raw body), if the channel checks that.
    pub fingerprint: Option<String>,
    /// How many seconds the id is remembered; `None` for as long as the turn is kept.
    pub valid_for: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_stored_without_an_agent_go_to_the_main_agent() {
        let stored = r#"{"session":"webchat:a","channel":"webchat","sender":"owner","dedupe":null,
            "intent":{"intent":"say"},"text":"hi"}"#;
        let inbound: Inbound = serde_json::from_str(stored).unwrap();
        assert_eq!(inbound, Inbound::say(SessionId::of("webchat", "a").unwrap(), "hi"));
        assert!(inbound.agent.is_main() && inbound.kind == WorkKind::Turn);
    }

    #[test]
    fn an_agent_and_a_kind_of_work_are_stored_with_it() {
        let session = SessionId::of("webchat", "a").unwrap();
        let agent = AgentName::parse("researcher").unwrap();
        let inbound = Inbound::say(session, "look it up").for_agent(agent).of_kind(WorkKind::Delegation);
        let stored = serde_json::to_string(&inbound).unwrap();
        assert_eq!(serde_json::from_str::<Inbound>(&stored).unwrap(), inbound);
        for wrong in ["", "Main", "two words", &"x".repeat(65)] {
            assert!(AgentName::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
