//! Reads words: quotes, escapes, variables, substitutions.

use super::super::word::{Piece, Word};
use super::{Closer, ShellReader};

impl ShellReader {
    /// Reads a word; empty when none begins here.
    pub(super) fn word(&mut self) -> Word {
        let mut pieces = Pieces::default();
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' => break,
                '<' | '>' => {
                    if self.peek_at(1) != Some('(') {
                        break;
                    }
                    self.at += 2;
                    let list = self.list(Closer::Paren);
                    pieces.push(Piece::Process(list));
                }
                '\\' => {
                    match self.peek_at(1) {
                        Some('\n') => {}
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
                    pieces.whole("");
                    self.quoted(&mut pieces, Some('"'));
                }
                '`' => self.backticks(&mut pieces, false),
                '$' => self.dollar(&mut pieces, false),
                c => {
                    self.at += 1;
                    pieces.text(c, false);
                }
            }
        }
        self.at = self.at.min(self.chars.len());
        pieces.0
    }

    /// The rest of the text as it stands between double quotes.
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
            match c {
                '\\' => {
                    match self.peek_at(1) {
                        Some('\n') => {}
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
    }

    /// The text up to a character, which is taken too.
    fn until(&mut self, end: char) -> String {
        let length = self.chars[self.at..].iter().take_while(|c| **c != end).count();
        let text = self.chars[self.at..self.at + length].iter().collect();
        self.at = (self.at + length + 1).min(self.chars.len());
        text
    }

    fn backticks(&mut self, pieces: &mut Pieces, is_quoted: bool) {
        self.at += 1;
        let mut text = String::new();
        while let Some(c) = self.peek() {
            self.at += 1;
            match (c, self.peek()) {
                ('`', _) => break,
                ('\\', Some(next @ ('`' | '\\' | '$'))) => {
                    self.at += 1;
                    text.push(next);
                }
                _ => text.push(c),
            }
        }
        let list = self.inside(&text, |reader| reader.list(Closer::End));
        pieces.push(Piece::Output { list, is_quoted });
    }

    fn dollar(&mut self, pieces: &mut Pieces, is_quoted: bool) {
        self.at += 1;
        match self.peek() {
            Some('(') => {
                if self.peek_at(1) == Some('(')
                    && let Some(end) = self.arithmetic_end(self.at + 2)
                {
                    let inside: String = self.chars[self.at + 2..end].iter().collect();
                    self.at = end;
                    self.outputs_of(&inside, pieces);
                    pieces.text('0', true);
                    return;
                }
                self.at += 1;
                let list = self.list(Closer::Paren);
                pieces.push(Piece::Output { list, is_quoted });
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
                let rest = &self.chars[self.at..];
                let name: String =
                    rest.iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').collect();
                self.at += name.len();
                pieces.push(Piece::Variable { name, fallback: None, is_quoted });
            }
            Some(c) if c.is_ascii_digit() || "?@*#$!-".contains(c) => {
                self.at += 1;
                pieces.push(Piece::Variable { name: c.into(), fallback: None, is_quoted });
            }
            _ => pieces.text('$', is_quoted),
        }
    }

    /// `${NAME}`, `${NAME:-fallback}` and its kin.
    fn braced(&mut self, pieces: &mut Pieces, is_quoted: bool) {
        self.at += 1;
        let mut open = 1;
        let mut inside = String::new();
        while let Some(c) = self.peek() {
            self.at += 1;
            match c {
                '{' => open += 1,
                '}' => open -= 1,
                '\\' => {
                    inside.push(c);
                    inside.extend(self.peek());
                    self.at = (self.at + 1).min(self.chars.len());
                    continue;
                }
                _ => {}
            }
            if open == 0 {
                break;
            }
            inside.push(c);
        }
        let length = inside.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').count();
        let (name, rest) = inside.split_at(length);
        let fallback = [":-", ":=", "-", "="].iter().find_map(|operator| rest.strip_prefix(operator));
        let fallback =
            fallback.map(|text| text.chars().filter(|c| !matches!(c, '"' | '\'' | '\\')).collect());
        let name = if name.is_empty() { inside.clone() } else { name.to_owned() };
        self.outputs_of(rest, pieces);
        pieces.push(Piece::Variable { name, fallback, is_quoted });
    }

    /// Keeps the commands that are run somewhere inside of a text.
    fn outputs_of(&mut self, text: &str, pieces: &mut Pieces) {
        if text.contains(['$', '`']) {
            let inner = self.inside(text, Self::quoted_text);
            pieces.0.extend(inner.into_iter().filter(|piece| piece.list().is_some()));
        }
    }

    /// `$'…'` with the escapes of C.
    fn escaped(&mut self) -> String {
        let mut raw = String::new();
        while let Some(c) = self.peek() {
            self.at += 1;
            match c {
                '\'' => break,
                '\\' => {
                    raw.push(c);
                    raw.extend(self.peek());
                    self.at = (self.at + 1).min(self.chars.len());
                }
                c => raw.push(c),
            }
        }
        unescape(&raw)
    }
}

/// The text with the escapes of C put in, as `$'…'`, `echo -e` and `printf` do.
pub(in super::super) fn unescape(raw: &str) -> String {
    let mut text = String::new();
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        let Some(kind) = chars.next() else { break };
        let (radix, most) = match kind {
            'x' => (16, 2),
            'u' => (16, 4),
            'U' => (16, 8),
            '0'..='7' => (8, 3),
            _ => (0, 0),
        };
        if radix == 0 {
            text.push(match kind {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'e' | 'E' => '\u{1b}',
                other => other,
            });
            continue;
        }
        let mut digits: String = if radix == 8 { kind.into() } else { String::new() };
        while digits.len() < most {
            match chars.next_if(|c| c.is_digit(radix)) {
                Some(digit) => digits.push(digit),
                None => break,
            }
        }
        text.extend(u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32));
    }
    text
}

/// Pieces, in which neighbouring texts are one.
#[derive(Default)]
struct Pieces(Word);

impl Pieces {
    fn push(&mut self, piece: Piece) {
        self.0.push(piece);
    }

    fn text(&mut self, c: char, is_quoted: bool) {
        match self.0.last_mut() {
            Some(Piece::Text { text, is_quoted: quoted }) if *quoted == is_quoted => text.push(c),
            _ => self.push(Piece::Text { text: c.into(), is_quoted }),
        }
    }

    /// Quoted text, which is a word even when it is empty.
    fn whole(&mut self, text: &str) {
        self.push(Piece::Text { text: text.to_owned(), is_quoted: true });
    }
}
