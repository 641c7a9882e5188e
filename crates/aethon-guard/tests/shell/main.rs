//! The budget of the shell rules, and damaged input.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    missing_docs,
    unreachable_pub,
    reason = "tests, and the functions that they share"
)]

mod budget;
mod fuzz;
