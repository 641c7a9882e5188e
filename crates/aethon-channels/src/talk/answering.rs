//! The message that is answered: whose words it holds, and the consequences for the answer.

use super::described::shortened;
use super::platform::{Answered, AnsweredAuthor, Arrival, RemoteFile};

/// How much of an answered message is kept, in characters.
const MAX_TEXT: usize = 8000;

/// The author of an answered message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    /// We did.
    Us,
    /// The sender of the message did.
    Sender,
    /// Anyone else, or it was passed on.
    Other,
}

/// Something that a message answers.
#[derive(Debug, Clone)]
pub(crate) struct Original {
    pub(crate) author: Author,
    /// The whole of it, or a chosen part.
    pub(crate) text: String,
    pub(crate) files: Vec<RemoteFile>,
}

impl Arrival {
    /// Adds the answered message. Its files come after the message's own.
    pub(crate) fn answering(&mut self, original: Original) {
        let Original { author, text, files } = original;
        let text = shortened(text.trim(), MAX_TEXT);
        let is_quoted = author == Author::Other;
        self.files.extend(files.into_iter().map(|file| RemoteFile { is_quoted, is_earlier: true, ..file }));
        if text.is_empty() {
            return;
        }
        match author {
            Author::Us => self.answered = Some(Answered { author: AnsweredAuthor::Assistant, text }),
            Author::Sender => self.answered = Some(Answered { author: AnsweredAuthor::Sender, text }),
            Author::Other => {
                let before = self.quoted.take().map(|quoted| format!("{quoted}\n\n")).unwrap_or_default();
                self.quoted = Some(before + &text);
            }
        }
    }

    /// Returns whether there is nothing that a model could be shown.
    pub(crate) fn is_blank(&self) -> bool {
        let is_said = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.trim().is_empty());
        self.text.trim().is_empty()
            && self.files.is_empty()
            && self.answered.is_none()
            && !is_said(&self.quoted)
    }
}

/// How many earlier messages of a thread are shown, and how many characters of them.
const MAX_EARLIER: usize = 20;
const MAX_EARLIER_TEXT: usize = 4000;
/// How much of one of them is shown, in characters.
const MAX_LINE: usize = 1000;

/// Joins the messages of a thread, oldest first. If they are too long, the oldest are left out.
pub(crate) fn newest_lines(lines: impl IntoIterator<Item = String>) -> Option<String> {
    let lines: Vec<String> = lines.into_iter().map(|line| shortened(line.trim(), MAX_LINE)).collect();
    let (mut shown, mut length) = (Vec::new(), 0);
    for line in lines.iter().rev().take(MAX_EARLIER) {
        length += line.chars().count() + 1;
        if length > MAX_EARLIER_TEXT {
            break;
        }
        shown.push(line.as_str());
    }
    shown.reverse();
    (!shown.is_empty()).then(|| shown.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_of_a_thread_are_kept() {
        let lines = |count: usize, length: usize| {
            newest_lines((0..count).map(|n| format!("{n} {}", "x".repeat(length))))
        };
        assert_eq!(lines(0, 1), None);
        assert_eq!(lines(2, 1).unwrap(), "0 x\n1 x");
        let many = lines(30, 1).unwrap();
        assert!(many.starts_with("10 ") && many.ends_with("29 x") && many.lines().count() == 20, "{many}");
        let long = lines(30, 900).unwrap();
        assert!(long.chars().count() <= 4000 && long.lines().count() == 4, "{}", long.lines().count());
    }
}
