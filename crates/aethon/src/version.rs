//! Which program this is: the version, the database format that it writes, and the revision that it was built from.
//!
//! The version alone does not tell two builds apart, and what matters for an upgrade is the format.

use std::sync::LazyLock;

use aethon_store::copy::FORMAT;

/// The version of the workspace.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The revision in the version control, or `unknown`.
pub const REVISION: &str = env!("AETHON_REVISION");

static LONG: LazyLock<String> =
    LazyLock::new(|| format!("{VERSION} (database format {FORMAT}, revision {REVISION})"));

/// All three, for `--version`: `0.3.0 (database format 18, revision 1a2b3c4d5e6f)`.
pub fn long() -> &'static str {
    &LONG
}

/// Writes the first line of a program's log.
pub fn log(program: &str) {
    tracing::info!(version = VERSION, database_format = FORMAT, revision = REVISION, "{program} starts");
}
