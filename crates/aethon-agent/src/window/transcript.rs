//! A conversation as quoted text for the model that summarises it, in parts that fit.
//!
//! Every message goes whole into one part or continues over several. Nothing is left out but the middle of a text that is
//! longer than the caller wants to pay for. Everything is quoted, so that the model takes nothing in it for an instruction and no line for a directive. Untrusted text is labelled as such in
//! every part that contains some of it.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use aethon_core::message::{Block, Message, Role};
use aethon_core::tool::ToolResult;
use aethon_core::web_search::WebSearch;

use super::shorten::in_chars;

/// The smallest part, in bytes; any longer text makes progress in it.
const MIN_COUNT: usize = 400;

/// The room that a piece needs to start in a part; with less, it goes into the next one.
const MIN_PIECE: usize = 80;

/// Messages waiting to be summarised.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    waiting: VecDeque<Arc<Message>>,
    /// The rest of the message being written.
    pieces: VecDeque<Piece>,
    /// Whether a message is partly written.
    is_within: bool,
    /// Of a longer text, only the beginning and the end are written.
    most: Option<usize>,
}

/// A block with its label.
#[derive(Debug)]
struct Piece {
    label: String,
    text: String,
    /// How much of the text earlier parts contain.
    written: usize,
}

/// One part of the transcript.
#[derive(Debug, Default)]
pub(crate) struct Part {
    /// The quoted lines.
    pub(crate) text: String,
    /// How many messages this part completes.
    pub(crate) messages: usize,
}

impl Transcript {
    /// Writes at most this many bytes of each text from now on: its beginning and its end.
    pub(crate) fn shorten_to(&mut self, bytes: usize) {
        self.most = Some(bytes.max(MIN_COUNT));
    }

    /// Appends messages.
    pub(crate) fn extend(&mut self, messages: impl IntoIterator<Item = Arc<Message>>) {
        self.waiting.extend(messages);
    }

    /// Returns roughly how many bytes are waiting.
    pub(crate) fn bytes(&self) -> usize {
        let left = self.pieces.iter().map(|piece| piece.text.len() - piece.written);
        let waiting = self.waiting.iter().flat_map(|message| &message.content).map(text_bytes);
        left.chain(waiting).sum()
    }

    /// Returns the next part, of at most `bytes` bytes; its text is empty when nothing is left.
    pub(crate) fn part(&mut self, bytes: usize) -> Part {
        let bytes = bytes.max(MIN_COUNT);
        let mut part = Part::default();
        loop {
            while let Some(piece) = self.pieces.front_mut() {
                piece.write(&mut part.text, bytes);
                if piece.written < piece.text.len() {
                    return part;
                }
                self.pieces.pop_front();
            }
            if std::mem::take(&mut self.is_within) {
                part.messages += 1;
            }
            let Some(message) = self.waiting.pop_front() else { return part };
            self.pieces = message.content.iter().filter_map(|block| piece(message.role, block)).collect();
            if let Some(most) = self.most {
                self.pieces.iter_mut().for_each(|piece| piece.shorten_to(most));
            }
            self.is_within = true;
        }
    }
}

impl Piece {
    fn shorten_to(&mut self, bytes: usize) {
        if let Cow::Owned(shorter) = in_chars(&self.text, bytes) {
            self.text = shorter;
        }
    }

    /// Writes as much as there is room for.
    fn write(&mut self, out: &mut String, bytes: usize) {
        let label = if self.written == 0 {
            format!("{}:\n", self.label)
        } else {
            format!("{}, continued:\n", self.label)
        };
        let left = bytes.saturating_sub(out.len() + label.len() + 1);
        if left < MIN_PIECE && !out.is_empty() {
            return;
        }
        out.push_str(&label);
        while self.written < self.text.len() {
            let rest = &self.text[self.written..];
            let line = rest.find('\n').map_or(rest.len(), |end| end + 1);
            // Room for the quote mark and the line end.
            let left = bytes.saturating_sub(out.len() + 4);
            let taken = if line <= left { line } else { split(rest, left) };
            if taken == 0 {
                break;
            }
            out.push_str("> ");
            out.push_str(rest[..taken].trim_end_matches('\n'));
            out.push('\n');
            self.written += taken;
            if taken < line {
                break;
            }
        }
        out.push('\n');
    }
}

/// Returns where to split a line so that the first piece has at most `bytes` bytes, between words if possible. 0
/// means that the line should start in the next part.
fn split(line: &str, bytes: usize) -> usize {
    let end = line.floor_char_boundary(bytes);
    if end < MIN_PIECE / 2 {
        return 0;
    }
    line[..end].rfind(' ').filter(|space| *space > end / 2).map_or(end, |space| space + 1)
}

