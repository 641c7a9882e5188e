//! Settings of the client. The facade fills them from the configuration.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::exchange::Exchange;
use aethon_core::program::{Program, Programs};
use aethon_core::secret::Secret;
use aethon_core::tool::ToolSpec;

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
    /// Whether the owner vouches for its descriptions of its tools.
    pub is_trusted: bool,
}

/// How the tools of one server are offered.
#[derive(Debug, Clone, Copy)]
pub(super) struct OfferRules {
    pub(super) call_timeout: Duration,
    pub(super) is_trusted: bool,
    /// Whether the server is a program on this machine, with the owner's reach in every turn.
    pub(super) is_local: bool,
}

impl OfferRules {
    pub(super) fn apply(self, spec: ToolSpec) -> ToolSpec {
        let described_outside = spec.described_outside && !self.is_trusted;
        let mut spec = spec.with_timeout(self.call_timeout);
        spec.described_outside = described_outside;
        // What only reads leaves nothing behind.
        spec.has_owners_reach = self.is_local && !spec.read_only;
        spec
    }
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
