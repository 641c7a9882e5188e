//! The tables combined with the owner's settings, applied to paths.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use aethon_core::turn::Trust;

use super::homes::{homes_of, is_assistants_home};
use super::names::{file_name, has_name_like, is_like, is_within, place_like};
use super::rule::PathRule;
use super::sets::{NameSet, PlaceSet};
use super::{lists, variables};
use crate::files::{lexical, real};
use crate::options::{Options, USUAL_PATH};

/// The tables combined with the owner's settings.
#[derive(Debug)]
pub(crate) struct ProtectedPaths {
    homes: Vec<PathBuf>,
    workspace: PathBuf,
    /// The assistant's home, unless it holds a person's home or is the workspace.
    own_home: Option<PathBuf>,
    paths: Vec<PathBuf>,
    closed: PlaceSet,
    secret_names: NameSet,
    start_up: Vec<PathBuf>,
    /// Start-up places whose last name may have a `*`.
    start_up_patterns: Vec<PathBuf>,
    programs: Vec<PathBuf>,
    blocked: Vec<PathRule>,
    allowed: Vec<PathRule>,
}

impl ProtectedPaths {
    /// Builds the lists for the homes of these options.
    pub(crate) fn new(options: &Options) -> Self {
        let homes = homes_of(options);
        let entries = |texts: &[String]| {
            texts.iter().flat_map(|text| PathRule::parse(text, &homes)).collect::<Vec<_>>()
        };
        let workspace = real(&options.workspace);
        let own_home =
            options.home.as_deref().map(real).filter(|own| {
                !own.starts_with(&workspace) && !homes.iter().any(|home| home.starts_with(own))
            });
        let list = Self {
            own_home,
            workspace,
            blocked: entries(&options.places.blocked),
            allowed: entries(&options.places.allowed),
            paths: Vec::new(),
            closed: PlaceSet::default(),
            secret_names: NameSet::new(&lists::SECRET_NAMES),
            start_up: Vec::new(),
            start_up_patterns: Vec::new(),
            programs: Vec::new(),
            homes,
        };
        let variables = &options.places.variables;
        let owners = list.blocked.iter().filter_map(PathRule::path).map(Path::to_path_buf);
        let credentials = table(&lists::CREDENTIALS, &list.homes, variables).into_iter().chain(owners);
        let paths: Vec<PathBuf> = credentials.filter(|place| !list.is_opened(place)).collect();
        let start_up = table(&lists::START_UP, &list.homes, variables).into_iter();
        let start_up = start_up.filter(|place| !list.is_opened(place)).collect();
        let start_up_patterns = table(&lists::START_UP_PATTERNS, &list.homes, variables);
        let mut programs = list.search_path(options.shell.path.as_deref().unwrap_or(USUAL_PATH));
        programs.extend(table(lists::PROGRAM_FOLDERS, &list.homes, variables).into_iter().filter(|folder| {
            !list.is_opened(folder)
                && !list.homes.iter().chain([&list.workspace]).any(|it| is_within(it, folder))
        }));
        programs.sort();
        programs.dedup();
        Self { closed: PlaceSet::new(&paths), paths, start_up, start_up_patterns, programs, ..list }
    }

    /// Returns the directories in which the person's shell finds programs, as far as the person could put one there and
    /// they do not hold a home or the workspace.
    fn search_path(&self, path: &str) -> Vec<PathBuf> {
        let is_root = rustix::process::geteuid().is_root();
        let is_writable =
            |folder: &Path| !is_root && rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok();
        let mut folders: Vec<PathBuf> = path.split(':').map(Path::new).map(Path::to_path_buf).collect();
        folders.retain(|folder| folder.is_absolute());
        let mut found: Vec<PathBuf> =
            folders.iter().map(|folder| real(folder)).chain(folders.clone()).collect();
        // Root may write everywhere, and installing packages is its trade.
        found.retain(|folder| {
            let is_below_home = self.homes.iter().any(|home| is_within(folder, home));
            let is_above =
                is_within(&self.workspace, folder) || self.homes.iter().any(|home| is_within(home, folder));
            (is_below_home || is_writable(folder)) && !is_above && !self.is_opened(folder)
        });
        found.sort();
        found.dedup();
        found
    }

    /// Returns the real home directories that the lists are about.
    pub(crate) fn homes(&self) -> &[PathBuf] {
        &self.homes
    }

    /// Returns the places closed for reading and writing, whether they exist or not.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Returns the places closed for writing, whether they exist or not.
    pub(crate) fn start_up(&self) -> &[PathBuf] {
        &self.start_up
    }

    /// Returns the existing start-up places whose names are known by a pattern only.
    pub(crate) fn start_up_matches(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for pattern in &self.start_up_patterns {
            let entries = pattern.parent().and_then(|folder| fs::read_dir(folder).ok());
            let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
            found.extend(paths.filter(|path| place_like(path, pattern).is_some() && !self.is_opened(path)));
        }
        found
    }

    /// Returns the directories whose entries are programs that the person's shell finds.
    pub(crate) fn programs(&self) -> &[PathBuf] {
        &self.programs
    }

    /// Returns the places that the owner has opened.
    pub(crate) fn allowed(&self) -> impl Iterator<Item = &Path> {
        self.allowed.iter().filter_map(PathRule::path)
    }

    pub(super) fn is_opened(&self, path: &Path) -> bool {
        self.allowed().any(|allowed| is_within(path, allowed))
    }

