//! The shell rules against bash itself, and against bytes that mean nothing.
//!
//! `grammar` makes command lines around programs that do not exist, `bash` runs them in an empty folder with an empty
//! `PATH` and tells which commands it looked for, and `oracle` compares that with what the rules say may run.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    missing_docs,
    unreachable_pub,
    reason = "tests, and the functions that they share"
)]

mod bash;
mod budget;
mod fuzz;
mod grammar;
mod oracle;
