//! Threads: which of them a mention of us began, the message that is answered in one, and the messages before it.
//!
//! It is stored for each thread how far the conversation knows it, and whether a mention began it, so that its later
//! messages are for us without a mention, also after a restart.

use aethon_core::error::Result;
use jiff::SignedDuration;
use serde_json::Value;

use super::content;
use super::inbound;
use super::platform::Slack;
use super::stream::is_later;
use crate::talk::{Arrival, Author, Fault, Intake, Original, newest_lines};

/// How long a thread is remembered after its last message for us.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Prefix of the record of a thread that a mention began.
const BEGUN: &str = "begun ";
/// How many messages a call returns, and how many calls are made.
const PAGE: &str = "200";
const MAX_PAGES: usize = 5;

/// The facts about a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Thread {
    /// The name of its record.
    name: String,
    /// Whether a mention of us began it.
    is_begun: bool,
    /// The time of the last message in it that the conversation has.
    last: String,
}

impl Thread {
    /// Stores it, after a message was taken in.
    pub(super) async fn store(&self, intake: &Intake) -> Result<()> {
        let Self { name, is_begun, last } = self;
        let value = format!("{}{last}", if *is_begun { BEGUN } else { "" });
        intake.records().put("slack", name, &value, Some(intake.now() + REMEMBERED)).await
    }
}

/// Adds to an arrival what its thread says. Returns it with the facts to store about the thread.
pub(super) async fn completed(
    slack: &Slack,
    intake: &Intake,
    (event, us): (&Value, &str),
    mut arrival: Arrival,
) -> Result<(Arrival, Option<Thread>)> {
    let (Some(channel), Some(ts)) = (event["channel"].as_str(), event["ts"].as_str()) else {
        return Ok((arrival, None));
    };
    // An edit changes a message that was taken in before, with its thread.
    if arrival.replaces.is_some() || !intake.may_write(&arrival.sender).await? {
        return Ok((arrival, None));
    }
    let thread = |root: &str, is_begun| Thread {
        name: format!("thread:{channel}:{root}"),
        is_begun,
        last: ts.to_owned(),
    };
    let Some(root) = inbound::root_of(event) else {
        let begins = !arrival.is_private && arrival.is_addressed;
        return Ok((arrival, begins.then(|| thread(ts, true))));
    };
    let stored = intake.records().get("slack", &thread(root, false).name).await?;
    let is_begun = stored.as_deref().is_some_and(|stored| stored.starts_with(BEGUN));
    let last = stored.as_deref().map(|stored| stored.strip_prefix(BEGUN).unwrap_or(stored));
    let is_named = inbound::is_named(event, us);
    arrival.is_addressed |= is_begun && !inbound::begins_with_other(event, us);
    if !arrival.is_addressed {
        return Ok((arrival, None));
    }
    let is_command = arrival.text.starts_with(['/', '!']);
    let is_unknown = last.is_none() || (is_named && !arrival.is_private);
    if is_unknown && !is_command && last.is_none_or(|last| is_later(ts, last)) {
        let last = last.unwrap_or_default();
        add_before(slack, &Stretch { us, channel, root, last, ts }, &mut arrival).await;
    }
    Ok((arrival, Some(thread(root, is_begun))))
}

/// The part of a thread that a conversation lacks.
struct Stretch<'a> {
    us: &'a str,
    channel: &'a str,
    /// The first message of the thread.
    root: &'a str,
    /// The last message that the conversation has; empty for none.
    last: &'a str,
    /// The message before which it ends.
    ts: &'a str,
}

/// Adds the messages of a thread that the conversation lacks: the beginning of the thread as the answered message, and the
/// others as earlier ones.
async fn add_before(slack: &Slack, stretch: &Stretch<'_>, arrival: &mut Arrival) {
    let Stretch { us, channel, root, last, ts } = *stretch;
    let messages = match replies(slack, (channel, root, ts)).await {
        Ok(messages) => messages,
        Err(fault) => {
            let error = fault.message();
            tracing::debug!(
                channel = "slack",
                error,
                "the earlier messages of a thread could not be looked up"
            );
            return;
        }
    };
    let time = |message: &Value| message["ts"].as_str().unwrap_or_default().to_owned();
    let new: Vec<&Value> = messages
        .iter()
        .filter(|message| is_later(&time(message), last) && is_later(ts, &time(message)))
        .collect();
    let is_ours = |message: &&Value| message["user"] == us;
    if let Some(first) = new.iter().find(|message| message["ts"] == root) {
        let author = match first["user"].as_str() {
            Some(user) if user == us => Author::Us,
            Some(user) if user == arrival.sender.id && first["bot_id"].is_null() => Author::Sender,
            _ => Author::Other,
        };
        arrival.answering(Original { author, text: said(first), files: content::files(first) });
    }
    if arrival.is_private {
        // The conversation has the rest.
        return;
    }
    let lines =
        new.into_iter().filter(|message| !is_ours(message) && message["ts"] != root).filter_map(|message| {
            let who = message["user"].as_str().or(message["username"].as_str()).unwrap_or("a program");
            let words = said(message);
            (!words.is_empty()).then(|| format!("{who}: {words}"))
        });
    arrival.earlier = newest_lines(lines);
}

/// Returns the words of a message, and the names of its files.
fn said(message: &Value) -> String {
    let mut words = content::words(message, message["text"].as_str().unwrap_or_default());
    for attachment in
        message["attachments"].as_array().into_iter().flatten().filter(|one| content::is_shared(one))
    {
        words = format!("{words}\n{}", content::shared_words(attachment));
    }
    words.trim().to_owned()
}

/// Returns the messages of a thread up to this one, oldest first.
async fn replies(
    slack: &Slack,
    (channel, root, ts): (&str, &str, &str),
) -> std::result::Result<Vec<Value>, Fault> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    for _ in 0..MAX_PAGES {
        let mut params = vec![
            ("channel", channel),
            ("ts", root),
            ("latest", ts),
            ("limit", PAGE),
            ("include_all_metadata", "true"),
        ];
        if !cursor.is_empty() {
            params.push(("cursor", &cursor));
        }
        let told = slack.api().get("conversations.replies", &params).await.map_err(Fault::from)?;
        all.extend(told["messages"].as_array().cloned().unwrap_or_default());
        cursor = told["response_metadata"]["next_cursor"].as_str().unwrap_or_default().to_owned();
        if cursor.is_empty() {
            break;
        }
    }
    Ok(all)
}
