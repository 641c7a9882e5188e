//! The output of a command: bounded to a head and a tail while it arrives, and converted to readable text in the end.
//!
//! Commands write anything: more than fits in memory, bytes that are not text, escape sequences that color a terminal.
//! A model needs the beginning and the end, in characters.

use aethon_core::tool::left_out;

/// Maximum bytes kept, whatever the caller asks for. Several commands may write at once, and each text is copied a few
/// times on its way.
const MAX_KEPT: usize = 4 << 20;
/// Minimum, so that an error message always fits.
const MIN_KEPT: usize = 256;
/// How far a cut may move to avoid splitting a line or a word. Half a secret would escape redaction.
const MAX_MOVE: usize = 2048;
/// Maximum length of an escape sequence that is removed; anything longer is not one.
const MAX_SEQUENCE: usize = 256;
/// How much of the end is inspected for viewers, and how much of that they get. The difference allows to redact a
/// secret that begins before the part shown.
const WATCHED: usize = 16 * 1024;
const SHOWN: usize = 4 * 1024;
/// Number of bytes shown of binary output.
const SAMPLE: usize = 32;

/// The head and the tail of a stream of bytes.
#[derive(Debug)]
pub(super) struct HeadTailBuffer {
    head: Vec<u8>,
    tail: Vec<u8>,
    head_limit: usize,
    tail_limit: usize,
    total: u64,
}

impl Default for HeadTailBuffer {
    /// Keeps the maximum. Output that is too long for a model is cut later, and kept elsewhere.
    fn default() -> Self {
        Self::new(MAX_KEPT)
    }
}

impl HeadTailBuffer {
    /// Keeps about this many bytes: two thirds from the beginning, the rest from the end.
    pub(super) fn new(limit: usize) -> Self {
        let limit = limit.clamp(MIN_KEPT, MAX_KEPT);
        let head_limit = limit * 2 / 3;
        Self { head: Vec::new(), tail: Vec::new(), head_limit, tail_limit: limit - head_limit, total: 0 }
    }

    /// Adds bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.head_limit - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        // Buffer up to twice the limit, so that the tail moves only now and then instead of with every byte.
        let newest = &rest[rest.len().saturating_sub(2 * self.tail_limit)..];
        if self.tail.len() + newest.len() > 2 * self.tail_limit {
            let spare = (self.tail.len() + newest.len()).saturating_sub(self.tail_limit);
            self.tail.drain(..spare.min(self.tail.len()));
        }
        self.tail.extend_from_slice(newest);
    }

    /// Returns how many bytes arrived in total.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the latest output for viewers: whole lines, redacted by `mask`. An incomplete line is held back, because
    /// it may end in half a secret.
    pub(super) fn latest(&self, mask: impl FnOnce(&str) -> String) -> String {
        let from_tail = &self.tail[self.tail.len().saturating_sub(WATCHED)..];
        let from_head = &self.head[self.head.len().saturating_sub(WATCHED - from_tail.len())..];
        // If anything between head and tail is missing, only the tail counts.
        let is_whole = self.total == (self.head.len() + self.tail.len()) as u64;
        let bytes = if is_whole { [from_head, from_tail].concat() } else { from_tail.to_vec() };
        let Some(end) = bytes.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')) else {
            return String::new();
        };
        let start = if (bytes.len() as u64) < self.total { start_of_line(&bytes[..=end]) } else { 0 };
        let text = mask(&readable(&bytes[start..=end]));
        let cut = text.ceil_char_boundary(text.len().saturating_sub(SHOWN));
        let line = if cut == 0 { 0 } else { text[cut..].find('\n').map_or(cut, |at| cut + at + 1) };
        text[line..].to_owned()
    }

    /// Ends the last line, if it has no end.
    pub(super) fn end_line(&mut self) {
        let last = self.tail.last().or(self.head.last());
        if last.is_some_and(|byte| *byte != b'\n') {
            self.push(b"\n");
        }
    }

    /// Takes everything that has arrived, up to the end of the last whole line; the rest stays, because it may end in half a
    /// secret. A line that is longer than any line should be is taken as it is.
    pub(super) fn take_lines(&mut self) -> Self {
        let last = if self.tail.is_empty() { &mut self.head } else { &mut self.tail };
        let from = last.len().saturating_sub(MAX_MOVE);
        let rest = match last[from..].iter().rposition(|byte| matches!(byte, b'\n' | b'\r')) {
            Some(at) => last.split_off(from + at + 1),
            None if from == 0 && self.tail.is_empty() => std::mem::take(&mut self.head),
            None => Vec::new(),
        };
        self.total -= rest.len() as u64;
        let taken = self.take();
        self.push(&rest);
        taken
    }

    /// Takes everything that has arrived.
    pub(super) fn take(&mut self) -> Self {
        let empty = Self {
            head: Vec::new(),
            tail: Vec::new(),
            head_limit: self.head_limit,
            tail_limit: self.tail_limit,
            total: 0,
        };
        std::mem::replace(self, empty)
    }

    /// Returns the text, with a line that marks the omission.
    pub(super) fn text(&self) -> String {
        let whole = self.head.len() + self.tail.len();
        if self.total == whole as u64 && whole <= self.head_limit + self.tail_limit {
            return readable(&[self.head.as_slice(), &self.tail].concat());
        }
        let head = &self.head[..end_of_line(&self.head)];
        let tail = &self.tail[self.tail.len().saturating_sub(self.tail_limit)..];
        let tail = &tail[start_of_line(tail)..];
        let cut = self.total - (head.len() + tail.len()) as u64;
        let total = self.total;
        let mut text = readable(head);
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&left_out(cut, total));
        text.push('\n');
        text.push_str(&readable(tail));
        text
    }
}

