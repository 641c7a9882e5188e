//! The places that are closed to children now, some of them only for writing, in a turn of a given trust.
//!
//! The result is kept together with the state of every directory that it depends on, and computed again when one of them
//! has changed.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use aethon_core::turn::Trust;

use super::grants::{Places, grants};
use super::landlock::FileRules;
use super::mounts::Mounts;
use super::scan::{Found, Scan};
use crate::files::real;
use crate::options::Options;
use crate::protected_paths::{ProtectedPaths, USUAL_HOMES, resolved};
use crate::sockets::ClosedSockets;
use crate::stamp::Stamp;
use crate::strangers::{DEPTH_IN_WORKSPACE, Projects, Root, parts, shaping_places};

/// Writing there acts on processes without a signal: it kills a control group, for example.
const SYSTEM: &str = "/sys";
/// What stays writable if no home is known.
const TEMPORARY: [&str; 4] = ["/tmp", "/var/tmp", "/dev", "/proc"];
/// How many levels of a home are searched for projects.
const DEPTH_IN_HOME: usize = 2;

/// The places of one assistant.
#[derive(Debug)]
pub(super) struct ClosedPlaces {
    /// The assistant's home.
    home: Option<PathBuf>,
    /// What stays open in the home.
    workspace: PathBuf,
    /// The person's home as the environment names it, or else as the account does.
    user_home: Option<PathBuf>,
    own: Vec<PathBuf>,
    protected: ProtectedPaths,
    /// The places among `security.allowed_paths`.
    allowed: Vec<PathBuf>,
    scan: Mutex<Scan>,
    projects: Mutex<Projects>,
    other_homes: Mutex<Vec<PathBuf>>,
    kept: Mutex<Vec<Kept>>,
}

/// Rules and their inputs.
#[derive(Debug)]
struct Kept {
    trust: Trust,
    found: Found,
    /// What in projects acts later.
    of_projects: Vec<PathBuf>,
    mounts: Mounts,
    sockets: Option<Vec<PathBuf>>,
    walked: Vec<(PathBuf, Option<Stamp>)>,
    rules: FileRules,
}

/// The view of a command in the kernel sandbox.
pub(super) struct View {
    pub(super) workspace: PathBuf,
    pub(super) home: Option<PathBuf>,
    pub(super) hidden: Vec<PathBuf>,
    pub(super) kept: Vec<PathBuf>,
    /// The parts of the workspace that may be changed, if not all.
    pub(super) parts: Option<Vec<PathBuf>>,
}

impl ClosedPlaces {
    pub(super) fn new(options: &Options) -> Self {
        let protected = ProtectedPaths::new(options);
        let own: Vec<PathBuf> = options.own.iter().map(|path| real(path)).collect();
        let home = options.home.as_deref().map(real);
        let is_own = |path: &PathBuf| {
            own.iter().any(|own| path.starts_with(own))
                || home.as_ref().is_some_and(|home| path.starts_with(home))
        };
        Self {
            allowed: protected.allowed().map(real).filter(|path| !is_own(path)).collect(),
            user_home: protected.homes().first().cloned(),
            workspace: real(&options.workspace),
            protected,
            home,
            own,
            scan: Mutex::default(),
            projects: Mutex::default(),
            other_homes: Mutex::default(),
            kept: Mutex::default(),
        }
    }

    /// Returns the rules for a child, with one about sockets if some are to be closed by it. `is_scoped` includes signals.
    pub(super) fn rules(
        &self,
        trust: Trust,
        sockets: Option<&ClosedSockets>,
        is_scoped: bool,
    ) -> io::Result<FileRules> {
        let (found, mounts) = (self.find(trust), Mounts::read());
        let of_projects = self.of_projects(trust);
        let sockets = sockets.map(ClosedSockets::existing);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_valid = |kept: &Kept| {
            kept.found == found
                && kept.of_projects == of_projects
                && kept.mounts == mounts
                && kept.sockets == sockets
                && kept.walked.iter().all(|(path, stamp)| Stamp::of(path) == *stamp)
        };
        if let Some(valid) = kept.iter().find(|kept| kept.trust == trust).filter(|kept| is_valid(kept)) {
            return valid.rules.try_clone();
        }
        let places = self.places(trust, &found, &mounts, &of_projects);
        let above = places.closed.iter().chain(&places.read_only).flat_map(|path| path.ancestors().skip(1));
        let programs = places.programs.iter().flat_map(|path| path.ancestors());
        // A credential place that is made later is noticed by the directory that it is made in.
        let credentials = self.protected.paths().iter().flat_map(|path| path.ancestors().skip(1));
        let above: HashSet<&Path> = above.chain(programs).chain(credentials).collect();
        // Taken before the directories are read, so that a change meanwhile is noticed by the next command.
        let before: Vec<(PathBuf, Option<Stamp>)> =
            above.into_iter().map(|path| (path.to_path_buf(), Stamp::of(path))).collect();
        let grants = grants(&places);
        let open = sockets.as_deref().map(open_to_sockets);
        let rules = FileRules::new(&grants.granted, open.as_deref(), is_scoped)?;
        let walked =
            before.into_iter().filter(|(path, stamp)| stamp.is_some() || grants.walked.contains(path));
        let fresh = Kept {
            trust,
            found,
            of_projects,
            mounts,
            sockets,
            walked: walked.collect(),
            rules: rules.try_clone()?,
        };
        kept.retain(|kept| kept.trust != trust);
        kept.push(fresh);
        Ok(rules)
    }

