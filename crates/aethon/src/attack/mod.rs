//! The program attacks its own listener, as a page in the owner's browser, a neighbour on the network or a bored stranger
//! would, and says in words what held.
//!
//! Nothing that it sends would do anything if it came through: it asks for what is harmless, and posts what no handler takes.
//! What has to hold follows from the configuration: with a token, nothing is told without it; without one, nobody but this
//! machine reaches the listener, and no page of another site does.

mod examine;
mod flood;
mod probes;
mod wire;

pub use self::examine::examine;

/// What all findings are about.
const AREA: &str = "attack";
