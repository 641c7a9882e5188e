//! The docker sandbox: a container a conversation, in which its commands run and nowhere else.
//!
//! The daemon is spoken to over its own HTTP interface, on the socket or the address that `DOCKER_HOST` names, so no `docker`
//! program is needed and nothing is parsed that was made for people. `client` asks and attaches, `container` says what a
//! container is made of, `pool` keeps one for each conversation, runs commands in it, and removes it.

mod client;
mod container;
mod pool;

pub use pool::DockerSandbox;
