//! The one way to a file: it resolves a path, opens it, and decides by what was opened.
//!
//! A path is checked three times. As it is written: it must lie in a directory that is open to tools, so that `/proc` and
//! `/etc` are not even touched. As it is when links are followed. And as it is once it is open: the real path of the open
//! file, its kind and its identity, because between check and use a name can be given to something else. The opening itself
//! goes through a directory handle that cannot be left ([`cap_std::fs::Dir`]), follows no last link, and does not wait for a
//! FIFO's other end.

use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use aethon_core::tool::ToolError;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;

use super::blocklist::Blocklist;
use crate::options::Options;
use crate::places::Places;

/// The longest path that is looked at.
const LONGEST_PATH: usize = 4096;

/// The pages of the workspace that shape the assistant.
const PAGES: [&str; 4] = ["SOUL.md", "TOOLS.md", "CONTEXT.md", "LEARNINGS.md"];

/// What tools may open.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    home: Option<PathBuf>,
    is_confined: bool,
    blocklist: Blocklist,
}

/// A file that may be read.
#[derive(Debug)]
pub struct Opened {
    /// The open file, at its beginning.
    pub file: File,
    /// Its real path.
    pub path: PathBuf,
    /// Its length when it was opened.
    pub length: u64,
}

impl Workspace {
    /// The workspace of these options.
    pub fn new(options: &Options) -> Self {
        // Names below the home directory are compared with real paths, and both ways to write it count.
        let home = options.user_home.as_deref().map(real);
        let mut own: Vec<PathBuf> = options.own.clone();
        own.extend(options.own.iter().map(|path| real(path)));
        Self {
            root: options.workspace.clone(),
            blocklist: Blocklist::new(Places::new(home.as_deref(), options), &own),
            home: options.user_home.clone(),
            is_confined: options.workspace_only,
        }
    }

    /// Opens a file for reading. Blocks; run it on the blocking pool.
    pub fn open(&self, path: &str) -> Result<Opened, ToolError> {
        if path.trim().is_empty() || path.len() > LONGEST_PATH || path.contains('\0') {
            return Err(ToolError::failed("the path is empty, too long or contains a NUL character"));
        }
        let wanted = self.absolute(path);
        let written = lexical(&wanted);
        if self.base_of(&written).is_none() {
            return Err(self.outside(path));
        }
        let real = wanted.canonicalize().map_err(|error| failed(path, &error))?;
        let base = self.base_of(&real).ok_or_else(|| self.outside(path))?;
        if self.blocklist.has_name(&written, &base) || self.blocklist.has_name(&real, &base) {
            return Err(blocked(path));
        }
        let file = open_beneath(&base, &real).map_err(|error| failed(path, &error))?;
        self.judge(file, path, &base)
    }

    /// Whether this real path is a page that the owner writes for the assistant. A change of one is told to the owner.
    pub(crate) fn is_page(&self, real: &Path) -> bool {
        let root = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        real.parent() == Some(&*root)
            && real.file_name().and_then(|name| name.to_str()).is_some_and(|name| PAGES.contains(&name))
    }

    /// The directory in which a command is to run; the workspace when `path` is empty. Only a confined workspace limits
    /// it, and only where a command begins: where it goes from there is the command's affair, and the sandbox's. Blocks.
    pub(crate) fn directory(&self, path: &str) -> Result<PathBuf, ToolError> {
        if path.len() > LONGEST_PATH || path.contains('\0') {
            return Err(ToolError::failed("the directory's path is too long or contains a NUL character"));
        }
        let wanted = match (path.trim(), &self.home) {
            ("~", Some(home)) => home.clone(),
            (path, _) => self.absolute(path),
        };
        let real = wanted
            .canonicalize()
            .map_err(|error| ToolError::failed(format!("the directory {path:?} cannot be used: {error}")))?;
        if self.is_confined && self.base_of(&real).is_none() {
            return Err(self.outside(path));
        }
        if !real.is_dir() {
            return Err(ToolError::failed(format!("{path:?} is not a directory")));
        }
        Ok(real)
    }

    /// The last word is about what is open.
    fn judge(&self, file: File, path: &str, base: &Path) -> Result<Opened, ToolError> {
        let metadata = file.metadata().map_err(|error| failed(path, &error))?;
        if !metadata.is_file() {
            return Err(ToolError::failed(format!("{path:?} is {}, not a file", kind(&metadata))));
        }
        let real = real_path(&file).map_err(|error| failed(path, &error))?;
        if !real.starts_with(base) {
            return Err(self.outside(path));
        }
        if self.blocklist.has_name(&real, base) || self.blocklist.has_identity(&metadata, &real, base) {
            return Err(blocked(path));
        }
        if self.is_confined && metadata.nlink() > 1 {
            return Err(ToolError::denied(format!(
                "{path:?} has a second name, perhaps outside the workspace (`security.workspace_only`); copy it first"
            )));
        }
        Ok(Opened { file, path: real, length: metadata.len() })
    }

    fn absolute(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.root.join(path),
        }
    }

    /// The open directory that a path lies in, by its real name.
    fn base_of(&self, path: &Path) -> Option<PathBuf> {
        let home = self.home.as_ref().filter(|_| !self.is_confined);
        let lies_in = |directory: &&PathBuf| path.starts_with(directory) || path.starts_with(real(directory));
        [Some(&self.root), home].into_iter().flatten().find(lies_in).map(|directory| real(directory))
    }

    fn outside(&self, path: &str) -> ToolError {
        ToolError::denied(if self.is_confined {
            format!(
                "{path:?} is outside the workspace, and `security.workspace_only` confines file tools to it"
            )
        } else {
            format!("{path:?} is outside the home directory; file tools work below it only")
        })
    }
}

/// The path without `.` and `..`, as far as its text tells.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// The path with links followed, as far as it exists.
fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !parent.as_os_str().is_empty() => real(parent).join(name),
        _ => path.to_path_buf(),
    }
}

fn open_beneath(base: &Path, real: &Path) -> std::io::Result<File> {
    let below = real.strip_prefix(base).map_err(std::io::Error::other)?;
    let directory = Dir::open_ambient_dir(base, ambient_authority())?;
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    directory.open_with(below, &options).map(cap_std::fs::File::into_std)
}

/// What the operating system calls the open file.
#[cfg(target_os = "linux")]
fn real_path(file: &File) -> std::io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// What the operating system calls the open file.
#[cfg(not(target_os = "linux"))]
fn real_path(file: &File) -> std::io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(file)?;
    Ok(PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes())))
}

fn kind(metadata: &Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    match () {
        () if kind.is_dir() => "a directory",
        () if kind.is_fifo() => "a FIFO",
        () if kind.is_socket() => "a socket",
        () if kind.is_block_device() || kind.is_char_device() => "a device",
        () => "something else",
    }
}

fn blocked(path: &str) -> ToolError {
    ToolError::denied(format!(
        "{path:?} holds keys, credentials or files of the system, which tools do not open; the owner can open a place \
         with `security.allowed_paths`"
    ))
}

fn failed(path: &str, error: &std::io::Error) -> ToolError {
    use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    ToolError::failed(match error.kind() {
        NotFound => format!("there is no file {path:?}"),
        NotADirectory => format!("there is no file {path:?}: a part of the path is not a directory"),
        PermissionDenied => format!("{path:?} may not be read: the system does not permit it"),
        _ => format!("{path:?} cannot be opened: {error}"),
    })
}
