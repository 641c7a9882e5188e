//! `POST /api/sessions/{id}/fork`: a new conversation with the history of another one up to a message.

use std::ops::ControlFlow;

use aethon_core::event::{Event, SessionChange};
use aethon_core::ids::{MessageId, SessionId, TurnId, unique};
use aethon_core::import::NewSession;
use aethon_core::message::{Message, Role};
use aethon_core::session::{SessionPatch, SessionSummary, read_back, title_of};
use aethon_core::version::Expected;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sessions::{no_such_session, session_id};
use crate::deps::{Activity, Chat, Knowledge};
use crate::error::Problem;
use crate::request::Request;
use crate::response::{self, HandlerResult};

/// How many messages are read at a time.
const PAGE: usize = 500;

/// The most messages of a fork. They are copied in one step.
const MAX_MESSAGES: usize = 20_000;

/// The most characters of the title that is kept before the mark of a fork.
const MAX_TITLE: usize = 180;

/// The new conversation.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionForked")]
pub(super) struct Forked {
    session_id: SessionId,
}

/// Where a fork ends: a message, or the end of a turn.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "ForkRequest")]
pub(super) struct Wanted {
    /// The last message.
    #[schemars(regex(pattern = "^\\s*([0-9]+)?$"))]
    message_id: Option<String>,
    /// The turn whose last message is the last one.
    turn: Option<String>,
}

/// The last message of a fork.
enum Last {
    Message(MessageId),
    /// The last message of this turn.
    Turn(TurnId),
}

impl Last {
    fn is_met_by(&self, message: &Message) -> bool {
        match self {
            Self::Message(id) => message.id == *id,
            Self::Turn(turn) => message.turn.as_ref() == Some(turn),
        }
    }
}

/// `POST /api/sessions/{id}/fork {message_id | turn}`: with the messages up to this one, or to the end of this turn.
pub(super) async fn fork(
    (chat, knowledge, activity): (Chat, Knowledge, Activity),
    mut request: Request,
) -> HandlerResult {
    let id = session_id(&request)?;
    let last = last(request.sent().await?)?;
    let original = chat.transcripts.session(&id).await?.ok_or_else(no_such_session)?;
    let messages = messages_up_to(&chat, &id, &last).await?;
    let archive = knowledge.archive.as_ref().ok_or_else(|| {
        Problem::new(StatusCode::CONFLICT, "cannot_fork", "this program stores no conversations")
    })?;
    let fork = SessionId::of("webchat", &format!("fork-{}", unique()))
        .map_err(|_| Problem::invalid("id", "cannot be forked"))?;
    let title = title(&chat, &original, &messages).await?;
    let title: String = title.chars().take(MAX_TITLE).collect();
    let new = NewSession {
        id: fork.clone(),
        title: if title.is_empty() { title } else { numbered(&title) },
        sender: "webchat".to_owned(),
        messages,
    };
    if !archive.sessions.import(new).await? {
        return Err(Problem::new(
            StatusCode::CONFLICT,
            "cannot_fork",
            "the new conversation's name is taken; try again",
        ));
    }
    keep_settings(&chat, &fork, &original).await?;
    tracing::info!(session = %id, %fork, "a conversation was forked");
    activity.bus.publish(|| Event::Session { session: fork.clone(), change: SessionChange::Created });
    response::created(&Forked { session_id: fork })
}

fn last(wanted: Wanted) -> Result<Last, Problem> {
    let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    match (given(wanted.message_id), given(wanted.turn)) {
        (Some(message), None) => match message.parse() {
            Ok(id) => Ok(Last::Message(MessageId(id))),
            Err(_) => Err(Problem::invalid("message_id", "must be the id of a message")),
        },
        (None, Some(turn)) => Ok(Last::Turn(TurnId::existing(&turn))),
        (None, None) => Err(Problem::invalid("message_id", "is required, or turn instead of it")),
        (Some(_), Some(_)) => Err(Problem::invalid("turn", "cannot be combined with message_id")),
    }
}

