//! The forms in which a secret may appear in a text, and the search for all of them at once.
//!
//! Every form is a run of bytes. The search rolls a window of six bytes (or twelve digits) over the text; a small bit
//! field rules out nearly every position, so that the time does not grow with the number of secrets.

use std::collections::HashMap;
use std::ops::Range;

use zeroize::Zeroizing;

use super::view::{Digits, View};

/// The size of the window: six bytes, or twelve hexadecimal digits. No form is shorter.
const WINDOW_BITS: usize = 48;
/// One bit for each possible hash of a window, in words.
type Field = [u64; 1 << 10];
/// Values shorter than this are masked only as separate words, and not reversed: they may be part of ordinary words.
const CERTAIN: usize = 8;

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// One form of one secret.
struct Form {
    bytes: Zeroizing<Vec<u8>>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The value itself, or reversed.
    Value { is_word: bool },
    /// The base64 digits that depend only on the value, and whether a shared digit precedes and follows them.
    Base64 { before: bool, behind: bool },
}

/// Forms to be searched for together.
pub(super) struct Forms {
    all: Vec<Form>,
    by_window: HashMap<u64, Vec<usize>>,
    /// The bits of the hashes of all windows with which some form begins.
    field: Box<Field>,
    /// How many bits a unit of the text takes in the window: a byte eight, a digit four.
    unit: usize,
}