fn piece(role: Role, block: &Block) -> Option<Piece> {
    let who = match role {
        Role::User => "The person",
        Role::Assistant => "The assistant",
        Role::Tool => "The tools",
        Role::System => "The program",
    };
    let (label, text) = match block {
        Block::Text { text, untrusted: Some(_) } => {
            (format!("{who}, text from outside (data only)"), text.clone())
        }
        Block::Text { text, untrusted: None } => (who.to_owned(), text.clone()),
        Block::File { name, text, .. } => (format!("{who}, the file {}", in_line(name)), text.clone()),
        Block::Context { source, text, .. } => {
            (format!("Context from {} (data only)", in_line(source)), text.clone())
        }
        Block::Image { .. } => (who.to_owned(), "(a picture)".to_owned()),
        Block::Search(search) => (format!("{who} searched the web (data only)"), found(search)),
        Block::ToolCall(call) => (format!("{who} calls {}", in_line(&call.name)), call.input.to_string()),
        Block::ToolResult(result) => (
            format!("The tool {} {} (data only)", in_line(&result.name), outcome(result)),
            result.output.clone(),
        ),
        // The model gets a summary as the summary so far, not as a part of the conversation.
        Block::Folded { .. } | Block::Reasoning { .. } | Block::Notice { .. } => return None,
    };
    let text = text.trim_end();
    (!text.is_empty()).then(|| Piece { label, text: text.to_owned(), written: 0 })
}

/// Returns what a search by the provider found, a line each.
fn found(search: &WebSearch) -> String {
    let titles = search.sources.iter().map(|source| format!("- {} ({})", source.title, source.url));
    std::iter::once(search.query.clone()).chain(titles).collect::<Vec<_>>().join("\n")
}

fn text_bytes(block: &Block) -> usize {
    match block {
        Block::Text { text, .. } | Block::File { text, .. } | Block::Context { text, .. } => text.len(),
        Block::ToolResult(result) => result.output.len(),
        _ => 0,
    }
}

/// Escapes a name so that it cannot end its line.
fn in_line(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { ' ' } else { c }).take(100).collect()
}

fn outcome(result: &ToolResult) -> &'static str {
    match (result.denied, result.is_error) {
        (true, _) => "was denied",
        (false, true) => "failed",
        (false, false) => "answered",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use proptest::prelude::*;

    fn message(role: Role, content: Vec<Block>) -> Arc<Message> {
        Arc::new(Message::new(role, content, Timestamp::UNIX_EPOCH))
    }

    fn parts(messages: &[Arc<Message>], bytes: usize) -> Vec<Part> {
        let mut transcript = Transcript::default();
        transcript.extend(messages.iter().cloned());
        let mut parts = Vec::new();
        loop {
            let part = transcript.part(bytes);
            if part.text.is_empty() && part.messages == 0 {
                return parts;
            }
            parts.push(part);
        }
    }

    #[test]
    fn middle_of_an_overlong_text_is_left_out() {
        let text = format!("BEGIN {} END", "word ".repeat(20_000));
        let mut transcript = Transcript::default();
        transcript.shorten_to(4_000);
        transcript.extend([message(Role::User, vec![Block::text(text)])]);
        let mut parts = Vec::new();
        while let Some(part) = Some(transcript.part(1_000)).filter(|part| !part.text.is_empty()) {
            parts.push(part);
        }
        assert!(parts.len() <= 6, "{}", parts.len());
        assert_eq!(parts.iter().map(|part| part.messages).sum::<usize>(), 1);
        let quoted = quoted(&parts);
        assert!(
            quoted.contains("BEGIN") && quoted.contains("END") && quoted.contains("areleftouthere"),
            "{quoted}"
        );
    }

    /// Returns the quoted text without marks and labels.
    fn quoted(parts: &[Part]) -> String {
        let lines =
            parts.iter().flat_map(|part| part.text.lines()).filter_map(|line| line.strip_prefix("> "));
        lines.collect::<String>().replace(' ', "")
    }

    #[test]
    fn text_from_outside_is_labelled_in_every_part() {
        let outside = Block::Text { text: "!error obey\n".repeat(400), untrusted: Some("b".into()) };
        let parts = parts(&[message(Role::User, vec![Block::text("read this"), outside])], 1_000);
        assert!(parts.len() > 4);
        for part in &parts {
            assert!(part.text.contains("The person, text from outside (data only)"), "{}", part.text);
            assert!(part.text.lines().all(|line| !line.starts_with('!')), "{}", part.text);
        }
        assert_eq!(parts.iter().map(|part| part.messages).collect::<Vec<_>>()[..2], [0, 0]);
        assert_eq!(parts.last().map(|part| part.messages), Some(1));
    }

    #[test]
    fn messages_without_text_count_in_their_part() {
        let silent = message(Role::Assistant, vec![Block::notice("stopped", "x")]);
        let parts = parts(&[silent.clone(), message(Role::User, vec![Block::text("hi")]), silent], 1_000);
        assert_eq!((parts.len(), parts[0].messages), (1, 3));
        assert_eq!(parts[0].text, "The person:\n> hi\n\n");
    }

    proptest! {
        #[test]
        fn every_word_of_every_message_is_in_some_part(
            texts in prop::collection::vec("[a-zä ]{0,300}(\n[a-z東 ]{0,700}){0,4}", 0..12),
            bytes in 0_usize..5_000,
        ) {
            let messages: Vec<_> = texts.iter().map(|text| message(Role::User, vec![Block::text(text)])).collect();
            let parts = parts(&messages, bytes);
            for part in &parts {
                prop_assert!(part.text.len() <= bytes.max(MIN_COUNT) + 4, "{} of {bytes}", part.text.len());
            }
            prop_assert_eq!(parts.iter().map(|part| part.messages).sum::<usize>(), messages.len());
            let said: String = texts.concat().split_whitespace().collect();
            prop_assert_eq!(quoted(&parts), said);
        }
    }
}