/// Reads the messages from the first one on, oldest first.
async fn messages_up_to(chat: &Chat, id: &SessionId, last: &Last) -> Result<Vec<Message>, Problem> {
    let mut pages: Vec<Vec<Message>> = Vec::new();
    let mut is_met = false;
    let mut count = 0;
    let visit = |mut page: Vec<Message>| {
        if !is_met {
            let end = page.iter().rposition(|message| last.is_met_by(message));
            page.truncate(end.map_or(0, |end| end + 1));
            is_met = end.is_some();
        }
        count += page.len();
        if count > MAX_MESSAGES {
            return ControlFlow::Break(());
        }
        pages.push(page);
        ControlFlow::Continue(())
    };
    if read_back(&*chat.transcripts, id, PAGE, visit).await?.is_some() {
        let sentence = format!("a fork has at most {MAX_MESSAGES} messages; choose an earlier one");
        return Err(Problem::new(StatusCode::CONFLICT, "too_long", sentence));
    }
    if !is_met {
        return Err(Problem::new(
            StatusCode::NOT_FOUND,
            "no_such_message",
            "the conversation has no such message any more",
        ));
    }
    Ok(pages.into_iter().rev().flatten().collect())
}

/// Returns the title of the original, unless it comes from another version of the first message than the one that the fork
/// contains: then the fork is named after its own.
async fn title(chat: &Chat, original: &SessionSummary, messages: &[Message]) -> Result<String, Problem> {
    let id = &original.session_id;
    let kept = original.title.clone();
    let Some(first) = messages.first().filter(|first| title_of(first) != kept) else { return Ok(kept) };
    let all = chat.history.versions(id).await?;
    let Some(family) = all.into_iter().find(|family| first.turn.as_ref() == Some(&family.turn)) else {
        return Ok(kept);
    };
    let names_it = |message: &Message| {
        let is_version = message.turn.as_ref().is_some_and(|turn| family.turns.contains(turn));
        is_version && message.role == Role::User && title_of(message) == kept
    };
    let mut after = None;
    loop {
        let page = chat.history.aside(id, after, PAGE).await?;
        if page.iter().any(|aside| names_it(&aside.message)) {
            return Ok(title_of(first));
        }
        let Some(last) = page.last() else { return Ok(kept) };
        after = Some(last.message.id);
    }
}

/// Marks the title of a fork by a number, because a title is read in any language: "Plans (2)", and "Plans (3)" for a fork of that.
fn numbered(title: &str) -> String {
    let mark = title.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
    // A number of three digits or more is rather a year, or an amount.
    let counted = mark.and_then(|(name, number)| Some((name, number.parse::<u8>().ok()?)));
    match counted {
        Some((name, number @ 2..=98)) => format!("{name} ({})", number + 1),
        _ => format!("{title} (2)"),
    }
}

/// Gives the fork the model, the effort and the instructions of the original.
async fn keep_settings(chat: &Chat, fork: &SessionId, original: &SessionSummary) -> Result<(), Problem> {
    let turns = &original.settings.turns;
    let mut patch = SessionPatch::default();
    patch.model = turns.model.clone().map(Some);
    patch.effort = turns.effort.map(Some);
    patch.instructions = turns.instructions.as_deref().map(|text| Some(text.to_owned()));
    patch.folder = original.settings.folder.clone().map(Some);
    if !patch.is_empty() {
        chat.transcripts.patch(fork, &patch, Expected::Anything).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn fork_is_numbered_and_other_marks_of_a_title_stay() {
        let check = |title: &str, expected: &str| assert_eq!(numbered(title), expected);
        check("Plans", "Plans (2)");
        check("Plans (2)", "Plans (3)");
        check("Plans (98)", "Plans (99)");
        check("Plans (99)", "Plans (99) (2)");
        check("Budget (2026)", "Budget (2026) (2)");
        check("Plans (draft)", "Plans (draft) (2)");
        check("f(2)", "f(2) (2)");
    }
}
