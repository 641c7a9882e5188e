//! Traverses a directory tree: through handles, never through symlinks, and never into closed places.
//!
//! Skips what `.gitignore` and `.ignore` exclude, unless the caller wants everything. The walk is bounded in entries,
//! depth and time; callers learn if it ended early. Hostile trees cost no more than the bounds: symlinks are not
//! followed, FIFOs do not block, and ignore files are read only up to a sane size.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use aethon_files::beneath;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{Dir, FileType};

use super::blocklist::ClosedNow;
use super::workspace::{OpenedDirectory, Workspace};

/// Maximum depth.
const MAX_DEPTH: usize = 48;
/// Maximum number of entries per directory.
const MAX_IN_ONE: usize = 20_000;
/// Maximum bytes read of an ignore file.
const MAX_RULES: u64 = 64 * 1024;
/// Maximum number of its lines.
const MAX_LINES: usize = 1_000;
/// Names of ignore files.
const RULES: [&str; 2] = [".gitignore", ".ignore"];

/// The scope and the limits of a walk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    /// Maximum depth below the start.
    pub(super) depth: usize,
    /// Whether to include hidden and ignored entries.
    pub(super) everything: bool,
    /// Maximum number of entries examined.
    pub(super) entries: usize,
    /// Deadline.
    pub(super) until: Instant,
}

/// A walk.
pub(super) struct Walk<'w> {
    workspace: &'w Workspace,
    closed: ClosedNow,
    extent: Extent,
    base: PathBuf,
    levels: Vec<Level>,
    /// Why it ended early.
    pub(super) ended: Option<&'static str>,
}

struct Level {
    handle: OwnedFd,
    path: PathBuf,
    rules: Vec<Gitignore>,
    entries: std::vec::IntoIter<(OsString, FileType)>,
}

/// An entry found by a walk.
pub(super) struct Entry {
    /// Its real path.
    pub(super) path: PathBuf,
    /// Its type.
    pub(super) kind: FileType,
    /// Whether it is closed: then only its name may be shown.
    pub(super) is_closed: bool,
    /// Depth below the start; 1 is directly in it.
    pub(super) depth: usize,
}

impl<'w> Walk<'w> {
    pub(super) fn new(workspace: &'w Workspace, start: OpenedDirectory, extent: Extent) -> Self {
        let closed = workspace.blocklist().closed_now();
        let OpenedDirectory { handle, path, base, .. } = start;
        let outer = if extent.everything { Vec::new() } else { outer_rules(&base, &path) };
        let mut walk = Self { workspace, closed, extent, base, levels: Vec::new(), ended: None };
        walk.enter(handle, path, outer);
        walk
    }

    /// Returns the next entry: directories before their contents, in order of names.
    pub(super) fn next(&mut self) -> Option<Entry> {
        loop {
            let depth = self.levels.len();
            let level = self.levels.last_mut()?;
            let Some((name, kind)) = level.entries.next() else {
                self.levels.pop();
                continue;
            };
            if self.extent.entries == 0 {
                self.ended = Some("there are too many entries");
                return None;
            }
            self.extent.entries -= 1;
            if Instant::now() > self.extent.until {
                self.ended = Some("it took too long");
                return None;
            }
            let path = level.path.join(&name);
            let is_dir = kind == FileType::Directory;
            if !self.extent.everything && (is_hidden(&name) || is_ignored(&level.rules, &path, is_dir)) {
                continue;
            }
            let mut is_closed = self.workspace.blocklist().has_name(&path, &self.base);
            if is_dir && !is_closed && depth < self.extent.depth.min(MAX_DEPTH) {
                is_closed = !self.descend(&name, path.clone());
            }
            return Some(Entry { path, kind, is_closed, depth });
        }
    }

    /// Opens the latest entry if it is a readable file. Call it only right after [`Self::next`] returned that file.
    pub(super) fn open(&self, entry: &Entry) -> Option<File> {
        let (level, name) = (self.levels.last()?, entry.path.file_name()?);
        if entry.is_closed {
            return None;
        }
        let file = beneath::readable(&level.handle, name).ok()?;
        let metadata = file.metadata().ok()?;
        let is_open =
            metadata.is_file() && !self.closed.has(&metadata) && !self.workspace.has_other_names(&metadata);
        is_open.then_some(file)
    }

