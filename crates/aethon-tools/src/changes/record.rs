//! One record: a line of JSON that says what happened to which file, and behind it what the file was before.

use std::fmt::Write as _;

use aethon_core::ids::{SessionId, TurnId, is_unique};
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

/// The endings of the names of records, by whose turn made the change.
const OWNERS: &str = ".change";
const STRANGERS: &str = ".stranger.change";

/// How many hexadecimal digits of a digest stand in a name.
const DIGITS: usize = 16;

/// What the first line of a record says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    /// The conversation, also for a specialist that worked for it.
    pub(crate) session: SessionId,
    /// The turn, also for a specialist that it asked; of a file that was put back, the id that all files of that act share.
    pub(crate) turn: TurnId,
    /// The key of the call.
    pub(crate) call: String,
    /// The name of the tool; empty for a file that was put back.
    pub(crate) tool: String,
    /// The real path: relative to the workspace if it is there.
    pub(crate) path: String,
    pub(crate) at: Timestamp,
    pub(crate) before: FileState,
    pub(crate) after: FileState,
    /// The permissions that the file had.
    pub(crate) mode: Option<u32>,
    /// Where the earlier content is.
    pub(crate) earlier: Earlier,
    pub(crate) act: Act,
}

/// What a file is, as far as it must be recognised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FileState {
    /// It does not exist.
    Absent,
    /// It has this content.
    Present { bytes: u64, sha256: String },
}

/// What a file has in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// There is no file.
    Absent,
    /// All of it.
    Whole(Vec<u8>),
    /// It was not read: it is larger than a tool writes, or no record knows this length.
    Unread(u64),
}

/// Where the earlier content of a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Earlier {
    /// There was none.
    Nothing,
    /// Behind the first line.
    Whole,
    /// It is how the later content begins: text was added to the file.
    Beginning,
    /// Behind the first line is what followed the later content: the end of the file was removed.
    End,
    /// Nowhere, because it is too large.
    NotKept,
}

/// Who changed the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Act {
    /// A tool.
    Change,
    /// The owner, by taking back what these records say.
    PutBack { of: Vec<String> },
}

/// A record of the journal, without the earlier content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) name: RecordName,
    pub(crate) head: Head,
}

/// The name of a record's file: names grow with time, and tell session and turn apart without opening a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecordName(String);

impl FileState {
    /// The state of a file with this content.
    pub(crate) fn of(content: &[u8]) -> Self {
        Self::Present { bytes: content.len() as u64, sha256: hex(digest(&SHA256, content).as_ref()) }
    }
}

impl Record {
    /// Whether the owner put the file back.
    pub(crate) fn is_put_back(&self) -> bool {
        self.head.act != Act::Change
    }
}

impl Content {
    /// What it is recognised by. Nothing is recognised by a content that was not read.
    pub(crate) fn state(&self) -> FileState {
        match self {
            Self::Absent => FileState::Absent,
            Self::Whole(content) => FileState::of(content),
            Self::Unread(bytes) => FileState::Present { bytes: *bytes, sha256: String::new() },
        }
    }
}

impl Earlier {
    /// Says where the content that a file had is, given what it becomes and how much may be kept.
    pub(super) fn of(before: &Content, after: Option<&[u8]>, room: usize) -> Self {
        match (before, after) {
            (Content::Absent, _) => Self::Nothing,
            (Content::Whole(before), Some(after)) if after.starts_with(before) => Self::Beginning,
            (Content::Whole(before), Some(after)) if before.starts_with(after) => {
                if before.len() - after.len() <= room { Self::End } else { Self::NotKept }
            }
            (Content::Whole(before), _) if before.len() <= room => Self::Whole,
            _ => Self::NotKept,
        }
    }
}

impl RecordName {
    /// A new name; `id` grows with time.
    pub(super) fn new(id: &str, head: &Head, is_strangers: bool) -> Self {
        let ending = if is_strangers { STRANGERS } else { OWNERS };
        Self(format!("{id}-{}-{}{ending}", short(head.session.as_str()), short(head.turn.as_str())))
    }

