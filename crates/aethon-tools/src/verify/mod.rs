//! Checks after edits, and evidence for success. If an edit breaks the build, the model reads so in the result of the
//! edit. An answer that claims success although nothing was run since the last edit does not pass unchallenged.
//!
//! `project` finds the check for a file, `claims` tracks claims and evidence, `hook` runs the check where every command
//! runs.

mod claims;
mod hook;
mod project;

pub use hook::{VerifyEdits, VerifyOptions};
