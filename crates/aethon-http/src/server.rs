//! The listener.

/// The server.
pub struct Server {}