    /// Reads the name of a file in the folder.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let stem = name.strip_suffix(OWNERS)?;
        let mut parts = stem.strip_suffix(".stranger").unwrap_or(stem).split('-');
        let is_digest =
            |part: &str| part.len() == DIGITS && part.bytes().all(|digit| digit.is_ascii_hexdigit());
        let (id, session, turn) = (parts.next()?, parts.next()?, parts.next()?);
        let is_ours = is_unique(id) && is_digest(session) && is_digest(turn) && parts.next().is_none();
        is_ours.then(|| Self(name.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The id of the record.
    pub(crate) fn id(&self) -> &str {
        self.0.split('-').next().unwrap_or_default()
    }

    /// Session and turn, as far as the name tells them apart from others.
    pub(super) fn turn(&self) -> &str {
        self.0.get(33..33 + 2 * DIGITS + 1).unwrap_or_default()
    }

    /// What stands for the session.
    pub(super) fn session(&self) -> &str {
        self.0.get(33..33 + DIGITS).unwrap_or_default()
    }

    pub(super) fn is_of(&self, session: &SessionId) -> bool {
        self.session() == short(session.as_str())
    }

    pub(super) fn is_strangers(&self) -> bool {
        self.0.ends_with(STRANGERS)
    }
}

/// Writes a record, with the earlier content behind its first line if it belongs there.
pub(super) fn encode(head: &Head, before: &Content) -> serde_json::Result<Vec<u8>> {
    let mut record = first_line(head)?;
    if let Content::Whole(before) = before {
        record.extend_from_slice(kept_of(head, before));
    }
    Ok(record)
}

/// Writes the head, as the line that a record begins with.
pub(super) fn first_line(head: &Head) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(head)?;
    line.push(b'\n');
    Ok(line)
}

/// The part of what a file was that is kept in its record.
fn kept_of<'c>(head: &Head, before: &'c [u8]) -> &'c [u8] {
    match (head.earlier, &head.after) {
        (Earlier::Whole, _) => before,
        (Earlier::End, FileState::Present { bytes, .. }) => {
            let start = usize::try_from(*bytes).unwrap_or(usize::MAX);
            before.get(start..).unwrap_or_default()
        }
        _ => &[],
    }
}

/// Splits a record into its head and the rest; `None` if the first line is not whole, or says nothing that is known here.
pub(super) fn decode(record: &[u8]) -> Option<(Head, &[u8])> {
    let end = record.iter().position(|byte| *byte == b'\n')?;
    let (line, rest) = record.split_at(end);
    Some((serde_json::from_slice(line).ok()?, &rest[1..]))
}

fn short(text: &str) -> String {
    let mut short = hex(digest(&SHA256, text.as_bytes()).as_ref());
    short.truncate(DIGITS);
    short
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> Head {
        Head {
            session: SessionId::of("webchat", "a").unwrap(),
            turn: TurnId::fresh(),
            call: "1f".into(),
            tool: "file_edit".into(),
            path: "a\n.md".into(),
            at: Timestamp::UNIX_EPOCH,
            before: FileState::of(b"one\ntwo"),
            after: FileState::Absent,
            mode: Some(0o640),
            earlier: Earlier::Whole,
            act: Act::Change,
        }
    }

    #[test]
    fn record_comes_back_with_its_content() {
        let bytes = encode(&head(), &Content::Whole(b"one\ntwo".to_vec())).unwrap();
        let (read, rest) = decode(&bytes).unwrap();
        assert_eq!(read.path, "a\n.md");
        assert_eq!(rest, b"one\ntwo");
        assert_eq!(decode(&bytes[..20]), None, "a line that is cut says nothing");
        assert_eq!(decode(b"{\"session\": 1}\n"), None);
    }

    #[test]
    fn name_tells_session_and_turn_apart_and_foreign_names_are_none() {
        let id = "0".repeat(32);
        let (one, mut other) = (head(), head());
        let name = RecordName::new(&id, &one, true);
        assert_eq!(RecordName::parse(name.as_str()).as_ref(), Some(&name));
        assert!(name.is_strangers() && !RecordName::new(&id, &one, false).is_strangers());
        assert_eq!(name.id(), id);
        assert!(name.is_of(&one.session));
        assert_ne!(name.turn(), RecordName::new(&id, &other, true).turn(), "another turn");
        other.session = SessionId::of("webchat", "b").unwrap();
        assert!(!name.is_of(&other.session));
        for foreign in ["a.change", "../x.change", &format!("{id}-1-2.change"), &name.as_str()[1..], "x.txt"]
        {
            assert_eq!(RecordName::parse(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn added_text_keeps_no_copy_of_what_was_there() {
        let check = |before: Option<&str>, after: Option<&str>, expected: Earlier| {
            let before = before.map_or(Content::Absent, |text| Content::Whole(text.as_bytes().to_vec()));
            assert_eq!(Earlier::of(&before, after.map(str::as_bytes), 4), expected, "{before:?} {after:?}");
        };
        check(None, Some("x"), Earlier::Nothing);
        check(Some("long text"), Some("long text and more"), Earlier::Beginning);
        check(Some("a long end"), Some("a long"), Earlier::End);
        check(Some("a longer end"), Some("a long"), Earlier::NotKept);
        check(Some("four"), Some("else"), Earlier::Whole);
        check(Some("four"), None, Earlier::Whole);
        check(Some("fives"), Some("else"), Earlier::NotKept);
        assert_eq!(Earlier::of(&Content::Unread(1), Some(b"x"), 4), Earlier::NotKept);
    }
}
