//! Splits server-sent events, from bytes that may be cut anywhere.
//!
//! Follows the HTML standard for line ends (LF, CRLF, CR), the byte order mark, comments and multi-line `data`. It is
//! more lenient in one respect: an event at the end of the stream counts even without its blank line, because some
//! servers omit it.

use std::borrow::Cow;

use super::frame::Event;

/// The longest event in bytes. A picture or a whole file in one event fits; an endless line does not.
const LIMIT: usize = 8 * 1024 * 1024;

/// The event exceeds the limit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// Splits events.
#[derive(Debug)]
pub(super) struct Parser {
    limit: usize,
    line: Vec<u8>,
    name: Option<String>,
    data: Option<String>,
    /// The last byte was a CR, so an LF right after it ends nothing.
    after_cr: bool,
    /// At most part of a byte order mark has arrived.
    at_start: bool,
    /// A line had no meaning, or bytes were no UTF-8.
    has_skipped: bool,
}

impl Default for Parser {
    fn default() -> Self {
        Self::with_limit(LIMIT)
    }
}

impl Parser {
    pub(super) fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            name: None,
            data: None,
            after_cr: false,
            at_start: true,
            has_skipped: false,
        }
    }

    /// Adds bytes and returns the events that they complete.
    pub(super) fn push(&mut self, mut bytes: &[u8], events: &mut Vec<Event>) -> Result<(), TooLong> {
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            if self.line.len() + part.len() + self.data.as_ref().map_or(0, String::len) > self.limit {
                return Err(TooLong);
            }
            self.line.extend_from_slice(part);
            if let Some((&terminator, rest)) = rest.split_first() {
                self.after_cr = terminator == b'\r';
                self.end_line(events);
                bytes = rest;
            } else {
                bytes = rest;
            }
        }
        Ok(())
    }

    /// Returns the event that the end of the stream cut off, if there is one.
    pub(super) fn finish(&mut self) -> Option<Event> {
        let mut events = Vec::new();
        if !self.line.is_empty() {
            self.end_line(&mut events);
        }
        self.end_event(&mut events);
        events.pop()
    }

    /// Returns whether a line had no meaning, or bytes were no UTF-8.
    pub(super) fn has_skipped(&self) -> bool {
        self.has_skipped
    }

    fn end_line(&mut self, events: &mut Vec<Event>) {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            return self.end_event(events);
        }
        let colon = line.iter().position(|&byte| byte == b':');
        let (field, value) = match colon {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                let value = String::from_utf8_lossy(value);
                self.has_skipped |= matches!(value, Cow::Owned(_));
                match &mut self.data {
                    None => self.data = Some(value.into_owned()),
                    Some(data) => {
                        data.push('\n');
                        data.push_str(&value);
                    }
                }
            }
            b"event" => self.name = Some(String::from_utf8_lossy(value).into_owned()),
            b"" | b"id" | b"retry" => {}
            _ => self.has_skipped = true,
        }
    }

    fn end_event(&mut self, events: &mut Vec<Event>) {
        let name = self.name.take();
        if let Some(data) = self.data.take() {
            events.push(Event { name, data });
        }
    }

    /// Returns the number of buffered bytes.
    #[cfg(test)]
    fn held(&self) -> usize {
        self.line.capacity() + self.data.as_ref().map_or(0, String::capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(pieces: &[&[u8]]) -> Vec<(Option<String>, String)> {
        let mut parser = Parser::default();
        let mut events = Vec::new();
        for piece in pieces {
            parser.push(piece, &mut events).unwrap();
        }
        events.extend(parser.finish());
        events.into_iter().map(|event| (event.name, event.data)).collect()
    }

    #[test]
    fn events_are_the_same_however_they_are_written_and_cut() {
        let check = |text: &str, expected: &[(Option<&str>, &str)]| {
            let expected: Vec<_> =
                expected.iter().map(|(name, data)| (name.map(str::to_owned), (*data).to_owned())).collect();
            let bytes = text.as_bytes();
            for cut in 0..=bytes.len() {
                assert_eq!(parse(&[&bytes[..cut], &bytes[cut..]]), expected, "{text:?} at {cut}");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(parse(&single), expected, "{text:?} byte by byte");
        };
        check("data: a\n\ndata:b\n\n", &[(None, "a"), (None, "b")]);
        check("data: a\r\n\r\ndata: b\r\n\r\n", &[(None, "a"), (None, "b")]);
        check("data: a\r\rdata: b\r\r", &[(None, "a"), (None, "b")]);
        check("\u{feff}data: ünï\n\n", &[(None, "ünï")]);
        check(": ping\n\nevent: x\nid: 3\nretry: 5\ndata: a\n: more\ndata:  b\n\n", &[(Some("x"), "a\n b")]);
        check("event: lonely\n\ndata\n\n", &[(None, "")]);
        check("data: no blank line", &[(None, "no blank line")]);
        check("data: no blank line\n", &[(None, "no blank line")]);
        check("", &[]);
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut parser = Parser::with_limit(100);
        let mut events = Vec::new();
        assert_eq!(parser.push(&[b'x'; 101], &mut events), Err(TooLong));
        let mut parser = Parser::with_limit(100);
        assert_eq!(parser.push(&b"data: 0123456789\n".repeat(20), &mut events), Err(TooLong));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_bytes_in_any_pieces_stay_within_bounds(
            pieces in proptest::collection::vec(proptest::collection::vec(prop_oneof![
                any::<u8>(), Just(b'\n'), Just(b'\r'), Just(b':'), Just(b'd'),
            ], 0..60), 0..8)
        ) {
            let mut parser = Parser::with_limit(100);
            let mut events = Vec::new();
            for piece in &pieces {
                if parser.push(piece, &mut events).is_err() {
                    break;
                }
                prop_assert!(parser.held() <= 4 * 100, "{}", parser.held());
            }
            let whole = pieces.concat();
            let mut at_once = Vec::new();
            if Parser::with_limit(usize::MAX).push(&whole, &mut at_once).is_ok() {
                prop_assert!(at_once.starts_with(&events));
            }
        }
    }
}
