//! Brace expansion: the words that `{a,b}` and `{1..9}` stand for. Each word is charged before it is made.

use std::rc::Rc;

use super::marks::UNKNOWN;
use super::meter::Meter;
use super::refusal::Refusal;
use super::word::Piece;

/// A part of a word.
#[derive(Debug, Clone)]
pub(super) enum Bit<'w> {
    Text {
        text: &'w str,
        is_quoted: bool,
    },
    Made(Rc<str>),
    /// A variable whose name continued after the brace.
    Variable(String),
    Piece(&'w Piece),
}

/// How deep braces may be nested or chained.
const MAX_DEPTH: usize = 32;
/// Sequences up to this length are expanded; a longer one becomes a single unknown.
const MAX_MADE: i64 = 256;
/// No legitimate command needs a sequence longer than this.
const MAX_LEN: i64 = 1_000_000;

/// Returns the words that this word stands for.
pub(super) fn words<'w>(word: &'w [Piece], meter: &mut Meter) -> Result<Vec<Vec<Bit<'w>>>, Refusal> {
    let mut signs = Vec::new();
    for piece in word {
        match piece {
            Piece::Text { text, is_quoted: false } => signs_of(text, &mut signs),
            Piece::Text { text, is_quoted } => {
                signs.push(Sign::Bit(Bit::Text { text, is_quoted: *is_quoted }))
            }
            piece => signs.push(Sign::Bit(Bit::Piece(piece))),
        }
    }
    if !signs.iter().any(|sign| matches!(sign, Sign::Open)) {
        return Ok(vec![signs.iter().map(Sign::bit).collect()]);
    }
    let closed = closed(&signs);
    Braces { signs: &signs, closed: &closed, meter }.expand(0, signs.len(), 0)
}

/// A part of a word, or one of the characters that structure it.
enum Sign<'w> {
    Open,
    Comma,
    Close,
    Bit(Bit<'w>),
}

impl<'w> Sign<'w> {
    /// The sign as literal text.
    fn bit(&self) -> Bit<'w> {
        let text = match self {
            Self::Open => "{",
            Self::Comma => ",",
            Self::Close => "}",
            Self::Bit(bit) => return bit.clone(),
        };
        Bit::Text { text, is_quoted: false }
    }
}

fn signs_of<'w>(mut text: &'w str, signs: &mut Vec<Sign<'w>>) {
    while let Some(at) = text.find(['{', ',', '}']) {
        if at > 0 {
            signs.push(Sign::Bit(Bit::Text { text: &text[..at], is_quoted: false }));
        }
        signs.push(match text.as_bytes()[at] {
            b'{' => Sign::Open,
            b',' => Sign::Comma,
            _ => Sign::Close,
        });
        text = &text[at + 1..];
    }
    if !text.is_empty() {
        signs.push(Sign::Bit(Bit::Text { text, is_quoted: false }));
    }
}

/// For each opening brace, the index of the one that closes it.
fn closed(signs: &[Sign]) -> Vec<Option<usize>> {
    let (mut closed, mut open) = (vec![None; signs.len()], Vec::new());
    for (at, sign) in signs.iter().enumerate() {
        match sign {
            Sign::Open => open.push(at),
            Sign::Close => {
                if let Some(from) = open.pop() {
                    closed[from] = Some(at);
                }
            }
            _ => {}
        }
    }
    closed
}

struct Braces<'s, 'w, 'm> {
    signs: &'s [Sign<'w>],
    closed: &'s [Option<usize>],
    meter: &'m mut Meter,
}

