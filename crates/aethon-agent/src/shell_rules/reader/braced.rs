//! Reads `${…}`: the name, its index, and what is done to the value.

use std::rc::Rc;

use super::super::word::{Change, Parameter, Piece, Word};
use super::words::Pieces;
use super::{Ends, ShellReader};

impl ShellReader {
    /// Reads `${NAME}`, `${NAME:-word}` and the like, and `${ commands; }` of newer shells.
    pub(super) fn braced(&mut self, pieces: &mut Pieces, is_quoted: bool) {
        self.at += 1;
        if matches!(self.peek(), Some(' ' | '\t' | '\n' | '|')) {
            self.take('|');
            let (list, _) = self.list(&Ends { words: &["}"], ..Ends::default() });
            return pieces.push(Piece::Output { list, is_quoted });
        }
        if self.deeper().is_none() {
            return;
        }
        let parameter = Box::new(self.parameter(is_quoted));
        self.depth -= 1;
        pieces.push(Piece::Variable { parameter, is_quoted });
    }

    fn parameter(&mut self, is_quoted: bool) -> Parameter {
        let measures =
            self.peek() == Some('#') && !matches!(self.peek_at(1), Some('}' | ':' | '-' | '#' | '%'));
        self.at += usize::from(measures);
        let is_indirect = self.peek() == Some('!') && self.peek_at(1) != Some('}');
        self.at += usize::from(is_indirect);
        let name = self.name();
        let index = (!name.is_empty() && self.take('[')).then(|| self.part(&[']'], false));
        if index.is_some() {
            self.take(']');
        }
        let mut change = self.change(is_quoted);
        if measures {
            change = Change::Length;
        }
        // Everything left up to the brace belongs to it.
        let rest = self.part(&['}'], is_quoted);
        self.take('}');
        if !rest.is_empty() {
            let words = rest.into_iter().filter(|piece| !matches!(piece, Piece::Text { .. }));
            change = match change {
                Change::Nothing | Change::Length | Change::Case { .. } | Change::Other => {
                    Change::Replace { pattern: words.collect(), with: Word::new(), how: '?' }
                }
                known => known,
            };
        }
        Parameter { name, is_bare: false, is_indirect, index, change }
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        match self.peek() {
            Some(c) if c.is_ascii_digit() => {
                while let Some(c) = self.peek().filter(char::is_ascii_digit) {
                    name.push(c);
                    self.at += 1;
                }
            }
            Some(c) if "?@*#$!-".contains(c) => {
                name.push(c);
                self.at += 1;
            }
            _ => {
                while let Some(c) = self.peek().filter(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    name.push(c);
                    self.at += 1;
                }
            }
        }
        name
    }

    fn change(&mut self, is_quoted: bool) -> Change {
        let Some(operator) = self.peek() else { return Change::Nothing };
        let follower = self.peek_at(1);
        let has_colon = operator == ':' && matches!(follower, Some('-' | '=' | '+' | '?'));
        if has_colon {
            self.at += 1;
        }
        let operator = if has_colon { follower.unwrap_or_default() } else { operator };
        match operator {
            '}' => return Change::Nothing,
            '-' | '=' | '+' | '?' | ':' | '#' | '%' | '/' | '^' | ',' | '@' => self.at += 1,
            _ => return Change::Other,
        }
        let is_doubled = matches!(operator, '#' | '%' | '^' | ',') && self.take(operator);
        match operator {
            '-' | '=' => Change::Default { word: self.part(&['}'], is_quoted), assigns: operator == '=' },
            '+' => Change::Alternative(self.part(&['}'], is_quoted)),
            '?' => {
                // The message may contain commands, which run.
                let word = self.part(&['}'], is_quoted);
                if word.iter().all(|piece| matches!(piece, Piece::Text { .. })) {
                    Change::Required
                } else {
                    Change::Default { word, assigns: false }
                }
            }
            '#' | '%' => {
                let pattern = self.part(&['}'], false);
                Change::Cut { pattern, from_end: operator == '%', is_longest: is_doubled }
            }
            '/' => {
                let how = self.peek().filter(|c| "/#%".contains(*c)).unwrap_or(' ');
                self.at += usize::from(how != ' ');
                let pattern = self.part(&['/', '}'], false);
                let with = if self.take('/') { self.part(&['}'], is_quoted) } else { Word::new() };
                Change::Replace { pattern, with, how }
            }
            ':' => {
                let offset = self.part(&[':', '}'], true);
                let length = self.take(':').then(|| self.part(&['}'], true));
                Change::Slice { offset, length }
            }
            '^' | ',' => Change::Case { is_upper: operator == '^', is_all: is_doubled },
            _ => {
                self.part(&['}'], is_quoted);
                Change::Other
            }
        }
    }

    /// Reads up to one of these characters, which is not consumed. Between double quotes, single quotes are literal.
    fn part(&mut self, ends: &[char], is_quoted: bool) -> Word {
        let mut pieces = Pieces::default();
        while let Some(c) = self.peek() {
            if ends.contains(&c) {
                break;
            }
            match c {
                '"' if is_quoted => {
                    self.at += 1;
                    while let Some(c) = self.peek().filter(|c| *c != '"') {
                        let _ = c;
                        self.quoted_part(&mut pieces, true);
                    }
                    self.at += 1;
                }
                '\\' if is_quoted && self.peek_at(1) == Some('}') => {
                    pieces.text('}', true);
                    self.at += 2;
                }
                _ if is_quoted => self.quoted_part(&mut pieces, true),
                '<' | '>' if self.peek_at(1) == Some('(') => {
                    self.at += 2;
                    let list = self.substituted();
                    pieces.push(Piece::Process { list: Rc::new(list), is_read: c == '<' });
                }
                _ => self.unquoted(&mut pieces),
            }
        }
        self.at = self.at.min(self.chars.len());
        pieces.0
    }
}
