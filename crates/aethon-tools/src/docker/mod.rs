//! The docker sandbox: one container per conversation, in which all its commands run, and one for each program that is
//! talked to, such as an MCP server.
//!
//! It speaks the daemon's own HTTP API, on the socket or address that `DOCKER_HOST` names, so it needs no `docker`
//! program and parses no text made for people. `client` sends requests and attaches, `container` defines a container,
//! `pool` manages one per conversation and runs commands in it, `program` starts programs that are talked to.

mod client;
mod container;
mod pool;
mod program;

pub use pool::DockerSandbox;