impl<'w> Braces<'_, 'w, '_> {
    /// The words that the signs in this range stand for.
    fn expand(&mut self, from: usize, to: usize, depth: usize) -> Result<Vec<Vec<Bit<'w>>>, Refusal> {
        if depth > MAX_DEPTH {
            return Err(Refusal::TooInvolved);
        }
        self.meter.steps(1 + (to - from) / 8)?;
        let mut at = from;
        while at < to {
            if matches!(self.signs[at], Sign::Open)
                && let Some(end) = self.closed[at].filter(|end| *end < to)
                && let Some(inside) = self.inside(at, end, depth)?
            {
                let before: Vec<Bit> = self.signs[from..at].iter().map(Sign::bit).collect();
                let after = self.expand(end + 1, to, depth + 1)?;
                self.meter.steps(inside.len().saturating_mul(after.len()))?;
                let mut words = Vec::with_capacity(inside.len() * after.len());
                for middle in &inside {
                    for rest in &after {
                        let length = before.len() + middle.len() + rest.len();
                        self.meter.bytes(length * size_of::<Bit>() / 4)?;
                        words.push([before.as_slice(), middle, rest].concat());
                    }
                }
                return Ok(words);
            }
            at += 1;
        }
        Ok(vec![self.signs[from..to].iter().map(Sign::bit).collect()])
    }

    /// The alternatives between two braces; `None` if the braces are literal.
    fn inside(
        &mut self,
        open: usize,
        close: usize,
        depth: usize,
    ) -> Result<Option<Vec<Vec<Bit<'w>>>>, Refusal> {
        if let [Sign::Bit(Bit::Text { text, is_quoted: false })] = &self.signs[open + 1..close] {
            return match sequence(text) {
                Some((count, _)) if count > MAX_LEN => Err(Refusal::TooInvolved),
                Some((count, made)) => {
                    self.meter.steps(usize::try_from(count.min(MAX_MADE)).unwrap_or_default())?;
                    Ok(Some(made.into_iter().map(|text| vec![Bit::Made(text.into())]).collect()))
                }
                None => Ok(None),
            };
        }
        let (mut commas, mut at) = (Vec::new(), open + 1);
        while at < close {
            match self.signs[at] {
                Sign::Comma => commas.push(at),
                Sign::Open => at = self.closed[at].unwrap_or(at),
                _ => {}
            }
            at += 1;
        }
        if commas.is_empty() {
            return Ok(None);
        }
        let mut words = Vec::new();
        let mut from = open + 1;
        for to in commas.into_iter().chain([close]) {
            words.extend(self.expand(from, to, depth + 1)?);
            from = to + 1;
        }
        Ok(Some(words))
    }
}

/// The length of `1..9`, `a..e` or `1..9..2` with its members, or with a single unknown if there are too many.
fn sequence(text: &str) -> Option<(i64, Vec<String>)> {
    let parts: Vec<&str> = text.split("..").collect();
    let (first, last, step) = match parts.as_slice() {
        [first, last] => (*first, *last, 1),
        [first, last, step] => (*first, *last, step.parse::<i64>().ok()?),
        _ => return None,
    };
    let step = step.checked_abs()?.max(1);
    let one = |text: &str| {
        let mut chars = text.chars();
        chars.next().filter(|c| c.is_ascii_alphabetic() && chars.next().is_none()).map(|c| c as i64)
    };
    let (from, to, are_letters) = match (one(first), one(last)) {
        (Some(from), Some(to)) => (from, to, true),
        _ => (number(first)?, number(last)?, false),
    };
    let count = from.checked_sub(to)?.checked_abs()? / step + 1;
    if count > MAX_MADE {
        return Some((count, vec![UNKNOWN.to_string()]));
    }
    let is_padded =
        |text: &str| text.trim_start_matches('-').len() > 1 && text.trim_start_matches('-').starts_with('0');
    let width = if is_padded(first) || is_padded(last) { first.len().max(last.len()) } else { 0 };
    let member = |place: i64| {
        let value = if from <= to { from + place * step } else { from - place * step };
        if are_letters {
            u8::try_from(value).map(|letter| char::from(letter).to_string()).unwrap_or_default()
        } else {
            format!("{value:0width$}")
        }
    };
    Some((count, (0..count).map(member).collect()))
}

fn number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    (!digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())).then(|| text.parse().ok())?
}
