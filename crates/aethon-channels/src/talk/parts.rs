//! What a delivery consists of: its text, cut into messages, and its files, in groups.

use std::borrow::Cow;

use aethon_core::channel::Delivery;
use aethon_core::message::Attachment;

use super::growth::{AppendOnlyMessages, head};
use super::outlet::RateLimitedSender;
use super::place::HOUSEHOLD;
use crate::text::{Styled, split, styled};

/// Returns the text to deliver. A reply in its own conversation appears below the question; a delivery from elsewhere
/// states its origin.
pub(super) fn text_of<'d>(delivery: &'d Delivery, notes: &[String]) -> Cow<'d, str> {
    let is_here = [delivery.content.channel.as_str(), HOUSEHOLD].contains(&delivery.session.channel());
    let text = match delivery.content.is_reply && is_here {
        true => delivery.content.text.as_str().into(),
        false => delivery.content.labelled_text(),
    };
    match notes {
        [] => text,
        notes => format!("{}\n\n{text}", notes.join("\n")).into(),
    }
}

/// Splits a text into the messages that it takes.
pub(super) fn parts_of(outlet: &RateLimitedSender, text: &str) -> Vec<Styled> {
    split(&styled(text), outlet.platform.dialect().fit)
}

/// Splits a text into parts, the first of which is for a growing message.
pub(super) fn grown_parts(
    outlet: &RateLimitedSender,
    growth: &dyn AppendOnlyMessages,
    text: &str,
) -> Option<Vec<Styled>> {
    let (head, rest) = head(text, growth.most()).filter(|(head, _)| !head.is_empty())?;
    let mut parts = vec![Styled::plain(head)];
    parts.extend(parts_of(outlet, rest));
    Some(parts)
}

/// Groups files in order, as many together as fit. An oversized one is alone in its group.
pub(super) fn bundles(files: &[Attachment], most: usize) -> Vec<&[Attachment]> {
    let (mut bundles, mut begin, mut size) = (Vec::new(), 0, 0_usize);
    for (at, file) in files.iter().enumerate() {
        if at > begin && size.saturating_add(file.data.len()) > most {
            bundles.push(&files[begin..at]);
            (begin, size) = (at, 0);
        }
        size = size.saturating_add(file.data.len());
    }
    if begin < files.len() {
        bundles.push(&files[begin..]);
    }
    bundles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_go_together_as_far_as_they_fit() {
        let check = |sizes: &[usize], expected: &[usize]| {
            let file = |size: &usize| Attachment::new("a", "text/plain", "x".repeat(*size));
            let files: Vec<Attachment> = sizes.iter().map(file).collect();
            let counts: Vec<usize> = bundles(&files, 10).iter().map(|bundle| bundle.len()).collect();
            assert_eq!(counts, expected, "{sizes:?}");
        };
        check(&[], &[]);
        check(&[4, 4], &[2]);
        check(&[4, 4, 4], &[2, 1]);
        check(&[20, 1, 20], &[1, 1, 1]);
        check(&[5, 5], &[2]);
    }
}