    /// Returns whether a path is closed by its name. A place that the owner allows is open with everything in it; a
    /// name that the owner allows no longer marks a file as secret, but does not open a closed place.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let is_in_workspace = self.is_in_workspace(path);
        if !is_in_workspace && self.is_in_own_home(path) {
            return true;
        }
        if self.is_opened(path) {
            return false;
        }
        let below = self.below_home(path);
        let is_blocked = |entry: &PathRule| entry.name().is_some_and(|name| has_name_like(below, name));
        if self.closed.containing(path).is_some() || self.blocked.iter().any(is_blocked) {
            return true;
        }
        let is_open = is_in_workspace || self.allowed_names().any(|pattern| has_name_like(below, pattern));
        !is_open && (self.is_history(path) || self.secret_names.has_part(below))
    }

    /// Returns whether a file of this name is secret wherever it lies outside the workspace.
    pub(crate) fn is_secret_name(&self, name: &str) -> bool {
        let is_blocked = || self.blocked.iter().filter_map(PathRule::name).any(|it| is_like(name, it));
        let is_allowed = || self.allowed_names().any(|pattern| is_like(name, pattern));
        is_blocked() || self.secret_names.has(name) && !is_allowed()
    }

    /// Returns the start-up place that contains this real path, which need not exist: of the table, of the search path,
    /// or by its name in any directory.
    pub(crate) fn start_up_place_of(&self, path: &Path, trust: Trust) -> Option<PathBuf> {
        if !self.is_opened(path) {
            let resolved = resolved(&self.start_up);
            let mut places = self.start_up.iter().chain(&resolved);
            if let Some(place) = places.find(|place| is_within(path, place)) {
                return Some(place.clone());
            }
            if let Some(place) = self.start_up_patterns.iter().find_map(|pattern| place_like(path, pattern)) {
                return Some(place);
            }
            let is_program = |folder: &&PathBuf| {
                path.parent().is_some_and(|parent| is_within(parent, folder) && is_within(folder, parent))
            };
            if let Some(folder) = self.programs.iter().find(is_program) {
                return Some(folder.clone());
            }
        }
        self.named_place_of(path, trust)
    }

    /// Returns whether a path lies in a copy of an assistant's home, wherever it is. Looks at the disk, at each directory
    /// from the path up to the workspace or to `base`, beyond which the search up must not look.
    pub(crate) fn is_in_copied_home(&self, path: &Path, base: &Path) -> bool {
        let end = if self.is_in_workspace(path) { &self.workspace } else { base };
        let mut below = path.ancestors().take_while(|above| above.starts_with(end) && *above != end);
        below.any(|above| self.is_copied_home(above))
    }

    /// Returns whether a directory is the copy of an assistant's home. Looks at the disk.
    pub(crate) fn is_copied_home(&self, directory: &Path) -> bool {
        !self.workspace.starts_with(directory) && is_assistants_home(directory)
    }

    /// Returns whether a path lies in the assistant's home, which itself may be looked at: the workspace is in it.
    fn is_in_own_home(&self, path: &Path) -> bool {
        self.own_home.as_ref().is_some_and(|own| path != own && is_within(path, own))
    }

    pub(super) fn allowed_names(&self) -> impl Iterator<Item = &str> {
        self.allowed.iter().filter_map(PathRule::name)
    }

    /// Returns the part of a path below the home: the person did not choose the names above it.
    pub(super) fn below_home<'p>(&self, path: &'p Path) -> &'p Path {
        self.homes.iter().find_map(|home| path.strip_prefix(home).ok()).unwrap_or(path)
    }

    pub(super) fn below_workspace<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(&self.workspace).unwrap_or(path)
    }

    pub(super) fn is_in_workspace(&self, path: &Path) -> bool {
        // An empty workspace path would contain everything.
        !self.workspace.as_os_str().is_empty() && is_within(path, &self.workspace)
    }

    /// Returns whether it is a history of a shell or another program: `.python_history`, `.psql_history` and so on.
    fn is_history(&self, path: &Path) -> bool {
        let in_home = self.homes.iter().any(|home| path.parent() == Some(home));
        in_home && [".*_history", ".*_hist"].iter().any(|pattern| is_like(file_name(path), pattern))
    }
}

/// Returns the places of a list below each home, and where variables move them.
pub(super) fn table(list: &[&str], homes: &[PathBuf], variables: &[(String, String)]) -> Vec<PathBuf> {
    let below = homes.iter().flat_map(|home| list.iter().map(|name| home.join(name)));
    below.chain(list.iter().flat_map(|name| variables::moved(variables, name))).collect()
}

/// How many links are followed, as many as Linux follows.
const MAX_LINKS: u32 = 40;

/// Returns where a link leads, also when there is nothing yet: creating the target writes the place.
fn followed(link: &Path, left: u32) -> PathBuf {
    if let Ok(real) = link.canonicalize() {
        return real;
    }
    let (Some(parent), Some(name)) = (link.parent(), link.file_name()) else { return link.to_path_buf() };
    if left == 0 || parent.as_os_str().is_empty() {
        return link.to_path_buf();
    }
    let place = followed(parent, left - 1).join(name);
    match place.read_link() {
        Ok(target) => followed(&lexical(&place.parent().unwrap_or(&place).join(target)), left - 1),
        Err(_) => place,
    }
}

/// Returns the real paths of those of these places that a link leads elsewhere; a place need not exist. Directories that
/// several places share are resolved once.
pub(crate) fn resolved(places: &[PathBuf]) -> Vec<PathBuf> {
    let mut parents: HashMap<&Path, PathBuf> = HashMap::new();
    let mut found = Vec::new();
    for place in places {
        let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else { continue };
        let parent = parents.entry(parent).or_insert_with(|| real(parent));
        let moved = parent.join(name);
        let is_link = moved.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        let moved = if is_link { followed(&moved, MAX_LINKS) } else { moved };
        if moved != *place {
            found.push(moved);
        }
    }
    found
}
