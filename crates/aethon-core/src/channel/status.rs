//! The status of channels: as their supervisor sees them, and as they report themselves.

use jiff::Timestamp;

use crate::words::words;

/// The health of a channel, as its supervisor sees it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ChannelHealth {
    /// It has not been started yet.
    #[default]
    Waiting,
    /// It runs.
    Running,
    /// It failed and will be restarted.
    Restarting {
        /// What went wrong.
        error: String,
        /// How many failures in a row.
        failures: u32,
        /// When it will be restarted.
        at: Timestamp,
    },
    /// It has nothing more to do.
    Ended,
}

words! {
    /// Whether a channel works.
    #[derive(Default)]
    pub enum ChannelState {
        /// It receives and sends messages.
        Running = "running",
        /// It is starting.
        #[default]
        Connecting = "connecting",
        /// It is failing and being retried.
        Degraded = "degraded",
        /// The owner has not switched it on, or it has ended.
        Off = "off",
    }
}

/// The status of a channel, for display. The outbox knows the messages that wait to be sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChannelStatus {
    /// Whether it works.
    pub state: ChannelState,
    /// Details, as a sentence that names the key to set if one has to be set; may be empty.
    pub detail: String,
    /// The account that it is signed in with; empty until it knows.
    pub account: String,
    /// When the last message was received.
    pub last_inbound: Option<Timestamp>,
    /// When the last message was sent.
    pub last_outbound: Option<Timestamp>,
    /// Whether it takes no deliveries now. They wait in the outbox, and no attempt counts.
    pub is_holding: bool,
}

impl ChannelStatus {
    /// A status with this state.
    pub fn new(state: ChannelState, detail: impl Into<String>) -> Self {
        Self { state, detail: detail.into(), ..Self::default() }
    }

    /// Replaces the state and the detail.
    #[must_use]
    pub fn but(self, state: ChannelState, detail: impl Into<String>) -> Self {
        Self { state, detail: detail.into(), ..self }
    }
}

/// Combines the channel's own report with its supervisor's view.
pub(super) fn merged(health: ChannelHealth, own: Option<ChannelStatus>) -> ChannelStatus {
    let own = own.unwrap_or_else(|| ChannelStatus::new(ChannelState::Running, ""));
    match health {
        ChannelHealth::Waiting => own.but(ChannelState::Connecting, "about to start"),
        ChannelHealth::Running => own,
        ChannelHealth::Restarting { error, failures, .. } => {
            own.but(ChannelState::Degraded, format!("it failed {failures} times in a row: {error}"))
        }
        // A channel that gave up says why, and that counts as a fault.
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
    fn own_status_of_a_channel_counts_while_it_runs() {
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
