//! The engine at its trait boundary: real queues, turns, tools and hooks, with a scripted model and a storage in memory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    unreachable_pub,
    reason = "tests, and the functions that they share"
)]

mod approvals;
mod budget;
mod compaction;
mod continuing;
mod delivery;
mod endings;
mod failures;
mod house;
mod intake;
mod order;
mod pipeline;
mod prefix;
mod recovery;
mod said;
mod stopping;
mod tools;
mod window;
