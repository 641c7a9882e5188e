//! Takes the markers of untrusted content out of text that is shown while it is still coming.
//!
//! A piece that could be the beginning of a marker is held back until the next one decides; the rest of a marker's line is
//! dropped. What is stored is scrubbed whole by [`aethon_core::untrusted::scrub`]; this is for those who watch.

use std::borrow::Cow;

use aethon_core::untrusted::MARKER;

const END_MARKER: &str = "[END OF UNTRUSTED EXTERNAL CONTENT]";

/// The state between two pieces.
#[derive(Debug, Default)]
pub(super) struct Scrubber {
    held: String,
    dropping: bool,
}

impl Scrubber {
    /// What of the text so far may be shown now. Nearly always the piece itself.
    pub(super) fn pass<'t>(&mut self, piece: &'t str) -> Cow<'t, str> {
        if self.held.is_empty() && !self.dropping && !piece.contains('[') {
            return Cow::Borrowed(piece);
        }
        let text = std::mem::take(&mut self.held) + piece;
        let mut shown = String::with_capacity(text.len());
        let mut rest = text.as_str();
        loop {
            if self.dropping {
                let Some(line_end) = rest.find('\n') else { return Cow::Owned(shown) };
                rest = &rest[line_end + 1..];
                self.dropping = false;
            }
            let Some(at) = rest.find('[') else {
                shown.push_str(rest);
                return Cow::Owned(shown);
            };
            shown.push_str(&rest[..at]);
            rest = &rest[at..];
            if rest.starts_with(MARKER) || rest.starts_with(END_MARKER) {
                self.dropping = true;
            } else if MARKER.starts_with(rest) || END_MARKER.starts_with(rest) {
                self.held = rest.to_owned();
                return Cow::Owned(shown);
            } else {
                shown.push('[');
                rest = &rest[1..];
            }
        }
    }

    /// What was held back and turned out to be no marker.
    pub(super) fn finish(&mut self) -> String {
        self.dropping = false;
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_go_wherever_the_pieces_are_cut() {
        let check = |text: &str, expected: &str| {
            for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
                let mut scrubber = Scrubber::default();
                let mut shown = scrubber.pass(&text[..cut]).into_owned();
                shown.push_str(&scrubber.pass(&text[cut..]));
                shown.push_str(&scrubber.finish());
                assert_eq!(shown, expected, "cut at {cut}");
            }
        };
        check("plain [link](x) text", "plain [link](x) text");
        check(
            "[UNTRUSTED EXTERNAL CONTENT] ab12\nhi\n[END OF UNTRUSTED EXTERNAL CONTENT] ab12\nbye",
            "hi\nbye",
        );
        check("ends with [UNTRUSTED", "ends with [UNTRUSTED");
        check("[[x", "[[x");
    }
}
