//! Characters of our own that stand in texts for what is not known before the command runs.
//!
//! They lie in the private area of Unicode. A command that brings such characters itself has them replaced first.

/// Anything at all.
pub const UNKNOWN: char = '\u{e010}';
/// Something that came from elsewhere.
pub(super) const FETCHED: char = '\u{e011}';
/// Something that an encoding had hidden.
pub(super) const DECODED: char = '\u{e012}';

/// Whether this stands for what is not known.
pub(super) fn is_mark(c: char) -> bool {
    matches!(c, UNKNOWN | FETCHED | DECODED)
}

/// Whether all of the text is known.
pub(super) fn is_known(text: &str) -> bool {
    !text.contains(is_mark)
}

/// The text without characters that look like ours.
pub(super) fn cleaned(text: &str) -> String {
    text.chars().map(|c| if is_mark(c) { '\u{fffd}' } else { c }).collect()
}

/// Something that was made from these texts, nobody knows how.
pub(super) fn made_from<'a>(texts: impl IntoIterator<Item = &'a String>) -> String {
    let mut made = String::from(UNKNOWN);
    for mark in texts.into_iter().flat_map(|text| text.chars()).filter(|c| matches!(*c, FETCHED | DECODED)) {
        if !made.contains(mark) {
            made.push(mark);
        }
    }
    made
}
