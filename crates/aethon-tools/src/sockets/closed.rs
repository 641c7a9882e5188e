//! Sockets that are keys: which there are now, and which of them the owner has opened with `security.allowed_sockets`.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::table::{KINDS, VARIABLES};
use crate::files::real;
use crate::options::Options;
use crate::protected_paths::{homes_of, is_like};

/// The variable that names the user's runtime directory.
const RUNTIME: &str = "XDG_RUNTIME_DIR";
/// Where the runtime directories of all users are.
const RUNTIMES: &str = "/run/user";

/// The names of the variables that say where sockets are.
pub fn socket_variables() -> impl Iterator<Item = &'static str> {
    VARIABLES.iter().map(|(name, ..)| *name).chain([RUNTIME])
}

/// The words of `security.allowed_sockets`.
pub fn socket_kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|(kind, _)| *kind)
}

/// The sockets that are closed to commands.
#[derive(Debug)]
pub(crate) struct ClosedSockets {
    patterns: Vec<PathBuf>,
    allowed: Vec<PathBuf>,
    /// Whether the owner has opened any.
    pub(crate) is_any_opened: bool,
}

impl ClosedSockets {
    pub(crate) fn new(options: &Options) -> Self {
        let homes = homes_of(options);
        let is_allowed = |kind: &str| options.places.allowed_sockets.iter().any(|allowed| allowed == kind);
        let variable = |name: &str| {
            let found = options
                .places
                .socket_variables
                .iter()
                .find(|(known, value)| known == name && !value.is_empty());
            found.map(|(_, value)| value.as_str())
        };
        let runtimes = runtimes(variable(RUNTIME));
        let of_table = KINDS.iter().filter(|(kind, _)| !is_allowed(kind)).flat_map(|(_, names)| names.iter());
        let of_table =
            of_table.flat_map(|name| match (name.strip_prefix("~/"), name.strip_prefix("RUNTIME/")) {
                (Some(rest), _) => homes.iter().map(|home| home.join(rest)).collect(),
                (_, Some(rest)) => runtimes.iter().map(|runtime| runtime.join(rest)).collect(),
                _ => vec![PathBuf::from(name)],
            });
        let of_variables =
            VARIABLES.iter().filter(|(_, kind, _)| !is_allowed(kind)).filter_map(|(name, _, first)| {
                let path = variable(name)?.strip_prefix(first)?.split([',', ';']).next()?;
                Some(PathBuf::from(path)).filter(|path| path.is_absolute())
            });
        Self {
            patterns: of_table.chain(of_variables).collect(),
            allowed: options.places.allowed_sockets.iter().flat_map(|entry| places(entry, &homes)).collect(),
            is_any_opened: !options.places.allowed_sockets.is_empty(),
        }
    }

    /// Returns the real paths of those that exist now, without those that lie in another.
    pub(crate) fn existing(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = self.patterns.iter().flat_map(|pattern| matching(pattern)).collect();
        found.retain(|path| !self.allowed.iter().any(|allowed| path.starts_with(allowed)));
        found.sort();
        found.dedup_by(|inner, outer| inner.starts_with(outer));
        found
    }

    /// Returns the places that the owner has opened, by their real paths.
    pub(crate) fn allowed(&self) -> &[PathBuf] {
        &self.allowed
    }
}

/// Returns the runtime directories that the user can enter: for root, everybody's.
fn runtimes(named: Option<&str>) -> Vec<PathBuf> {
    let user = rustix::process::geteuid();
    let mut found: Vec<PathBuf> = named.map(PathBuf::from).into_iter().collect();
    if user.is_root() {
        let everybody = std::fs::read_dir(RUNTIMES).into_iter().flatten().flatten();
        found.extend(everybody.map(|entry| entry.path()));
    }
    found.push(Path::new(RUNTIMES).join(user.as_raw().to_string()));
    found
}

/// Returns the real paths that match a path with a pattern in its last part. The path itself may be a link.
fn matching(pattern: &Path) -> Vec<PathBuf> {
    let name = pattern.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let (true, Some(parent)) = (name.contains('*'), pattern.parent()) else {
        return pattern.canonicalize().into_iter().collect();
    };
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(|entry| is_like(entry, name)));
    // In shared folders, a name alone says little about a socket of another user.
    named.filter_map(|entry| entry.path().canonicalize().ok()).filter(|path| holds_socket(path)).collect()
}

/// Returns whether it is a socket, or a directory with one directly in it.
fn holds_socket(path: &Path) -> bool {
    let is_socket = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket());
    let mut entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    is_socket(path) || entries.any(|entry| is_socket(&entry.path()))
}

fn places(entry: &str, homes: &[PathBuf]) -> Vec<PathBuf> {
    match entry.strip_prefix("~/") {
        Some(rest) => homes.iter().map(|home| real(&home.join(rest))).collect(),
        None => Some(real(Path::new(entry))).filter(|path| path.is_absolute()).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::PlaceOptions;

    #[test]
    fn sockets_are_found_by_place_pattern_and_variable() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for name in [
            "ada/.gnupg/S.gpg-agent",
            "ada/.gnupg/other",
            "run/bus",
            "run/wayland-0",
            "run/podman/x",
            "agent/1",
        ] {
            std::fs::create_dir_all(base.join(name).parent().unwrap()).unwrap();
            // The socket stays when its listener is gone.
            drop(std::os::unix::net::UnixListener::bind(base.join(name)).unwrap());
        }
        let closed = |allowed: &[&str]| {
            let options = Options {
                user_home: Some(base.join("ada")),
                places: PlaceOptions::default().with(|places| {
                    places.socket_variables = vec![
                        (RUNTIME.into(), base.join("run").display().to_string()),
                        ("SSH_AUTH_SOCK".into(), base.join("agent/1").display().to_string()),
                    ];
                    places.allowed_sockets = allowed.iter().map(|entry| (*entry).to_owned()).collect();
                }),
                ..Options::default()
            };
            let found = ClosedSockets::new(&options).existing();
            let below = found.iter().filter_map(|path| path.strip_prefix(&base).ok());
            below.map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        let all = ["ada/.gnupg/S.gpg-agent", "agent/1", "run/bus", "run/podman", "run/wayland-0"];
        assert_eq!(closed(&[]), all);
        assert_eq!(closed(&["ssh-agent", "dbus", "~/.gnupg/S.gpg-agent"]), ["run/podman", "run/wayland-0"]);
    }
}
