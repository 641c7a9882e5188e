//! Signals from the users of a connection to the task that runs it.

use tokio::sync::Notify;

/// Events on a connection.
#[derive(Default)]
pub(super) struct ConnectionSignals {
    /// The list of tools has changed.
    pub(super) list: Notify,
    /// A call found the connection broken.
    pub(super) broken: Notify,
    /// The server closed the connection, or was cut off.
    pub(super) closed: Notify,
}