    /// Returns the homes of other assistants that were found near when the last rules or view were made: in the person's
    /// home and beside the own one.
    pub(super) fn other_homes(&self) -> Vec<PathBuf> {
        self.other_homes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the view of a command in the kernel sandbox.
    pub(super) fn view(&self, trust: Trust) -> View {
        let mut hidden = self.closed(&self.find(trust), &Mounts::read());
        hidden.extend(
            self.protected.homes().iter().filter(|home| Some(*home) != self.user_home.as_ref()).cloned(),
        );
        if self.protected.homes().is_empty() {
            hidden.extend(USUAL_HOMES.iter().map(PathBuf::from));
        }
        let parts = || {
            let mut closed = shaping_places(&self.workspace);
            closed.extend(self.of_projects(trust));
            parts(&self.workspace, &closed)
        };
        View {
            workspace: self.workspace.clone(),
            home: self.user_home.clone(),
            hidden,
            kept: if trust == Trust::Guest { Vec::new() } else { self.allowed.clone() },
            parts: (trust != Trust::Owner).then(parts),
        }
    }

    fn find(&self, trust: Trust) -> Found {
        let own = self.home.iter().chain(&self.own).chain([&self.workspace]);
        let skipped = own.chain(self.protected.paths()).chain(&self.allowed).cloned().collect();
        let mut scan = self.scan.lock().unwrap_or_else(PoisonError::into_inner);
        let found = scan.find(&self.protected, self.home.as_deref(), &skipped, trust);
        self.other_homes.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&found.homes);
        found
    }

    /// Returns what in projects is closed for writing in turns of this trust. The homes of a guest's turn are closed as a
    /// whole.
    fn of_projects(&self, trust: Trust) -> Vec<PathBuf> {
        if trust.is_owner() {
            return Vec::new();
        }
        let homes = self.protected.homes().iter().filter(|_| trust == Trust::Outside);
        let homes = homes.map(|folder| Root { folder, depth: DEPTH_IN_HOME });
        let workspace = Root { folder: &self.workspace, depth: DEPTH_IN_WORKSPACE };
        let roots: Vec<Root<'_>> = std::iter::once(workspace).chain(homes).collect();
        let mut projects = self.projects.lock().unwrap_or_else(PoisonError::into_inner);
        projects.find(&self.protected, &roots)
    }

    fn places(&self, trust: Trust, found: &Found, mounts: &Mounts, of_projects: &[PathBuf]) -> Places {
        let protected = &self.protected;
        let is_homeless = protected.homes().is_empty();
        let mut places = Places { is_writable: !is_homeless, ..Places::default() };
        places.closed = self.closed(found, mounts);
        let mut read_only = protected.start_up().to_vec();
        read_only.extend(resolved(protected.start_up()));
        read_only.extend(protected.start_up_matches());
        read_only.retain(|place| !self.is_whole(place));
        let aliases: Vec<PathBuf> =
            read_only.iter().flat_map(|place| mounts.aliases(place, &self.workspace)).collect();
        places.read_only = read_only.into_iter().chain(aliases).chain([PathBuf::from(SYSTEM)]).collect();
        places.read_only.extend(of_projects.iter().cloned());
        places.programs = protected.programs().to_vec();
        let workspace = vec![self.workspace.clone()];
        // A workspace that was not searched to the end can only be read.
        match of_projects.contains(&self.workspace) {
            true => places.shown = workspace,
            false => places.open = workspace,
        }
        if trust >= Trust::Outside {
            places.read_only.extend(shaping_places(&self.workspace));
        }
        if trust == Trust::Guest {
            places.closed.extend(protected.homes().iter().cloned());
        } else {
            let is_restricted = |path: &PathBuf| {
                places.closed.iter().chain(&places.read_only).any(|place| path.starts_with(place))
            };
            places.open.extend(self.allowed.iter().filter(|path| is_restricted(path)).cloned());
        }
        if is_homeless {
            let usual = USUAL_HOMES.iter().map(PathBuf::from);
            places.closed.extend(usual.filter(|home| home.is_dir()));
            places.open.extend(TEMPORARY.iter().map(PathBuf::from));
        }
        places
    }

    /// Returns the places that are closed now, by their real paths and by every other path that a mount gives them.
    fn closed(&self, found: &Found, mounts: &Mounts) -> Vec<PathBuf> {
        let places = self.protected.paths().iter().filter_map(|place| place.canonicalize().ok());
        let places = places.filter(|place| !self.is_whole(place));
        // A home that is the workspace itself, or lies in it, is closed file by file.
        let home = self.home.iter().filter(|home| !home.starts_with(&self.workspace)).cloned();
        let own = self.own.iter().filter(|path| path.symlink_metadata().is_ok()).cloned();
        let found = found.files.iter().chain(&found.homes).chain(&found.unsearched).cloned();
        let mut closed: Vec<PathBuf> = home.chain(own).chain(places).chain(found).collect();
        let aliases: Vec<PathBuf> =
            closed.iter().flat_map(|path| mounts.aliases(path, &self.workspace)).collect();
        closed.extend(aliases);
        closed.sort();
        closed.dedup();
        closed
    }

    /// Returns whether a place holds a home or the workspace, which no entry of a list can close as a whole.
    fn is_whole(&self, path: &Path) -> bool {
        let kept = self.protected.homes().iter().chain([&self.workspace]);
        kept.into_iter().any(|kept| kept.starts_with(path))
    }
}

/// Returns the paths below which no closed socket lies.
fn open_to_sockets(closed: &[PathBuf]) -> Vec<PathBuf> {
    let places = Places { closed: closed.to_vec(), is_writable: true, ..Places::default() };
    grants(&places).granted.into_iter().map(|(path, _)| path).collect()
}
