//! The style of text, and the codes of the terminal for it.

/// The style of text on this terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    /// Whether escape codes are allowed.
    pub(crate) colour: bool,
    /// Whether the terminal shows links (OSC 8).
    pub(crate) links: bool,
    /// The width of a line, in columns.
    pub(crate) width: usize,
}

pub(super) const BOLD: &str = "1";
pub(super) const DIM: &str = "2";
pub(super) const ITALIC: &str = "3";
pub(super) const UNDERLINE: &str = "4";
pub(super) const STRIKE: &str = "9";
pub(super) const CODE: &str = "36";
pub(super) const ALARM: &str = "1;31";

impl Style {
    /// Styles the text if colours are allowed.
    pub(crate) fn paint(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() && !code.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// Dims text.
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint(DIM, text)
    }

    /// Makes text bold.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint(BOLD, text)
    }

    /// Colours a line of a diff.
    pub(crate) fn change(self, line: &str) -> String {
        match line.as_bytes().first() {
            Some(b'+') => self.paint("32", line),
            Some(b'-') => self.paint("31", line),
            _ => line.to_owned(),
        }
    }

    /// Colours text about an error.
    pub(crate) fn alarm(self, text: &str) -> String {
        self.paint(ALARM, text)
    }
}
