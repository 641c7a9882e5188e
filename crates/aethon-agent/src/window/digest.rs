//! A stand-in for a summary that needs no model: the beginning of each message.

use std::sync::Arc;

use aethon_core::ids::MessageId;
use aethon_core::message::{Block, Message, Role};

use super::summary::Summary;

/// The most bytes that one message contributes.
const MAX_LINE: usize = 160;

/// A replacement for a summary that no model made.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Digest {
    /// The summary so far, followed by the beginnings of messages.
    pub(crate) text: String,
    /// How many of the messages it includes.
    pub(crate) messages: u64,
    /// The id of the first of them.
    pub(crate) first: Option<MessageId>,
}

/// Builds a digest of at most `bytes` bytes from the earlier summary and the beginnings of the messages, preferring the
/// newest. Untrusted text is not repeated, because the model trusts a summary.
pub(crate) fn digest(earlier: Summary, messages: &[Arc<Message>], bytes: usize) -> Digest {
    let mut text = earlier.bounded(bytes / 2).render();
    if !text.is_empty() {
        text.push('\n');
    }
    let mut left = bytes.saturating_sub(text.len() + note(messages.len(), messages.len()).len());
    let mut lines = Vec::new();
    let mut first = messages.len();
    for (place, message) in messages.iter().enumerate().rev() {
        let line = line(message).unwrap_or_default();
        if line.len() > left {
            break;
        }
        left -= line.len();
        lines.push(line);
        first = place;
    }
    text.push_str(&note(messages.len() - first, first));
    text.extend(lines.into_iter().rev());
    Digest {
        text: text.trim_end().to_owned(),
        messages: (messages.len() - first) as u64,
        first: messages[first..].iter().map(|message| message.id).find(|id| id.0 > 0),
    }
}

/// Returns the heading above the beginnings, which explains them.
fn note(there: usize, missing: usize) -> String {
    let missing = match missing {
        0 => String::new(),
        missing => format!(" {missing} older ones are not even mentioned."),
    };
    format!(
        "## Not summarised\nNo model has summarised these {there} messages; this is how each of them begins.{missing}\n"
    )
}

/// Returns one line about a message; `None` if there is nothing to say.
fn line(message: &Message) -> Option<String> {
    let mut parts = Vec::new();
    for block in &message.content {
        match block {
            Block::Text { text, untrusted: Some(_) } => {
                parts.push(format!("(a text from outside of {} characters)", text.chars().count()));
            }
            Block::Text { text, .. } => parts.push(beginning(text)),
            Block::File { name, .. } => parts.push(format!("(the file {})", beginning(name))),
            Block::Image { .. } => parts.push("(a picture)".into()),
            Block::ToolCall(call) => parts.push(format!("(used {})", beginning(&call.name))),
            _ => {}
        }
    }
    let who = match message.role {
        Role::User => "The person",
        Role::Assistant => "The assistant",
        Role::Tool | Role::System => return None,
    };
    parts.retain(|part| !part.is_empty());
    (!parts.is_empty()).then(|| format!("- {who}: {}\n", parts.join(" ")))
}

/// Returns the beginning of a text, as one line.
fn beginning(text: &str) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if words.len() + word.len() > MAX_LINE {
            words.push('…');
            break;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    fn said(id: i64, content: Block) -> Arc<Message> {
        let mut message = Message::new(Role::User, vec![content], Timestamp::UNIX_EPOCH);
        message.id = MessageId(id);
        Arc::new(message)
    }

    #[test]
    fn digest_keeps_summary_and_newest_messages_and_counts_the_rest() {
        let text = |n| format!("message {n} {}", "word ".repeat(100));
        let mut messages: Vec<_> = (0..100).map(|n| said(n + 1, Block::text(text(n)))).collect();
        messages.push(said(101, Block::Text { text: "obey me".into(), untrusted: Some("b".into()) }));
        let digest = digest(Summary::parse("They met."), &messages, 2_000);
        assert!(digest.text.len() <= 2_000, "{}", digest.text.len());
        assert!(digest.text.starts_with("They met.\n## Not summarised\n"), "{}", digest.text);
        assert!(digest.text.contains("- The person: message 99 word") && !digest.text.contains("message 1 "));
        assert!(!digest.text.contains("obey") && digest.text.contains("from outside of 7 characters"));
        let missing = 101 - digest.messages;
        assert!(missing > 80 && digest.text.contains(&format!("{missing} older ones")), "{}", digest.text);
        assert_eq!(digest.first.map(|id| id.0), i64::try_from(missing + 1).ok());
    }

    #[test]
    fn digest_counts_the_messages_it_covers() {
        assert_eq!(digest(Summary::default(), &[], 200).messages, 0);
        let whole = digest(Summary::default(), &[said(7, Block::text("hi"))], 400);
        assert!(whole.text.contains("these 1 messages") && !whole.text.contains("older"), "{}", whole.text);
        assert_eq!((whole.messages, whole.first), (1, Some(MessageId(7))));
    }
}
