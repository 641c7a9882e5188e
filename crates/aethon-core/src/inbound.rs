//! What comes in: a message with all that the turn must know about where it is from and what is to be done with it.
//!
//! It is stored as JSON with its turn, so a field that is added later has a default.

use serde::{Deserialize, Serialize};

use crate::ids::{AgentName, SessionId, TurnId};
use crate::ledger::WorkKind;
use crate::model::Effort;
use crate::person::Person;
use crate::sop::SopName;

/// What came in through any door: a chat message, a webhook, a line in the terminal, a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Inbound {
    /// The session that it belongs to.
    pub session: SessionId,
    /// The agent that is to work on it.
    #[serde(default)]
    pub agent: AgentName,
    /// What kind of work it is; the ledger books its model calls under this.
    #[serde(default)]
    pub kind: WorkKind,
    /// The channel that brought it: `webchat`, `webhook`, `cli`, ...
    pub channel: String,
    /// Who sent it there.
    pub sender: String,
    /// Whom it is for: whose memories may be recalled and whose are made.
    #[serde(default, skip_serializing_if = "Person::is_owner")]
    pub person: Person,
    /// The sender's own name for it, so that a second delivery is known. A turn that has one is taken up again after a
    /// crash; one without is closed as interrupted, because its sender has seen the connection break and asks again.
    pub dedupe: Option<Dedupe>,
    /// What is asked.
    pub intent: Intent,
    /// The text, untouched. Empty for a retry.
    pub text: String,
    /// Pictures and files that came with it.
    #[serde(default)]
    pub attachments: Vec<Attachment>,
    /// How much the model is to think about it, where that differs from the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Whether the text comes from outside and is wrapped in markers before a model sees it.
    #[serde(default)]
    pub untrusted: bool,
    /// Whether the session is used once and may be removed after `session.oneshot_keep_days`.
    #[serde(default)]
    pub oneshot: bool,
    /// Where the reply is pushed besides.
    #[serde(default)]
    pub deliver_to: Option<Destination>,
    /// Who works on it, and by what.
    #[serde(default, skip_serializing_if = "Handling::is_plain")]
    pub handling: Handling,
}

impl Inbound {
    /// A message of a person who is trusted, for the main agent, without extras.
    pub fn say(session: SessionId, text: impl Into<String>) -> Self {
        Self {
            channel: session.channel().to_owned(),
            session,
            agent: AgentName::default(),
            kind: WorkKind::default(),
            sender: "owner".into(),
            person: Person::default(),
            dedupe: None,
            intent: Intent::Say,
            text: text.into(),
            attachments: Vec::new(),
            effort: None,
            untrusted: false,
            oneshot: false,
            deliver_to: None,
            handling: Handling::Model,
        }
    }

    /// A wish to have an earlier turn's message answered again.
    pub fn retry(session: SessionId, turn: TurnId) -> Self {
        Self { intent: Intent::Retry { turn }, ..Self::say(session, "") }
    }

    /// A text that takes the place of an earlier turn's message. The files of that stay, unless others are given.
    pub fn edit(session: SessionId, turn: TurnId, text: impl Into<String>) -> Self {
        Self { intent: Intent::Edit { turn, keeps_attachments: true }, ..Self::say(session, text) }
    }

    /// For this agent.
    #[must_use]
    pub fn for_agent(self, agent: AgentName) -> Self {
        Self { agent, ..self }
    }

    /// As this kind of work.
    #[must_use]
    pub fn of_kind(self, kind: WorkKind) -> Self {
        Self { kind, ..self }
    }

    /// Through this channel.
    #[must_use]
    pub fn via(self, channel: impl Into<String>) -> Self {
        Self { channel: channel.into(), ..self }
    }

    /// From this sender.
    #[must_use]
    pub fn from_sender(self, sender: impl Into<String>) -> Self {
        Self { sender: sender.into(), ..self }
    }

