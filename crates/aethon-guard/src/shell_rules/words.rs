//! Reads words: quotes, escapes, substitutions.

use std::rc::Rc;

use super::escapes::unescape;
use super::reader::ShellReader;
use super::syntax::{Change, Piece, Word};

/// What ends an unquoted word.
const ENDS: &str = " \t\n;&|()<>";

impl ShellReader {
    /// Reads a word; empty if none begins here.
    pub(super) fn word(&mut self) -> Word {
        let mut pieces = Pieces::default();
        while let Some(c) = self.peek() {
            match c {
                // An array, or a pattern such as `!(…)`: its value is unknown, but commands in it run.
                '(' if pieces.ends_with(['=', '@', '!', '?', '*', '+']) => {
                    self.at += 1;
                    let list = self.list(")");
                    pieces.0.push(Piece::Process { list: Rc::new(list), is_read: true });
                }
                '<' | '>' if self.peek_at(1) == Some('(') => {
                    self.at += 2;
                    let list = Rc::new(self.list(")"));
                    pieces.0.push(Piece::Process { list, is_read: c == '<' });
                }
                c if ENDS.contains(c) => break,
                _ => self.unquoted(&mut pieces),
            }
        }
        self.at = self.at.min(self.chars.len());
        pieces.0
    }

    /// Reads a quoted part, a substitution or a character of an unquoted word.
    fn unquoted(&mut self, pieces: &mut Pieces) {
        let Some(c) = self.peek() else { return };
        match c {
            '\\' => {
                if let Some(next) = self.peek_at(1) {
                    pieces.text(next, true);
                }
                self.at += 2;
            }
            '\'' => {
                self.at += 1;
                let text = self.until('\'');
                pieces.whole(&text);
            }
            '"' => {
                self.at += 1;
                pieces.whole("");
                while self.peek().is_some_and(|c| c != '"') {
                    self.quoted_part(pieces, true);
                }
                self.take('"');
            }
            '`' => self.backticks(pieces, false),
            '$' => self.dollar(pieces, false),
            c => {
                self.at += 1;
                pieces.text(c, false);
            }
        }
    }

    /// Reads the rest of the text as if between double quotes.
    pub(super) fn quoted_text(&mut self) -> Word {
        let mut pieces = Pieces::default();
        while self.peek().is_some() {
            self.quoted_part(&mut pieces, false);
        }
        pieces.0
    }

    /// Reads a substitution, an escape or a character between double quotes.
    fn quoted_part(&mut self, pieces: &mut Pieces, escapes_quotes: bool) {
        let Some(c) = self.peek() else { return };
        match c {
            '\\' => {
                let is_escape =
                    |next: char| matches!(next, '$' | '`' | '\\') || next == '"' && escapes_quotes;
                match self.peek_at(1) {
                    Some(next) if is_escape(next) => pieces.text(next, true),
                    next => {
                        pieces.text('\\', true);
                        next.into_iter().for_each(|next| pieces.text(next, true));
                    }
                }
                self.at = (self.at + 2).min(self.chars.len());
            }
            '`' => self.backticks(pieces, true),
            '$' => self.dollar(pieces, true),
            c => {
                self.at += 1;
                pieces.text(c, true);
            }
        }
    }

    /// Reads the text up to a character, which is consumed too.
    fn until(&mut self, end: char) -> String {
        let text: String = self.chars[self.at..].iter().take_while(|c| **c != end).collect();
        self.at = (self.at + text.chars().count() + 1).min(self.chars.len());
        text
    }

    fn backticks(&mut self, pieces: &mut Pieces, is_quoted: bool) {
        self.at += 1;
        let mut text = String::new();
        while let Some(c) = self.chars.get(self.at).copied() {
            self.at += 1;
            match (c, self.chars.get(self.at).copied()) {
                ('`', _) => break,
                ('\\', Some(next)) if matches!(next, '`' | '\\' | '$') || next == '"' && is_quoted => {
                    self.at += 1;
                    text.push(next);
                }
                _ => text.push(c),
            }
        }
        let list = self.inside(&text, |reader| reader.list(""));
        pieces.0.push(Piece::Output { list, is_quoted });
    }

    fn dollar(&mut self, pieces: &mut Pieces, is_quoted: bool) {
        self.at += 1;
        match self.peek() {
            Some('(') => {
                if let Some(word) = self.arithmetic_command() {
                    return pieces.0.push(Piece::Computed(word));
                }
                self.at += 1;
                let list = self.list(")");
                pieces.0.push(Piece::Output { list, is_quoted });
            }
            Some('[') => {
                self.at += 1;
                let text = self.until(']');
                let word = self.inside(&text, Self::quoted_text);
                pieces.0.push(Piece::Computed(word));
            }
            Some('{') => self.braced(pieces, is_quoted),
            Some('\'') if !is_quoted => {
                self.at += 1;
                let text = self.escaped();
                pieces.whole(&text);
            }
            // Translated text is read like quoted text.
            Some('"') if !is_quoted => {}
            Some(c) if c.is_ascii_alphanumeric() || "_?@*#$!-".contains(c) => {
                let name = self.name();
                pieces.0.push(Piece::Variable { name, change: Change::Nothing, is_quoted });
            }
            _ => pieces.text('$', is_quoted),
        }
    }

