//! Slack's native streams: a message in a thread, to which text is appended until the stream ends.
//!
//! Appended text cannot be taken back, and Slack ends a stream by itself after some minutes. Whenever it becomes
//! uncertain how much a stream contains, the stream is ended and its message edited, so that the text appears exactly
//! once. A started stream carries no key; it is found again as our first message without one after the question.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::form::{markdown, settled};
use super::platform::{LOOKED_THROUGH, Place, Slack, reference};
use super::streams::is_ts;
use crate::talk::{AppendOnlyMessages, Asked, Fault};

/// The most text put in a stream, in characters: Slack allows 12,000, and neutralised mentions grow.
const MAX_MARKDOWN: usize = 11_500;
/// Slack's own limit.
const MAX_TAKEN: usize = 12_000;
/// Suffix of the id of a message that started as a stream.
const STREAMED: &str = " stream";
/// Slack's error for editing a stream that is still open.
const STILL_STREAMING: &str = "streaming_state_conflict";
/// Slack's error for a message that was removed.
const NOT_THERE: &str = "message_not_found";
/// Refusals that would hit every other stream as well.
const USELESS: [&str; 3] = ["unknown_method", "not_allowed_token_type", "the app lacks the scope"];

impl Slack {
    /// Replaces the content of a message, which may be an open stream.
    pub(super) async fn replace(&self, message: &str, mut params: Value) -> Result<(), Fault> {
        let Some((channel, ts)) = place_of(message) else {
            return Err(Fault::Gone("this is no message of Slack".into()));
        };
        params["channel"] = json!(channel);
        params["ts"] = json!(ts);
        if self.streams.release(message).is_some() {
            self.stop((channel, ts), "").await?;
        }
        match self.api().call("chat.update", &params).await.map_err(Fault::from) {
            Err(Fault::Refused(why)) if why.ends_with(STILL_STREAMING) => {}
            updated => return updated.map(drop),
        }
        self.stop((channel, ts), "").await?;
        self.api().call("chat.update", &params).await.map_err(Fault::from).map(drop)
    }

    /// Ends a stream with this text. Without text, a stream that has already ended is not a failure.
    async fn stop(&self, (channel, ts): (&str, &str), words: &str) -> Result<(), Fault> {
        let mut params = json!({"channel": channel, "ts": ts});
        if !words.is_empty() {
            params["markdown_text"] = json!(words);
        }
        match self.api().call("chat.stopStream", &params).await.map_err(Fault::from) {
            Err(Fault::Gone(why) | Fault::Refused(why)) if words.is_empty() && !why.ends_with(NOT_THERE) => {
                Ok(())
            }
            stopped => stopped.map(drop),
        }
    }

    /// Searches for a stream that may have been started. Its place was recorded before.
    pub(super) async fn find_stream(&self, channel: &str, note: &str) -> Result<Option<String>, Fault> {
        let Some((thread, question)) = note.split_once(' ') else { return Ok(None) };
        let us = self.account().await?.user;
        let params = [
            ("channel", channel),
            ("ts", thread),
            ("oldest", question),
            ("limit", LOOKED_THROUGH),
            ("include_all_metadata", "true"),
        ];
        let told = self.api().get("conversations.replies", &params).await.map_err(Fault::from)?;
        let is_behind = |message: &&Value| {
            let ts = message["ts"].as_str().unwrap_or_default();
            let is_bare = message["metadata"].is_null() && message["files"].is_null();
            message["user"] == us && is_bare && is_later(ts, question)
        };
        let found = told["messages"].as_array().into_iter().flatten().find(is_behind);
        Ok(found.map(|message| stream_reference(&json!(channel), &message["ts"])))
    }

    /// Returns where a stream for this person can be: the thread, and the question in it.
    fn stream_place(&self, chat: &str, asked: &Asked) -> Option<(String, String)> {
        let message = asked.message.as_deref()?;
        let question = message.split_once(':').map(|(_, ts)| ts).filter(|ts| is_ts(ts))?;
        let thread = match Place::of(chat).thread {
            Some(thread) => thread.to_owned(),
            None => self.streams.thread_of(message)?,
        };
        Some((thread, question.to_owned()))
    }
}

#[async_trait]
impl AppendOnlyMessages for Slack {
    fn most(&self) -> usize {
        MAX_MARKDOWN
    }

    fn is_grown(&self, message: &str) -> bool {
        message.ends_with(STREAMED)
    }

