//! Splits batches and tracks their outstanding answers. Pure: bytes in, bytes out.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// The first revision without batches.
const FIRST_WITHOUT_BATCHES: &str = "2025-06-18";
/// Maximum number of messages in a batch.
const MAX_MESSAGES: usize = 256;
/// Maximum number of batches with outstanding answers.
const MAX_OPEN: usize = 16;
/// The method that cancels a request.
const CANCELLED: &str = "notifications/cancelled";

/// Batches with outstanding answers, and whether batches are allowed.
#[derive(Default)]
pub(super) struct OpenBatches {
    /// The negotiated revision.
    revision: Option<String>,
    open: Vec<Batch>,
}

#[derive(Default)]
struct Batch {
    /// Ids of the unanswered requests, as JSON.
    waiting: BTreeSet<String>,
    answers: Vec<Value>,
}

/// A batch that was split.
#[derive(Debug, Default, PartialEq)]
pub(super) struct SplitBatch {
    /// Its messages, one per line.
    pub(super) messages: Vec<Vec<u8>>,
    /// The answer, if nothing is outstanding.
    pub(super) answer: Option<Vec<u8>>,
}

impl OpenBatches {
    /// Splits an array. Invalid JSON is dropped, like any other line that is not JSON.
    pub(super) fn split(&mut self, line: &[u8]) -> SplitBatch {
        let Ok(Value::Array(messages)) = serde_json::from_slice(line) else { return SplitBatch::default() };
        if let Some(why) = self.objection(messages.len()) {
            return SplitBatch { messages: Vec::new(), answer: Some(bytes(&invalid(&Value::Null, why))) };
        }
        let (mut batch, mut lines) = (Batch::default(), Vec::new());
        for message in messages {
            match self.validate(&batch, &message) {
                Err(refusal) => batch.answers.push(refusal),
                Ok(id) => {
                    batch.waiting.extend(id);
                    lines.push(bytes(&message));
                }
            }
        }
        let answer = if batch.waiting.is_empty() {
            batch.whole()
        } else {
            self.open.push(batch);
            None
        };
        SplitBatch { messages: lines, answer }
    }

    /// Returns why a batch of this many messages is rejected, if it is.
    fn objection(&self, messages: usize) -> Option<&'static str> {
        match self.revision.as_deref() {
            None => Some("a session begins with one message, not with a batch"),
            Some(revision) if revision >= FIRST_WITHOUT_BATCHES => {
                Some("this revision has no batches; send each message on a line of its own")
            }
            Some(_) if messages == 0 => Some("a batch has at least one message"),
            Some(_) if messages > MAX_MESSAGES => Some("a batch has at most 256 messages"),
            Some(_) if self.open.len() >= MAX_OPEN => Some("too many batches at once; wait for some of them"),
            Some(_) => None,
        }
    }

    /// Returns the id to answer if a message of a batch is a request, or the error for a message that is invalid.
    fn validate(&self, batch: &Batch, message: &Value) -> Result<Option<String>, Value> {
        let refused = |why: &str| Err(invalid(message.get("id").unwrap_or(&Value::Null), why));
        if !message.is_object() {
            return refused("a message is an object");
        }
        match (message.get("method").and_then(Value::as_str), message.get("id")) {
            (Some("initialize"), _) => refused("`initialize` stands alone"),
            (Some(_), Some(id @ (Value::String(_) | Value::Number(_)))) => {
                let id = id.to_string();
                let is_known = self.open.iter().chain([batch]).any(|open| open.waiting.contains(&id));
                if is_known {
                    refused("another request with this id is not answered yet")
                } else {
                    Ok(Some(id))
                }
            }
            (Some(_), None) => Ok(None),
            (Some(_), Some(_)) => refused("an id is a string or a number"),
            (None, Some(_)) if message.get("result").or(message.get("error")).is_some() => Ok(None),
            (None, _) => refused("a message has a method"),
        }
    }

    /// Inspects a line for the SDK: if it cancels a batched request, that request will not be answered. Returns the
    /// answer of the batch if nothing else was outstanding.
    pub(super) fn handle_cancellation(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let may_be =
            !self.open.is_empty() && line.windows(CANCELLED.len()).any(|part| part == CANCELLED.as_bytes());
        let message: Value = serde_json::from_slice(line).ok().filter(|_| may_be)?;
        let id = message.pointer("/params/requestId").filter(|_| message["method"] == CANCELLED)?.to_string();
        self.answered(&id, None)
    }

    /// Handles a line from the SDK. Returns it, or if it belongs to a batch, the collected answer once that is
    /// complete.
    pub(super) fn settle(&mut self, line: Vec<u8>) -> Option<Vec<u8>> {
        if self.revision.is_some() && self.open.is_empty() {
            return Some(line);
        }
        let Ok(message) = serde_json::from_slice::<Value>(&line) else { return Some(line) };
        if let Some(revision) = message.pointer("/result/protocolVersion").and_then(Value::as_str) {
            self.revision.get_or_insert_with(|| revision.to_owned());
        }
        let is_answer = message.get("result").or(message.get("error")).is_some();
        let id = message.get("id").filter(|_| is_answer).map(Value::to_string);
        match id.filter(|id| self.open.iter().any(|batch| batch.waiting.contains(id))) {
            Some(id) => self.answered(&id, Some(message)),
            None => Some(line),
        }
    }

    /// Notes that a batched request is answered, or never will be.
    fn answered(&mut self, id: &str, answer: Option<Value>) -> Option<Vec<u8>> {
        let at = self.open.iter_mut().position(|batch| batch.waiting.remove(id))?;
        self.open[at].answers.extend(answer);
        if self.open[at].waiting.is_empty() { self.open.remove(at).whole() } else { None }
    }

    /// Returns the partial answers that will never be complete.
    pub(super) fn take_partial(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.open).into_iter().filter_map(Batch::whole).collect()
    }
}

