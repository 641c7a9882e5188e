//! Archives of files: ZIP files that are written whole, read as if an attacker had made them, and encrypted if need be.
//!
//! [`ArchiveWriter`] writes a ZIP to a stream, so that it can be encrypted on its way to the disk; [`add_folder`] adds a folder
//! without following links or waiting for pipes. [`Archive`] opens an untrusted ZIP: it refuses names that leave their folder,
//! doubled and overlapping entries, links, and what unpacks to far more than it should, before anything is read.
//! [`seal`] encrypts and decrypts in the format of `age`, which other programs open as well.
//!
//! The crate knows nothing of the content.

mod digest;
mod error;
mod folder;
mod limits;
mod names;
mod read;
#[cfg(feature = "encryption")]
pub mod seal;
#[cfg(not(feature = "encryption"))]
#[path = "no_seal.rs"]
pub mod seal;
mod write;

pub use digest::Sha256;
pub use error::{Error, Result};
pub use folder::{Found, Skipped, add_folder};
pub use limits::Limits;
pub use names::fault as name_fault;
pub use read::{Archive, Entry, Kind, count_entries, unpacking};
pub use write::{About, ArchiveWriter};
