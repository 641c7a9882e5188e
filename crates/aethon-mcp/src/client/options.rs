//! Which servers there are, as values. The facade fills them from the configuration.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::exchange::Exchange;
use aethon_core::program::{Program, Programs};
use aethon_core::secret::Secret;

/// The servers, and what reaches them.
pub struct Options {
    /// The servers.
    pub servers: Vec<ServerOptions>,
    /// Starts those that are programs.
    pub programs: Arc<dyn Programs>,
    /// The longest that a call of a tool may take.
    pub call_timeout: Duration,
    /// The version of this program, which servers are told.
    pub version: String,
}

/// A server.
pub struct ServerOptions {
    /// Its name, which begins the names of its tools.
    pub name: String,
    /// Where it is.
    pub address: Address,
}

/// Where a server is.
pub enum Address {
    /// It is a program beside this one.
    Program(Program),
    /// It runs elsewhere.
    Url {
        /// Its address.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, Secret)>,
        /// What sends them.
        exchange: Arc<dyn Exchange>,
    },
}
