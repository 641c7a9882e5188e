//! Reads the lines of a server program, bounds their length, and repairs malformed ones.
//!
//! A line that is too long is dropped, but its id is found while it is skipped, and an error takes its place. Otherwise its call
//! would wait until it times out.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use serde_json::{Value, json};
use tokio::io::{AsyncRead, ReadBuf};

use super::repair;

/// Maximum size of a message from a server.
pub(super) const MAX_MESSAGE: usize = 8 << 20;
/// The error that takes the place of an answer that is too large.
pub(super) const TOO_LARGE: &str = "its answer is larger than 8 MiB";
/// How much is read at once.
const PIECE: usize = 64 * 1024;

/// Returns the message that takes the place of an answer that is too large.
pub(super) fn too_large(id: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32603, "message": TOO_LARGE } })
}

/// The output of a server program.
pub(super) struct Lines<R> {
    inner: R,
    piece: Box<[u8]>,
    line: Vec<u8>,
    limit: usize,
    /// The id of a line that is too long, while the rest of it is skipped.
    skipped: Option<IdScan>,
    ready: Vec<u8>,
    given: usize,
}

impl<R> Lines<R> {
    pub(super) fn new(inner: R) -> Self {
        Self::bounded(inner, MAX_MESSAGE)
    }

    fn bounded(inner: R, limit: usize) -> Self {
        let piece = vec![0; PIECE].into_boxed_slice();
        Self { inner, piece, line: Vec::new(), limit, skipped: None, ready: Vec::new(), given: 0 }
    }

    /// Takes a piece of the output in.
    fn take(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            let end = piece.iter().position(|byte| *byte == b'\n');
            let (part, rest) = piece.split_at(end.map_or(piece.len(), |end| end + 1));
            piece = rest;
            if let Some(scan) = &mut self.skipped {
                scan.read(part);
            } else if self.line.len() + part.len() > self.limit {
                let mut scan = IdScan::default();
                scan.read(&self.line);
                scan.read(part);
                self.line = Vec::new();
                self.skipped = Some(scan);
            } else {
                self.line.extend_from_slice(part);
            }
            if end.is_some() {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        match self.skipped.take() {
            None => {
                let line = std::mem::take(&mut self.line);
                match repair::text(line.trim_ascii()) {
                    Some(repaired) => {
                        self.ready.extend_from_slice(&repaired);
                        self.ready.push(b'\n');
                    }
                    None => self.ready.extend_from_slice(&line),
                }
            }
            Some(scan) => {
                tracing::warn!("a message of an MCP server is larger than 8 MiB and is left out");
                if let Some(id) = scan.answered() {
                    self.ready.extend_from_slice(format!("{}\n", too_large(&id)).as_bytes());
                }
            }
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if this.given < this.ready.len() {
                let rest = &this.ready[this.given..];
                let part = &rest[..rest.len().min(buffer.remaining())];
                buffer.put_slice(part);
                this.given += part.len();
                if this.given == this.ready.len() {
                    (this.ready, this.given) = (Vec::new(), 0);
                }
                return Poll::Ready(Ok(()));
            }
            let mut piece = std::mem::take(&mut this.piece);
            let mut read = ReadBuf::new(&mut piece);
            let polled = Pin::new(&mut this.inner).poll_read(context, &mut read);
            let length = read.filled().len();
            if matches!(polled, Poll::Ready(Ok(()))) {
                this.take(&piece[..length]);
            }
            this.piece = piece;
            ready!(polled)?;
            if length == 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

/// Finds the id of a message of any size, without keeping it.
#[derive(Default)]
struct IdScan {
    depth: u32,
    in_string: bool,
    is_escaped: bool,
    /// The word that is being read at the top level.
    word: Vec<u8>,
    key: Vec<u8>,
    is_value: bool,
    id: Option<Value>,
    /// Whether it is a request or a notification, which nothing waits for.
    is_request: bool,
}

/// How much of a word is kept.
const MAX_WORD: usize = 128;

impl IdScan {
    fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.byte(*byte);
        }
    }

    /// Returns the id of the request that the message answers.
    fn answered(&self) -> Option<Value> {
        self.id.clone().filter(|_| !self.is_request)
    }

    fn byte(&mut self, byte: u8) {
        let is_top = self.depth == 1;
        if self.in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => {
                    self.in_string = false;
                    if is_top {
                        self.end_string();
                    }
                }
                _ if is_top && self.word.len() < MAX_WORD => self.word.push(byte),
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.word.clear();
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                if is_top {
                    self.end_number();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if is_top => {
                self.is_value = true;
                self.word.clear();
            }
            b',' if is_top => {
                self.end_number();
                self.is_value = false;
            }
            b'0'..=b'9' | b'-' if is_top && self.is_value && self.word.len() < MAX_WORD => {
                self.word.push(byte)
            }
            _ => {}
        }
    }

    fn end_string(&mut self) {
        let word = std::mem::take(&mut self.word);
        if !self.is_value {
            self.is_request |= word == b"method";
            self.key = word;
        } else if self.key == b"id" {
            self.id = Some(String::from_utf8_lossy(&word).into());
        }
    }

    fn end_number(&mut self) {
        let word = std::mem::take(&mut self.word);
        if self.is_value && self.key == b"id" && self.id.is_none() {
            self.id = serde_json::from_slice(&word).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    async fn read(input: &[u8], limit: usize) -> Vec<String> {
        let mut text = String::new();
        Lines::bounded(input, limit).read_to_string(&mut text).await.unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn answer_that_is_too_large_is_an_error_of_the_same_id() {
        let long = "x".repeat(500);
        let nested = json!({"id": 9, "text": long, "method": "\"id\":8"}).to_string();
        for (line, id) in [
            (format!(r#"{{"jsonrpc":"2.0","id":7,"result":{nested}}}"#), json!(7)),
            (format!(r#"{{"result":{nested},"jsonrpc":"2.0","id":7}}"#), json!(7)),
            (format!(r#"{{"result":[{nested}], "id" : "a7" }}"#), json!("a7")),
        ] {
            let input = format!("{{\"id\":1}}\n{line}\n{{\"id\":2}}\n");
            let read = read(input.as_bytes(), 200).await;
            assert_eq!(read.len(), 3, "{read:?}");
            assert_eq!(serde_json::from_str::<Value>(&read[1]).unwrap(), too_large(&id));
        }
        let request = format!(r#"{{"id":7,"method":"x","params":{nested}}}"#);
        assert_eq!(read(format!("{request}\n{{\"id\":2}}\n").as_bytes(), 200).await, [r#"{"id":2}"#]);
    }

    #[tokio::test]
    async fn lines_are_repaired_and_others_stay() {
        let input = "noise\n{\"id\":1,\"result\":{\"content\":[{\"type\":\"x\"}]}}\r\n{\"id\": 2}\nrest";
        let read = read(input.as_bytes(), 1 << 20).await;
        assert_eq!((read[0].as_str(), read[2].as_str(), read.len()), ("noise", "{\"id\": 2}", 3));
        assert!(read[1].contains("cannot be read here"), "{}", read[1]);
    }
}
