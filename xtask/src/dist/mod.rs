//! `cargo xtask dist`: what people install who have no Rust, for the machine that this runs on.
//!
//! [`command`] has the order. [`programs`] builds the programs and asks them for their pages and completions; [`parts`] finds
//! the third-party packages in them, from which [`licences`] and [`sbom`] make documents. All of it becomes a [`payload`],
//! which [`archive`] and [`deb`] pack, each in its own layout and always into the same bytes.

mod archive;
mod command;
mod deb;
mod glibc;
mod licences;
mod parts;
mod payload;
mod programs;
mod sbom;

pub(crate) use command::{Options, run};
