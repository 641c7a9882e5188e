//! Why something is not read: what lies there instead of a plain file or directory.

use std::fmt;
use std::io;

use rustix::fs::FileType;

/// Why a file or directory is not used. The text names the problem and a remedy.
#[derive(Debug)]
pub enum Refusal {
    /// A symbolic link, which may lead to a file that is none of the program's business.
    Link,
    /// A file with a second name, perhaps in a place that is closed.
    SecondName,
    /// Neither a link nor the requested type: `a FIFO`, `a device`, `a directory` and so on.
    Kind(&'static str),
    /// The operating system refused, or something failed.
    Failed(io::Error),
}

impl Refusal {
    /// Names the kind of refusal, for reporting each kind once.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Link => "a link",
            Self::SecondName => "a file with a second name",
            Self::Kind(kind) => kind,
            Self::Failed(_) => "unreadable",
        }
    }

    /// Names an entry of this type.
    pub(crate) fn of(kind: FileType) -> Self {
        match kind {
            FileType::Symlink => Self::Link,
            FileType::Directory => Self::Kind("a directory"),
            FileType::Fifo => Self::Kind("a FIFO"),
            FileType::Socket => Self::Kind("a socket"),
            FileType::CharacterDevice | FileType::BlockDevice => Self::Kind("a device"),
            FileType::RegularFile => Self::Kind("a file"),
            FileType::Unknown => Self::Kind("something unknown"),
        }
    }

    /// Turns it into an error of the operating system's kind.
    pub fn into_io(self) -> io::Error {
        match self {
            Self::Failed(error) => error,
            other => io::Error::other(other.to_string()),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link => f.write_str("this is a link; put the thing itself here instead of linking it"),
            Self::SecondName => {
                f.write_str("this file has a second name elsewhere; copy it here instead of linking it")
            }
            Self::Kind(kind) => write!(f, "this is {kind}, not a plain file"),
            Self::Failed(error) => write!(f, "this cannot be opened: {error}"),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<rustix::io::Errno> for Refusal {
    fn from(error: rustix::io::Errno) -> Self {
        Self::Failed(error.into())
    }
}