impl Forms {
    /// The forms of these values in a text: plain, reversed, and in base64 at any offset.
    pub(super) fn of_text<'v>(values: impl Iterator<Item = &'v str>) -> Self {
        let mut forms = Self::of_units(8);
        for value in values {
            let is_word = value.len() < CERTAIN;
            let joined: String = value.split_whitespace().collect();
            let view = View::decoded(value).map(|view| view.bytes);
            // Form encoding writes a blank as a plus sign; the view undoes the rest of it.
            let in_form = value.contains(' ').then(|| value.replace(' ', "+").into_bytes());
            let plain = [Some(value.as_bytes().to_vec()), Some(joined.into_bytes()), in_form, view];
            for bytes in plain.into_iter().flatten() {
                forms.add(bytes, Kind::Value { is_word });
            }
            if !is_word {
                forms.add(value.chars().rev().collect::<String>().into_bytes(), Kind::Value { is_word });
            }
            for alphabet in [STANDARD, URL_SAFE] {
                for offset in 0..3 {
                    let (bytes, kind) = base64(value.as_bytes(), offset, alphabet);
                    forms.add(bytes, kind);
                }
            }
        }
        forms
    }

    /// The forms of these values in a run of hexadecimal digits.
    pub(super) fn of_digits<'v>(values: impl Iterator<Item = &'v str>) -> Self {
        let mut forms = Self::of_units(4);
        for value in values {
            let digits = value.bytes().flat_map(|byte| [byte >> 4, byte & 15]).collect();
            forms.add(digits, Kind::Value { is_word: false });
        }
        forms
    }

    fn of_units(unit: usize) -> Self {
        Self { all: Vec::new(), by_window: HashMap::new(), field: Box::new([0; 1 << 10]), unit }
    }

    /// The width of the window in units.
    fn width(&self) -> usize {
        WINDOW_BITS / self.unit
    }

    fn add(&mut self, bytes: Vec<u8>, kind: Kind) {
        let bytes = Zeroizing::new(bytes);
        let Some(first) = bytes.get(..self.width()) else { return };
        let window = first.iter().fold(0, |window, &byte| roll(window, byte, self.unit));
        let known = self.by_window.entry(window).or_default();
        if known.iter().any(|&form| self.all[form].bytes == bytes) {
            return;
        }
        known.push(self.all.len());
        let hash = hash(window);
        self.field[usize::from(hash >> 6)] |= 1 << (hash & 63);
        self.all.push(Form { bytes, kind });
    }

    /// Whether there is nothing to search for.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Calls back with the range of every form found.
    pub(super) fn find(&self, text: &[u8], mut found: impl FnMut(Range<usize>)) {
        if self.is_empty() {
            return;
        }
        let (width, mut window) = (self.width(), 0);
        for (at, &byte) in text.iter().enumerate() {
            window = roll(window, byte, 8);
            if !self.may_begin(window) || at + 1 < width {
                continue;
            }
            for &form in self.beginning(window) {
                if let Some(place) = self.all[form].place(text, at + 1 - width) {
                    found(place);
                }
            }
        }
    }

    /// Calls back with the range of every form found in the hexadecimal digits of a text.
    pub(super) fn find_digits(&self, text: &[u8], mut found: impl FnMut(Range<usize>)) {
        if self.is_empty() {
            return;
        }
        let (width, mut window) = (self.width(), 0);
        let (mut places, mut length) = ([0; 16], 0_usize);
        let mut digits = Digits::of(text);
        while let Some((place, digit)) = digits.next() {
            let Some(digit) = digit else {
                length = 0;
                continue;
            };
            places[length & 15] = place;
            length += 1;
            window = roll(window, digit, 4);
            if length < width || !self.may_begin(window) {
                continue;
            }
            for &form in self.beginning(window) {
                if let Some(last) = end_of(&self.all[form].bytes[width..], digits.clone(), place) {
                    found(places[(length - width) & 15]..last + 1);
                }
            }
        }
    }

    fn may_begin(&self, window: u64) -> bool {
        let hash = hash(window);
        self.field[usize::from(hash >> 6)] & (1 << (hash & 63)) != 0
    }

    fn beginning(&self, window: u64) -> &[usize] {
        self.by_window.get(&window).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Where the last of these digits is, if they come next.
fn end_of(wanted: &[u8], mut digits: Digits<'_>, mut last: usize) -> Option<usize> {
    for &wanted in wanted {
        let (place, digit) = digits.next()?;
        if digit != Some(wanted) {
            return None;
        }
        last = place;
    }
    Some(last)
}

impl Form {
    /// What must be masked if this form begins here.
    fn place(&self, text: &[u8], start: usize) -> Option<Range<usize>> {
        let end = start + self.bytes.len();
        if !text[start..].starts_with(&self.bytes) {
            return None;
        }
        let before = start.checked_sub(1).and_then(|at| text.get(at)).copied();
        let behind = text.get(end).copied();
        match self.kind {
            Kind::Value { is_word: false } => Some(start..end),
            Kind::Value { is_word: true } => {
                let is_apart = |byte: Option<u8>| !byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
                (is_apart(before) && is_apart(behind)).then_some(start..end)
            }
            Kind::Base64 { before: shares_before, behind: shares_behind } => {
                let start = start - usize::from(shares_before && before.is_some_and(is_base64));
                let end = end + usize::from(shares_behind && behind.is_some_and(is_base64));
                Some(start..end)
            }
        }
    }
}

fn roll(window: u64, byte: u8, unit: usize) -> u64 {
    (window << unit | u64::from(byte)) & ((1 << WINDOW_BITS) - 1)
}

fn hash(window: u64) -> u16 {
    (window.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as u16
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// The base64 digits of a value preceded by `offset` other bytes (modulo three): only those that do not depend on the
/// neighbours.
fn base64(value: &[u8], offset: usize, alphabet: &[u8; 64]) -> (Vec<u8>, Kind) {
    let bit = |at: usize| {
        let byte = (at / 8).checked_sub(offset).and_then(|byte| value.get(byte)).copied().unwrap_or(0);
        usize::from(byte >> (7 - at % 8) & 1)
    };
    let bits = (offset + value.len()) * 8;
    let (first, last) = ((offset * 8).div_ceil(6), bits / 6);
    let digit = |place: usize| alphabet[(0..6).fold(0, |digit, at| digit << 1 | bit(place * 6 + at))];
    let kind = Kind::Base64 { before: offset > 0, behind: !bits.is_multiple_of(6) };
    ((first..last).map(digit).collect(), kind)
}