    /// Reads the name of a variable, or one of the special characters.
    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.peek().filter(|c| c.is_ascii_alphanumeric() || *c == '_') {
            name.push(c);
            self.at += 1;
            if name.starts_with(|c: char| c.is_ascii_digit()) {
                break;
            }
        }
        if name.is_empty()
            && let Some(c) = self.peek().filter(|c| "?@*#$!-".contains(*c))
        {
            name.push(c);
            self.at += 1;
        }
        name
    }

    /// Reads `${NAME}`, `${NAME:-word}` and the like, and `${ commands; }` of newer shells.
    fn braced(&mut self, pieces: &mut Pieces, is_quoted: bool) {
        self.at += 1;
        if matches!(self.peek(), Some(' ' | '\t' | '\n' | '|')) {
            self.take('|');
            let list = self.list("}");
            return pieces.0.push(Piece::Output { list, is_quoted });
        }
        if !self.deeper() {
            return;
        }
        let is_prefix = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        let is_changed = matches!(self.peek(), Some('#' | '!')) && is_prefix(self.peek_at(1));
        self.at += usize::from(is_changed);
        let name = self.name();
        let begin = self.at;
        self.at +=
            usize::from(self.peek() == Some(':') && matches!(self.peek_at(1), Some('-' | '=' | '+' | '?')));
        let operator = self.peek().filter(|c| !is_changed && "-=+?".contains(*c));
        if operator.is_none() {
            self.at = begin;
        }
        self.at += usize::from(operator.is_some());
        let mut rest = Pieces::default();
        while self.peek().is_some_and(|c| c != '}') {
            // Between double quotes, single quotes mean nothing.
            if is_quoted && self.peek() != Some('"') {
                self.quoted_part(&mut rest, true);
            } else {
                self.unquoted(&mut rest);
            }
        }
        self.take('}');
        self.leave();
        let word = rest.0;
        let change = match operator {
            Some('-' | '=') => Change::Default(word),
            Some('+') => Change::Alternative(word),
            Some(_) => Change::Required(word),
            None if word.is_empty() && !is_changed => Change::Nothing,
            None => Change::Other(word),
        };
        pieces.0.push(Piece::Variable { name, change, is_quoted });
    }

    /// Reads `$'…'` with its C-style escapes.
    fn escaped(&mut self) -> String {
        let mut raw = String::new();
        while let Some(c) = self.chars.get(self.at).copied().filter(|c| *c != '\'') {
            raw.push(c);
            self.at += 1;
            if c == '\\' {
                raw.extend(self.chars.get(self.at));
                self.at += 1;
            }
        }
        self.at = (self.at + 1).min(self.chars.len());
        unescape(&raw)
    }
}

/// The name and the length of the operator if a word begins with an unquoted `NAME=`, `NAME+=` or `NAME[…]=`.
pub(super) fn assigned_name(word: &[Piece]) -> Option<&str> {
    let Some(Piece::Text { text, is_quoted: false }) = word.first() else { return None };
    split_assignment(text).map(|(name, _)| name)
}

/// Splits `NAME=value`, `NAME+=value` and `NAME[index]=value` into name and value.
pub(super) fn split_assignment(text: &str) -> Option<(&str, &str)> {
    let (head, value) = text.split_once('=')?;
    let head = head.strip_suffix('+').unwrap_or(head);
    let name = head.split_once('[').map_or(head, |(name, _)| name);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some((name, value))
}

/// Pieces, in which adjacent texts are merged.
#[derive(Default)]
struct Pieces(Word);

impl Pieces {
    fn text(&mut self, c: char, is_quoted: bool) {
        match self.0.last_mut() {
            Some(Piece::Text { text, is_quoted: quoted }) if *quoted == is_quoted => text.push(c),
            _ => self.0.push(Piece::Text { text: c.into(), is_quoted }),
        }
    }

    /// Adds quoted text, which makes a word even if it is empty.
    fn whole(&mut self, text: &str) {
        self.0.push(Piece::Text { text: text.to_owned(), is_quoted: true });
    }

    fn ends_with(&self, ends: [char; 6]) -> bool {
        matches!(self.0.last(), Some(Piece::Text { text, is_quoted: false }) if text.ends_with(ends))
    }
}
