//! Start-up places by their names, in whatever directory: what takes effect when a project is opened or entered.
//!
//! In the owner's own turns they count outside the workspace, and for file tools only: people work on projects with
//! commands. In turns that the owner's words did not begin they are more, and count in the workspace as well, for
//! commands too.

use std::path::{Path, PathBuf};

use aethon_core::turn::Trust;

use super::names::{end_of_parts_like, file_name, folded, is_like, is_within};
use super::{ProtectedPaths, lists};

/// A name that no entry of a project has: closing it closes the folder for new entries.
const NO_ENTRY: &str = ".aethon-closed";

impl ProtectedPaths {
    /// Returns the place in which a path lies that acts later by its name.
    pub(super) fn named_place_of(&self, path: &Path, trust: Trust) -> Option<PathBuf> {
        let is_in_workspace = self.is_in_workspace(path);
        if is_in_workspace && trust.is_owner() {
            return None;
        }
        let below = if is_in_workspace { self.below_workspace(path) } else { self.below_home(path) };
        let above = path.components().count() - below.components().count();
        names(trust).find_map(|pattern| {
            let end = above + end_of_parts_like(below, pattern)?;
            let place: PathBuf = path.components().take(end).collect();
            (!self.is_place_opened(&place, path)).then_some(place)
        })
    }

    /// Returns whether an entry of this name makes its folder a project.
    pub(crate) fn marks_project(name: &str) -> bool {
        let first = folded(name).chars().next();
        // Most names of a large search differ in their first letter.
        let may_be = |pattern: &&str| match pattern.chars().next() {
            Some('*') => true,
            letter => letter.map(|it| it.to_ascii_lowercase()) == first,
        };
        first_parts().filter(may_be).any(|pattern| is_like(name, pattern))
    }

    /// Returns what in a project is closed for writing to turns that the owner's words did not begin. `entries` are
    /// those of its entries that mark it. One of the places does not exist, so that nothing new is made beside the
    /// others.
    pub(crate) fn places_in_project(&self, folder: &Path, entries: &[String]) -> Vec<PathBuf> {
        let mut places: Vec<PathBuf> = vec![folder.join(NO_ENTRY)];
        for pattern in names(Trust::Outside) {
            let (first, rest) =
                pattern.split_once('/').map_or((pattern, None), |(first, rest)| (first, Some(rest)));
            let found = entries.iter().filter(|name| is_like(name, first)).map(|name| folder.join(name));
            // The second part of a pattern is looked for in a folder that is not walked, so it has to be a name.
            match rest {
                None => places.extend(found),
                Some(rest) if !rest.contains('*') => places.extend(found.map(|first| first.join(rest))),
                Some(_) => {}
            }
        }
        places.retain(|place| !self.is_place_opened(place, place));
        places
    }

    /// Returns a folder that is to be closed as a whole, unless the owner has opened it.
    pub(crate) fn unless_opened(&self, folder: PathBuf) -> Option<PathBuf> {
        (!self.is_place_opened(&folder, &folder)).then_some(folder)
    }

    /// Returns whether the owner has opened a path in a place. In the workspace, a folder with all in it; elsewhere the
    /// place itself or something in it, because folders are listed there for other reasons.
    fn is_place_opened(&self, place: &Path, path: &Path) -> bool {
        let is_opened = match self.is_in_workspace(place) {
            true => self.is_opened(path),
            false => self.allowed().any(|allowed| is_within(allowed, place) && is_within(path, allowed)),
        };
        is_opened || self.allowed_names().any(|name| is_like(file_name(place), name))
    }
}

/// Returns the patterns that count in turns of this trust.
fn names(trust: Trust) -> impl Iterator<Item = &'static str> {
    let more = if trust.is_owner() { &[][..] } else { &lists::PROJECT_NAMES[..] };
    lists::START_UP_NAMES.iter().chain(more).copied()
}

/// Returns the direct entries of a project.
fn first_parts() -> impl Iterator<Item = &'static str> {
    // These lie in the folders of an environment, which its own files mark.
    let is_of_project = |pattern: &&str| !pattern.contains("-packages/") && !pattern.starts_with("bin/");
    names(Trust::Outside).filter(is_of_project).map(|pattern| pattern.split('/').next().unwrap_or(pattern))
}
