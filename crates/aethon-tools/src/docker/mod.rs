//! The docker sandbox: a container a conversation, in which its commands run and nowhere else, and one for each program that is
//! talked to, such as a server of tools.
//!
//! The daemon is spoken to over its own HTTP interface, on the socket or the address that `DOCKER_HOST` names, so no `docker`
//! program is needed and nothing is parsed that was made for people. `client` asks and attaches, `container` says what a
//! container is made of, `pool` keeps one for each conversation, runs commands in it, and removes it, `program` starts what is
//! talked to.

mod client;
mod container;
mod pool;
mod program;

pub use pool::DockerSandbox;
