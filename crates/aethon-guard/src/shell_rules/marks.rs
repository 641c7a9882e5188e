//! Marker characters for the parts of texts that are unknown before the command runs.
//!
//! They are in Unicode's private use area. If a command contains such characters itself, they are replaced first.

/// Anything at all.
pub const UNKNOWN: char = '\u{e010}';
/// Something downloaded.
pub(super) const FETCHED: char = '\u{e011}';
/// Something that was encoded.
pub(super) const DECODED: char = '\u{e012}';
/// A blank at which an unquoted value is split into words.
pub(super) const BLANK: char = '\u{e013}';
/// The unquoted `{`, `,` and `}` of a brace expansion.
pub(super) const BRACES: [char; 3] = ['\u{e014}', '\u{e015}', '\u{e016}'];

/// Whether a character marks an unknown part.
pub(super) fn is_mark(c: char) -> bool {
    matches!(c, UNKNOWN | FETCHED | DECODED)
}

/// The text without characters that look like our markers.
pub(super) fn cleaned(text: &str) -> String {
    text.replace(|c| ('\u{e010}'..='\u{e016}').contains(&c), "\u{fffd}")
}

/// An unknown text made from these texts.
pub(super) fn made_from<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut made = String::from(UNKNOWN);
    for mark in texts.into_iter().flat_map(str::chars).filter(|c| matches!(*c, FETCHED | DECODED)) {
        if !made.contains(mark) {
            made.push(mark);
        }
    }
    made
}
