//! Parses PDF objects and the operators of page contents.

use std::collections::HashMap;

/// Maximum nesting of arrays and dictionaries.
const MAX_DEPTH: usize = 32;
/// Maximum number of entries of each.
const MAX_ENTRIES: usize = 100_000;
/// Maximum number of objects inside one.
const MAX_INSIDE: usize = 400_000;

/// An object.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Object {
    Null,
    Number(f64),
    Name(Vec<u8>),
    Text(Vec<u8>),
    Array(Vec<Object>),
    Dictionary(Dictionary),
    /// A reference to an object, by its number.
    Reference(u32),
    /// Any other keyword: a page operator, `true`, `endobj`.
    Word(Vec<u8>),
}

/// A dictionary.
pub(super) type Dictionary = HashMap<Vec<u8>, Object>;

impl Object {
    pub(super) fn as_number(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    /// Returns roughly how much there is of it to be copied.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Null | Self::Number(_) | Self::Reference(_) => 1,
            Self::Name(bytes) | Self::Text(bytes) | Self::Word(bytes) => 1 + bytes.len(),
            Self::Array(items) => items.iter().fold(1, |size, item| size + item.size()),
            Self::Dictionary(entries) => {
                entries.iter().fold(1, |size, (name, value)| size + name.len() + value.size())
            }
        }
    }

    /// Returns the number as a count, if it is one.
    pub(super) fn as_count(&self) -> Option<usize> {
        let number = self.as_number()?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was looked at first")]
        (number.fract() == 0.0 && (0.0..=4e9).contains(&number)).then_some(number as usize)
    }

    pub(super) fn as_name(&self) -> Option<&[u8]> {
        if let Self::Name(name) = self { Some(name) } else { None }
    }

    pub(super) fn as_dictionary(&self) -> Option<&Dictionary> {
        if let Self::Dictionary(dictionary) = self { Some(dictionary) } else { None }
    }

    pub(super) fn as_array(&self) -> Option<&[Object]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }
}

/// Reads consecutive objects.
pub(super) struct Reader<'b> {
    bytes: &'b [u8],
    pub(super) at: usize,
    /// How many more objects the current one may have inside.
    inside: usize,
}

impl<'b> Reader<'b> {
    pub(super) fn new(bytes: &'b [u8], at: usize) -> Self {
        Self { bytes, at, inside: MAX_INSIDE }
    }

    /// Returns the next object; `None` at the end. Skips unmatched closing brackets.
    pub(super) fn next(&mut self) -> Option<Object> {
        self.inside = MAX_INSIDE;
        self.object(0)
    }

    fn object(&mut self, depth: usize) -> Option<Object> {
        loop {
            self.skip_blanks();
            let first = self.peek(0)?;
            return Some(match (first, self.peek(1)) {
                (b'/', _) => {
                    self.at += 1;
                    Object::Name(self.name())
                }
                (b'(', _) => Object::Text(self.text()),
                (b'<', Some(b'<')) if depth < MAX_DEPTH => {
                    self.at += 2;
                    self.dictionary(depth)
                }
                (b'<', _) => Object::Text(self.hexadecimal()),
                (b'[', _) if depth < MAX_DEPTH => {
                    self.at += 1;
                    self.array(depth)
                }
                (b'0'..=b'9' | b'+' | b'-' | b'.', _) => self.number(),
                (b')' | b'>' | b']' | b'{' | b'}' | b'[', _) => {
                    self.at += 1;
                    continue;
                }
                _ => Object::Word(self.name()),
            });
        }
    }