    /// Whether a stranger may have written it: the words of somebody who is not trusted, or what another program sends, also
    /// where `security.mark_untrusted_content` is off.
    pub fn is_from_outside(&self) -> bool {
        self.untrusted || self.channel == "webhook"
    }

    /// For this person.
    #[must_use]
    pub fn for_person(self, person: Person) -> Self {
        Self { person, ..self }
    }

    /// Known by the sender's own id.
    #[must_use]
    pub fn with_dedupe(self, dedupe: impl Into<Option<Dedupe>>) -> Self {
        Self { dedupe: dedupe.into(), ..self }
    }

    /// With these files.
    #[must_use]
    pub fn with_attachments(self, attachments: Vec<Attachment>) -> Self {
        let intent = match self.intent {
            Intent::Edit { turn, .. } => Intent::Edit { turn, keeps_attachments: false },
            other => other,
        };
        Self { attachments, intent, ..self }
    }

    /// With this effort.
    #[must_use]
    pub fn with_effort(self, effort: impl Into<Option<Effort>>) -> Self {
        Self { effort: effort.into(), ..self }
    }

    /// Of a stranger, if `untrusted`: the model sees the text between markers.
    #[must_use]
    pub fn with_untrusted(self, untrusted: bool) -> Self {
        Self { untrusted, ..self }
    }

    /// In a session that is used once, if `oneshot`.
    #[must_use]
    pub fn with_oneshot(self, oneshot: bool) -> Self {
        Self { oneshot, ..self }
    }

    /// Handled like this.
    #[must_use]
    pub fn handled_by(self, handling: Handling) -> Self {
        Self { handling, ..self }
    }

    /// With a place to which the reply is pushed besides.
    #[must_use]
    pub fn delivered_to(self, destination: impl Into<Option<Destination>>) -> Self {
        Self { deliver_to: destination.into(), ..self }
    }
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
    /// Whether somebody who is not trusted made it; a model sees it between markers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
}

impl Attachment {
    /// A file of somebody who is trusted.
    pub fn new(name: impl Into<String>, mime: impl Into<String>, data: impl Into<String>) -> Self {
        Self { name: name.into(), mime: mime.into(), data: data.into(), untrusted: false }
    }
}

/// What is asked of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "intent", rename_all = "snake_case")]
pub enum Intent {
    /// Answer this message.
    Say,
    /// Answer the message of an earlier turn again; that turn's answer and all that came after it leave the transcript.
    Retry {
        /// The turn to answer again.
        turn: TurnId,
    },
    /// Put this text in the place of an earlier turn's message, and go on from there.
    Edit {
        /// The turn whose message is replaced.
        turn: TurnId,
        /// Whether the files of that message stay.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        keeps_attachments: bool,
    },
}

/// Who works on a message, and by what.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Handling {
    /// A model, as it sees fit.
    #[default]
    Model,
    /// A model, by a SOP to which the text is the input.
    Sop {
        /// The SOP.
        name: SopName,
        /// The run that the turn belongs to, once there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<String>,
    },
    /// The program itself, with this answer. No model is asked.
    Program {
        /// The answer, Markdown.
        answer: String,
    },
}

impl Handling {
    /// By this SOP.
    pub fn sop(name: SopName) -> Self {
        Self::Sop { name, run: None }
    }

    fn is_plain(&self) -> bool {
        *self == Self::Model
    }
}

/// Where a reply goes besides back to the asker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Destination {
    /// The channel that delivers it.
    pub channel: String,
    /// Who gets it there; the channel's own default when absent.
    pub recipient: Option<String>,
}

/// How a second delivery of the same message is recognised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dedupe {
    /// The sender's id; unique within the channel (the channel puts its session or path in front where it must).
    pub id: String,
    /// What a second delivery must equal (a hash of the raw body), where the channel checks that.
    pub fingerprint: Option<String>,
    /// For how many seconds the id is remembered; `None` for as long as the turn is kept.
    pub valid_for: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stored_before_there_were_agents_is_for_the_main_one() {
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
