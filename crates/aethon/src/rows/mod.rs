//! Moves all rows of a storage to another one: between the file and a PostgreSQL server, either way, and to and from a file of
//! lines, as backups of a server have it.
//!
//! [`copy`](copy()) is the whole of it, `place` the two ends, `lines` the file of lines, and `compare` the comparison row by row.

mod compare;
mod copy;
mod lines;
mod place;

pub use self::copy::{Copied, Progress, Request, TableCopied, copy};
pub use self::place::Place;

pub(crate) use self::lines::{LineRows, write as write_lines};
