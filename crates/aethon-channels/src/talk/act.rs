//! Which messages belong to one act of a person, and how long more of them are waited for.
//!
//! Platforms and their clients cut one act into several messages: the pictures of an album, the pieces of a long paste, a
//! comment and the messages that it forwards, a text and the file that it is about. They become one turn. A short text
//! on its own is complete far more often than not, so it waits only for messages that a client sends along with it. Messages that
//! a person adds by hand are still joined while nothing of the reply was shown.

use std::collections::BTreeMap;
use std::time::Duration;

use aethon_core::ids::{SessionId, TurnId};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::corrections::Corrections;
use super::files::Taken;
use super::platform::{Arrival, Dialect, RemoteFile};
use super::speech;
use crate::digest::digest_of;

/// How far apart the messages of an act were written. Platforms that give whole seconds round down.
pub(super) const WINDOW: SignedDuration = SignedDuration::from_secs(2);
/// How long after its last message an act is still open, so that its reply is not shown before.
const OPEN: Duration = Duration::from_millis(2100);
/// How long a short text waits for what its client sends with it.
const TEXT: Duration = Duration::from_millis(350);
/// How long an act waits if its last message is of a kind that rarely comes alone.
const PIECE: Duration = Duration::from_secs(1);
/// The same for files without a word about them.
const BARE_FILE: Duration = Duration::from_secs(2);
/// How much of the digest of a message tells whether it has changed: all of it.
const DIGEST_BYTES: usize = 32;
/// Separates the id of an act from the number of its revision. No platform's ids contain a space.
const REVISION: &str = " #";

/// The messages of one act, and what became of it so far, as stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Act {
    /// The id of the message that began it.
    pub(super) id: String,
    /// Its messages, in the order in which they were written.
    pub(super) parts: Vec<Arrival>,
    /// The conversation it belongs to, even if a new one starts meanwhile.
    pub(super) session: SessionId,
    /// The turn that it takes the place of, because a message was added or edited before that turn was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) instead: Option<TurnId>,
    /// How often it took the place of a turn.
    #[serde(default)]
    pub(super) revision: u32,
    /// With which messages its turn was begun first, in case that is not noted before the program ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) begun_as: Option<Content>,
    /// Corrections of earlier messages that its turn tells. They are kept here, because another turn may take its place.
    #[serde(default, skip_serializing_if = "Corrections::is_empty")]
    pub(super) corrections: Corrections,
}

/// The content of an act: the digest of each of its messages.
pub(super) type Content = BTreeMap<String, String>;

impl Act {
    /// An act of one message so far.
    pub(super) fn new(arrival: Arrival, session: SessionId) -> Self {
        Self {
            id: arrival.id.clone(),
            parts: vec![arrival],
            session,
            instead: None,
            revision: 0,
            begun_as: None,
            corrections: Corrections::default(),
        }
    }

    /// Reads its stored form, also that of older versions, which stored single messages.
    pub(super) fn read(stored: &str) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Single {
            arrival: Arrival,
            session: SessionId,
        }
        serde_json::from_str(stored).or_else(|error| match serde_json::from_str::<Single>(stored) {
            Ok(Single { arrival, session }) => Ok(Self::new(arrival, session)),
            Err(_) => Err(error),
        })
    }

    /// The same act, in place of the turn that it had.
    pub(super) fn instead_of(self, turn: TurnId) -> Self {
        Self { instead: Some(turn), revision: self.revision + 1, begun_as: None, ..self }
    }

    /// The id by which storage recognises it.
    pub(super) fn dedupe_id(&self) -> String {
        match self.revision {
            0 => self.id.clone(),
            revision => format!("{}{REVISION}{revision}", self.id),
        }
    }

    /// Returns the message that represents it: the first one addressed to us, which names the chat and the sender.
    pub(super) fn head(&self) -> Option<&Arrival> {
        self.parts.iter().find(|part| part.is_addressed).or(self.parts.first())
    }

    /// Returns its content.
    pub(super) fn content(&self) -> Content {
        self.parts.iter().map(|part| (part.id.clone(), content_digest(part))).collect()
    }

    /// Returns whether it contains the message with this id.
    pub(super) fn contains(&self, id: &str) -> bool {
        self.parts.iter().any(|part| part.id == id)
    }

    /// Returns whether it is by this sender in this chat.
    pub(super) fn is_by(&self, other: &Arrival) -> bool {
        self.parts.first().is_some_and(|part| part.chat == other.chat && part.sender.id == other.sender.id)
    }

    /// Adds a message. Platforms may deliver them in another order than they were written.
    pub(super) fn add(&mut self, part: Arrival) {
        self.parts.push(part);
        self.parts.sort_by_key(|part| part.at);
    }

    /// Returns whether a message of the same sender in the same chat belongs to this act.
    pub(super) fn is_continued_by(&self, next: &Arrival, dialect: &Dialect) -> bool {
        let Some(limit) = dialect.splits_at.filter(|_| self.is_by(next)) else { return false };
        if next.act.is_some() && self.parts.iter().any(|part| part.act == next.act) {
            return true;
        }
        let is_another_album = next.act.is_some() && self.parts.iter().any(|part| part.act.is_some());
        let Some(last) = self.parts.last().filter(|last| is_close(last.at, next.at)) else { return false };
        if is_another_album {
            return false;
        }
        let follows = |part: &Arrival| is_attached(part) || is_long(part, limit);
        follows(last) || follows(next)
    }

    /// Returns how long it waits for more.
    pub(super) fn patience(&self, dialect: &Dialect) -> Duration {
        let (Some(limit), Some(last)) = (dialect.splits_at, self.parts.last()) else { return Duration::ZERO };
        let has_words = self.parts.iter().any(|part| !part.text.trim().is_empty());
        match is_attached(last) || is_long(last, limit) {
            true if !has_words => BARE_FILE,
            true => PIECE,
            false => TEXT,
        }
    }

    /// Returns how long its reply is not shown, because a message may still be added.
    pub(super) fn reply_delay(dialect: &Dialect) -> Duration {
        if dialect.splits_at.is_some() && dialect.is_attended { OPEN } else { Duration::ZERO }
    }
}

