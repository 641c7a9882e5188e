//! The only way to a file: resolves a path, opens it, and checks the opened file.
//!
//! A path is checked three times. As written: it must be in a directory that is open to tools, so that `/proc` and
//! `/etc` are not even touched. With symlinks resolved. And after opening: the real path of the open file, its type and
//! its identity, because between check and use a name can be replaced. Opening goes step by step
//! ([`aethon_files::beneath`]) and never through a symlink. Writing goes through [`super::writable`], which starts with
//! the same checks.

use std::fs::{File, Metadata};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aethon_core::sandbox::Sandbox;
use aethon_core::shaping::PAGES;
use aethon_core::tool::ToolError;
use aethon_core::turn::Trust;
use aethon_files::{Stamp, beneath};
use rustix::fs::Mode;

use super::blocklist::Blocklist;
use super::paths::{MAX_PATH, is_sound, is_straight, lexical, real};
use crate::options::Options;
use crate::protected_paths::ProtectedPaths;

/// Decides what tools may open, in a turn of a given trust.
#[derive(Debug, Clone)]
pub struct Workspace {
    root: PathBuf,
    home: Option<PathBuf>,
    /// The assistant's home, closed except for the workspace in it.
    closed_home: Option<PathBuf>,
    is_confined: bool,
    /// Whether commands run in a sandbox, so that nothing outside the workspace may be written by other ways either.
    is_sandboxed: bool,
    trust: Trust,
    blocklist: Arc<Blocklist>,
}

/// A file open for reading.
#[derive(Debug)]
pub struct Opened {
    /// The open file, at its start.
    pub file: File,
    /// Its real path.
    pub path: PathBuf,
    /// Its length when it was opened.
    pub length: u64,
    /// Its state when it was opened.
    pub(super) stamp: Stamp,
    /// Whether it was found under a name that only looks like the one that was asked for.
    pub is_alike: bool,
}

/// A directory whose entries may be read.
#[derive(Debug)]
pub(crate) struct OpenedDirectory {
    pub(super) handle: OwnedFd,
    /// Its real path.
    pub(crate) path: PathBuf,
    /// The open directory that contains it.
    pub(super) base: PathBuf,
    /// Whether it was found under a name that only looks like the one that was asked for.
    pub(super) is_alike: bool,
}

/// A path that may be opened, judging by its name.
pub(super) struct Resolved {
    /// The real path of the open directory that contains it.
    pub(super) base: PathBuf,
    /// The path with symlinks resolved as far as it exists.
    pub(super) real: PathBuf,
    /// Whether its name only looks like the one that was asked for.
    is_alike: bool,
}

/// What lies under an exact name.
enum Looked {
    Found(Resolved),
    Missing { wanted: PathBuf, error: std::io::Error },
}

/// In how many parts of a path a name may only look like the one asked for.
const MAX_ALIKE: usize = 8;

impl Workspace {
    /// Returns the folder of locks in the assistant's home, if there is one.
    pub(crate) fn locks(&self) -> Option<PathBuf> {
        Some(self.closed_home.as_ref()?.join("run")).filter(|locks| locks.is_dir())
    }

    /// Creates the workspace of these options.
    pub fn new(options: &Options) -> Self {
        let mut own: Vec<PathBuf> = options.own.clone();
        own.extend(options.own.iter().map(|path| real(path)));
        Self {
            root: options.workspace.clone(),
            blocklist: Arc::new(Blocklist::new(ProtectedPaths::new(options), &own)),
            home: options.user_home.clone(),
            closed_home: options.home.as_deref().map(real),
            is_confined: options.workspace_only,
            is_sandboxed: options.shell.sandbox != Sandbox::None,
            trust: Trust::Owner,
        }
    }

    /// Returns the same workspace as a turn of this trust may use it. Without this it is the owner's.
    #[must_use]
    pub fn for_turn(&self, trust: Trust) -> Arc<Self> {
        Arc::new(Self { trust, ..self.clone() })
    }

