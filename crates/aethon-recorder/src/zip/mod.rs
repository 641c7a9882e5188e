//! ZIP files, as far as recordings need them: written plainly, and read as if a stranger had made them.
//!
//! Reading is the point. A common ZIP library is made to get at what is in a file, and forgives what it can: of two entries
//! of one name the later one counts, overlapping ones are read, sizes are believed. Here a file is refused as soon as
//! anything about it is not as it must be, before something is allocated for what it claims, and nothing is ever written.
//! No encryption, no volumes, no ZIP64, no other compression than deflate: recordings have none of it.

mod density;
mod name;
mod read;
mod write;

pub(crate) use read::{Archive, Entry, unpacking};
pub(crate) use write::ZipWriter;

/// The largest file that is opened, in bytes.
pub(crate) const MOST_FILE: u64 = 256 << 20;

/// What the entries of a file may have together, unpacked.
pub(crate) const MOST_UNPACKED: u64 = 256 << 20;

/// What one entry may have, unpacked.
pub(crate) const MOST_ENTRY: u64 = 256 << 20;

/// The most entries of a file.
pub(crate) const MOST_ENTRIES: usize = 5_000;

/// How many times larger an entry may be than what it is packed into. Text does not come to a tenth of this.
pub(crate) const MOST_RATIO: u64 = 200;

/// Up to here nobody asks for the ratio: so little is no bomb.
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
