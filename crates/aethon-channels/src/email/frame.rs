//! Splits the data of an IMAP server into complete responses and parses those that matter.
//!
//! A response is a line, or several with literals in between, whose length the preceding line announces. Responses
//! are delimited here, with limits, so that one that cannot be parsed costs only that response and not the
//! connection.

use std::borrow::Cow;

use imap_proto::{AttributeValue, Capability, MailboxDatum, Outcome, Response, ResponseCode, Status};

/// The longest line, in bytes.
const MAX_LINE: usize = 1 << 20;

/// Where a response ends, if it is complete.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// It is complete and this many bytes long.
    Whole(usize),
    /// More data is needed.
    Partial,
    /// It would exceed the limit.
    TooLong,
}

/// Returns the extent of the first response in these bytes.
pub(super) fn extent(bytes: &[u8], most: usize) -> Extent {
    let mut start = 0;
    loop {
        let Some(length) = line(&bytes[start..]) else {
            return if bytes.len() - start > MAX_LINE { Extent::TooLong } else { Extent::Partial };
        };
        let end = start + length;
        let Some(literal) = announced(&bytes[start..end - 2]) else { return Extent::Whole(end) };
        if literal > most || end > most {
            return Extent::TooLong;
        }
        start = end + literal;
        if start > bytes.len() {
            return Extent::Partial;
        }
    }
}

/// Returns the length of the first line, including its end.
fn line(bytes: &[u8]) -> Option<usize> {
    bytes.windows(2).position(|pair| pair == b"\r\n").map(|at| at + 2)
}

/// Returns the length of the literal that a line announces: `{12}` at its end.
fn announced(line: &[u8]) -> Option<usize> {
    let inner = line.strip_suffix(b"}")?;
    let open = inner.iter().rposition(|byte| *byte == b'{')?;
    std::str::from_utf8(&inner[open + 1..]).ok()?.trim_end_matches('+').parse().ok()
}

/// The parts of a response that matter here.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// The command with this tag has ended.
    Done { tag: String, is_ok: bool, text: String },
    /// The server waits for more of the command.
    Continue,
    /// A greeting, a status of the folder, or BYE.
    Status { is_bye: bool, text: String },
    /// The server's capabilities.
    Capabilities(Vec<String>),
    /// The UIDVALIDITY of the folder.
    UidValidity(u32),
    /// The next UID.
    UidNext(u32),
    /// There may be new messages.
    Exists,
    /// The UIDs that were requested.
    Found(Vec<u32>),
    /// A message, or a part of it.
    Message(Message),
    /// Anything else.
    Other,
}

/// A message, as far as it was requested.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) uid: u32,
    pub(super) size: u32,
    /// When it arrived, in the server's format.
    pub(super) arrived: String,
    pub(super) bytes: Option<Vec<u8>>,
}

/// Parses a complete response. An unreadable one becomes [`Said::Other`], unless it ends a command.
pub(super) fn read(frame: &[u8]) -> Said {
    match Response::parse(frame) {
        Ok((_, response)) => said(response),
        Err(_) => by_hand(frame),
    }
}

fn said(response: Response<'_>) -> Said {
    let text = |outcome: Outcome<'_>| outcome.information.unwrap_or_default().into_owned();
    match response {
        Response::Done { tag, status, outcome } => {
            Said::Done { tag: tag.0, is_ok: status == Status::Ok, text: text(outcome) }
        }
        Response::Continue(_) => Said::Continue,
        Response::Capabilities(capabilities) => Said::Capabilities(names(&capabilities)),
        Response::Data { status, outcome } => match outcome.code {
            Some(ResponseCode::UidValidity(number)) => Said::UidValidity(number),
            Some(ResponseCode::UidNext(number)) => Said::UidNext(number),
            _ => Said::Status { is_bye: status == Status::Bye, text: text(outcome) },
        },
        Response::MailboxData(MailboxDatum::Exists(_)) => Said::Exists,
        Response::MailboxData(MailboxDatum::Search(found)) => Said::Found(found),
        Response::Fetch(_, attributes) => Said::Message(message(attributes)),
        _ => Said::Other,
    }
}

