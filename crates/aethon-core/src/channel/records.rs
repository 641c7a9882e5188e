//! What channels remember beyond a restart: small values by name, some of them for a time only.
//!
//! How far a platform's updates were read, which conversation goes on in which session, who was paired, which parts of a
//! delivery have arrived. One table of names and values serves all of them, so that a new platform needs no table of its
//! own. Every method is one durable transaction; a value whose time is over counts as absent.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::error::Result;

/// Where it is remembered how far a delivery has come, before its number. What is there may hold its text, so a storage
/// removes it with the delivery.
pub const DELIVERY_RECORDS: &str = "delivery:";

/// The values of channels, by the channel and a name.
#[async_trait]
pub trait ChannelRecords: Send + Sync {
    /// The value of this name.
    async fn get(&self, channel: &str, name: &str) -> Result<Option<String>>;

    /// Sets it, until `until` or for ever.
    async fn put(&self, channel: &str, name: &str, value: &str, until: Option<Timestamp>) -> Result<()>;

    /// Sets it unless there is one. `false` when there is: of several that ask, one gets it.
    async fn claim(&self, channel: &str, name: &str, value: &str, until: Option<Timestamp>) -> Result<bool>;

    /// Removes it and returns what it was. Of several that ask, one gets it.
    async fn take(&self, channel: &str, name: &str) -> Result<Option<String>>;

    /// The names that begin like this, with their values, in the order of their names.
    async fn list(&self, channel: &str, prefix: &str, limit: usize) -> Result<Vec<(String, String)>>;
}
