//! An entry of `security.blocked_paths` or `security.allowed_paths`.

use std::path::{Path, PathBuf};

/// A place with everything below it, or a name in any directory.
#[derive(Debug)]
pub(super) enum PathRule {
    Path(PathBuf),
    Name(String),
}

impl PathRule {
    /// Parses an entry: `~/...` is below a home directory, and counts for each of them; `/...` is absolute; anything else
    /// is a name.
    pub(super) fn parse(text: &str, homes: &[PathBuf]) -> Vec<Self> {
        let text = text.trim();
        let below = |rest: &str| homes.iter().map(|home| Self::Path(home.join(rest))).collect();
        match text.strip_prefix('~') {
            Some("") => below(""),
            Some(rest) if rest.starts_with('/') => below(rest.trim_matches('/')),
            _ if text.starts_with('/') => vec![Self::Path(PathBuf::from(text))],
            _ if text.is_empty() => Vec::new(),
            _ => vec![Self::Name(text.to_owned())],
        }
    }

    /// Returns the place, if it is one.
    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::Path(place) => Some(place),
            Self::Name(_) => None,
        }
    }

    /// Returns the name, if it is one.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Path(_) => None,
            Self::Name(name) => Some(name),
        }
    }
}
