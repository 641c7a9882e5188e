//! Message framing of language servers: a header with `Content-Length`, an empty line, and JSON.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// Maximum size of a header.
const MAX_HEAD: u64 = 8 << 10;
/// Maximum size of a message.
const MAX_SIZE: usize = 16 << 20;

/// Reads the next message; `None` at the end.
pub(super) async fn read(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Value>> {
    let (mut length, mut left) = (None, MAX_HEAD);
    loop {
        let mut line = Vec::new();
        let read = (&mut *from).take(left).read_until(b'\n', &mut line).await?;
        if read == 0 && left == MAX_HEAD {
            return Ok(None);
        }
        left = left.saturating_sub(read as u64);
        if !line.ends_with(b"\n") {
            return Err(wrong("the head of a message is cut off or too long"));
        }
        let line = line.trim_ascii();
        if line.is_empty() {
            break;
        }
        length = length.or(content_length(line));
    }
    let length = length.filter(|length| *length <= MAX_SIZE);
    let mut body = vec![0; length.ok_or_else(|| wrong("a message has no length, or is too long"))?];
    from.read_exact(&mut body).await?;
    serde_json::from_slice(&body).map(Some).map_err(|_| wrong("a message is no JSON"))
}

/// Encodes a message.
pub(super) fn framed(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn content_length(line: &[u8]) -> Option<usize> {
    let (name, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
    if name.trim().eq_ignore_ascii_case("content-length") { value.trim().parse().ok() } else { None }
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn messages_are_framed_and_nonsense_is_rejected() {
        let (first, second) = (json!({"id": 1, "result": "ä"}), json!({"method": "x"}));
        let mut bytes = framed(&first);
        bytes.extend(b"content-length:14\r\nContent-Type: application/x\r\n\r\n{\"method\":\"x\"}");
        let mut from = &bytes[..];
        assert_eq!(read(&mut from).await.unwrap(), Some(first));
        assert_eq!(read(&mut from).await.unwrap(), Some(second));
        assert_eq!(read(&mut from).await.unwrap(), None);
        let endless = [b"X: ".as_slice(), &vec![b'x'; 20_000]].concat();
        for wrong in [
            b"hello\r\n\r\n".as_slice(),
            b"Content-Length: 99999999999\r\n\r\n{}",
            b"Content-Length: 2\r\n\r\n{",
            b"Content-Length: 3\r\n\r\nno!",
            b"Content-Length: 3",
            &endless,
        ] {
            assert!(
                read(&mut &*wrong).await.is_err(),
                "{}",
                String::from_utf8_lossy(&wrong[..wrong.len().min(40)])
            );
        }
    }
}
