//! `cargo xtask bench`: the figures of `docs/performance.md`.

mod command;

pub(crate) use command::{Options, run};
