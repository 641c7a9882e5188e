//! The real store on a disk that fails: the n-th write, sync, truncation and read of a scripted run, for every n.
//!
//! `disk` decides which operation fails and which bytes a loss of power leaves, `vfs` is the layer under SQLite that asks it, `script` is a run
//! of conversations, money and jobs, `features` of everything else that the store keeps. After each fault the file opens, is
//! whole, and has everything that was acknowledged.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs,
    unreachable_pub,
    reason = "tests, and the functions that they share"
)]

mod disk;
mod every;
mod features;
mod script;
mod vfs;
