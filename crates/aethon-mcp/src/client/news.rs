//! What those who use a connection tell the one who looks after it.

use tokio::sync::Notify;

/// What a connection hears.
#[derive(Default)]
pub(super) struct News {
    /// The list of tools has changed.
    pub(super) list: Notify,
    /// A call found the connection broken.
    pub(super) broken: Notify,
    /// The server closed the connection, or was cut off.
    pub(super) closed: Notify,
}
