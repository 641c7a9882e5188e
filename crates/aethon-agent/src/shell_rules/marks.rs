//! Marker characters that stand in texts for what is not known before the command runs.
//!
//! They are in Unicode's private use area. If a command contains such characters itself, they are replaced first.

/// Anything at all.
pub const UNKNOWN: char = '\u{e010}';
/// Something downloaded.
pub(super) const FETCHED: char = '\u{e011}';
/// Something that was encoded.
pub(super) const DECODED: char = '\u{e012}';

/// Whether a character stands for something unknown.
pub(super) fn is_mark(c: char) -> bool {
    matches!(c, UNKNOWN | FETCHED | DECODED)
}

/// Whether the whole text is known.
pub(super) fn is_known(text: &str) -> bool {
    !text.contains(is_mark)
}

/// The text without characters that look like our markers.
pub(super) fn cleaned(text: &str) -> String {
    text.chars().map(|c| if is_mark(c) { '\u{fffd}' } else { c }).collect()
}

/// An unknown text made from these texts.
pub(super) fn made_from<'a>(texts: impl IntoIterator<Item = &'a String>) -> String {
    let mut made = String::from(UNKNOWN);
    for mark in texts.into_iter().flat_map(|text| text.chars()).filter(|c| matches!(*c, FETCHED | DECODED)) {
        if !made.contains(mark) {
            made.push(mark);
        }
    }
    made
}
