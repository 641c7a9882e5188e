//! Copies of the whole database, for backups: making one while the database is in use, and checking one.

use crate::db;
pub use crate::db::{
    CopyFacts, OldCopy, Progress, copy_name, format, free_space, is_open_elsewhere, make, of_upgrades,
    space_for_upgrade, verify,
};

/// The newest database format that this program knows.
pub const FORMAT: i64 = db::VERSION;
