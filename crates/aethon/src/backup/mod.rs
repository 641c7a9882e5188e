//! Backups of a home, and restoring them.
//!
//! A backup is one ZIP (`manifest` and `contents` define its entries). [`create`](create()) makes one while the database is in
//! use, and opens and checks it before it gets its name. [`inspect`](inspect()) checks an untrusted file and writes nothing;
//! [`restore`](restore()) unpacks into a new folder beside the home and then swaps the two. [`put_back`] restores the copy that
//! the database had before a migration. `shelf` is the folder of backups, and `schedule` makes them by themselves.

mod contents;
mod create;
mod database_copy;
mod extract;
mod inspect;
mod manifest;
mod occupied;
mod place;
mod restore;
mod room;
mod schedule;
mod shelf;

pub use aethon_archive::seal::{Key, Lock, Needs, Recipient};
pub use aethon_archive::{Error as ArchiveError, Skipped};
pub use aethon_store::copy::FORMAT as DATABASE_FORMAT;

pub use self::contents::Summary;
pub use self::create::{Created, DatabaseUse, Phase, Progress, Request, create};
pub use self::database_copy::{PutBack, put_back};
pub use self::inspect::{Checked, Opened, inspect};
pub use self::manifest::Manifest;
pub use self::place::create_folder;
pub use self::restore::{Restored, Target, restore};
pub use self::shelf::{folder, new_file};

pub(crate) use self::database_copy::DatabaseExchange;
pub(crate) use self::occupied::in_use;
pub(crate) use self::schedule::{BackupTask, finding, problem};
