//! The async side of a response: pieces as they arrive, and the right to cut the connection.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::mpsc;
use ureq::Agent;

use super::failure::Failure;

/// A body that is read by its own thread. Dropping it shuts the socket down.
#[derive(Debug)]
pub(crate) struct Body {
    pieces: mpsc::Receiver<Result<Bytes, Failure>>,
    _cut: CutOnDrop,
}

impl Body {
    pub(super) fn new(pieces: mpsc::Receiver<Result<Bytes, Failure>>, lease: Lease) -> Self {
        Self { pieces, _cut: CutOnDrop(lease) }
    }

    /// Returns the next piece, or `None` after the last.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, Failure>> {
        self.pieces.recv().await
    }

    /// Reads the rest, at most `limit` bytes. A failure ends it early.
    pub(crate) async fn read(&mut self, limit: usize) -> Vec<u8> {
        let mut all = Vec::new();
        while all.len() < limit {
            let Some(Ok(piece)) = self.next().await else { break };
            all.extend_from_slice(&piece);
        }
        all.truncate(limit);
        all
    }
}

/// The right to end an exchange: the thread takes the agent when it has read everything, the async side when it loses
/// interest, whichever comes first.
#[derive(Debug, Clone)]
pub(super) struct Lease(Arc<Mutex<Option<Agent>>>);

impl Lease {
    pub(super) fn of(agent: Agent) -> Self {
        Self(Arc::new(Mutex::new(Some(agent))))
    }

    pub(super) fn take(&self) -> Option<Agent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[derive(Debug)]
struct CutOnDrop(Lease);

impl Drop for CutOnDrop {
    fn drop(&mut self) {
        if let Some(agent) = self.0.take() {
            agent.shutdown();
        }
    }
}
