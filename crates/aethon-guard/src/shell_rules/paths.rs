//! Paths that are never deleted or overwritten on purpose, in the spellings that commands use.

use crate::words::is_in;
use std::path::Path;

use super::patterns::fits;

/// System directories at the root.
const SYSTEM: &str = "bin boot dev etc home lib lib32 lib64 libx32 opt proc root run sbin srv sys usr var Users System \
    Library Applications Volumes private";
/// System directories below others.
const BELOW: &str = "usr/bin usr/lib usr/lib64 usr/sbin usr/local usr/share var/lib var/log dev/disk";
/// Names of block devices, to which a number or a letter is appended.
const BLOCK_DEVICES: &str = "sd hd vd xvd nvme mmcblk disk rdisk md dm- loop nbd sr ram zram";
/// Other devices that are just as dangerous to write to.
const OTHER_DEVICES: &str = "mem kmem port";
/// Files without which logins fail or the machine does not boot.
const VITAL: &str = "/etc/passwd /etc/shadow /etc/group /etc/gshadow /etc/sudoers /etc/fstab";

/// The known home directories.
#[derive(Debug, Clone, Default)]
pub(super) struct Homes {
    own: Option<String>,
}

impl Homes {
    pub(super) fn new(home: Option<&Path>) -> Self {
        Self { own: home.and_then(Path::to_str).map(tidy).filter(|home| home != "/") }
    }

    /// The user's own home directory.
    pub(super) fn own(&self) -> &str {
        self.own.as_deref().unwrap_or("~")
    }

    /// Whether a path is the user's own home directory.
    pub(super) fn is_own(&self, path: &str) -> bool {
        let path = tidy(path);
        path == "~" || path == "$HOME" || self.own.as_ref() == Some(&path)
    }

    /// Whether a path is the root, a home or a system directory, an ancestor of the user's home, or everything in one
    /// of them.
    pub(super) fn is_precious(&self, path: &str) -> bool {
        let path = tidy(path);
        if path.is_empty() {
            // The current directory, wherever that is.
            return false;
        }
        let is_own = |home: &String| {
            path == *home || home.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        if path == "/" || path == "~" || path == "$HOME" || self.own.as_ref().is_some_and(is_own) {
            return true;
        }
        if let Some(user) = path.strip_prefix('~') {
            return !user.is_empty() && !user.contains('/');
        }
        let Some(below) = path.strip_prefix('/') else { return false };
        let parent = below.rsplit_once('/').map(|(parent, _)| parent);
        if below.contains(['*', '?', '[']) && self.fits_precious(&path) {
            return true;
        }
        // The root under another name.
        if let Some(rest) = below.strip_prefix("proc/self/root").or_else(|| below.strip_prefix("proc/1/root"))
        {
            return self.is_precious(if rest.is_empty() { "/" } else { rest });
        }
        is_in(SYSTEM, below) || is_in(BELOW, below) || matches!(parent, Some("home" | "Users"))
    }

    /// Whether a path with a pattern may match one of those.
    fn fits_precious(&self, path: &str) -> bool {
        let pattern: Vec<char> = path.chars().collect();
        let depth = path.matches('/').count();
        let places = SYSTEM
            .split(' ')
            .chain(BELOW.split(' '))
            .map(|place| format!("/{place}"))
            .chain(self.own.clone());
        let mut places = places.filter(|place| place.matches('/').count() == depth);
        places.any(|place| fits(&pattern, &place.chars().collect::<Vec<_>>()))
    }
}

/// Whether writing to a path destroys a disk, the memory or the way into the system.
pub(super) fn is_vital(path: &str) -> bool {
    let path = tidy(path);
    if is_in(VITAL, &path) {
        return true;
    }
    let Some(device) = path.strip_prefix("/dev/") else { return false };
    let is_block = |kind: &str| {
        device.strip_prefix(kind).is_some_and(|rest| {
            rest.is_empty() || rest.chars().all(|c| c.is_ascii_alphanumeric() || "*?[]-".contains(c))
        })
    };
    device.starts_with("mapper/")
        || device.starts_with("disk/")
        || is_in(OTHER_DEVICES, device)
        || BLOCK_DEVICES.split(' ').any(is_block)
}

/// The last component of a path, by which programs are called.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Normalises a path: removes `//`, `.`, `..` and a last component that matches everything in the directory.
pub(super) fn tidy(path: &str) -> String {
    let path = path.replace("${HOME}", "$HOME");
    let is_absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                // The parent of a home contains homes, which is just as bad.
                if parts.len() > 1 || is_absolute {
                    parts.pop();
                }
            }
            ".." if is_absolute => {}
            part => parts.push(part),
        }
    }
    let is_everything = |part: &&str| part.contains('*') && part.chars().all(|c| "*.?[]!^".contains(c));
    while (is_absolute || parts.len() > 1) && parts.last().is_some_and(is_everything) {
        parts.pop();
    }
    let joined = parts.join("/");
    if is_absolute { format!("/{joined}") } else { joined }
}
