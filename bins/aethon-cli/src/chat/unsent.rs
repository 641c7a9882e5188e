//! Messages that the daemon has not acknowledged: they are sent again, under the same ids, until it has.
//!
//! A daemon that is stopping, or whose queue is full, refuses a message for now. That is no answer: the message is kept and
//! sent again, to the same daemon or to the one that comes after it.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

/// How many messages wait for a daemon that is away.
const MAX_COUNT: usize = 32;

/// How long after a refusal a message is sent again, and how long after that if no answer arrives.
const PAUSE: Duration = Duration::from_millis(500);
const ONCE_MORE: Duration = Duration::from_secs(5);

/// For how long refusals are not taken for an answer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Messages that are not acknowledged, oldest first.
#[derive(Default)]
pub(super) struct Unsent(Vec<Message>);

struct Message {
    id: String,
    frame: Value,
    /// Whether the person wants it stopped as soon as it has a turn.
    is_withdrawn: bool,
    /// When it was refused first.
    refused: Option<Instant>,
    /// When to send it again on the same connection.
    due: Option<Instant>,
}

/// The effect of a frame on a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AckOutcome {
    /// Nothing.
    None,
    /// It is stored; perhaps the person does not want it any more.
    Taken { is_withdrawn: bool },
    /// Not now; it is kept.
    Later,
    /// Not at all.
    Refused,
}

impl Unsent {
    /// Keeps a message. `false` when there are too many.
    pub(super) fn add(&mut self, id: String, frame: Value) -> bool {
        let has_room = self.0.len() < MAX_COUNT;
        if has_room {
            self.0.push(Message { id, frame, is_withdrawn: false, refused: None, due: None });
        }
        has_room
    }

    /// Returns whether no message is waiting.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a message may be stored, and even answered, while its acknowledgement has not arrived here.
    pub(super) fn is_under_way(&self) -> bool {
        self.0.iter().any(|message| message.refused.is_none())
    }

    /// Returns the frames to send on a new connection.
    pub(super) fn frames(&self) -> impl Iterator<Item = &Value> {
        self.0.iter().map(|message| &message.frame)
    }

    /// Returns whether a frame answers one of them.
    pub(super) fn concerns(&self, frame: &Value) -> bool {
        self.0.iter().any(|message| frame["id"] == message.id.as_str())
    }

    /// Applies a frame to the message that it answers.
    pub(super) fn hear(&mut self, frame: &Value, now: Instant) -> AckOutcome {
        let Some(index) = self.0.iter().position(|message| frame["id"] == message.id.as_str()) else {
            return AckOutcome::None;
        };
        if frame["type"] == "ack" {
            return AckOutcome::Taken { is_withdrawn: self.0.remove(index).is_withdrawn };
        }
        if frame["code"] == "busy"
            && let Some(message) = self.0.get_mut(index)
        {
            let since = *message.refused.get_or_insert(now);
            message.due = Some(now + PAUSE);
            if now - since < TIMEOUT {
                return AckOutcome::Later;
            }
        }
        self.0.remove(index);
        AckOutcome::Refused
    }

    /// Returns the time at which the next one is to be sent again.
    pub(super) fn due(&self) -> Option<Instant> {
        self.0.iter().filter_map(|message| message.due).min()
    }

    /// Returns the frames that are to be sent again by now.
    pub(super) fn take_due(&mut self, now: Instant) -> Vec<Value> {
        let is_due = |message: &&mut Message| message.due.is_some_and(|due| due <= now);
        let due = self.0.iter_mut().filter(is_due).map(|message| {
            message.due = Some(now + ONCE_MORE);
            message.frame.clone()
        });
        due.collect()
    }

    /// Marks all messages as withdrawn: the person does not want them any more.
    pub(super) fn withdraw(&mut self) {
        for message in &mut self.0 {
            message.is_withdrawn = true;
        }
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_for_now_is_no_answer() {
        let mut unsent = Unsent::default();
        let now = Instant::now();
        assert!(unsent.add("a".into(), json!({"id": "a"})));
        let busy = json!({"type": "error", "id": "a", "code": "busy"});
        assert_eq!(unsent.hear(&busy, now), AckOutcome::Later);
        assert!(unsent.take_due(now).is_empty(), "not at once");
        assert_eq!(unsent.take_due(now + PAUSE), [json!({"id": "a"})]);
        assert_eq!(unsent.take_due(now + PAUSE).len(), 0, "not at once again");
        assert!(unsent.due() > Some(now + PAUSE));
        unsent.withdraw();
        let taken = unsent.hear(&json!({"type": "ack", "id": "a"}), now);
        assert_eq!(taken, AckOutcome::Taken { is_withdrawn: true });
        assert!(unsent.is_empty());
    }

    #[test]
    fn a_refusal_for_good_and_the_end_of_patience_are_answers() {
        let mut unsent = Unsent::default();
        let now = Instant::now();
        for id in ["a", "b"] {
            assert!(unsent.add(id.into(), json!({"id": id})));
        }
        let refusal = |id: &str, code: &str| json!({"type": "error", "id": id, "code": code});
        assert_eq!(unsent.hear(&refusal("a", "invalid"), now), AckOutcome::Refused);
        assert_eq!(unsent.hear(&refusal("a", "invalid"), now), AckOutcome::None);
        assert_eq!(unsent.hear(&refusal("b", "busy"), now), AckOutcome::Later);
        assert_eq!(unsent.hear(&refusal("b", "busy"), now + TIMEOUT), AckOutcome::Refused);
        assert!(unsent.is_empty());
        assert!((0..MAX_COUNT).all(|number| unsent.add(number.to_string(), json!({}))));
        assert!(!unsent.add("one too many".into(), json!({})));
    }
}
