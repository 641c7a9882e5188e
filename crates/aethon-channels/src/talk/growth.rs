//! Messages that only grow at their end, on platforms that have such.
//!
//! They grow by the model's Markdown as it is written, because only its prefix never changes: the rendering of an
//! incomplete text can change with the next word. When a message cannot grow any more, it is edited like any other.

use async_trait::async_trait;

use super::platform::Fault;

/// The occasion of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Who asked.
    pub(crate) sender: String,
    /// The platform's id of the message, if known.
    pub(crate) message: Option<String>,
}

/// A platform's growing messages. If it refuses, the ordinary way is used instead.
#[async_trait]
pub(crate) trait AppendOnlyMessages: Send + Sync {
    /// Returns how much Markdown a message may have, in characters.
    fn most(&self) -> usize;

    /// Returns whether this message was started as a growing one.
    fn is_grown(&self, message: &str) -> bool;

    /// Starts a message with the first words, once for each key. Returns its id.
    async fn start(&self, chat: &str, asked: &Asked, text: &str, key: &str) -> Result<String, Fault>;

    /// Grows a message to this text. Refused if the text does not begin with the current content.
    async fn grow(&self, message: &str, text: &str) -> Result<(), Fault>;

    /// Completes a message: appends the rest if the text begins with the current content, replaces it otherwise.
    async fn finish(&self, message: &str, text: &str) -> Result<(), Fault>;
}

/// Splits off the beginning of a text that fits into a message. The cut is between paragraphs or lines, never in a
/// code block; returns `None` if there is no such place.
pub(crate) fn head(text: &str, most: usize) -> Option<(&str, &str)> {
    let text = text.trim();
    let Some((limit, _)) = text.char_indices().nth(most) else { return Some((text, "")) };
    let (mut at, mut in_code) = (0, false);
    let (mut paragraph, mut line) = (0, 0);
    for piece in text[..limit].split_inclusive('\n') {
        let is_blank = piece.trim().is_empty();
        if piece.trim_start().starts_with("```") || piece.trim_start().starts_with("~~~") {
            in_code = !in_code;
        }
        at += piece.len();
        if !in_code && piece.ends_with('\n') {
            line = at;
            if is_blank {
                paragraph = at;
            }
        }
    }
    // A break that would leave the first message nearly empty does not count.
    let end = [paragraph, line].into_iter().find(|end| *end >= limit / 3)?;
    Some((text[..end].trim_end(), text[end..].trim_matches('\n')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_between_paragraphs_and_never_in_code() {
        let check = |text: &str, most: usize, expected: Option<(&str, &str)>| {
            assert_eq!(head(text, most), expected, "{text:?}");
        };
        check(" short\n", 20, Some(("short", "")));
        check("one two\n\nthree\nfour five", 18, Some(("one two", "three\nfour five")));
        check("one two\nthree four", 12, Some(("one two", "three four")));
        check("one\n\n```\na\n\nb\n\nc\n```\nd", 15, Some(("one", "```\na\n\nb\n\nc\n```\nd")));
        check("```\na\n\nb\n\nc\n```", 10, None);
        check("ää\nöööööö", 5, Some(("ää", "öööööö")));
        check("nowhere to pause", 7, None);
    }
}
