//! Signals from the users of a connection to the task that runs it.

use std::sync::Arc;

use tokio::sync::Notify;

use super::running::RunningCalls;

/// Events on a connection.
pub(super) struct ConnectionSignals {
    /// The list of tools has changed.
    pub(super) list: Notify,
    /// A call found the connection broken.
    pub(super) broken: Notify,
    /// The server closed the connection, or was cut off.
    pub(super) closed: Notify,
    /// The calls that run on it.
    pub(super) running: RunningCalls,
}

impl ConnectionSignals {
    /// The signals of a connection to this server.
    pub(super) fn of(server: Arc<str>) -> Self {
        Self {
            list: Notify::default(),
            broken: Notify::default(),
            closed: Notify::default(),
            running: RunningCalls::new(server),
        }
    }
}
