//! The configuration of jobs.

/// The configuration of jobs.
#[derive(Debug, Clone)]
pub struct BookOptions {
    /// Whether jobs run by themselves.
    pub is_enabled: bool,
    /// The channel to which a job delivers by default.
    pub default_channel: String,
    /// The channels that are set up.
    pub channels: Vec<String>,
    /// Those of them to which a delivery has to name its recipient, because `channels.NAME.home` is empty.
    pub without_home: Vec<String>,
}