    fn array(&mut self, depth: usize) -> Object {
        let mut items = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek(0) {
                None => break,
                Some(b']') => {
                    self.at += 1;
                    break;
                }
                Some(_) => {}
            }
            let Some(item) = self.object(depth + 1) else { break };
            if items.len() < MAX_ENTRIES && self.inside > 0 {
                self.inside -= 1;
                items.push(item);
            }
        }
        Object::Array(items)
    }

    fn dictionary(&mut self, depth: usize) -> Object {
        let mut entries = Dictionary::new();
        loop {
            self.skip_blanks();
            match (self.peek(0), self.peek(1)) {
                (None, _) => break,
                (Some(b'>'), Some(b'>')) => {
                    self.at += 2;
                    break;
                }
                (Some(b'/'), _) => {
                    self.at += 1;
                    let name = self.name();
                    let Some(value) = self.object(depth + 1) else { break };
                    if entries.len() < MAX_ENTRIES && self.inside > 0 {
                        self.inside -= 1;
                        entries.insert(name, value);
                    }
                }
                // Malformed here; resume at the next byte.
                _ => self.at += 1,
            }
        }
        Object::Dictionary(entries)
    }

    /// Parses a number, or a reference if two more words make it one.
    fn number(&mut self) -> Object {
        let number = self.digits();
        let after = self.at;
        if number.fract() == 0.0 && (0.0..=9e6).contains(&number) {
            self.skip_blanks();
            if self.peek(0).is_some_and(|byte| byte.is_ascii_digit()) {
                self.digits();
                self.skip_blanks();
                let ends = self.peek(1).is_none_or(is_delimiter);
                if self.peek(0) == Some(b'R') && ends {
                    self.at += 1;
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "it was looked at first"
                    )]
                    return Object::Reference(number as u32);
                }
            }
        }
        self.at = after;
        Object::Number(number)
    }

    fn digits(&mut self) -> f64 {
        let begun = self.at;
        while self.peek(0).is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.')) {
            self.at += 1;
        }
        let text = std::str::from_utf8(&self.bytes[begun..self.at]).unwrap_or_default();
        text.parse().unwrap_or(0.0)
    }

    fn name(&mut self) -> Vec<u8> {
        let mut name = Vec::new();
        while let Some(byte) = self.peek(0).filter(|byte| !is_delimiter(*byte)) {
            self.at += 1;
            let escaped = || Some(digit(self.peek(0)?)? * 16 + digit(self.peek(1)?)?);
            match (byte, (byte == b'#').then(escaped).flatten()) {
                (_, Some(byte)) => {
                    self.at += 2;
                    name.push(byte);
                }
                (byte, None) => name.push(byte),
            }
        }
        if name.is_empty() {
            // Always advance, or the reader would never finish.
            self.at += 1;
        }
        name
    }

    fn text(&mut self) -> Vec<u8> {
        self.at += 1;
        let (mut text, mut open) = (Vec::new(), 1);
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            match byte {
                b'(' => open += 1,
                b')' => open -= 1,
                b'\\' => {
                    self.escape(&mut text);
                    continue;
                }
                _ => {}
            }
            if open == 0 {
                break;
            }
            text.push(byte);
        }
        text
    }

    fn escape(&mut self, text: &mut Vec<u8>) {
        let Some(byte) = self.peek(0) else { return };
        self.at += 1;
        match byte {
            b'n' => text.push(b'\n'),
            b'r' => text.push(b'\r'),
            b't' => text.push(b'\t'),
            b'b' | b'f' | b'\n' => {}
            b'\r' => self.at += usize::from(self.peek(0) == Some(b'\n')),
            b'0'..=b'7' => {
                let mut code = u32::from(byte - b'0');
                for _ in 0..2 {
                    let Some(digit @ b'0'..=b'7') = self.peek(0) else { break };
                    self.at += 1;
                    code = code * 8 + u32::from(digit - b'0');
                }
                text.push(u8::try_from(code & 0xff).unwrap_or_default());
            }
            other => text.push(other),
        }
    }

    fn hexadecimal(&mut self) -> Vec<u8> {
        self.at += 1;
        let mut digits = Vec::new();
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            if byte == b'>' {
                break;
            }
            digits.extend(digit(byte));
        }
        let pair = |pair: &[u8]| pair[0] * 16 + pair.get(1).copied().unwrap_or(0);
        digits.chunks(2).map(pair).collect()
    }

    fn skip_blanks(&mut self) {
        while let Some(byte) = self.peek(0) {
            match byte {
                b'%' => {
                    while self.peek(0).is_some_and(|byte| !matches!(byte, b'\n' | b'\r')) {
                        self.at += 1;
                    }
                }
                byte if is_blank(byte) => self.at += 1,
                _ => return,
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }
}

pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | 0 | 0x0c)
}

fn is_delimiter(byte: u8) -> bool {
    is_blank(byte) || matches!(byte, b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%')
}

pub(super) fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}
