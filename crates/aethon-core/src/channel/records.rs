//! What channels remember across restarts: small named values, some with an expiry.
//!
//! How far a platform's updates were read, which conversation continues in which session, who was paired, which parts
//! of a delivery have arrived. One table of names and values serves all of this, so that a new platform needs no table
//! of its own. Every method is one durable transaction; an expired value counts as absent.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::error::Result;

/// The name prefix of a delivery's progress, followed by its number. The value may contain text of the delivery, so a
/// storage removes it with the delivery.
pub const DELIVERY_RECORDS: &str = "delivery:";

/// Named values of channels.
#[async_trait]
pub trait ChannelRecords: Send + Sync {
    /// Returns the value with this name.
    async fn get(&self, channel: &str, name: &str) -> Result<Option<String>>;

    /// Sets a value, until `until` or without an end.
    async fn put(&self, channel: &str, name: &str, value: &str, until: Option<Timestamp>) -> Result<()>;

    /// Sets a value unless there is one. `false` if there is: of several callers, one succeeds.
    async fn claim(&self, channel: &str, name: &str, value: &str, until: Option<Timestamp>) -> Result<bool>;

    /// Removes and returns a value. Of several callers, one gets it.
    async fn take(&self, channel: &str, name: &str) -> Result<Option<String>>;

    /// Returns the names with this prefix and their values, sorted by name.
    async fn list(&self, channel: &str, prefix: &str, limit: usize) -> Result<Vec<(String, String)>>;
}
