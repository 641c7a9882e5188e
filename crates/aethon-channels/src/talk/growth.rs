//! Messages that grow at their end and take nothing back, where a platform has such ones.
//!
//! They grow by Markdown as the model writes it, because only that is the same later as it was before: what a half-written
//! text looks like changes with the next word. Where a message cannot grow any more, it is edited like any other.

use async_trait::async_trait;

use super::platform::Fault;

/// What has brought a reply about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Who has asked.
    pub(crate) sender: String,
    /// The platform's id of the message, where it is known.
    pub(crate) message: Option<String>,
}

/// A platform's messages that grow. A refusal means that it goes on in the ordinary way.
#[async_trait]
pub(crate) trait Growth: Send + Sync {
    /// How much Markdown a message takes, in characters.
    fn most(&self) -> usize;

    /// Whether this message was started to grow.
    fn is_grown(&self, message: &str) -> bool;

    /// Starts a message with the first words, once for each key. Returns its id.
    async fn start(&self, chat: &str, asked: &Asked, text: &str, key: &str) -> Result<String, Fault>;

    /// Lets a message grow to this text. Refused where that does not begin with what is there.
    async fn grow(&self, message: &str, text: &str) -> Result<(), Fault>;

    /// Makes a message whole: by what is missing where the text begins with what is there, and else by putting it in its place.
    async fn finish(&self, message: &str, text: &str) -> Result<(), Fault>;
}

/// The beginning of a text that fits into a message, and the rest. The cut is between paragraphs or lines, never in a block of
/// code; `None` where there is no such place.
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
    // A pause that would leave the first message nearly empty is none.
    let end = [paragraph, line].into_iter().find(|end| *end >= limit / 3)?;
    Some((text[..end].trim_end(), text[end..].trim_matches('\n')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_is_cut_between_paragraphs_and_never_in_code() {
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
