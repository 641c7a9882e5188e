//! Who runs a turn, when several programs share one storage.
//!
//! A daemon, a terminal without one, and an embedding program may have the same home open. Each opened storage is one
//! *owner*: whatever it accepts is its own, until it has ended, or until the owner is gone and another takes it over.
//! An owner lives as long as it renews its lease; a daemon is also gone when the next one has got the lock of the home,
//! and one that leaves in order says so. In a session only one owner writes at a time: [`TurnLog::begin`] is refused
//! ([`Error::is_elsewhere`]) while another's turn has begun there, or was accepted before.
//!
//! [`TurnLog::begin`]: crate::session::TurnLog::begin
//! [`Error::is_elsewhere`]: crate::error::Error::is_elsewhere

use std::time::Duration;

use async_trait::async_trait;

use crate::error::Result;
use crate::ids::{MessageId, SessionId, TurnId};
use crate::instance::Instances;
use crate::session::TurnRecord;

/// How long a program counts as alive after it last said so. Long enough for one that is starved of the processor or
/// waits for a disk, short enough for a person who waits for an answer.
pub const LEASE: Duration = Duration::from_secs(10);

/// The most turns that one look at the ends of others returns.
pub const MAX_ENDED: usize = 500;

/// The turns that other owners have ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndedElsewhere {
    /// Their turns, in the order in which their ends are in the transcripts.
    pub turns: Vec<(SessionId, TurnId)>,
    /// The newest message of which this look knows; the next one goes on after it. `None` where nothing is stored.
    pub through: Option<MessageId>,
}

/// Whose turns are whose.
#[async_trait]
pub trait Owners: Instances {
    /// How long this owner counts as alive after [`Self::renew`]. Accepting a turn renews as well, where it is due.
    fn lease(&self) -> Duration;

    /// Says that this owner lives.
    async fn renew(&self) -> Result<()>;

    /// The sessions with turns whose owner is gone, the one that waits longest first.
    async fn orphaned(&self) -> Result<Vec<SessionId>>;

    /// Makes the unfinished turns of a session whose owner is gone those of this owner, and returns them, oldest first. Of
    /// several programs that ask, one gets each turn.
    async fn take_over(&self, session: &SessionId) -> Result<Vec<TurnRecord>>;

    /// The turns of other owners whose end is stored behind this message, at most [`MAX_ENDED`] of them: whoever shows a
    /// session learns in this way what another program has said in it. Without a message, only where the storage stands.
    /// Costs next to nothing when nothing has come.
    async fn ended_elsewhere(&self, after: Option<MessageId>) -> Result<EndedElsewhere>;

    /// Says that this owner runs nothing any more, so that others need not wait for the end of its lease.
    async fn release(&self) -> Result<()>;
}
