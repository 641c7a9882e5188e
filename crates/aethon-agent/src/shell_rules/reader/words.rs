//! Reads words: quotes, escapes, substitutions.

use std::rc::Rc;

use super::super::escapes::unescape;
use super::super::word::{Change, Parameter, Piece, Word};
use super::{Ends, ShellReader};

impl ShellReader {
    /// Reads a word; empty if none begins here.
    pub(super) fn word(&mut self) -> Word {
        let mut pieces = Pieces::default();
        while let Some(c) = self.peek() {
            match c {
                '(' if is_setting(&pieces.0) && self.chars[self.at - 1] == '=' => {
                    self.at += 1;
                    let words = self.array();
                    pieces.push(Piece::Array(words));
                    break;
                }
                '(' if self.is_extended_pattern(&pieces) => self.extended_pattern(&mut pieces),
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' => break,
                '<' | '>' => {
                    if self.peek_at(1) != Some('(') {
                        break;
                    }
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

    /// Reads a quoted part, a substitution or a character of an unquoted word.
    pub(super) fn unquoted(&mut self, pieces: &mut Pieces) {
        let Some(c) = self.peek() else { return };
        match c {
            '\\' => {
                match self.peek_at(1) {
                    Some(next) => pieces.text(next, true),
                    None => pieces.text('\\', false),
                }
                self.at += 2;
            }
            '\'' => {
                self.at += 1;
                pieces.whole(&self.until('\''));
            }
            '"' => {
                self.at += 1;
                let mut inside = Pieces::default();
                self.quoted(&mut inside, Some('"'));
                if inside.0.is_empty() {
                    pieces.whole("");
                }
                pieces.0.extend(inside.0);
            }
            '`' => self.backticks(pieces, false),
            '$' => self.dollar(pieces, false),
            c => {
                self.at += 1;
                pieces.text(c, false);
            }
        }
    }

    /// Whether an extended pattern begins here: `?(`, `*(`, `+(`, `@(` or `!(` within a word.
    fn is_extended_pattern(&self, pieces: &Pieces) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.chars.get(at));
        !pieces.0.is_empty() && before.is_some_and(|c| "?*+@!".contains(*c))
    }

    /// Reads the pattern up to its `)` as text; substitutions in it are kept.
    fn extended_pattern(&mut self, pieces: &mut Pieces) {
        let mut open = 0;
        while let Some(c) = self.peek() {
            match c {
                '(' => open += 1,
                ')' => open -= 1,
                '\n' => return,
                '|' | ' ' | ';' | '&' | '<' | '>' => {}
                _ => {
                    self.unquoted(pieces);
                    continue;
                }
            }
            pieces.text(c, false);
            self.at += 1;
            if open == 0 {
                return;
            }
        }
    }

    /// Reads the words up to `)`.
    fn array(&mut self) -> Vec<Word> {
        let mut words = Vec::new();
        let begin = self.at;
        if self.deeper().is_none() {
            return words;
        }
        loop {
            self.lines();
            let before = self.at;
            match self.peek() {
                None => break,
                Some(')') => {
                    self.at += 1;
                    break;
                }
                _ => words.push(self.word()),
            }
            self.at = self.at.max(before + 1);
        }
        words.retain(|word| !word.is_empty());
        self.depth -= 1;
        // Bash 5.2 loses the escapes of an array in a substitution and then pairs the quotes differently, so such a
        // command is refused.
        let end = self.at.min(self.chars.len());
        self.is_too_deep |= self.substitutions > 0 && self.chars[begin..end].contains(&'\\');
        words
    }

    /// Reads the rest of the text as if between double quotes.
    pub(super) fn quoted_text(&mut self) -> Word {
        let mut pieces = Pieces::default();
        self.quoted(&mut pieces, None);
        pieces.0
    }

    fn quoted(&mut self, pieces: &mut Pieces, end: Option<char>) {
        while let Some(c) = self.peek() {
            if Some(c) == end {
                self.at += 1;
                return;
            }
            self.quoted_part(pieces, end.is_some());
        }
        self.is_unclosed |= end.is_some();
    }

    /// Reads a substitution, an escape or a character between double quotes.
    pub(super) fn quoted_part(&mut self, pieces: &mut Pieces, escapes_quotes: bool) {
        let Some(c) = self.peek() else { return };
        match c {
            '\\' => {
                match self.peek_at(1) {
                    Some('"') if !escapes_quotes => {
                        pieces.text('\\', true);
                        pieces.text('"', true);
                    }
                    Some(next @ ('$' | '`' | '"' | '\\')) => pieces.text(next, true),
                    Some(next) => {
                        pieces.text('\\', true);
                        pieces.text(next, true);
                    }
                    None => pieces.text('\\', true),
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
        let length = self.chars[self.at..].iter().take_while(|c| **c != end).count();
        let text = self.chars[self.at..self.at + length].iter().collect();
        self.is_unclosed |= self.at + length >= self.chars.len();
        self.at = (self.at + length + 1).min(self.chars.len());
        text
    }

    fn backticks(&mut self, pieces: &mut Pieces, is_quoted: bool) {
        self.at += 1;
        let mut text = String::new();
        while let Some(c) = self.chars.get(self.at).copied() {
            self.at += 1;
            match (c, self.chars.get(self.at).copied()) {
                ('`', _) => break,
                ('\\', Some(next @ ('`' | '\\' | '$'))) => {
                    self.at += 1;
                    text.push(next);
                }
                ('\\', Some('"')) if is_quoted => {
                    self.at += 1;
                    text.push('"');
                }
                _ => text.push(c),
            }
        }
        let was_unclosed = self.is_unclosed;
        let mut list = self.inside(&text, |reader| reader.list(&Ends::default()).0);
        if std::mem::replace(&mut self.is_unclosed, was_unclosed) {
            // In that case the shell reports an error and substitutes nothing.
            list.iter_mut().for_each(|pipeline| pipeline.is_conditional = true);
        }
        pieces.push(Piece::Output { list, is_quoted });
    }

    fn dollar(&mut self, pieces: &mut Pieces, is_quoted: bool) {
        self.at += 1;
        match self.peek() {
            Some('(') => {
                if self.peek_at(1) == Some('(')
                    && let Some(end) = self.arithmetic_end(self.at + 2)
                {
                    let text: String = self.chars[self.at + 2..end - 2].iter().collect();
                    self.at = end;
                    return self.arithmetic(&text, pieces);
                }
                self.at += 1;
                let list = self.substituted();
                pieces.push(Piece::Output { list, is_quoted });
            }
            Some('[') => {
                self.at += 1;
                let text = self.until(']');
                self.arithmetic(&text, pieces);
            }
            Some('{') => self.braced(pieces, is_quoted),
            Some('\'') if !is_quoted => {
                self.at += 1;
                let text = self.escaped();
                pieces.whole(&text);
            }
            // Translated text is read like quoted text.
            Some('"') if !is_quoted => {}
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let mut name = String::new();
                while let Some(c) = self.peek().filter(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    name.push(c);
                    self.at += 1;
                }
                pieces.variable(name, is_quoted);
            }
            Some(c) if c.is_ascii_digit() || "?@*#$!-".contains(c) => {
                self.at += 1;
                pieces.variable(c.into(), is_quoted);
            }
            _ => pieces.text('$', is_quoted),
        }
    }

    fn arithmetic(&mut self, text: &str, pieces: &mut Pieces) {
        let word = self.inside(text, Self::quoted_text);
        pieces.push(Piece::Arithmetic(word));
    }

    /// Reads `$'…'` with its C-style escapes.
    fn escaped(&mut self) -> String {
        let mut raw = String::new();
        while let Some(c) = self.chars.get(self.at).copied() {
            self.at += 1;
            match c {
                '\'' => break,
                '\\' => {
                    raw.push(c);
                    raw.extend(self.chars.get(self.at));
                    self.at = (self.at + 1).min(self.chars.len());
                }
                c => raw.push(c),
            }
        }
        unescape(&raw)
    }
}

/// Whether a word is an assignment: it begins with an unquoted `NAME=`, `NAME+=` or `NAME[…]=`.
pub(in super::super) fn is_setting(word: &[Piece]) -> bool {
    let Some(Piece::Text { text, is_quoted: false }) = word.first() else { return false };
    let length = text.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').count();
    if length == 0 || text.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let rest = &text[length..];
    if rest.starts_with('=') || rest.starts_with("+=") {
        return true;
    }
    // The index may be computed, and the `=` be in a later piece.
    rest.starts_with('[')
        && word.iter().any(|piece| {
            matches!(piece, Piece::Text { text, is_quoted: false } if text.contains("]=") || text.contains("]+="))
        })
}

/// Pieces, in which adjacent texts are merged.
#[derive(Default)]
pub(super) struct Pieces(pub(super) Word);

impl Pieces {
    pub(super) fn push(&mut self, piece: Piece) {
        self.0.push(piece);
    }

    pub(super) fn text(&mut self, c: char, is_quoted: bool) {
        match self.0.last_mut() {
            Some(Piece::Text { text, is_quoted: quoted }) if *quoted == is_quoted => text.push(c),
            _ => self.push(Piece::Text { text: c.into(), is_quoted }),
        }
    }

    /// Adds quoted text, which makes a word even if it is empty.
    fn whole(&mut self, text: &str) {
        self.push(Piece::Text { text: text.to_owned(), is_quoted: true });
    }

    fn variable(&mut self, name: String, is_quoted: bool) {
        let parameter =
            Parameter { name, is_bare: true, is_indirect: false, index: None, change: Change::Nothing };
        self.push(Piece::Variable { parameter: Box::new(parameter), is_quoted });
    }
}
