//! The docker sandbox: one container per conversation, in which all its commands run, and one for each program that is
//! talked to, such as an MCP server.
//!
//! It speaks the daemon's own HTTP API, on the socket or address that `DOCKER_HOST` names, so it needs no `docker`
//! program and parses no text made for people. `client` sends requests and attaches, `machine` knows what a daemon can
//! do, `container` defines a container and `covers` its read-only parts, `containers` creates and removes them by `owner`, `trial` proves all of that once, `exec` runs
//! commands in a container, `pool` manages one per conversation and `idle` those that wait, `program` starts programs that
//! are talked to.

mod client;
mod container;
mod containers;
mod covers;
mod exec;
mod idle;
mod machine;
mod of_options;
mod owner;
mod pool;
mod program;
mod trial;

pub use containers::PullPolicy;
pub use pool::DockerSandbox;
pub(crate) use pool::{CommandContainer, ContainerCommand};
pub use trial::Trial;