/// Returns the platform's id of the message that began an act.
pub(super) fn first_id(dedupe_id: &str) -> &str {
    dedupe_id.split_once(REVISION).map_or(dedupe_id, |(id, _)| id)
}

/// Returns whether a message is of a kind that rarely stands alone, so that it is waited for even if it is not
/// addressed to us.
pub(super) fn may_belong_to_an_act(part: &Arrival, dialect: &Dialect) -> bool {
    dialect.splits_at.is_some_and(|limit| is_attached(part) || is_long(part, limit))
}

/// A digest of a message's words and files, by which an edit that changes neither is recognised. The addresses of files
/// differ each time, and with an edit platforms do not repeat the answered message.
pub(super) fn content_digest(part: &Arrival) -> String {
    let own = part.files.iter().filter(|file| !file.is_earlier);
    let files: Vec<(&str, &str, u64)> =
        own.map(|RemoteFile { name, mime, size, .. }| (&**name, &**mime, *size)).collect();
    let content = format!("{:?}", (part.text.trim(), files));
    digest_of(content, DIGEST_BYTES)
}

/// Makes one message of an act: the person's own words in their order, and apart from them other people's. If all of it
/// was forwarded, there are no own words.
pub(super) fn whole(parts: &[Arrival], taken: &[Taken], dialect: &Dialect) -> Option<(Arrival, Taken)> {
    let head = parts.iter().find(|part| part.is_addressed).or(parts.first())?;
    if let ([_], [taken]) = (parts, taken) {
        return Some((head.clone(), taken.clone()));
    }
    let is_forwarded = parts.iter().all(|part| part.is_forwarded);
    let (mut own, mut forwarded, mut quoted) = (Joined::default(), Joined::default(), Joined::default());
    let mut together = Taken::default();
    for (number, part) in parts.iter().enumerate() {
        quoted.add(part.quoted.as_deref().unwrap_or_default(), APART);
        let text = if part.is_forwarded && !is_forwarded { &mut forwarded } else { &mut own };
        text.add(&part.text, seam_after(part, dialect));
        let Some(taken) = taken.get(number) else { continue };
        taken.spoken.iter().for_each(|words| text.add(words, APART));
        together.spoken_by_others.extend(taken.spoken_by_others.iter().cloned());
    }
    quoted.add(&forwarded.text, APART);
    let whole = Arrival {
        text: own.text,
        quoted: Some(quoted.text).filter(|quoted| !quoted.is_empty()),
        answered: parts.iter().find_map(|part| part.answered.clone()),
        earlier: parts.iter().find_map(|part| part.earlier.clone()),
        is_forwarded,
        ..head.clone()
    };
    Some((whole, together))
}

/// What stands between two texts.
const APART: &str = "\n\n";

/// Several texts as one.
#[derive(Default)]
struct Joined {
    text: String,
    /// What stands between it and the next text.
    seam: &'static str,
}

impl Joined {
    fn add(&mut self, text: &str, seam: &'static str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str(self.seam);
        }
        self.text.push_str(text);
        self.seam = seam;
    }
}

/// Returns what stood between a message and the next one of its act. Clients that cut a long text do so at the end of a line
/// or a word where they can, and drop what stood there.
fn seam_after(part: &Arrival, dialect: &Dialect) -> &'static str {
    match dialect.splits_at {
        Some(limit) if part.files.is_empty() && units(&part.text) >= limit => "",
        Some(limit) if is_long(part, limit) => "\n",
        _ => APART,
    }
}

fn is_close(one: Timestamp, other: Timestamp) -> bool {
    one.duration_since(other).abs() <= WINDOW
}

/// Returns whether a message brings something that people send along with words. Spoken words are words.
fn is_attached(part: &Arrival) -> bool {
    let is_file = |file: &RemoteFile| !file.is_earlier && !file.is_quoted && !speech::is_audio(&file.mime);
    part.act.is_some() || part.is_forwarded || part.files.iter().any(is_file)
}

/// Returns whether a text is about as long as messages get, so that it may go on in the next one. Clients cut at the
/// end of a line or a word where they can.
fn is_long(part: &Arrival, limit: usize) -> bool {
    part.files.is_empty() && units(&part.text) >= limit - limit / 8
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}
