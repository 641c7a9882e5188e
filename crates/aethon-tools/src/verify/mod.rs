//! Checks after edits, and evidence for success: an edit that breaks the build is told to the model with the edit, and an answer
//! that claims success although nothing was run since the last edit is not left at that.
//!
//! `project` says what checks a file, `claims` what counts as a claim and as evidence, `hook` runs the check where every command
//! runs.

mod claims;
mod hook;
mod project;

pub use hook::{VerifyEdits, VerifyOptions};
