//! How people keep their conversations: what they have read of them, and the bin for those that they have deleted.
//!
//! Part of [`Transcripts`](crate::session::Transcripts). The marks belong to the storage and not to a client, so that all
//! devices of a person agree.

use async_trait::async_trait;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::error::Result;
use crate::ids::SessionId;
use crate::session_summary::SessionSummary;

/// Keeps what people do with whole conversations.
///
/// A session gets into the bin by [`Clear::Bin`](crate::session::Clear::Bin). There it has no name: no other method of the
/// storage finds it or its messages, and another session may have its id. A storage without a bin deletes at once.
#[async_trait]
pub trait SessionKeeping: Send + Sync {
    /// Notes that a person has seen everything in a session so far. `false` if that was known before, or if there is no
    /// such session.
    async fn mark_read(&self, id: &SessionId) -> Result<bool>;

    /// Gives a session a title that stays until a person gives another. `false` if its title is not the one that its first
    /// message suggested, or if there is no such session.
    async fn suggest_title(&self, _id: &SessionId, _title: &str) -> Result<bool> {
        Ok(false)
    }

    /// Returns what lies in the bin, last deleted first.
    async fn binned(&self, _query: BinQuery) -> Result<BinPage> {
        Ok(BinPage::default())
    }

    /// Takes a session out of the bin. If another one has its id by now, it gets [another](SessionId::numbered). Returns
    /// its id; `None` if the bin has no such session.
    async fn restore(&self, _which: Binned) -> Result<Option<SessionId>> {
        Ok(None)
    }

    /// Deletes one session of the bin, or all of them, for good. Returns how many.
    async fn discard(&self, _which: Discard) -> Result<u64> {
        Ok(0)
    }
}

/// The place of a session in the bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BinId(pub i64);

impl Serialize for BinId {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Names a session in the bin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Binned {
    /// By its place.
    Place(BinId),
    /// The last deleted one that had this id.
    Last(SessionId),
}

/// What is deleted for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Discard {
    /// The session at this place.
    One(BinId),
    /// All that had this id.
    Named(SessionId),
    /// Everything.
    All,
}

/// A query for sessions in the bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinQuery {
    /// The most sessions to return.
    pub limit: usize,
    /// Only what was deleted before this one: where the previous page ended.
    pub before: Option<(Timestamp, BinId)>,
}

/// A page of the bin.
#[derive(Debug, Clone, Default)]
pub struct BinPage {
    /// The sessions.
    pub sessions: Vec<BinnedSession>,
    /// How many there are in all.
    pub count: u64,
    /// Whether there are more behind these.
    pub has_more: bool,
}

/// A session in the bin.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "StoredBinnedSession")]
pub struct BinnedSession {
    /// Its place.
    #[schemars(with = "String")]
    pub bin_id: BinId,
    /// When it was deleted.
    #[serde(serialize_with = "crate::time::serialize")]
    pub deleted_at: Timestamp,
    /// What it was.
    #[serde(flatten)]
    pub summary: SessionSummary,
}
