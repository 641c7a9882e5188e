//! Views of a text with its encoding undone: escapes decoded and line breaks removed, invisible characters removed, or
//! only the hexadecimal digits. All know where in the text each of their bytes comes from.

use std::ops::Range;

use aethon_core::untrusted::is_invisible;

/// Bytes decoded from a text.
#[derive(Debug, Default)]
pub(super) struct View {
    pub(super) bytes: Vec<u8>,
    /// Where the mapping to the text is not byte by byte, in order.
    jumps: Vec<Jump>,
}

#[derive(Debug, Clone, Copy)]
struct Jump {
    /// The index in the view from which on
    at: usize,
    /// the text is read at this index.
    source: usize,
    /// How many bytes of the text the first byte takes.
    width: usize,
}

impl View {
    /// Returns the text without URL encoding, backslash escapes and line breaks (including the blanks around them).
    /// `None` if nothing changes.
    pub(super) fn decoded(text: &str) -> Option<Self> {
        let text = text.as_bytes();
        let is_special = |byte: &u8| matches!(byte, b'%' | b'\\' | b'\n' | b'\r');
        text.iter().position(is_special)?;
        let mut view = Self { bytes: Vec::with_capacity(text.len()), jumps: Vec::new() };
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let plain = rest.iter().position(is_special).unwrap_or(rest.len());
            view.bytes.extend_from_slice(&rest[..plain]);
            at += plain;
            match text.get(at..).filter(|rest| !rest.is_empty()).map(escape) {
                None => {}
                Some(Escape::Byte(byte, width)) => {
                    view.jump(at, width);
                    view.bytes.push(byte);
                    at += width;
                    view.jump(at, 1);
                }
                Some(Escape::Break(width)) => {
                    // The blanks before it are part of the break.
                    let kept = view.bytes.trim_ascii_end().len();
                    view.bytes.truncate(kept);
                    at += width;
                    at += text[at..].iter().take_while(|&&byte| matches!(byte, b' ' | b'\t')).count();
                    while view.jumps.last().is_some_and(|jump| jump.at > kept) {
                        view.jumps.pop();
                    }
                    view.jump(at, 1);
                }
                Some(Escape::None) => {
                    view.bytes.push(text[at]);
                    at += 1;
                }
            }
        }
        Some(view)
    }

    /// Returns the text without invisible characters. `None` if nothing changes.
    pub(super) fn visible(text: &str) -> Option<Self> {
        let is_hiding = |byte: u8| !byte.is_ascii() || byte.is_ascii_control() && !byte.is_ascii_whitespace();
        if !text.bytes().any(is_hiding) || !text.chars().any(is_invisible) {
            return None;
        }
        let mut view = Self { bytes: Vec::with_capacity(text.len()), jumps: Vec::new() };
        for (at, character) in text.char_indices() {
            if is_invisible(character) {
                view.jump(at + character.len_utf8(), 1);
            } else {
                view.bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        Some(view)
    }

    /// Returns the range of the text from which these bytes of the view come.
    pub(super) fn source(&self, place: &Range<usize>) -> Range<usize> {
        let (start, _) = self.source_of(place.start);
        let (last, width) = self.source_of(place.end.saturating_sub(1));
        start..last + width
    }

    fn source_of(&self, at: usize) -> (usize, usize) {
        let before = self.jumps.partition_point(|jump| jump.at <= at);
        match before.checked_sub(1).and_then(|index| self.jumps.get(index)) {
            Some(jump) if jump.at == at => (jump.source, jump.width),
            Some(jump) => (jump.source + jump.width + (at - jump.at - 1), 1),
            None => (at, 1),
        }
    }

    fn jump(&mut self, source: usize, width: usize) {
        let at = self.bytes.len();
        // Of two at the same byte, the later one counts.
        if self.jumps.last().is_some_and(|jump| jump.at == at) {
            self.jumps.pop();
        }
        self.jumps.push(Jump { at, source, width });
    }
}

enum Escape {
    /// An escape for this byte, with its length.
    Byte(u8, usize),
    /// A line break, with its length.
    Break(usize),
    /// Not an escape.
    None,
}

/// What begins here with a `%`, a backslash or a line break.
fn escape(text: &[u8]) -> Escape {
    match text {
        [b'\n' | b'\r', ..] => Escape::Break(1),
        [b'%', digits @ ..] => hex_byte(digits).map_or(Escape::None, |byte| Escape::Byte(byte, 3)),
        [b'\\', b'x', digits @ ..] => hex_byte(digits).map_or(Escape::None, |byte| Escape::Byte(byte, 4)),
        [b'\\', b'u', b'0', b'0', digits @ ..] => {
            let byte = hex_byte(digits).filter(u8::is_ascii);
            byte.map_or(Escape::None, |byte| Escape::Byte(byte, 6))
        }
        [b'\\', b'n' | b'r' | b'\n' | b'\r', ..] => Escape::Break(2),
        [b'\\', plain @ (b'/' | b'"' | b'\'' | b'\\'), ..] => Escape::Byte(*plain, 2),
        _ => Escape::None,
    }
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    let [high, low, ..] = digits else { return None };
    let value = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(value(*high)? << 4 | value(*low)?)
}

/// The hexadecimal digits of a text with their positions. Separators (`:`, blanks, `\x`, `0x`, `%`) are skipped; any
/// other letter or digit yields none.
#[derive(Clone)]
pub(super) struct Digits<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Digits<'t> {
    pub(super) fn of(text: &'t [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// Whether a digit is here, so that an `x` before it is its prefix.
    fn is_digit(&self, at: usize) -> bool {
        self.text.get(at).is_some_and(u8::is_ascii_hexdigit)
    }
}

impl Iterator for Digits<'_> {
    type Item = (usize, Option<u8>);

    fn next(&mut self) -> Option<(usize, Option<u8>)> {
        loop {
            let at = self.at;
            let byte = *self.text.get(at)?;
            self.at += 1;
            let class = CLASSES[usize::from(byte)];
            if class == SEPARATOR {
                continue;
            }
            if byte == b'0' && matches!(self.text.get(at + 1), Some(b'x' | b'X')) && self.is_digit(at + 2) {
                self.at += 1;
                continue;
            }
            if class != LETTER {
                return Some((at, Some(class)));
            }
            let is_escape = || at > 0 && matches!(self.text[at - 1], b'\\' | b'#') && self.is_digit(at + 1);
            if !(matches!(byte, b'x' | b'X') && is_escape()) {
                return Some((at, None));
            }
        }
    }
}

const SEPARATOR: u8 = 0xff;
const LETTER: u8 = 0xfe;

/// The class of each byte among digits: the value of a digit, a separator or a letter.
static CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [SEPARATOR; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            b'g'..=b'z' | b'G'..=b'Z' => LETTER,
            _ => SEPARATOR,
        };
        byte += 1;
    }
    classes
}
