//! Maps the codes of a font to text.
//!
//! A font's own map (`ToUnicode`) is used if present. Otherwise a code is a byte of the usual Western encoding, with
//! the differences that the font lists. A font with two-byte codes and no map yields no text.

use std::collections::HashMap;

use super::document::Document;
use super::effort::Effort;
use super::syntax::{Dictionary, Object, Reader};

/// Maximum number of codes per font.
const MAX_CODES: usize = 70_000;
/// What noting a code costs, in bytes parsed.
const STEPS_PER_CODE: usize = 16;

/// The Windows-1252 characters from 0x80 on.
const WINDOWS: [char; 32] = [
    '€', '\u{fffd}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{fffd}', 'Ž', '\u{fffd}',
    '\u{fffd}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{fffd}', 'ž', 'Ÿ',
];

/// Names of characters that are not single letters.
const NAMES: [(&str, &str); 44] = [
    ("space", " "),
    ("exclam", "!"),
    ("quotedbl", "\""),
    ("numbersign", "#"),
    ("dollar", "$"),
    ("percent", "%"),
    ("ampersand", "&"),
    ("quotesingle", "'"),
    ("quoteright", "’"),
    ("quoteleft", "‘"),
    ("quotedblleft", "“"),
    ("quotedblright", "”"),
    ("parenleft", "("),
    ("parenright", ")"),
    ("asterisk", "*"),
    ("plus", "+"),
    ("comma", ","),
    ("hyphen", "-"),
    ("period", "."),
    ("slash", "/"),
    ("zero", "0"),
    ("one", "1"),
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("colon", ":"),
    ("semicolon", ";"),
    ("equal", "="),
    ("at", "@"),
    ("endash", "–"),
    ("emdash", "—"),
    ("bullet", "•"),
    ("ff", "ff"),
    ("fi", "fi"),
    ("fl", "fl"),
    ("ffi", "ffi"),
    ("ffl", "ffl"),
    ("germandbls", "ß"),
    ("Euro", "€"),
];

/// The character map of one font.
pub(super) struct Font {
    /// Bytes per code.
    width: usize,
    /// Whether a code missing from the table is a byte of the Western encoding.
    is_western: bool,
    codes: HashMap<u32, String>,
}

impl Default for Font {
    fn default() -> Self {
        Self { width: 1, is_western: true, codes: HashMap::new() }
    }
}

impl Font {
    pub(super) fn of(document: &mut Document<'_>, font: &Dictionary) -> Self {
        let is_composite = document.entry(font, b"Subtype").as_name() == Some(b"Type0");
        let mut this = Self {
            width: if is_composite { 2 } else { 1 },
            is_western: !is_composite,
            codes: HashMap::new(),
        };
        if let Object::Dictionary(encoding) = document.entry(font, b"Encoding") {
            this.note_differences(&document.entry(&encoding, b"Differences"), &document.effort);
        }
        if let Some(Object::Reference(number)) = font.get(b"ToUnicode".as_slice())
            && let Some(map) = document.stream(*number)
        {
            this.read_map(&map, &document.effort);
        }
        this
    }

    /// Appends the text of these codes, as long as the whole text is not longer than `most`.
    pub(super) fn read(&self, codes: &[u8], text: &mut String, most: usize) {
        for code in codes.chunks(self.width) {
            if text.len() > most {
                return;
            }
            let number = code.iter().fold(0, |number, byte| number * 256 + u32::from(*byte));
            match self.codes.get(&number) {
                Some(known) => text.push_str(known),
                None if self.is_western => text.push(western(code[0])),
                None => {}
            }
        }
    }

    fn note_differences(&mut self, differences: &Object, effort: &Effort) {
        let mut code = 0u32;
        for item in differences.as_array().unwrap_or_default() {
            match item {
                Object::Number(_) => {
                    code = item.as_count().and_then(|count| u32::try_from(count).ok()).unwrap_or_default()
                }
                Object::Name(name) => {
                    if !effort.charge(NAMES.len()) {
                        return;
                    }
                    if let Some(text) = named(&String::from_utf8_lossy(name)) {
                        self.note(code, text, effort);
                    }
                    code = code.saturating_add(1);
                }
                _ => {}
            }
        }
    }

    /// Parses a `ToUnicode` map.
    fn read_map(&mut self, map: &[u8], effort: &Effort) {
        let mut reader = Reader::new(map, 0);
        let mut before: Vec<Object> = Vec::new();
        let mut read = 0;
        while let Some(object) = reader.next() {
            let steps = reader.at - std::mem::replace(&mut read, reader.at);
            if self.codes.len() >= MAX_CODES || !effort.charge(steps) {
                return;
            }
            let Object::Word(word) = &object else {
                before.push(object);
                continue;
            };
            match word.as_slice() {
                b"endcodespacerange" => {
                    if let Some(Object::Text(code)) = before.last() {
                        self.width = code.len().clamp(1, 4);
                    }
                }
                b"endbfchar" => {
                    for pair in before.chunks(2) {
                        if let [Object::Text(code), Object::Text(meaning)] = pair
                            && effort.charge(1)
                        {
                            self.note(number(code), utf16(meaning), effort);
                        }
                    }
                }
                b"endbfrange" => before.chunks(3).for_each(|range| self.note_range(range, effort)),
                _ => {}
            }
            before.clear();
        }
    }

    fn note_range(&mut self, range: &[Object], effort: &Effort) {
        let [Object::Text(first), Object::Text(last), meaning] = range else { return };
        let (first, last) = (number(first), number(last).min(number(first).saturating_add(0xffff)));
        match meaning {
            Object::Text(meaning) => {
                let mut meaning = meaning.clone();
                for code in first..=last {
                    // Ranges may overlap, so what counts is how many codes are gone through, and not how many there are.
                    if !effort.charge(STEPS_PER_CODE) {
                        return;
                    }
                    self.note(code, utf16(&meaning), effort);
                    // In a range, the next code maps to the next character.
                    if let [.., high, low] = meaning.as_mut_slice() {
                        let next = u16::from_be_bytes([*high, *low]).wrapping_add(1).to_be_bytes();
                        (*high, *low) = (next[0], next[1]);
                    }
                }
            }
            Object::Array(meanings) => {
                for (code, meaning) in (first..=last).zip(meanings) {
                    if let Object::Text(meaning) = meaning
                        && effort.charge(STEPS_PER_CODE)
                    {
                        self.note(code, utf16(meaning), effort);
                    }
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, code: u32, text: String, effort: &Effort) {
        if self.codes.contains_key(&code) || (self.codes.len() < MAX_CODES && effort.keep_code()) {
            self.codes.insert(code, text);
        }
    }
}

fn number(code: &[u8]) -> u32 {
    code.iter().take(4).fold(0, |number, byte| number * 256 + u32::from(*byte))
}

fn utf16(bytes: &[u8]) -> String {
    let units: Vec<u16> =
        bytes.chunks_exact(2).take(16).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    String::from_utf16_lossy(&units)
}

fn western(byte: u8) -> char {
    match byte {
        0x80..=0x9f => WINDOWS[usize::from(byte - 0x80)],
        byte => char::from(byte),
    }
}

fn named(name: &str) -> Option<String> {
    if let Some((_, text)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Some((*text).to_owned());
    }
    let mut letters = name.chars();
    if let (Some(letter), None) = (letters.next(), letters.next()) {
        return Some(letter.to_string());
    }
    let digits = name.strip_prefix("uni").or_else(|| name.strip_prefix('u'))?;
    u32::from_str_radix(digits.get(..4)?, 16).ok().and_then(char::from_u32).map(String::from)
}
