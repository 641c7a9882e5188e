//! Replaces JSON arrays in a client's input by a notification that the transport recognizes.
//!
//! JSON-RPC batches are arrays. One revision of MCP obliged servers to accept them and the next one removed them, so
//! Aethon refuses them (decision 0153). The SDK refuses them as well, but with the words "Invalid request" only.
//! Replacing the line lets `lenient` send an answer that names the problem, in its place among the other answers.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncBufRead, AsyncRead, BufReader, ReadBuf};

/// The method of the notification that replaces an array.
pub(super) const METHOD: &str = "notifications/aethon/array";
const NOTIFICATION: &[u8] = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/aethon/array\"}\n";

/// A client's input without arrays.
pub(super) struct ArrayFilter<R> {
    inner: BufReader<R>,
    place: Place,
    /// The rest of the notification that is still to be read.
    notification: &'static [u8],
}

/// Where in the input the next byte lies.
#[derive(Clone, Copy)]
enum Place {
    LineStart,
    Message,
    Array,
}

impl Place {
    /// Returns the kind of a line that begins with this byte.
    fn after(first: u8) -> Self {
        if first == b'[' { Self::Array } else { Self::Message }
    }
}

impl<R: AsyncRead> ArrayFilter<R> {
    pub(super) fn new(input: R) -> Self {
        Self { inner: BufReader::new(input), place: Place::LineStart, notification: &[] }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for ArrayFilter<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if !this.notification.is_empty() {
                let length = this.notification.len().min(buffer.remaining());
                let (now, later) = this.notification.split_at(length);
                buffer.put_slice(now);
                this.notification = later;
                return Poll::Ready(Ok(()));
            }
            let available = ready!(Pin::new(&mut this.inner).poll_fill_buf(context))?;
            if available.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let line_end = available.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
            let rest_of_line = line_end.unwrap_or(available.len());
            let (length, next) = match this.place {
                Place::LineStart => {
                    let blank = available.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                    (blank, available.get(blank).map_or(Place::LineStart, |first| Place::after(*first)))
                }
                Place::Message => (rest_of_line.min(buffer.remaining()), Place::Message),
                Place::Array => (rest_of_line, Place::Array),
            };
            let is_message = matches!(this.place, Place::Message);
            if is_message {
                buffer.put_slice(&available[..length]);
            }
            if matches!((this.place, next), (Place::LineStart, Place::Array)) {
                this.notification = NOTIFICATION;
            }
            let is_line_over = !matches!(this.place, Place::LineStart) && line_end == Some(length);
            this.place = if is_line_over { Place::LineStart } else { next };
            Pin::new(&mut this.inner).consume(length);
            if is_message {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[test]
    fn the_method_of_the_notification_is_the_one_that_is_recognized() {
        let notification: serde_json::Value = serde_json::from_slice(NOTIFICATION).unwrap();
        assert_eq!(notification["method"], METHOD);
    }

    #[tokio::test]
    async fn each_array_is_replaced_by_one_notification_and_other_lines_stay() {
        let note = std::str::from_utf8(NOTIFICATION).unwrap();
        let check = async |input: &str, expected: &str| {
            for piece in [1, 2, 7, 1000] {
                let chunks: Vec<_> = input.as_bytes().chunks(piece).collect();
                let mut input: Pin<Box<dyn AsyncRead>> = Box::pin(tokio::io::empty());
                for chunk in chunks.into_iter().rev() {
                    input = Box::pin(chunk.chain(input));
                }
                let mut read = Vec::new();
                ArrayFilter::new(input).read_to_end(&mut read).await.unwrap();
                assert_eq!(String::from_utf8(read).unwrap(), expected, "in pieces of {piece}");
            }
        };
        check("{\"a\":[1]}\n\n  {}\nx\n", "{\"a\":[1]}\n{}\nx\n").await;
        check(" \t[1]\n{}\n[\n[[2]]\n", &format!("{note}{{}}\n{note}{note}")).await;
        check("[1,", note).await;
        check("{\"cut", "{\"cut").await;
        check("", "").await;
    }
}
