//! Splits newline-delimited JSON, from bytes that may be cut anywhere.

use std::borrow::Cow;

use super::sse::TooLong;

/// The longest line in bytes.
const LIMIT: usize = 8 * 1024 * 1024;

/// Splits lines; blank ones are skipped.
#[derive(Debug, Default)]
pub(super) struct Lines {
    line: Vec<u8>,
    /// Bytes were no UTF-8, or a line was no JSON object.
    has_skipped: bool,
}

impl Lines {
    /// Adds bytes and returns the lines that they complete.
    pub(super) fn push(&mut self, bytes: &[u8], lines: &mut Vec<String>) -> Result<(), TooLong> {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            if self.line.len() + part.len() > LIMIT {
                return Err(TooLong);
            }
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                lines.extend(self.take());
            }
        }
        Ok(())
    }

    /// Returns the last line, if it has no line end.
    pub(super) fn finish(&mut self) -> Option<String> {
        self.take()
    }

    /// Returns whether bytes were no UTF-8, or a line was no JSON object.
    pub(super) fn has_skipped(&self) -> bool {
        self.has_skipped
    }

    fn take(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        self.has_skipped |= matches!(text, Cow::Owned(_));
        let text = text.trim();
        self.has_skipped |= !text.is_empty() && !text.starts_with(['{', '[']);
        (!text.is_empty()).then(|| text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_however_they_are_cut() {
        let bytes = "{\"a\":\"ü\"}\r\n\n{\"b\":2}\n{\"c\":3}".as_bytes();
        for cut in 0..=bytes.len() {
            let (mut parser, mut lines) = (Lines::default(), Vec::new());
            parser.push(&bytes[..cut], &mut lines).unwrap();
            parser.push(&bytes[cut..], &mut lines).unwrap();
            lines.extend(parser.finish());
            assert_eq!(lines, ["{\"a\":\"ü\"}", "{\"b\":2}", "{\"c\":3}"], "at {cut}");
        }
    }

    #[test]
    fn an_endless_line_is_refused() {
        assert_eq!(Lines::default().push(&vec![b'x'; LIMIT + 1], &mut Vec::new()), Err(TooLong));
    }
}
