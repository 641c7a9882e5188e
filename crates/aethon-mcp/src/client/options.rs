//! Settings of the client. The facade fills them from the configuration.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::exchange::Exchange;
use aethon_core::program::{Program, Programs};
use aethon_core::secret::Secret;

/// The servers, and the means to reach them.
pub struct Options {
    /// The servers.
    pub servers: Vec<ServerOptions>,
    /// Starts those that are programs.
    pub programs: Arc<dyn Programs>,
    /// Timeout for a tool call.
    pub call_timeout: Duration,
    /// The version of this program, as told to servers.
    pub version: String,
}

/// A server.
pub struct ServerOptions {
    /// Its name, which prefixes the names of its tools.
    pub name: String,
    /// How to reach it.
    pub address: Address,
}

/// How to reach a server.
pub enum Address {
    /// It is a child program.
    Program(Program),
    /// It runs elsewhere.
    Url {
        /// Its URL.
        url: String,
        /// Headers to send with every request.
        headers: Vec<(String, Secret)>,
        /// The transport for the requests.
        exchange: Arc<dyn Exchange>,
    },
}
