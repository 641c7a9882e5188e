//! Opens files beneath a directory: through no link, without waiting for anybody, regular files only, judged after they
//! were opened, and bounded in size.
//!
//! The program reads files that others can replace at any moment: prompt pages, SOPs and specialists lie in the
//! workspace, where every tool and command may write. Checking a path first and opening it afterwards means reading
//! whatever was put there in between: a link to a private key, or a FIFO that blocks. So nothing here is decided by a
//! path. [`Directory`] is an open directory; each read is judged by the opened file. [`Subdirectory`] is one by name in
//! another, such as the workspace's `sops/`. [`read_given`] reads a file that the owner named and may have linked.
//! [`Lock`] is what programs that change the same file hold meanwhile. [`beneath`] has the single steps, for the file
//! tools, which have rules of their own.
//!
//! Everything here blocks for as long as the file system does. A network file system may hang without end, so callers on
//! the path of a turn or request work on the blocking pool and with a deadline.

pub mod beneath;
mod bounded;
mod directory;
mod given;
mod lock;
mod refusal;
mod stamp;
mod subdirectory;
pub mod unfinished;
mod writing;

pub use bounded::BoundedReads;
pub use directory::{Contents, Directory};
pub use given::read_given;
pub use lock::Lock;
pub use refusal::Refusal;
pub use stamp::Stamp;
pub use subdirectory::Subdirectory;
