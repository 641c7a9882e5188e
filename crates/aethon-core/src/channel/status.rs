//! How channels are doing: what their supervisor sees from outside, and what a channel says of itself.

use jiff::Timestamp;
use serde::Serialize;

/// How a channel is doing, as whoever runs it sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ChannelHealth {
    /// It was not started yet.
    #[default]
    Waiting,
    /// It runs.
    Running,
    /// It ended in an error and is started again.
    Restarting {
        /// What went wrong.
        error: String,
        /// How often in a row.
        failures: u32,
        /// When it is started again.
        at: Timestamp,
    },
    /// It has nothing more to do.
    Ended,
}

/// Whether a channel works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChannelState {
    /// It takes messages and sends them.
    Running,
    /// It is on its way there.
    #[default]
    Connecting,
    /// It fails, and is tried again.
    Degraded,
    /// The owner has not switched it on, or it has ended.
    Off,
}

impl ChannelState {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Connecting => "connecting",
            Self::Degraded => "degraded",
            Self::Off => "off",
        }
    }
}

/// What there is to know about a channel, for whoever shows it. What waits to be sent is known to the outbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChannelStatus {
    /// Whether it works.
    pub state: ChannelState,
    /// What there is to know about that, a sentence that names the key to set where one is to be set; may be empty.
    pub detail: String,
    /// As whom it is signed in there; empty until it knows.
    pub account: String,
    /// When the last message came in.
    pub last_inbound: Option<Timestamp>,
    /// When the last one went out.
    pub last_outbound: Option<Timestamp>,
}

impl ChannelStatus {
    /// One in this state.
    pub fn new(state: ChannelState, detail: impl Into<String>) -> Self {
        Self { state, detail: detail.into(), ..Self::default() }
    }

    /// The same in another state.
    #[must_use]
    pub fn but(self, state: ChannelState, detail: impl Into<String>) -> Self {
        Self { state, detail: detail.into(), ..self }
    }
}

/// What the channel says of itself, with what its supervisor sees.
pub(super) fn merged(health: ChannelHealth, own: Option<ChannelStatus>) -> ChannelStatus {
    let own = own.unwrap_or_else(|| ChannelStatus::new(ChannelState::Running, ""));
    match health {
        ChannelHealth::Waiting => own.but(ChannelState::Connecting, "about to start"),
        ChannelHealth::Running => own,
        ChannelHealth::Restarting { error, failures, .. } => {
            own.but(ChannelState::Degraded, format!("it failed {failures} times in a row: {error}"))
        }
        // One that gave up says why, and that is a fault.
        ChannelHealth::Ended if own.state == ChannelState::Degraded => own,
        ChannelHealth::Ended => {
            let detail = if own.detail.is_empty() { "it has ended".to_owned() } else { own.detail.clone() };
            own.but(ChannelState::Off, detail)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_channel_says_counts_while_it_runs() {
        let own = || Some(ChannelStatus::new(ChannelState::Degraded, "the token is wrong"));
        assert_eq!(merged(ChannelHealth::Running, own()).detail, "the token is wrong");
        assert_eq!(merged(ChannelHealth::Running, None).state, ChannelState::Running);
        let ended = merged(ChannelHealth::Ended, own());
        assert_eq!((ended.state, ended.detail.as_str()), (ChannelState::Degraded, "the token is wrong"));
        assert_eq!(merged(ChannelHealth::Ended, None).state, ChannelState::Off);
        let health =
            ChannelHealth::Restarting { error: "gone".into(), failures: 2, at: Timestamp::UNIX_EPOCH };
        let restarting = merged(health, None);
        assert!(restarting.state == ChannelState::Degraded && restarting.detail.contains("gone"));
    }
}