    /// Opens a file for reading. Blocks; run it on the blocking pool.
    pub fn open(&self, path: &str) -> Result<Opened, ToolError> {
        let Resolved { base, real, is_alike } = self.resolve(path)?;
        // Later checks name anything but a file; a missing name is reported by the directory.
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(ToolError::failed(format!("{path:?} is a directory, not a file")));
        };
        if real == base {
            return Err(ToolError::failed(format!("{path:?} is a directory, not a file")));
        }
        let file = beneath::directory(&base, parent, None).and_then(|parent| beneath::readable(parent, name));
        let opened = self.check_file(file.map_err(|error| failed(path, &error))?, path, &base)?;
        Ok(Opened { is_alike, ..opened })
    }

    /// Opens a directory to read its entries; the workspace if `path` is empty. Blocks.
    pub(crate) fn open_directory(&self, path: &str) -> Result<OpenedDirectory, ToolError> {
        let path = if path.trim().is_empty() { "." } else { path };
        let Resolved { base, real, is_alike } = self.resolve(path)?;
        let handle = beneath::directory(&base, &real, None).map_err(|error| failed(path, &error))?;
        let real = self.check_directory(&handle, path, &base)?;
        Ok(OpenedDirectory { handle, path: real, base, is_alike })
    }

    /// Returns whether a file tool could create or replace a file here under any name, judging by the names. Blocks.
    pub fn may_write(&self, path: &Path) -> bool {
        let may = |text: &str| {
            self.resolve_new(text).is_ok_and(|found| self.check_later(text, &found.real, &found.base).is_ok())
        };
        [path, &real(path)].into_iter().filter_map(Path::to_str).any(may)
    }

    /// Returns whether this real path is a page that the owner writes for the assistant. The owner is notified of changes
    /// to one.
    pub(crate) fn is_page(&self, real: &Path) -> bool {
        let root = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        real.parent() == Some(&*root)
            && real.file_name().and_then(|name| name.to_str()).is_some_and(|name| PAGES.contains(&name))
    }

    /// Formats a real path for display: relative to the workspace if it is inside.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let below = path.strip_prefix(real(&self.root)).ok();
        let home = || Some(Path::new("~").join(path.strip_prefix(real(self.home.as_deref()?)).ok()?));
        let shown = below.map(Path::to_path_buf).or_else(home).unwrap_or_else(|| path.to_path_buf());
        if shown.as_os_str().is_empty() { ".".into() } else { shown.display().to_string() }
    }

    /// Returns the directory in which to start a command; the workspace if `path` is empty. Only a confined workspace
    /// restricts it, and only the starting point: where the command goes from there is limited by the sandbox alone.
    /// Blocks.
    pub(crate) fn directory(&self, path: &str) -> Result<PathBuf, ToolError> {
        if path.len() > MAX_PATH || path.contains('\0') {
            return Err(ToolError::failed("the directory's path is too long or contains a NUL character"));
        }
        let wanted = match (path.trim(), &self.home) {
            ("~", Some(home)) => home.clone(),
            (path, _) => self.absolute(path),
        };
        let real = wanted
            .canonicalize()
            .map_err(|error| ToolError::failed(format!("the directory {path:?} cannot be used: {error}")))?;
        if self.is_confined() && self.base_of(&real).is_none() {
            return Err(self.outside(path));
        }
        if !real.is_dir() {
            return Err(ToolError::failed(format!("{path:?} is not a directory")));
        }
        Ok(real)
    }

    /// Resolves an existing path that may be opened, judging by its name; or the one that looks like it.
    fn resolve(&self, path: &str) -> Result<Resolved, ToolError> {
        let mut looked = self.look(path)?;
        for _ in 0..MAX_ALIKE {
            let alike = match looked {
                Looked::Found(resolved) => return Ok(resolved),
                Looked::Missing { wanted, error } => {
                    self.alike(path, &wanted).ok_or_else(|| failed(path, &error))?
                }
            };
            // The name that is there passes every rule as if it had been asked for.
            let found = alike.path().ok_or_else(|| alike.error(path))?;
            looked = self.look(&found.to_string_lossy())?;
            if let Looked::Found(resolved) = &mut looked {
                resolved.is_alike = true;
            }
        }
        Err(ToolError::failed(format!("there is no file {path:?}")))
    }

    /// Looks for a path under its exact name.
    fn look(&self, path: &str) -> Result<Looked, ToolError> {
        let wanted = self.wanted(path)?;
        match wanted.canonicalize() {
            Ok(real) => self.named(path, &wanted, real).map(Looked::Found),
            // A closed path is refused as closed whether it exists or not.
            Err(error) => {
                self.named(path, &wanted, real(&wanted))?;
                match error.kind() {
                    std::io::ErrorKind::NotFound => Ok(Looked::Missing { wanted, error }),
                    _ => Err(failed(path, &error)),
                }
            }
        }
    }

    /// Says under which name something was found, if that only looks like the one asked for.
    pub(super) fn alike_note(&self, path: &str, found: &Path, is_alike: bool) -> String {
        match is_alike {
            true => {
                format!("[there is no {path:?}; this is {:?}, whose name looks like it]\n", self.shown(found))
            }
            false => String::new(),
        }
    }

    /// Returns the names beside a path that does not exist which look like it. Blocks.
    pub(super) fn names_like(&self, path: &str) -> Vec<String> {
        match self.look(path) {
            Ok(Looked::Missing { wanted, .. }) => {
                self.alike(path, &wanted).map(|alike| alike.same().to_vec()).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// Like [`Self::resolve`], for a path whose end may be missing.
    pub(super) fn resolve_new(&self, path: &str) -> Result<Resolved, ToolError> {
        let wanted = self.wanted(path)?;
        let real = real(&wanted);
        if !is_straight(&real) {
            return Err(ToolError::failed(format!("{path:?} climbs out of a folder that is not there")));
        }
        let is_in_workspace = real.starts_with(self::real(&self.root));
        let is_closed = self.closed_home.as_ref().is_some_and(|home| real.starts_with(home));
        if is_closed && !is_in_workspace && self.base_of(&real).is_some() {
            return Err(ToolError::denied(format!(
                "{path:?} lies in the assistant's own home; write below its workspace"
            )));
        }
        let resolved = self.named(path, &wanted, real)?;
        if self.is_sandboxed && !is_in_workspace {
            return Err(ToolError::denied(format!(
                "{path:?} is outside the workspace: with `security.sandbox`, file tools write nothing there that the \
                 sandbox would keep commands from; set it to \"none\" to write in the home folder"
            )));
        }
        Ok(resolved)
    }

    /// Returns the path as written, if it is in an open directory.
    fn wanted(&self, path: &str) -> Result<PathBuf, ToolError> {
        if !is_sound(path) {
            return Err(ToolError::failed("the path is empty, too long or contains a NUL character"));
        }
        let wanted = self.absolute(path);
        match self.base_of(&lexical(&wanted)) {
            Some(_) => Ok(wanted),
            None => Err(self.outside(path)),
        }
    }

    fn named(&self, path: &str, wanted: &Path, real: PathBuf) -> Result<Resolved, ToolError> {
        let base = self.base_of(&real).ok_or_else(|| self.outside(path))?;
        if self.blocklist.has_name(&lexical(wanted), &base) || self.blocklist.has_name(&real, &base) {
            return Err(blocked(path));
        }
        Ok(Resolved { base, real, is_alike: false })
    }

    /// Makes the final decision, about the file that was opened.
    pub(super) fn check_file(&self, file: File, path: &str, base: &Path) -> Result<Opened, ToolError> {
        let stamp = Stamp::of(&file).map_err(|error| failed(path, &error))?;
        let metadata = file.metadata().map_err(|error| failed(path, &error))?;
        if !metadata.is_file() {
            return Err(ToolError::failed(format!("{path:?} is {}, not a file", kind(&metadata))));
        }
        let real = self.check_identity(&file, &metadata, path, base)?;
        if self.has_other_names(&metadata) {
            return Err(ToolError::denied(format!(
                "{path:?} has a second name, perhaps outside the workspace, to which file tools are confined; copy it first"
            )));
        }
        Ok(Opened { file, path: real, length: metadata.len(), stamp, is_alike: false })
    }

    /// Like [`Self::check_file`], for a directory. Returns its real path.
    pub(super) fn check_directory(
        &self,
        handle: &OwnedFd,
        path: &str,
        base: &Path,
    ) -> Result<PathBuf, ToolError> {
        let opened = handle.try_clone().map(File::from).map_err(|error| failed(path, &error))?;
        let metadata = opened.metadata().map_err(|error| failed(path, &error))?;
        self.check_identity(handle, &metadata, path, base)
    }

    fn check_identity(
        &self,
        opened: impl AsFd,
        metadata: &Metadata,
        path: &str,
        base: &Path,
    ) -> Result<PathBuf, ToolError> {
        let real = beneath::real_path(opened).map_err(|error| failed(path, &error))?;
        if !real.starts_with(base) {
            return Err(self.outside(path));
        }
        if self.blocklist.has_name(&real, base) || self.blocklist.has_identity(metadata, &real, base) {
            return Err(blocked(path));
        }
        Ok(real)
    }

    /// Returns whether a confined workspace may contain only one of several names of a file.
    pub(super) fn has_other_names(&self, metadata: &Metadata) -> bool {
        self.is_confined() && metadata.nlink() > 1
    }

    /// Returns how far the turn may go.
    pub(super) fn trust(&self) -> Trust {
        self.trust
    }

    /// Returns the real path of the workspace.
    pub(super) fn real_root(&self) -> PathBuf {
        real(&self.root)
    }

    /// Returns the real path of the person's home.
    pub(super) fn real_home(&self) -> Option<PathBuf> {
        self.home.as_deref().map(real)
    }

    fn is_confined(&self) -> bool {
        self.is_confined || self.trust == Trust::Guest
    }

    /// Returns the blocklist.
    pub(super) fn blocklist(&self) -> &Blocklist {
        &self.blocklist
    }

    /// Returns the modes of a new file and a new directory: private in the assistant's workspace, elsewhere as the
    /// person's shell would create them.
    pub(super) fn new_modes(&self, path: &Path) -> (Mode, Mode) {
        let modes = if path.starts_with(real(&self.root)) { (0o600, 0o700) } else { (0o666, 0o777) };
        (Mode::from_raw_mode(modes.0), Mode::from_raw_mode(modes.1))
    }

    fn absolute(&self, path: &str) -> PathBuf {
        match (path.strip_prefix('~'), &self.home) {
            (Some(""), Some(home)) => home.clone(),
            (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
            _ => self.root.join(path),
        }
    }

    /// Returns the real path of the open directory that contains a path.
    pub(super) fn base_of(&self, path: &Path) -> Option<PathBuf> {
        let home = self.home.as_ref().filter(|_| !self.is_confined());
        let lies_in = |directory: &&PathBuf| path.starts_with(directory) || path.starts_with(real(directory));
        [Some(&self.root), home].into_iter().flatten().find(lies_in).map(|directory| real(directory))
    }

    fn outside(&self, path: &str) -> ToolError {
        ToolError::denied(if self.is_confined {
            format!(
                "{path:?} is outside the workspace, and `security.workspace_only` confines file tools to it"
            )
        } else if self.trust == Trust::Guest {
            format!("{path:?} is outside the workspace, and a guest's turn reaches nothing else")
        } else {
            format!("{path:?} is outside the home directory; file tools work below it only")
        })
    }
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

/// Describes why something cannot be opened.
pub(super) fn failed(path: &str, error: &std::io::Error) -> ToolError {
    use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return ToolError::denied(format!("{path:?} is a link that leads nowhere, or became one just now"));
    }
    ToolError::failed(match error.kind() {
        NotFound => format!("there is no file {path:?}"),
        NotADirectory => format!("there is no file {path:?}: a part of the path is not a directory"),
        PermissionDenied => format!("{path:?} may not be opened: the system does not permit it"),
        _ => format!("{path:?} cannot be opened: {error}"),
    })
}