fn names(capabilities: &[Capability<'_>]) -> Vec<String> {
    let name = |capability: &Capability<'_>| match capability {
        Capability::Imap4rev1 => "IMAP4REV1".to_owned(),
        Capability::Auth(name) => format!("AUTH={}", name.to_ascii_uppercase()),
        Capability::Atom(name) => name.to_ascii_uppercase(),
    };
    capabilities.iter().map(name).collect()
}

fn message(attributes: Vec<AttributeValue<'_>>) -> Message {
    let mut message = Message::default();
    for attribute in attributes {
        match attribute {
            AttributeValue::Uid(uid) => message.uid = uid,
            AttributeValue::Rfc822Size(size) => message.size = size,
            AttributeValue::InternalDate(date) => message.arrived = date.into_owned(),
            AttributeValue::BodySection { data, .. } => message.bytes = data.map(Cow::into_owned),
            _ => {}
        }
    }
    message
}

/// Parses a tagged response by hand: the end of a command must be recognised whatever it contains.
fn by_hand(frame: &[u8]) -> Said {
    let line = String::from_utf8_lossy(frame);
    let mut words = line.trim_end().splitn(3, ' ');
    let (tag, status) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let text = words.next().unwrap_or_default().to_owned();
    let status = status.to_ascii_uppercase();
    match (tag, status.as_str()) {
        ("+", _) => Said::Continue,
        ("*", "OK" | "NO" | "BAD" | "BYE" | "PREAUTH") => Said::Status { is_bye: status == "BYE", text },
        ("*", "SEARCH") => {
            Said::Found(text.split_ascii_whitespace().filter_map(|uid| uid.parse().ok()).collect())
        }
        ("*", _) => Said::Other,
        (tag, "OK" | "NO" | "BAD") => Said::Done { tag: tag.to_owned(), is_ok: status == "OK", text },
        _ => Said::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_behind_its_last_line() {
        let check =
            |bytes: &str, expected: Extent| assert_eq!(extent(bytes.as_bytes(), 100), expected, "{bytes:?}");
        check("* OK hi\r\nmore", Extent::Whole(9));
        check("* OK hi\r", Extent::Partial);
        check("", Extent::Partial);
        check("* 1 FETCH (BODY[] {5}\r\na\r\nbc)\r\n", Extent::Whole(31));
        check("* 1 FETCH (BODY[] {5}\r\na\r\nb", Extent::Partial);
        check("* 1 FETCH (BODY[] {500}\r\n", Extent::TooLong);
        check("* 1 FETCH (BODY[] {18446744073709551615}\r\n", Extent::TooLong);
        check("* 1 FETCH (A {1}\r\nx B {1}\r\ny)\r\n", Extent::Whole(31));
    }

    #[test]
    fn imap_responses_are_parsed_and_unknown_ones_ignored() {
        let done = |tag: &str, is_ok, text: &str| Said::Done { tag: tag.into(), is_ok, text: text.into() };
        let check = |frame: &str, expected: Said| assert_eq!(read(frame.as_bytes()), expected, "{frame:?}");
        check("a1 OK done\r\n", done("a1", true, "done"));
        check("a1 NO [AUTHENTICATIONFAILED] no\r\n", done("a1", false, "[AUTHENTICATIONFAILED] no"));
        check("* 7 EXISTS\r\n", Said::Exists);
        check("* SEARCH 1 2\r\n", Said::Found(vec![1, 2]));
        check("* SEARCH\r\n", Said::Found(vec![]));
        check("* OK [UIDVALIDITY 3] ids\r\n", Said::UidValidity(3));
        check("* OK [UIDNEXT 4] next\r\n", Said::UidNext(4));
        check("+ idling\r\n", Said::Continue);
        check("* WEIRD (something\r\n", Said::Other);
        let fetched = "* 1 FETCH (UID 9 RFC822.SIZE 3 INTERNALDATE \"17-Jul-2026 02:44:25 -0700\" BODY[] {3}\r\nabc)\r\n";
        let expected = Message {
            uid: 9,
            size: 3,
            arrived: "17-Jul-2026 02:44:25 -0700".into(),
            bytes: Some(b"abc".to_vec()),
        };
        check(fetched, Said::Message(expected));
    }
}