    async fn start(&self, chat: &str, asked: &Asked, text: &str, key: &str) -> Result<String, Fault> {
        let text = settled(text);
        if self.streams.is_off.load(Ordering::Relaxed) || self.streams.is_full() {
            return Err(Fault::Refused("there are no streams now".into()));
        }
        let Some((thread, question)) = self.stream_place(chat, asked) else {
            return Err(Fault::Refused("there is no thread for a stream".into()));
        };
        // There is nothing yet that could stand alone.
        if text.is_empty() || text.chars().count() > MAX_TAKEN {
            return Err(Fault::Refused("the first words are none for a stream".into()));
        }
        let team = self.account().await?.team;
        let channel = Place::of(chat).channel;
        if let Some(before) = self.begin(key, &format!("{thread} {question}")).await? {
            if let Some(found) = self.find_stream(channel, &before).await? {
                return Ok(found);
            }
            if before.is_empty() {
                return Err(Fault::Refused("it was sent as an ordinary message".into()));
            }
        }
        let mut params = json!({"channel": channel, "thread_ts": thread, "markdown_text": text});
        if !channel.starts_with('D') {
            params["recipient_user_id"] = json!(asked.sender);
            params["recipient_team_id"] = json!(team);
        }
        match self.api().call("chat.startStream", &params).await.map_err(Fault::from) {
            Ok(told) => {
                let message = stream_reference(&told["channel"], &told["ts"]);
                self.streams.hold(&message, text);
                Ok(message)
            }
            Err(fault) => {
                self.forget(key, &fault).await;
                if USELESS.iter().any(|word| fault.message().contains(word)) {
                    self.streams.switch_off(fault.message());
                }
                Err(fault)
            }
        }
    }

    async fn grow(&self, message: &str, text: &str) -> Result<(), Fault> {
        let (Some((channel, ts)), Some(shown)) = (place_of(message), self.streams.release(message)) else {
            return Err(Fault::Refused("the stream is not open".into()));
        };
        let text = settled(text);
        let more = text.strip_prefix(&shown).filter(|_| text.chars().count() <= MAX_TAKEN);
        let is_shorter = more.is_none() && shown.starts_with(&text);
        let Some(more) = more.filter(|more| !more.is_empty()) else {
            // Keep the stream registered as open.
            let is_same = text == shown;
            self.streams.hold(message, shown);
            return match is_same || is_shorter {
                true => Ok(()),
                false => Err(Fault::Refused("the text does not begin with what was shown".into())),
            };
        };
        let params = json!({"channel": channel, "ts": ts, "markdown_text": more});
        match self.api().call("chat.appendStream", &params).await.map_err(Fault::from) {
            Ok(_) => {
                self.streams.hold(message, text);
                Ok(())
            }
            Err(fault) => {
                if matches!(fault, Fault::Later { .. }) {
                    self.streams.hold(message, shown);
                }
                Err(fault)
            }
        }
    }

    async fn finish(&self, message: &str, text: &str) -> Result<(), Fault> {
        let Some(place) = place_of(message) else {
            return Err(Fault::Gone("this is no message of Slack".into()));
        };
        let text = markdown(text);
        if text.chars().count() > MAX_TAKEN {
            return Err(Fault::Refused("the text is too long for a stream".into()));
        }
        let shown = self.streams.release(message);
        if let Some((shown, more)) = shown.as_ref().and_then(|shown| Some((shown, text.strip_prefix(shown)?)))
        {
            match self.stop(place, more).await {
                Err(fault @ Fault::Later { .. }) => {
                    self.streams.hold(message, shown.clone());
                    return Err(fault);
                }
                Err(Fault::Gone(_) | Fault::Refused(_)) => {}
                ended => return ended,
            }
        } else if shown.is_some() {
            self.stop(place, "").await?;
        }
        let params = json!({"markdown_text": text, "unfurl_links": false, "unfurl_media": false});
        self.replace(message, params).await
    }
}

/// Returns the reference under which a stream is remembered.
fn stream_reference(channel: &Value, ts: &Value) -> String {
    format!("{}{STREAMED}", reference(channel, ts))
}

/// Returns the channel and timestamp of a remembered message.
fn place_of(message: &str) -> Option<(&str, &str)> {
    message.strip_suffix(STREAMED).unwrap_or(message).split_once(' ')
}

/// Returns whether one Slack timestamp is later than another. Both have six decimals.
pub(super) fn is_later(ts: &str, than: &str) -> bool {
    (ts.len(), ts) > (than.len(), than)
}
