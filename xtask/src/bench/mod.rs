//! `cargo xtask bench`: speed and size of the release build, as ratios to a bare hyper server and as absolutes.
//!
//! `command` builds the server and this program in release mode and starts the latter as `measure`. That process is the load
//! generator; the server and the bare hyper server (`bare`) are its children, so that the CPU time of each is read from its
//! own `/proc/PID/stat` and the generator's share is excluded.

mod command;

#[cfg(feature = "bench")]
mod bare;
#[cfg(feature = "bench")]
mod channels;
#[cfg(feature = "bench")]
mod engine;
#[cfg(feature = "bench")]
mod figures;
#[cfg(feature = "bench")]
mod instances;
#[cfg(feature = "bench")]
mod load;
#[cfg(feature = "bench")]
mod machine;
#[cfg(feature = "bench")]
mod mcp;
#[cfg(feature = "bench")]
mod measure;
#[cfg(feature = "bench")]
mod recall;
#[cfg(feature = "bench")]
mod report;
#[cfg(feature = "bench")]
mod sockets;
#[cfg(feature = "bench")]
mod subject;

pub(crate) use command::{Options, run};
#[cfg(feature = "bench")]
pub(crate) use {bare::serve as bare, measure::measure, sockets::watch};
