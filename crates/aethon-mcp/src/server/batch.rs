//! JSON-RPC batches: several messages as one array on a line, and their answers as one array.
//!
//! Revisions before 2025-06-18 have batches, and 2025-03-26 obliges servers to accept them, but the SDK does not
//! support them. So batches are split before the SDK reads, and their answers are collected after it has written
//! (decision 0095). Later revisions have no batches, and neither is one allowed before a revision is negotiated: such
//! an array is answered with -32600.
//!
//! `open_batches` splits arrays and tracks the outstanding answers; this file moves bytes. Lines that are no arrays
//! pass through unchanged.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, duplex,
};
use tokio::sync::{mpsc, oneshot};

use super::open_batches::{OpenBatches, SplitBatch};

/// Size of the buffers between the client and the SDK, each way.
const BUFFER: usize = 64 << 10;
/// Lines up to this length are inspected for cancellation of a batched request.
const LOOKED_AT: usize = 64 << 10;
/// How many of our own answers may wait for a client that does not read.
const WAITING: usize = 16;

/// The SDK's end of the connection.
pub(super) struct SdkStreams {
    /// What the SDK reads.
    pub(super) input: DuplexStream,
    /// What the SDK writes to.
    pub(super) output: DuplexStream,
}

/// Connects a client to the SDK. The two futures move input and output; the second ends when the SDK has closed its
/// output and everything is written.
pub(super) fn connect(
    input: impl AsyncRead + Send + Unpin,
    output: impl AsyncWrite + Send + Unpin,
    longest: usize,
) -> (SdkStreams, impl Future<Output = ()> + Send, impl Future<Output = ()> + Send) {
    let (to_sdk, sdk_input) = duplex(BUFFER);
    let (from_sdk, sdk_output) = duplex(BUFFER);
    let (ours, own) = mpsc::channel(WAITING);
    let batches = Shared::default();
    let incoming = Incoming { to_sdk, ours, batches: batches.clone(), longest };
    let (listens, left) = oneshot::channel::<()>();
    let reading = async move {
        tokio::select! {
            // Either the client or the SDK is gone, which ends the connection; there is nobody to tell.
            _ = incoming.run(BufReader::new(input)) => {}
            // A client that no longer reads gets nothing more answered.
            _ = left => {}
        }
    };
    let writing = async move {
        let mut from_sdk = BufReader::new(from_sdk);
        if outgoing(&mut from_sdk, own, output, batches).await.is_err() {
            // To the SDK the client has just left, which is no error; discard what it still writes.
            drop(listens);
            let _ = tokio::io::copy_buf(&mut from_sdk, &mut tokio::io::sink()).await;
        }
    };
    (SdkStreams { input: sdk_input, output: sdk_output }, reading, writing)
}

/// The open batches, shared by both directions.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<OpenBatches>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, OpenBatches> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The input direction.
struct Incoming {
    to_sdk: DuplexStream,
    ours: mpsc::Sender<Vec<u8>>,
    batches: Shared,
    longest: usize,
}

impl Incoming {
    async fn run(mut self, mut from: impl AsyncBufRead + Unpin) -> io::Result<()> {
        while let Some(first) = first_byte(&mut from).await? {
            let most = if first == b'[' { self.longest } else { LOOKED_AT };
            let mut line = Vec::new();
            let is_whole = line_within(&mut from, &mut line, most).await?;
            match (first, is_whole) {
                (b'[', true) => self.split(&line).await?,
                // Like any other overlong line, it gets no answer.
                (b'[', false) => rest_of_line(&mut from, &mut tokio::io::sink()).await?,
                (_, true) => self.pass(&line).await?,
                (_, false) => {
                    self.to_sdk.write_all(&line).await?;
                    rest_of_line(&mut from, &mut self.to_sdk).await?;
                }
            }
        }
        self.to_sdk.shutdown().await
    }

    /// Passes on a line that is no array.
    async fn pass(&mut self, line: &[u8]) -> io::Result<()> {
        let finished = self.batches.lock().handle_cancellation(line);
        self.to_sdk.write_all(line).await?;
        self.answer(finished).await
    }

    async fn split(&mut self, line: &[u8]) -> io::Result<()> {
        let SplitBatch { messages, answer } = self.batches.lock().split(line);
        for message in messages {
            // A batch may cancel its own requests.
            self.pass(&message).await?;
        }
        self.answer(answer).await
    }

    async fn answer(&self, answer: Option<Vec<u8>>) -> io::Result<()> {
        match answer {
            Some(answer) => self.ours.send(answer).await.map_err(|_| io::ErrorKind::BrokenPipe.into()),
            None => Ok(()),
        }
    }
}

/// Runs the output direction: lines from the SDK, and our own answers.
async fn outgoing(
    from_sdk: &mut BufReader<DuplexStream>,
    mut own: mpsc::Receiver<Vec<u8>>,
    mut output: impl AsyncWrite + Unpin,
    batches: Shared,
) -> io::Result<()> {
    let mut line = Vec::new();
    let (mut has_more, mut is_asked) = (true, true);
    while has_more {
        tokio::select! {
            answer = own.recv(), if is_asked => match answer {
                Some(answer) => output.write_all(&answer).await?,
                None => is_asked = false,
            },
            // If the other branch is taken, the part of a line that was read stays in the buffer.
            read = from_sdk.read_until(b'\n', &mut line) => {
                has_more = read? > 0;
                let settled = if has_more { batches.lock().settle(std::mem::take(&mut line)) } else { None };
                if let Some(settled) = settled {
                    output.write_all(&settled).await?;
                }
            }
        }
        output.flush().await?;
    }
    while let Ok(answer) = own.try_recv() {
        output.write_all(&answer).await?;
    }
    // Partial answers of batches that will never be complete.
    let rest = batches.lock().take_partial();
    for answer in rest {
        output.write_all(&answer).await?;
    }
    output.flush().await
}

/// Returns the first byte of the next non-blank line, skipping whitespace before it.
async fn first_byte(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<u8>> {
    loop {
        let available = from.fill_buf().await?;
        if available.is_empty() {
            return Ok(None);
        }
        match available.iter().position(|byte| !byte.is_ascii_whitespace()) {
            Some(at) => {
                let first = available[at];
                from.consume(at);
                return Ok(Some(first));
            }
            None => {
                let length = available.len();
                from.consume(length);
            }
        }
    }
}

/// Reads a line, including its end, of at most this length. Returns whether it is complete; the rest of it remains
/// unread.
async fn line_within(
    from: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
    most: usize,
) -> io::Result<bool> {
    loop {
        let available = from.fill_buf().await?;
        if available.is_empty() {
            return Ok(true);
        }
        let end = available.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let length = end.unwrap_or(available.len()).min(most.saturating_sub(line.len()));
        line.extend_from_slice(&available[..length]);
        let is_ended = end == Some(length);
        from.consume(length);
        if is_ended {
            return Ok(true);
        }
        if line.len() >= most {
            return Ok(false);
        }
    }
}

/// Copies the rest of a line piece by piece.
async fn rest_of_line(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    loop {
        let available = from.fill_buf().await?;
        if available.is_empty() {
            return Ok(());
        }
        let end = available.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let length = end.unwrap_or(available.len());
        to.write_all(&available[..length]).await?;
        from.consume(length);
        if end.is_some() {
            return Ok(());
        }
    }
}
