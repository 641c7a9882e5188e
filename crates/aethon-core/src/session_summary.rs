//! What lists show of a stored conversation.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ids::SessionId;
use crate::session_settings::SessionSettings;
use crate::version::Version;

/// A session without its messages.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SessionSummary {
    /// Its id.
    pub session_id: SessionId,
    /// The channel that it belongs to.
    pub channel: String,
    /// Who started it.
    pub sender: String,
    /// Its title: set by a person, or taken from the first message.
    pub title: String,
    /// The agent that answers in it.
    pub agent_name: String,
    /// When it began.
    #[serde(serialize_with = "crate::time::serialize")]
    pub created_at: Timestamp,
    /// When it last changed.
    #[serde(serialize_with = "crate::time::serialize")]
    pub updated_at: Timestamp,
    /// Messages of the live branch.
    pub message_count: u64,
    /// Whether the assistant has said something that no client has [shown](crate::session::SessionKeeping::mark_read).
    pub unread: bool,
    /// What a person has set for it.
    #[serde(flatten)]
    pub settings: SessionSettings,
}

impl SessionSummary {
    /// Returns its version, which its messages do not change.
    pub fn version(&self) -> Version {
        let settings = serde_json::to_string(&self.settings).unwrap_or_default();
        Version::of([self.session_id.as_str(), &*self.title, &*self.created_at.to_string(), &*settings])
    }
}
