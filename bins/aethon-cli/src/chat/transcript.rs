//! The stored messages of a session, as the terminal needs them: to learn the messages of other clients, and the events
//! while the terminal was not connected.

use anyhow::{Context, Result};
use serde_json::Value;

use super::event::{OthersTurn, Outcome};
use crate::daemon::{Daemon, encoded};

/// How many messages are read at once when there are more than were looked for at first.
const PAGE: usize = 100;

/// How many pages are read back for an own turn that is not among the newest messages.
const MAX_PAGES: usize = 50;

/// How many are read back for turns of others.
const MAX_OF_OTHERS: usize = 10;

/// The turns that have to be among the messages that are read.
#[derive(Clone, Copy, Default)]
pub(super) struct Wanted<'a> {
    /// These turns.
    pub(super) turns: &'a [String],
    /// All turns behind this message.
    pub(super) behind: Option<u64>,
}

/// The newest turns of a session.
pub(super) struct Transcript {
    /// The last frame that is reflected here.
    pub(super) seq: u64,
    /// Turns that wait or run.
    pub(super) pending: Vec<String>,
    /// The others, in their order.
    pub(super) turns: Vec<Turn>,
    /// The number of the newest message.
    pub(super) newest: u64,
    /// The number of the oldest one that was read.
    oldest: u64,
    /// Where the messages before these end, if there are any.
    before: Option<String>,
}

/// A turn in the transcript.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// The message and its answer.
    pub(super) other: OthersTurn,
    /// Other texts of the program, such as the reason of a failure.
    pub(super) notices: Vec<String>,
    /// The number of its last message.
    pub(super) last: u64,
    /// Whether it is over.
    pub(super) is_over: bool,
}

impl Transcript {
    /// Reads the newest messages. `None` where there is no transcript: the session is empty, or the interface is off.
    pub(super) async fn fetch(daemon: &Daemon, session: &str, messages: usize) -> Result<Option<Self>> {
        Self::page(daemon, session, messages, None).await
    }

    /// Reads the newest messages, and older ones until the wanted turns are there: while a terminal was away, others may
    /// have written more than is read at once. There is a limit to that, and missing turns are no error.
    pub(super) async fn fetch_with(
        daemon: &Daemon,
        session: &str,
        messages: usize,
        wanted: Wanted<'_>,
    ) -> Result<Option<Self>> {
        let Some(mut newest) = Self::page(daemon, session, messages, None).await? else { return Ok(None) };
        for pages in 1..MAX_PAGES {
            let lacks_turn = wanted.turns.iter().any(|turn| !newest.knows(turn));
            let lacks_others =
                pages < MAX_OF_OTHERS && wanted.behind.is_some_and(|behind| !newest.reaches(behind));
            let Some(before) = newest.before.take_if(|_| lacks_turn || lacks_others) else { break };
            let Some(older) = Self::page(daemon, session, PAGE, Some(&before)).await? else { break };
            newest.prepend(older);
        }
        Ok(Some(newest))
    }

    async fn page(
        daemon: &Daemon,
        session: &str,
        messages: usize,
        before: Option<&str>,
    ) -> Result<Option<Self>> {
        let id = encoded(&format!("webchat:{session}"));
        let before = before.map(|before| format!("&before={before}")).unwrap_or_default();
        let detail = daemon.find_json(format!("/api/sessions/{id}?limit={messages}{before}")).await?;
        detail.map(|detail| Self::of(&detail).context("aethon-server sent no transcript")).transpose()
    }

    /// Returns whether the state of this turn is known.
    fn knows(&self, turn: &String) -> bool {
        self.pending.contains(turn) || self.ended(turn).is_some()
    }

    /// Returns whether all messages behind this one are here.
    pub(super) fn reaches(&self, behind: u64) -> bool {
        self.before.is_none() || self.oldest <= behind.saturating_add(1)
    }

    /// Puts an older page before these. A turn may begin in the one and end in the other.
    fn prepend(&mut self, mut older: Self) {
        let is_split = older.turns.last().map(Turn::id) == self.turns.first().map(Turn::id);
        if let Some(begun) = older.turns.pop_if(|_| is_split)
            && let Some(ended) = self.turns.first_mut()
        {
            ended.begin_with(begun);
        }
        older.turns.append(&mut self.turns);
        self.turns = older.turns;
        if older.newest > 0 {
            self.oldest = older.oldest;
        }
        self.before = older.before;
    }

    /// Parses a page of the interface.
    pub(super) fn of(detail: &Value) -> Option<Self> {
        let pending = detail["pending"].as_array().into_iter().flatten();
        let pending: Vec<String> =
            pending.filter_map(|entry| entry["turn"].as_str()).map(str::to_owned).collect();
        let mut turns: Vec<Turn> = Vec::new();
        let (mut oldest, mut newest) = (None, 0);
        for message in detail["messages"].as_array()? {
            let number = message["id"].as_str().and_then(|id| id.parse().ok()).unwrap_or(0);
            oldest.get_or_insert(number);
            newest = newest.max(number);
            let Some(id) = message["turn"].as_str() else { continue };
            if turns.last().is_none_or(|turn| turn.other.outcome.turn != id) {
                let outcome = Outcome { turn: id.to_owned(), ..Outcome::default() };
                turns
                    .push(Turn { other: OthersTurn { outcome, ..OthersTurn::default() }, ..Turn::default() });
            }
            if let Some(turn) = turns.last_mut() {
                turn.last = number;
                turn.take(message);
            }
        }
        let has_more = detail["has_more"].as_bool() == Some(true);
        let before = detail["messages"][0]["id"].as_str().filter(|_| has_more).map(str::to_owned);
        let (seq, oldest) = (detail["seq"].as_u64().unwrap_or(0), oldest.unwrap_or(0));
        Some(Self { seq, pending, turns, newest, oldest, before })
    }

