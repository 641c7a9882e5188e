//! What instances tell each other about conversations.

use aethon_core::approval::{Answer, AnswerError, ApprovalRequest, Grant, Resolution};
use aethon_core::event::{Event, SessionChange};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::TurnEnd;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The topic of news.
pub(super) const NEWS: &str = "news";
/// The topic of a request for the state of an instance.
pub(super) const HELLO: &str = "hello";
/// The topic of that state.
pub(super) const STATE: &str = "state";
/// The topic of a grant.
pub(super) const GRANT: &str = "grant";
/// The topic of a page that is in sight, or none any more.
pub(super) const IN_SIGHT: &str = "in_sight";
/// The topic of a configuration that was changed.
pub(super) const CONFIGURED: &str = "configured";
/// The topic of a question.
pub(super) const ASK: &str = "ask";
/// The topic of its answer.
pub(super) const ANSWER: &str = "answer";

/// Something that happened at an instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum News {
    Session { session: SessionId, change: SessionChange },
    TurnStarted { session: SessionId, turn: TurnId },
    TurnEnded { session: SessionId, turn: TurnId, end: TurnEnd },
    ApprovalOpened(Box<ApprovalRequest>),
    ApprovalDone { id: String, resolution: Resolution, edited: Option<Value> },
}

/// What runs and waits at an instance.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) turns: Vec<(SessionId, TurnId)>,
    pub(super) approvals: Vec<ApprovalRequest>,
    #[serde(default)]
    pub(super) grants: Vec<Grant>,
}

/// A question to other instances.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Question {
    /// Its number, which the answer repeats.
    pub(super) id: u64,
    pub(super) what: Asked,
}

/// What an instance asks another to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Asked {
    /// To stop a turn, or all of a session.
    Stop { session: SessionId, turn: Option<TurnId> },
    /// To stop all turns of a session, and to answer when they are over.
    Quiet { session: SessionId },
    /// To take the answer to a request for approval.
    Answer { id: String, answer: Answer },
    /// To forget a grant.
    TakeBack { id: String },
    /// To name itself and the commands that it has in the background of a session.
    Commands { session: SessionId },
}

/// The answer of an instance.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) id: u64,
    pub(super) what: Done,
}

/// What it has done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Done {
    /// It has stopped so many turns.
    Stopped(usize),
    /// Nothing runs in the session, or something still does.
    Quiet(bool),
    /// The answer counts, or why it does not.
    Answered(Result<(), AnswerError>),
    /// The grant does not count any more.
    TakenBack,
    /// The numbers of the commands.
    Commands { instance: String, numbers: Vec<u32> },
}

impl News {
    /// Returns the news in an event, if others need it.
    pub(super) fn of(event: Event) -> Option<Self> {
        match event {
            // It lives at one instance.
            Event::Session { session, .. }
            | Event::TurnStarted { session, .. }
            | Event::TurnEnded { session, .. }
                if session.is_temporary() =>
            {
                None
            }
            Event::ApprovalOpened(request) if request.session_id.is_temporary() => None,
            Event::Session { session, change } => Some(Self::Session { session, change }),
            Event::TurnStarted { session, turn } => Some(Self::TurnStarted { session, turn }),
            Event::TurnEnded { session, turn, end } => Some(Self::TurnEnded { session, turn, end }),
            Event::ApprovalOpened(request) => Some(Self::ApprovalOpened(Box::new((*request).clone()))),
            Event::ApprovalDone { id, resolution, edited } => {
                Some(Self::ApprovalDone { id, resolution, edited })
            }
            _ => None,
        }
    }

    /// Returns the event.
    pub(super) fn event(self) -> Event {
        match self {
            Self::Session { session, change } => Event::Session { session, change },
            Self::TurnStarted { session, turn } => Event::TurnStarted { session, turn },
            Self::TurnEnded { session, turn, end } => Event::TurnEnded { session, turn, end },
            Self::ApprovalOpened(request) => Event::ApprovalOpened(request.into()),
            Self::ApprovalDone { id, resolution, edited } => Event::ApprovalDone { id, resolution, edited },
        }
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::approval::{Decision, ResolutionReason};

    use super::*;

    #[test]
    fn other_instances_hear_nothing_of_temporary_sessions() {
        let session = SessionId::temporary("webchat", None).unwrap();
        let turn = TurnId::existing("t");
        for event in [
            Event::Session { session: session.clone(), change: SessionChange::Deleted },
            Event::TurnStarted { session: session.clone(), turn: turn.clone() },
            Event::TurnEnded { session, turn, end: TurnEnd::End },
        ] {
            assert_eq!(News::of(event), None);
        }
    }

    #[test]
    fn news_and_questions_are_read_as_they_were_written() {
        let session = SessionId::parse("webchat:a").unwrap();
        let turn = TurnId::existing("t");
        let resolution = Resolution { decision: Decision::Deny, reason: ResolutionReason::Timeout };
        let edited = Some(serde_json::json!({"command": "ls"}));
        for news in [
            News::Session { session: session.clone(), change: SessionChange::Deleted },
            News::TurnStarted { session: session.clone(), turn: turn.clone() },
            News::TurnEnded { session: session.clone(), turn: turn.clone(), end: TurnEnd::Stopped },
            News::ApprovalDone { id: "x".into(), resolution, edited },
        ] {
            let text = serde_json::to_string(&news).unwrap();
            assert_eq!(serde_json::from_str::<News>(&text).unwrap(), news, "{text}");
            assert_eq!(News::of(news.clone().event()), Some(news));
        }
        let refused = Done::Answered(Err(AnswerError::Refused("it is blocked".into())));
        let commands = Done::Commands { instance: "host:/srv/one".into(), numbers: vec![1, 3] };
        let all = [
            Done::Stopped(2),
            Done::Quiet(false),
            Done::Answered(Ok(())),
            Done::TakenBack,
            refused,
            commands,
        ];
        for done in all {
            let text = serde_json::to_string(&Told { id: 7, what: done.clone() }).unwrap();
            assert_eq!(serde_json::from_str::<Told>(&text).unwrap().what, done, "{text}");
        }
        let request = serde_json::json!({
            "id": "x", "tool": "shell", "input": {"command": "ls"}, "summary": "run: ls", "session_id": "webchat:a",
            "turn": "t", "created_at": "2026-11-28T10:00:00Z", "expires_at": "2026-11-28T10:02:00Z",
        });
        let read: ApprovalRequest = serde_json::from_value(request).unwrap();
        let text = serde_json::to_string(&News::ApprovalOpened(Box::new(read.clone()))).unwrap();
        assert_eq!(serde_json::from_str::<News>(&text).unwrap(), News::ApprovalOpened(Box::new(read)));
    }
}
