//! The whole engine in a simulated world: every seed is a run of clients, programs, faults and crashes that can be repeated.
//!
//! The engine, its queues, the outbox and the schedule are the real ones; storage, ledger, model, tools and messenger are
//! doubles that are slow, fail, or have their program killed at any of their steps. Time is virtual and one thread runs
//! everything, so the order of all steps follows from the seed. `docs/decisions/0090-…` says why it is made like this.
//! `cargo xtask sim` runs as many seeds as one likes, or one of them with all its steps.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stdout,
    missing_docs,
    unreachable_pub,
    reason = "tests, and the functions that they share"
)]

mod check;
mod client;
mod doubles;
mod history;
mod mutants;
mod program;
mod run;
mod seeds;
mod store;
mod world;
