//! Splits `application/vnd.amazon.eventstream` into messages, from bytes that may be cut anywhere.
//!
//! A message consists of its total length and the length of its headers (32 bits each, big-endian), a CRC-32 of those
//! eight bytes, the headers, the payload, and a CRC-32 of everything before. The lengths are used only after their
//! checksum was verified, so that corruption cannot make this wait for, or buffer, more than the longest message.

use super::frame::{Event, FAILURE};

/// The longest message and the longest headers in bytes, as limited by AWS.
const MAX_LEN: usize = 16 * 1024 * 1024;
const MAX_HEADERS: usize = 128 * 1024;
/// The lengths and their checksum.
const PRELUDE: usize = 12;
/// The final checksum.
const SUM: usize = 4;

/// Why a stream cannot be read any further.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FrameError {
    /// A message exceeds the limit.
    TooLong,
    /// A message is corrupt, with the reason.
    Damaged(&'static str),
}

/// Reads messages.
#[derive(Debug, Default)]
pub(super) struct Messages {
    bytes: Vec<u8>,
}

impl Messages {
    /// Adds bytes and returns the messages that they complete.
    pub(super) fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), FrameError> {
        self.bytes.extend_from_slice(bytes);
        let mut read = 0;
        let outcome = loop {
            match message(&self.bytes[read..]) {
                Ok(Some((length, event))) => {
                    read += length;
                    events.extend(event);
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.bytes.drain(..read);
        outcome
    }
}

/// Returns the first message with its length, or `None` while it is incomplete. A message that is neither an event
/// nor a failure yields no event.
fn message(bytes: &[u8]) -> Result<Option<(usize, Option<Event>)>, FrameError> {
    let Some(prelude) = bytes.get(..PRELUDE) else { return Ok(None) };
    let (total, headers) = (number(&prelude[..4]), number(&prelude[4..8]));
    if number(&prelude[8..]) != crc32(&prelude[..8]) {
        return Err(FrameError::Damaged("the sum over the lengths of a message is wrong"));
    }
    let (total, headers) = (total as usize, headers as usize);
    if total > MAX_LEN || headers > MAX_HEADERS {
        return Err(FrameError::TooLong);
    }
    if total < PRELUDE + headers + SUM {
        return Err(FrameError::Damaged("the lengths of a message contradict each other"));
    }
    let Some(message) = bytes.get(..total) else { return Ok(None) };
    let (content, sum) = message.split_at(total - SUM);
    if number(sum) != crc32(content) {
        return Err(FrameError::Damaged("the sum over a message is wrong"));
    }
    let (headers, payload) = content[PRELUDE..].split_at(headers);
    let headers = Headers::read(headers).ok_or(FrameError::Damaged("the headers of a message are wrong"))?;
    Ok(Some((total, headers.event(payload))))
}

/// The headers that matter.
#[derive(Default)]
struct Headers {
    message_type: String,
    event_type: String,
    exception_type: String,
    error_code: String,
    error_message: String,
}

impl Headers {
    fn read(mut bytes: &[u8]) -> Option<Self> {
        let mut headers = Self::default();
        while let Some((&length, rest)) = bytes.split_first() {
            let (name, rest) = rest.split_at_checked(usize::from(length))?;
            let (&kind, rest) = rest.split_first()?;
            let (length, rest) = match kind {
                // true, false
                0 | 1 => (0, rest),
                // byte, 16, 32 and 64 bits, time, UUID
                2 => (1, rest),
                3 => (2, rest),
                4 => (4, rest),
                5 | 8 => (8, rest),
                9 => (16, rest),
                // bytes, string
                6 | 7 => {
                    let (length, rest) = rest.split_at_checked(2)?;
                    (number(length) as usize, rest)
                }
                _ => return None,
            };
            let (value, rest) = rest.split_at_checked(length)?;
            if kind == 7 {
                headers.keep(name, String::from_utf8_lossy(value).into_owned());
            }
            bytes = rest;
        }
        Some(headers)
    }

    fn keep(&mut self, name: &[u8], value: String) {
        match name {
            b":message-type" => self.message_type = value,
            b":event-type" => self.event_type = value,
            b":exception-type" => self.exception_type = value,
            b":error-code" => self.error_code = value,
            b":error-message" => self.error_message = value,
            _ => {}
        }
    }

    fn event(self, payload: &[u8]) -> Option<Event> {
        let data = String::from_utf8_lossy(payload).into_owned();
        match self.message_type.as_str() {
            "event" => Some(Event { name: Some(self.event_type), data }),
            "exception" => Some(Event { name: Some(format!("{FAILURE}{}", self.exception_type)), data }),
            "error" => {
                Some(Event { name: Some(format!("{FAILURE}{}", self.error_code)), data: self.error_message })
            }
            _ => None,
        }
    }
}

/// Reads up to four bytes, big-endian.
fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u32::from(byte))
}

