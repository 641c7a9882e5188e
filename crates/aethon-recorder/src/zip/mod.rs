//! A minimal ZIP implementation for recordings: writes plain files, and reads every file as if an attacker had made it.
//!
//! Reading is the point. A general ZIP library tries to recover the content and forgives what it can: of two entries
//! with the same name the later one wins, overlapping entries are read, sizes are believed. This one refuses a file as
//! soon as anything about it is wrong, before it allocates what the file claims, and never writes to disk. No
//! encryption, no volumes, no ZIP64, no compression but deflate: recordings use none of that.

mod density;
mod name;
mod read;
mod write;

pub(crate) use read::{Archive, Entry, unpacking};
pub(crate) use write::ZipWriter;

/// Maximum size of a file, in bytes.
pub(crate) const MAX_FILE: u64 = 256 << 20;

/// Maximum unpacked size of all entries together.
pub(crate) const MAX_UNPACKED: u64 = 256 << 20;

/// Maximum unpacked size of one entry.
pub(crate) const MAX_ENTRY: u64 = 256 << 20;

/// Maximum number of entries.
pub(crate) const MAX_ENTRIES: usize = 5_000;

/// Maximum compression ratio of an entry. Text does not reach a tenth of this.
pub(crate) const MAX_RATIO: u64 = 200;

/// Below this size the ratio does not matter: so little is no bomb.
pub(crate) const ALWAYS_FINE: u64 = 64 << 10;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const LOCAL_BYTES: u64 = 30;
const CENTRAL_BYTES: usize = 46;
const END_BYTES: usize = 22;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

#[cfg(test)]
mod tests;