fn end_of_line(head: &[u8]) -> usize {
    let from = head.len() - MAX_MOVE.min(head.len() / 2);
    let last = |wanted: fn(&u8) -> bool| head[from..].iter().rposition(wanted).map(|at| from + at + 1);
    let at = last(|byte| *byte == b'\n').or_else(|| last(u8::is_ascii_whitespace));
    at.unwrap_or_else(|| head.len() - broken_end(head))
}

fn start_of_line(tail: &[u8]) -> usize {
    let window = &tail[..MAX_MOVE.min(tail.len() / 2)];
    let first = |wanted: fn(&u8) -> bool| window.iter().position(wanted).map(|at| at + 1);
    let at = first(|byte| *byte == b'\n').or_else(|| first(u8::is_ascii_whitespace));
    at.unwrap_or_else(|| tail.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count())
}

/// Returns how many bytes at the end belong to an incomplete character.
fn broken_end(bytes: &[u8]) -> usize {
    let chunk = bytes.utf8_chunks().last();
    chunk.map_or(0, |chunk| chunk.invalid().len())
}

/// Converts bytes to readable text: removes escape sequences and control characters, shows invalid bytes as `\xNN`.
pub(super) fn readable(bytes: &[u8]) -> String {
    if is_binary(bytes) {
        let sample: Vec<String> = bytes.iter().take(SAMPLE).map(|byte| format!("{byte:02x}")).collect();
        return format!("[{} bytes that are no text, beginning with {}]\n", bytes.len(), sample.join(" "));
    }
    let mut text = String::with_capacity(bytes.len());
    let mut state = EscapeState::Text;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            state = state.next(c, &mut text);
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Returns whether more than a third of the bytes are neither text nor terminal control.
fn is_binary(bytes: &[u8]) -> bool {
    let mut strange = 0;
    for chunk in bytes.utf8_chunks() {
        let controls = |byte: &u8| {
            (*byte < 0x20 && !matches!(byte, b'\n' | b'\r' | b'\t' | 0x1b | 0x8)) || *byte == 0x7f
        };
        strange += chunk.valid().bytes().filter(controls).count() + chunk.invalid().len();
    }
    strange >= 8 && strange > bytes.len() / 3
}

/// Position within an escape sequence.
#[derive(Clone, Copy)]
enum EscapeState {
    Text,
    Escape,
    /// `ESC [ … letter`: colors, cursor movements.
    Control(usize),
    /// `ESC ] … BEL`: titles, links.
    System(usize),
}

impl EscapeState {
    fn next(self, c: char, text: &mut String) -> Self {
        match (self, c) {
            (_, '\u{1b}') => Self::Escape,
            (Self::Escape, '[') => Self::Control(0),
            (Self::Escape, ']' | 'P' | '_' | '^') => Self::System(0),
            // Two-letter sequences that select a character set, and the end of a title.
            (Self::Escape, '(' | ')') => Self::Control(MAX_SEQUENCE),
            (Self::Escape, '\\' | '=' | '>' | '7' | '8' | 'M') => Self::Text,
            (Self::Control(_), '@'..='~') => Self::Text,
            (Self::Control(length), ' '..='?') if length < MAX_SEQUENCE => Self::Control(length + 1),
            (Self::System(_), '\u{7}') => Self::Text,
            (Self::System(length), _) if length < MAX_SEQUENCE && c != '\n' => Self::System(length + 1),
            _ => {
                if c.is_control() && !matches!(c, '\n' | '\r' | '\t') {
                    text.push_str(&format!("\\x{:02x}", u32::from(c)));
                } else {
                    text.push(c);
                }
                Self::Text
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn output_becomes_text() {
        let check = |bytes: &[u8], expected: &str| assert_eq!(readable(bytes), expected, "{bytes:?}");
        check(b"plain\n", "plain\n");
        check("grün\tü".as_bytes(), "grün\tü");
        check(b"\x1b[1;31mred\x1b[0m end", "red end");
        check(b"\x1b]0;title\x07text", "text");
        check(b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link");
        check(b"10%\r20%\r\ndone", "10%\n20%\ndone");
        check(b"caf\xe9 and more", "caf\\xe9 and more");
        check(b"bell\x07 and nul\0 in a text", "bell\\x07 and nul\\x00 in a text");
        check(b"\x1b[", "");
        assert!(readable(&[0u8; 100]).starts_with("[100 bytes that are no text, beginning with 00 00"));
        assert!(readable(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0").contains("7f 45 4c 46"));
    }

    #[test]
    fn head_and_tail_are_kept_whole_lines_of_them() {
        let mut kept = HeadTailBuffer::new(300);
        for number in 0..1000 {
            kept.push(format!("line {number}\n").as_bytes());
        }
        let text = kept.text();
        assert!(text.starts_with("line 0\nline 1\n") && text.ends_with("line 998\nline 999\n"), "{text}");
        assert!(text.contains("of 8890 bytes were left out here ...]\nline 9"), "{text}");
        assert!(text.len() < 400);
    }

    #[test]
    fn memory_is_bounded() {
        let mut kept = HeadTailBuffer::new(usize::MAX);
        let block = vec![b'x'; 100_000];
        for _ in 0..1000 {
            kept.push(&block);
        }
        assert!(kept.head.capacity() + kept.tail.capacity() < 4 * MAX_KEPT);
        assert!(kept.text().contains("of 100000000 bytes"));
    }

    #[test]
    fn those_who_watch_see_whole_lines_of_the_end() {
        let mut kept = HeadTailBuffer::new(1000);
        let latest = |kept: &HeadTailBuffer| kept.latest(|text| text.replace("hunter22", "***"));
        kept.push(b"one\ntwo\nthr");
        assert_eq!(latest(&kept), "one\ntwo\n");
        kept.push(b"ee\npassword hunter22\npassword hunt");
        assert_eq!(latest(&kept), "one\ntwo\nthree\npassword ***\n");
        for number in 0..10_000 {
            kept.push(format!("line {number}\n").as_bytes());
        }
        let shown = latest(&kept);
        assert!(shown.ends_with("line 9998\nline 9999\n") && shown.starts_with("line "), "{shown}");
        assert!(shown.len() <= SHOWN);
        let mut bar = HeadTailBuffer::new(1000);
        bar.push(b"10%\r20%\r30");
        assert_eq!(latest(&bar), "10%\n20%\n");
        assert_eq!(latest(&HeadTailBuffer::new(1000)), "");
    }

    #[test]
    fn whole_lines_are_taken_and_the_rest_stays() {
        let mut kept = HeadTailBuffer::new(300);
        kept.push(b"one\ntwo\npassw");
        assert_eq!(kept.take_lines().text(), "one\ntwo\n");
        assert_eq!(kept.take_lines().text(), "");
        kept.push(b"ord\n");
        assert_eq!((kept.total(), kept.take_lines().text().as_str()), (9, "password\n"));
        for number in 0..1000 {
            kept.push(format!("line {number}\n").as_bytes());
        }
        kept.push(b"half");
        let text = kept.take_lines().text();
        assert!(text.starts_with("line 0\n") && text.ends_with("line 999\n"), "{text}");
        assert!(text.contains("of 8890 bytes were left out here"), "{text}");
        kept.end_line();
        kept.end_line();
        assert_eq!(kept.take().text(), "half\n");
        kept.end_line();
        assert_eq!(kept.take().text(), "");
        let mut endless = HeadTailBuffer::new(MAX_KEPT);
        endless.push(&[b'x'; 2 * MAX_MOVE]);
        assert_eq!(endless.take_lines().text().len(), 2 * MAX_MOVE, "no line is held back for ever");
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_are_text(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 0..40), limit in 0usize..2000) {
            let mut kept = HeadTailBuffer::new(limit);
            for piece in &pieces {
                kept.push(piece);
            }
            let text = kept.text();
            prop_assert!(!text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')), "{text:?}");
        }

        #[test]
        fn short_output_is_kept_whole(text in "[a-z \n]{0,250}", piece in 1usize..50) {
            let mut kept = HeadTailBuffer::new(256);
            text.as_bytes().chunks(piece).for_each(|part| kept.push(part));
            prop_assert_eq!(kept.text(), text);
        }
    }
}