/// Computes the CRC-32 used by Ethernet and ZIP.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, &byte| crc >> 8 ^ CRC[((crc ^ u32::from(byte)) & 0xff) as usize])
}

const CRC: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ 0xedb8_8320 } else { value >> 1 };
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
};

/// Writes messages for tests.
#[cfg(test)]
pub(crate) mod writing {
    use super::crc32;

    /// Returns a message with these string headers.
    pub(crate) fn message(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
        let mut written = Vec::new();
        for (name, value) in headers {
            written.push(u8::try_from(name.len()).unwrap());
            written.extend_from_slice(name.as_bytes());
            written.push(7);
            written.extend_from_slice(&u16::try_from(value.len()).unwrap().to_be_bytes());
            written.extend_from_slice(value.as_bytes());
        }
        raw(&written, payload)
    }

    /// Returns a message with these header bytes.
    pub(crate) fn raw(headers: &[u8], payload: &[u8]) -> Vec<u8> {
        let total = u32::try_from(12 + headers.len() + payload.len() + 4).unwrap();
        let mut message = total.to_be_bytes().to_vec();
        message.extend_from_slice(&u32::try_from(headers.len()).unwrap().to_be_bytes());
        message.extend_from_slice(&crc32(&message).to_be_bytes());
        message.extend_from_slice(headers);
        message.extend_from_slice(payload);
        let sum = crc32(&message);
        message.extend_from_slice(&sum.to_be_bytes());
        message
    }