    /// Returns the size of the latest entry.
    pub(super) fn length(&self, entry: &Entry) -> Option<u64> {
        let (level, name) = (self.levels.last()?, entry.path.file_name()?);
        let stat = rustix::fs::statat(&level.handle, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).ok()?;
        u64::try_from(stat.st_size).ok()
    }

    /// Enters a directory. Returns `false` if it is closed under another name or cannot be opened.
    fn descend(&mut self, name: &OsStr, path: PathBuf) -> bool {
        let Some(handle) = self.levels.last().and_then(|level| beneath::inner(&level.handle, name).ok())
        else {
            return false;
        };
        let Ok(metadata) = handle.try_clone().map(File::from).and_then(|directory| directory.metadata())
        else {
            return false;
        };
        if self.closed.has(&metadata) || self.workspace.blocklist().protected().is_copied_home(&path) {
            return false;
        }
        let rules = self.levels.last().map(|level| level.rules.clone()).unwrap_or_default();
        self.enter(handle, path, rules);
        true
    }

    fn enter(&mut self, handle: OwnedFd, path: PathBuf, mut rules: Vec<Gitignore>) {
        if !self.extent.everything {
            rules.extend(rules_of(&handle, &path));
        }
        let entries = entries(&handle).into_iter();
        self.levels.push(Level { handle, path, rules, entries });
    }
}

fn entries(handle: &OwnedFd) -> Vec<(OsString, FileType)> {
    let Ok(directory) = Dir::read_from(handle) else { return Vec::new() };
    let named = directory.flatten().filter_map(|entry| {
        let name = entry.file_name().to_bytes();
        let kind = known(handle, name, entry.file_type());
        (!matches!(name, b"." | b"..")).then(|| (OsStr::from_bytes(name).to_owned(), kind))
    });
    let mut entries: Vec<_> = named.take(MAX_IN_ONE).collect();
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    entries
}

/// Determines the type of an entry: some file systems do not report it in directory listings.
fn known(handle: &OwnedFd, name: &[u8], kind: FileType) -> FileType {
    if kind != FileType::Unknown {
        return kind;
    }
    let stat = rustix::fs::statat(handle, OsStr::from_bytes(name), rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
    stat.map_or(kind, |stat| FileType::from_raw_mode(stat.st_mode))
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b".")
}

/// Applies the innermost rule that matches.
fn is_ignored(rules: &[Gitignore], path: &Path, is_dir: bool) -> bool {
    let said = rules.iter().rev().map(|rules| rules.matched(path, is_dir)).find(|said| !said.is_none());
    said.is_some_and(|said| said.is_ignore())
}

/// Returns the rules above the start, up to the root of its repository; none if it is not in one.
fn outer_rules(base: &Path, start: &Path) -> Vec<Gitignore> {
    let mut rules = Vec::new();
    for path in start.ancestors().take_while(|path| path.starts_with(base)) {
        let Ok(handle) = beneath::directory(base, path, None) else { return Vec::new() };
        if path != start {
            rules.extend(rules_of(&handle, path));
        }
        if rustix::fs::statat(&handle, ".git", rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok() {
            rules.reverse();
            return rules;
        }
    }
    Vec::new()
}

/// Reads the rules of a directory. Invalid lines are ignored.
fn rules_of(handle: &OwnedFd, path: &Path) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(path);
    let mut has_any = false;
    for name in RULES {
        let Ok(file) = beneath::readable(handle, OsStr::new(name)) else { continue };
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        let mut text = Vec::new();
        if file.take(MAX_RULES).read_to_end(&mut text).is_err() {
            continue;
        }
        for line in String::from_utf8_lossy(&text).lines().take(MAX_LINES) {
            has_any |= builder.add_line(None, line).is_ok();
        }
    }
    has_any.then(|| builder.build().ok()).flatten()
}
