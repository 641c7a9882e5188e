//! `cargo xtask tidy`: checks the invariants of `docs/architecture.md` and the limits of the house style.
//!
//! A rule is a function from the `Tree` (the workspace as data) to findings. `rules::RULES` lists them; each has tests that
//! show it failing on a made-up tree as well as passing. What clippy and rustc already check (length of functions, number of
//! arguments, missing docs, `unsafe`) is left to them.

mod finding;
mod manifest;
mod metadata;
mod report;
mod rules;
mod run;
mod source;
mod tree;

pub(crate) use run::{TidyOptions, run};
