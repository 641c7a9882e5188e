//! What the instances of one storage tell each other while they run: notes, from one to all others or to one of them.
//!
//! A note is for the moment. It may be lost (its receiver was cut off, or started later), and then the receiver learns that
//! something is missing and asks for what it needs; what must last is in the storage. Notes of one sender arrive in order, and
//! none arrives twice. What a note says is up to those who send and read it.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::Receiver;

use crate::error::Result;

/// How many bytes of notes wait to be sent at most. Beyond that they are dropped, and their receivers learn that.
pub const MAX_WAITING: usize = 16 << 20;

/// A running instance. One that starts again is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PeerId(pub i64);

/// Something that an instance tells others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Who tells it.
    pub from: PeerId,
    /// Which part of the program it is for.
    pub topic: String,
    /// What it says.
    pub body: String,
}

/// What an instance hears.
#[derive(Debug, Clone)]
pub enum Heard {
    /// A note.
    Note(Arc<Note>),
    /// Some notes were lost, of this sender or of any. Also the first thing that is heard.
    Lost(Option<PeerId>),
}

/// The other instances of a storage.
#[async_trait]
pub trait Peers: Send + Sync {
    /// Returns who this instance is.
    fn id(&self) -> PeerId;

    /// Tells one other instance, or all. Never waits: the note is sent a moment later, with those that come meanwhile.
    fn tell(&self, to: Option<PeerId>, topic: &str, body: String);

    /// Hears what others tell from now on. A reader that lags has lost notes.
    fn listen(&self) -> Receiver<Heard>;

    /// Returns the other instances that are alive.
    async fn others(&self) -> Result<Vec<PeerId>>;
}