    /// Converts a recording in text form: one message per line, its name before the first space, its payload after
    /// it. A name that ends in `Exception` makes an exception.
    pub(crate) fn recording(text: &str) -> Vec<u8> {
        let line = |line: &str| {
            let (name, payload) = line.split_once(' ').unwrap();
            let (message_type, key) = match name.ends_with("Exception") {
                true => ("exception", ":exception-type"),
                false => ("event", ":event-type"),
            };
            let headers =
                [(key, name), (":content-type", "application/json"), (":message-type", message_type)];
            message(&headers, payload.as_bytes())
        };
        text.lines().filter(|text| !text.trim().is_empty()).flat_map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::writing::{message, raw};
    use super::*;

    fn read(pieces: &[&[u8]]) -> (Vec<Event>, Result<(), FrameError>) {
        let (mut messages, mut events) = (Messages::default(), Vec::new());
        let outcome = pieces.iter().try_for_each(|piece| messages.push(piece, &mut events));
        (events, outcome)
    }

    #[test]
    fn the_sum_is_the_usual_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn the_published_messages_are_read() {
        let empty = [0, 0, 0, 0x10, 0, 0, 0, 0, 0x05, 0xc2, 0x48, 0xeb, 0x7d, 0x98, 0xc8, 0xff];
        assert_eq!(read(&[&empty]), (Vec::new(), Ok(())));
        assert_eq!(raw(b"", b""), empty);
        let with_header = message(&[("content-type", "application/json")], b"{'foo':'bar'}");
        assert_eq!(with_header[..12], [0, 0, 0, 0x3d, 0, 0, 0, 0x20, 0x07, 0xfd, 0x83, 0x96]);
        assert_eq!(with_header[with_header.len() - 4..], [0x8d, 0x9c, 0x08, 0xb1]);
        assert_eq!(read(&[&with_header]), (Vec::new(), Ok(())));
    }

    #[test]
    fn messages_are_the_same_however_they_are_cut() {
        let mut bytes =
            message(&[(":event-type", "messageStart"), (":message-type", "event")], "{\"ü\":1}".as_bytes());
        bytes.extend(message(
            &[(":message-type", "exception"), (":exception-type", "throttlingException")],
            b"{}",
        ));
        bytes.extend(message(
            &[(":message-type", "error"), (":error-code", "Internal"), (":error-message", "oh")],
            b"",
        ));
        bytes.extend(message(&[(":message-type", "unheard-of")], b"x"));
        let event = |name: &str, data: &str| Event { name: Some(name.into()), data: data.into() };
        let expected = [
            event("messageStart", "{\"ü\":1}"),
            event("failure:throttlingException", "{}"),
            event("failure:Internal", "oh"),
        ];
        for cut in 0..=bytes.len() {
            let (events, outcome) = read(&[&bytes[..cut], &bytes[cut..]]);
            assert_eq!((events.as_slice(), outcome), (&expected[..], Ok(())), "at {cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(&single).0, expected);
    }

    #[test]
    fn headers_of_every_type_are_passed_over() {
        let mut headers = Vec::new();
        for (kind, value) in [
            (0, &b""[..]),
            (1, b""),
            (2, b"1"),
            (3, b"12"),
            (4, b"1234"),
            (5, b"12345678"),
            (6, b"\0\x03abc"),
            (8, b"12345678"),
            (9, b"0123456789abcdef"),
        ] {
            headers.extend([1, b'h', kind]);
            headers.extend(value);
        }
        headers.extend(b"\x0d:message-type\x07\0\x05event\x0b:event-type\x07\0\x01e");
        assert_eq!(read(&[&raw(&headers, b"x")]).0, [Event { name: Some("e".into()), data: "x".into() }]);
        for wrong in [&b"\x05ab"[..], b"\x01h\x0a", b"\x01h\x07\0\x05ab", b"\x01h"] {
            assert!(matches!(read(&[&raw(wrong, b"")]).1, Err(FrameError::Damaged(_))), "{wrong:?}");
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let good = message(&[(":message-type", "event"), (":event-type", "e")], b"payload");
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let (events, outcome) = read(&[&bytes]);
            assert!(
                events.is_empty() && matches!(outcome, Err(FrameError::Damaged(_))),
                "{bit}: {outcome:?}"
            );
        }
    }

    #[test]
    fn absurd_lengths_are_refused() {
        let prelude = |total: u32, headers: u32| {
            let mut bytes = total.to_be_bytes().to_vec();
            bytes.extend(headers.to_be_bytes());
            bytes.extend(crc32(&bytes).to_be_bytes());
            read(&[&bytes]).1
        };
        assert_eq!(prelude(u32::MAX, 0), Err(FrameError::TooLong));
        assert_eq!(prelude(1000, u32::MAX), Err(FrameError::TooLong));
        assert!(matches!(prelude(15, 0), Err(FrameError::Damaged(_))));
        assert!(matches!(prelude(100, 90), Err(FrameError::Damaged(_))));
        assert_eq!(prelude(1000, 90), Ok(()));
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_are_read_or_refused(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..64), 0..16)) {
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            let _ = read(&pieces);
        }

        #[test]
        fn any_headers_and_payload_are_read_or_refused(headers in proptest::collection::vec(any::<u8>(), 0..64), payload in proptest::collection::vec(any::<u8>(), 0..64)) {
            let (events, outcome) = read(&[&raw(&headers, &payload)]);
            prop_assert!(events.is_empty() || outcome.is_ok());
        }
    }
}
