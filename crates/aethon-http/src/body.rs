//! Response bodies: complete bytes, or chunks sent as they are produced.
//!
//! A stream is bounded: its writer waits until the client has taken earlier chunks, so a slow reader costs only a few
//! chunks of memory. The status goes out with the first chunk, so a later failure cannot become an error document.
//! Instead the connection is cut before the end of the body, which tells the client that something is missing.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;

use crate::progress::Sending;

/// A response.
pub(crate) type Response = http::Response<Body>;

/// How many chunks may wait between the writer and the connection.
const WAITING_CHUNKS: usize = 4;

/// The body of every response.
pub struct Body {
    content: Content,
    /// Notifies the connection when the body has been sent or dropped.
    sending: Option<Sending>,
    /// Cuts off a stream when it resolves.
    ends: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

enum Content {
    Whole(Bytes),
    Chunks(mpsc::Receiver<Chunk>),
}

enum Chunk {
    Bytes(Bytes),
    /// The writer is done. A stream that ends without this was cut off.
    End,
}

/// The writing half of a streamed body.
pub(crate) struct BodyWriter(mpsc::Sender<Chunk>);

/// The body ended before its writer had finished.
#[derive(Debug, thiserror::Error)]
#[error("the body was cut off before its end")]
pub struct CutOff;

/// The client has disconnected, so the rest of the body is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientGone;

impl Body {
    /// Creates a streamed body and its writer. Dropping the writer without [`BodyWriter::finish`] cuts the response
    /// off.
    pub(crate) fn stream() -> (BodyWriter, Self) {
        let (sender, receiver) = mpsc::channel(WAITING_CHUNKS);
        (BodyWriter(sender), Self { content: Content::Chunks(receiver), sending: None, ends: None })
    }

    /// Returns the bytes of a body that is complete.
    pub(crate) fn whole(&self) -> Option<&Bytes> {
        match &self.content {
            Content::Whole(bytes) => Some(bytes),
            Content::Chunks(_) => None,
        }
    }

    /// Returns whether the body is a stream.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.content, Content::Chunks(_))
    }

    /// Cuts off a stream when `end` resolves, because the client has lost its access.
    pub(crate) fn end_with(&mut self, end: impl Future<Output = ()> + Send + 'static) {
        self.ends = Some(Box::pin(end));
    }

    /// Keeps the connection marked as busy until this body ends.
    pub(crate) fn mark_sending(&mut self, sending: Sending) {
        self.sending = Some(sending);
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        Self { content: Content::Whole(bytes.into()), sending: None, ends: None }
    }
}

impl BodyWriter {
    /// Writes a chunk, waiting for room.
    pub(crate) async fn write(&self, bytes: impl Into<Bytes>) -> Result<(), ClientGone> {
        let bytes = bytes.into();
        // In chunked encoding, an empty chunk would end the body.
        if bytes.is_empty() {
            return Ok(());
        }
        self.0.send(Chunk::Bytes(bytes)).await.map_err(|_| ClientGone)
    }

    /// Ends the body properly.
    pub(crate) async fn finish(self) -> Result<(), ClientGone> {
        self.0.send(Chunk::End).await.map_err(|_| ClientGone)
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = CutOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        if self.ends.as_mut().is_some_and(|ends| ends.as_mut().poll(cx).is_ready()) {
            self.ends = None;
            // Dropping the receiver lets the writer notice that the rest is not read.
            self.content = Content::Chunks(mpsc::channel(1).1);
        }
        match &mut self.content {
            Content::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Content::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Content::Chunks(chunks) => chunks.poll_recv(cx).map(|chunk| match chunk {
                Some(Chunk::Bytes(bytes)) => Some(Ok(Frame::data(bytes))),
                Some(Chunk::End) => None,
                None => Some(Err(CutOff)),
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.content, Content::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Chunks(_) => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn a_stream_ends_only_when_its_writer_says_so() {
        let (writer, body) = Body::stream();
        writer.write("a").await.unwrap();
        writer.write("").await.unwrap();
        writer.write("b").await.unwrap();
        writer.finish().await.unwrap();
        assert_eq!(body.collect().await.unwrap().to_bytes(), "ab");

        let (writer, body) = Body::stream();
        writer.write("a").await.unwrap();
        drop(writer);
        assert!(body.collect().await.is_err(), "a client must see that the rest is missing");
    }

    #[tokio::test]
    async fn a_stream_is_cut_off_when_its_reader_may_not_be_here_any_more() {
        let (writer, mut body) = Body::stream();
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        body.end_with(async { drop(ended.await) });
        writer.write("a").await.unwrap();
        assert!(body.frame().await.unwrap().is_ok());
        writer.write("b").await.unwrap();
        drop(end);
        assert!(body.frame().await.unwrap().is_err(), "what waits is not sent any more");
        assert_eq!(writer.write("c").await, Err(ClientGone));
    }

    #[tokio::test]
    async fn a_writer_waits_for_its_reader_and_learns_that_it_left() {
        let (writer, mut body) = Body::stream();
        for _ in 0..WAITING_CHUNKS {
            assert_eq!(writer.write("x").now_or_never(), Some(Ok(())));
        }
        assert_eq!(writer.write("x").now_or_never(), None, "no more is kept than was said");
        assert!(body.frame().await.is_some());
        assert_eq!(writer.write("x").now_or_never(), Some(Ok(())));
        drop(body);
        assert_eq!(writer.write("x").await, Err(ClientGone));
    }
}
