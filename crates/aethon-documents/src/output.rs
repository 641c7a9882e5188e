//! The text of a document while it is read: passed on in pieces, bounded, with notes about missing parts.

/// The most text of one document, in bytes.
pub const MAX_TEXT: usize = 8 << 20;
/// Pieces are at least this long, if more follows.
const PIECE: usize = 32 << 10;
/// How many notes are kept.
const MAX_NOTES: usize = 20;

/// Takes the text of a document.
pub(crate) struct Output<'s> {
    sink: &'s mut dyn FnMut(&str),
    piece: String,
    written: usize,
    /// How many line ends the text has at its end.
    line_ends: usize,
    notes: Vec<String>,
    is_full: bool,
}

impl<'s> Output<'s> {
    pub(crate) fn new(sink: &'s mut dyn FnMut(&str)) -> Self {
        Self { sink, piece: String::new(), written: 0, line_ends: 2, notes: Vec::new(), is_full: false }
    }

    /// Adds text. Characters that mean nothing in a text are left out.
    pub(crate) fn push(&mut self, text: &str) {
        for character in text.chars() {
            if self.written + self.piece.len() + character.len_utf8() > MAX_TEXT {
                if !self.is_full {
                    self.is_full = true;
                    self.note(format!(
                        "The document has more than {} MiB of text; the rest is left out.",
                        MAX_TEXT >> 20
                    ));
                }
                return;
            }
            let is_layout = matches!(character, '\n' | '\t');
            if character == '\n' && self.line_ends >= 2 {
                continue;
            }
            if is_layout || !(character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}')) {
                self.line_ends = if character == '\n' { self.line_ends + 1 } else { 0 };
                self.piece.push(character);
            }
        }
        if self.piece.len() >= PIECE {
            self.flush();
        }
    }

    /// Makes sure that an empty line is before what follows.
    pub(crate) fn gap(&mut self) {
        while self.line_ends < 2 && !self.is_full {
            self.push("\n");
        }
    }

    /// Passes the new text on. Called at the end of each page, so that a later failure does not lose it.
    pub(crate) fn flush(&mut self) {
        self.written += self.piece.len();
        (self.sink)(&self.piece);
        self.piece.clear();
    }

    /// Adds a sentence about something missing.
    pub(crate) fn note(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if self.notes.len() < MAX_NOTES && !self.notes.contains(&sentence) {
            self.notes.push(sentence);
        }
    }

    /// Returns whether no more text is taken.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns whether nothing was written.
    pub(crate) fn is_empty(&self) -> bool {
        self.written == 0 && self.piece.trim().is_empty()
    }

    pub(crate) fn finish(mut self) -> Vec<String> {
        self.flush();
        self.notes
    }
}
