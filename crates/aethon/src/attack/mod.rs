//! The self-test: the program attacks its own listener as a page in the owner's browser, a neighbour on the network or a bored
//! stranger would, and reports which defences held.
//!
//! A request that gets through does no damage: the attacks read harmless data and post what no handler accepts. The
//! configuration determines what must hold: with a token, nothing is disclosed without it; without one, only this machine
//! reaches the listener, and pages of other sites do not.

mod examine;
mod flood;
mod probes;
mod wire;

pub use self::examine::examine;

/// The area of all these findings.
const AREA: &str = "attack";