impl Batch {
    /// Returns the answer; `None` if there is nothing to answer.
    fn whole(self) -> Option<Vec<u8>> {
        (!self.answers.is_empty()).then(|| bytes(&Value::Array(self.answers)))
    }
}

fn invalid(id: &Value, why: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32600, "message": why}})
}

/// Formats a message as a line.
fn bytes(message: &Value) -> Vec<u8> {
    (message.to_string() + "\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreed(revision: &str) -> OpenBatches {
        let mut batches = OpenBatches::default();
        let line = bytes(&json!({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": revision}}));
        assert_eq!(batches.settle(line.clone()), Some(line));
        batches
    }

    fn document(line: Option<Vec<u8>>) -> Value {
        serde_json::from_slice(&line.expect("an answer")).unwrap()
    }

    fn request(id: u64) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
    }

    fn answer(id: u64) -> Vec<u8> {
        bytes(&json!({"jsonrpc": "2.0", "id": id, "result": {}}))
    }

    #[test]
    fn only_older_revisions_have_batches() {
        let check = |batches: &mut OpenBatches, batch: &Value, expected: bool| {
            let split = batches.split(&bytes(batch));
            assert_eq!(!split.messages.is_empty(), expected, "{batch}");
            if !expected {
                let refused = document(split.answer);
                assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(-32600), &Value::Null));
            }
        };
        let batch = json!([request(1)]);
        check(&mut agreed("2025-03-26"), &batch, true);
        check(&mut agreed("2024-11-05"), &batch, true);
        check(&mut agreed("2025-06-18"), &batch, false);
        check(&mut agreed("2025-11-25"), &batch, false);
        check(&mut OpenBatches::default(), &batch, false);
        check(&mut agreed("2025-03-26"), &json!([]), false);
        check(&mut agreed("2025-03-26"), &Value::Array(vec![request(1); MAX_MESSAGES + 1]), false);
        assert_eq!(agreed("2025-03-26").split(b"[1,\n"), SplitBatch::default(), "no JSON");
    }

    #[test]
    fn answers_come_together_when_the_last_one_is_there() {
        let mut batches = agreed("2025-03-26");
        let note = json!({"jsonrpc": "2.0", "method": "notifications/odd"});
        let split = batches.split(&bytes(&json!([request(1), 7, note, request(2), request(1), {"id": 3}])));
        assert_eq!((split.messages.len(), split.answer), (3, None));
        assert_eq!(batches.settle(answer(2)), None);
        assert_eq!(batches.settle(answer(9)), Some(answer(9)), "another request's");
        let all = document(batches.settle(answer(1)));
        let codes: Vec<_> = all
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["id"].clone(), one["error"]["code"].clone()))
            .collect();
        let refused = json!(-32600);
        assert_eq!(
            codes,
            [
                (Value::Null, refused.clone()),
                (json!(1), refused.clone()),
                (json!(3), refused),
                (json!(2), Value::Null),
                (json!(1), Value::Null)
            ]
        );
        assert_eq!(batches.split(&bytes(&json!([note]))).answer, None, "notes are not answered");
    }

    #[test]
    fn what_is_taken_back_is_not_waited_for() {
        let mut batches = agreed("2025-03-26");
        batches.split(&bytes(&json!([request(1), request(2)])));
        let back =
            |id: u64| bytes(&json!({"jsonrpc": "2.0", "method": CANCELLED, "params": {"requestId": id}}));
        assert_eq!(batches.handle_cancellation(&back(5)), None);
        assert_eq!(batches.settle(answer(1)), None);
        let all = document(batches.handle_cancellation(&back(2)));
        assert_eq!(all.as_array().unwrap().len(), 1);
        batches.split(&bytes(&json!([request(4)])));
        assert_eq!(batches.handle_cancellation(&back(4)), None, "there is nothing to answer");
        batches.split(&bytes(&json!([request(6), request(7)])));
        batches.settle(answer(6));
        assert_eq!(batches.take_partial().len(), 1);
    }
}
