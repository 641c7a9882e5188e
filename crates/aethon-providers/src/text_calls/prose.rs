//! Decides where in a response a call may begin: not in code, and not in quotation marks.
//!
//! It knows just enough Markdown for that, and errs on the side of code.

/// Characters directly before a call that make it a quotation.
const QUOTES: [char; 10] = ['`', '"', '\'', '“', '”', '‘', '„', '«', '»', '('];

/// A line with this indentation is code.
const CODE_INDENT: usize = 4;

/// The context at one position of a text.
#[derive(Debug, Default)]
pub(super) struct Prose {
    /// The character and length of an open fence.
    fence: Option<(char, usize)>,
    /// The length of the marks that opened inline code.
    inline: Option<usize>,
    /// A run of marks that may still continue.
    run: Option<Run>,
    /// Whether anything but whitespace and marks of lists and quotations has appeared in the line.
    is_in_line: bool,
    indent: usize,
    is_quotation: bool,
    previous: Option<char>,
    has_line_before: bool,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    mark: char,
    length: usize,
    is_at_line_start: bool,
}

impl Prose {
    /// Returns whether a call may begin at the next character.
    pub(super) fn is_open(&mut self, next: char) -> bool {
        self.settle(next);
        let is_code = self.fence.is_some()
            || self.inline.is_some()
            || (self.has_line_before && !self.is_in_line && self.indent >= CODE_INDENT);
        let is_quoted = self.is_quotation || self.previous.is_some_and(|before| QUOTES.contains(&before));
        !is_code && !is_quoted
    }

    /// Returns whether only whitespace precedes the position in its line.
    pub(super) fn is_at_line_start(&self) -> bool {
        !self.is_in_line
    }

    /// Processes a character.
    pub(super) fn pass(&mut self, c: char) {
        self.settle(c);
        match c {
            '`' | '~' => {
                let run = self.run.unwrap_or(Run { mark: c, length: 0, is_at_line_start: !self.is_in_line });
                self.run = Some(Run { length: run.length + 1, ..run });
                self.is_in_line = true;
            }
            '\n' => {
                self.inline = None;
                (self.is_in_line, self.is_quotation, self.indent) = (false, false, 0);
                self.has_line_before = true;
            }
            ' ' if !self.is_in_line => self.indent += 1,
            '\t' if !self.is_in_line => self.indent += CODE_INDENT,
            '>' | '|' if !self.is_in_line => self.is_quotation = true,
            // List markers, after which a fence may follow.
            '-' | '*' | '+' | '.' | ')' | '0'..='9' if !self.is_in_line => {}
            c if c.is_whitespace() => {}
            _ => self.is_in_line = true,
        }
        self.previous = Some(c);
    }

    /// Starts afresh, after a token that ended something.
    pub(super) fn restart(&mut self) {
        *self = Self::default();
    }

    /// Completes a run of marks once something else follows.
    fn settle(&mut self, next: char) {
        let Some(run) = self.run.filter(|run| run.mark != next) else { return };
        self.run = None;
        match self.fence {
            Some((mark, length)) if run.is_at_line_start && mark == run.mark && run.length >= length => {
                self.fence = None;
            }
            // Inside a fence, other marks are text.
            Some(_) => {}
            None if run.is_at_line_start && run.length >= 3 => self.fence = Some((run.mark, run.length)),
            None if run.mark == '`' => {
                self.inline = match self.inline {
                    None => Some(run.length),
                    Some(open) if open == run.length => None,
                    other => other,
                };
            }
            None => {}
        }
    }
}