    /// Returns a turn whose end is among the messages.
    pub(super) fn stored(&self, id: &str) -> Option<&Turn> {
        self.turns.iter().rev().find(|turn| turn.id() == id && turn.is_over)
    }

    /// Returns a turn that is over.
    pub(super) fn ended(&self, id: &str) -> Option<&Turn> {
        let found = self.turns.iter().rev().find(|turn| turn.other.outcome.turn == id)?;
        (found.is_over && !self.pending.iter().any(|turn| turn == id)).then_some(found)
    }
}

impl Turn {
    /// Returns its id.
    pub(super) fn id(&self) -> &str {
        &self.other.outcome.turn
    }

    /// Adds the texts of its earlier messages.
    fn begin_with(&mut self, begun: Self) {
        if self.other.said.is_empty() {
            self.other.said = begun.other.said;
        }
        if self.other.outcome.text.is_empty() {
            self.other.outcome.text = begun.other.outcome.text;
        }
        self.notices.splice(0..0, begun.notices);
    }

    fn take(&mut self, message: &Value) {
        let blocks = || message["content"].as_array().into_iter().flatten();
        let texts = |kind: &str| -> Vec<String> {
            blocks()
                .filter(|block| block["type"] == kind)
                .filter_map(|block| block["text"].as_str().map(str::to_owned))
                .collect()
        };
        let words = texts("text").join("\n\n");
        match message["role"].as_str() {
            Some("user") => self.other.said = words,
            Some("assistant") => {
                // The reply is the last text.
                if !words.is_empty() {
                    self.other.outcome.text = words;
                }
                self.other.outcome.model = message["model"].as_str().unwrap_or_default().to_owned();
            }
            _ => {}
        }
        self.notices.extend(texts("notice"));
        if let Some(reason) = message["stop_reason"].as_str() {
            self.is_over = true;
            self.other.outcome.stop_reason = reason.to_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn turns_are_read_from_their_messages() {
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        let transcript = Transcript::of(&json!({
            "seq": 7,
            "pending": [{"turn": "c"}],
            "messages": [
                {"id": "1", "role": "user", "turn": "a", "content": text("one")},
                {"id": "2", "role": "assistant", "turn": "a", "content": text("looking")},
                {"id": "3", "role": "assistant", "turn": "a", "content": text("1"), "model": "m", "stop_reason": "end"},
                {"id": "4", "role": "assistant", "content": text("a delivery")},
                {"id": "5", "role": "user", "turn": "b", "content": text("two")},
                {"id": "6", "role": "assistant", "turn": "b", "stop_reason": "error",
                 "content": [{"type": "notice", "code": "network", "text": "No answer."}]},
                {"id": "7", "role": "user", "turn": "c", "content": text("three")},
            ],
        }))
        .unwrap();
        assert_eq!((transcript.seq, transcript.newest), (7, 7));
        let first = transcript.ended("a").unwrap();
        assert_eq!((first.other.said.as_str(), first.other.outcome.text.as_str()), ("one", "1"));
        let second = transcript.ended("b").unwrap();
        assert_eq!((second.notices.as_slice(), second.last), (["No answer.".to_owned()].as_slice(), 6));
        assert!(transcript.ended("c").is_none() && transcript.ended("d").is_none());
    }

    #[test]
    fn an_older_page_is_put_before_a_newer_one() {
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        let page = |messages: serde_json::Value, has_more: bool| {
            Transcript::of(&json!({"seq": 7, "pending": [], "has_more": has_more, "messages": messages}))
                .unwrap()
        };
        let older = page(
            json!([
                {"id": "1", "role": "user", "turn": "a", "content": text("one")},
                {"id": "2", "role": "assistant", "turn": "a", "content": text("1"), "stop_reason": "end"},
                {"id": "3", "role": "user", "turn": "b", "content": text("two")},
            ]),
            false,
        );
        let mut newer = page(
            json!([
                {"id": "4", "role": "assistant", "turn": "b", "content": text("2"), "stop_reason": "end"},
                {"id": "5", "role": "user", "turn": "c", "content": text("three")},
            ]),
            true,
        );
        assert_eq!(newer.before.as_deref(), Some("4"));
        assert!(newer.ended("a").is_none());
        newer.prepend(older);
        assert_eq!(newer.ended("a").unwrap().other.outcome.text, "1");
        let split = newer.ended("b").unwrap();
        assert_eq!((split.other.said.as_str(), split.other.outcome.text.as_str()), ("two", "2"));
        assert_eq!((newer.turns.len(), newer.newest, newer.before), (3, 5, None));
    }
}
