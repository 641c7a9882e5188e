//! The body of a response: bytes that are there, or chunks that come one after the other.
//!
//! A stream is bounded: whoever writes waits until the client has taken what was written before, so that a slow reader
//! costs a few chunks of memory and no more. The status goes out with the first chunk. What fails after that cannot become
//! an error document: the connection is cut before the end of the body, and the client knows that something is missing.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;

use crate::progress::Sending;

/// A response.
pub(crate) type Response = http::Response<Body>;

/// How many chunks wait between the writer and the connection.
const WAITING_CHUNKS: usize = 4;

/// The body of every response.
pub(crate) struct Body {
    content: Content,
    /// Tells the connection when the body has been handed over or dropped.
    sending: Option<Sending>,
    /// When this resolves, a stream is cut off.
    ends: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

enum Content {
    Whole(Bytes),
    Chunks(mpsc::Receiver<Chunk>),
}

enum Chunk {
    Bytes(Bytes),
    /// The writer has said everything. A stream that ends without it was cut off.
    End,
}

/// The writing end of a streamed body.
pub(crate) struct BodyWriter(mpsc::Sender<Chunk>);

/// The body ended before its writer had finished.
#[derive(Debug, thiserror::Error)]
#[error("the body was cut off before its end")]
pub(crate) struct CutOff;

/// The client has gone, and nobody reads the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientGone;

impl Body {
    /// A body that is streamed, and the end to write it at. The response is cut off when the writer is dropped without
    /// [`BodyWriter::finish`].
    pub(crate) fn stream() -> (BodyWriter, Self) {
        let (sender, receiver) = mpsc::channel(WAITING_CHUNKS);
        (BodyWriter(sender), Self { content: Content::Chunks(receiver), sending: None, ends: None })
    }

    /// Whether it is a stream.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.content, Content::Chunks(_))
    }

    /// Cuts a stream off when this resolves, because whoever reads it may not be here any more.
    pub(crate) fn end_with(&mut self, end: impl Future<Output = ()> + Send + 'static) {
        self.ends = Some(Box::pin(end));
    }

    /// Keeps the connection marked as busy until this body is over.
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
    /// Writes a chunk, once there is room for it.
    pub(crate) async fn write(&self, bytes: impl Into<Bytes>) -> Result<(), ClientGone> {
        let bytes = bytes.into();
        // An empty chunk would be read as the end by a client.
        if bytes.is_empty() {
            return Ok(());
        }
        self.0.send(Chunk::Bytes(bytes)).await.map_err(|_| ClientGone)
    }

    /// Ends the body as it should end.
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
            // Nobody reads the rest: its writer learns of it.
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
