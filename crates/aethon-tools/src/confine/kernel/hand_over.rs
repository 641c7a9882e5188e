//! Gives the workspace to the user that commands run as. A service that runs as root runs its commands as user `nobody`, to
//! whom root's workspace is closed. So root's files there are given to that user before a command runs; root can still
//! read and write all of them.
//!
//! Commands of another conversation may be working in the same folders. Everything is opened relative to its parent,
//! without following links, so nothing outside the workspace is ever given away. A file with several hard links is left
//! alone, because another link may lie elsewhere.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, Uid, chownat, openat, statat};

use crate::run_as::RunAs;

/// Maximum number of entries processed; larger workspaces must be handed over manually.
const MAX_COUNT: usize = 200_000;
/// Maximum depth.
const MAX_DEPTH: usize = 64;

/// Gives everything that root owns in this folder to a user and a group.
pub(crate) fn hand_over(workspace: &Path, to: RunAs) -> io::Result<()> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = rustix::fs::open(workspace, flags, Mode::empty())?;
    let owner = Owner { user: Uid::from_raw(to.user), group: Gid::from_raw(to.group) };
    rustix::fs::fchown(&root, Some(owner.user), Some(owner.group))?;
    let mut left = MAX_COUNT;
    give(root, owner, MAX_DEPTH, &mut left)
}

#[derive(Clone, Copy)]
struct Owner {
    user: Uid,
    group: Gid,
}

fn give(folder: OwnedFd, owner: Owner, depth: usize, left: &mut usize) -> io::Result<()> {
    for entry in Dir::read_from(&folder)? {
        let Ok(entry) = entry else { continue };
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        *left = left.checked_sub(1).ok_or_else(|| io::Error::other("the workspace has too many files"))?;
        // An entry that has disappeared needs no owner.
        let Ok(found) = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let kind = FileType::from_raw_mode(found.st_mode);
        let is_folder = kind == FileType::Directory;
        if found.st_uid == 0 && (is_folder || (kind == FileType::RegularFile && found.st_nlink == 1)) {
            chownat(&folder, name, Some(owner.user), Some(owner.group), AtFlags::SYMLINK_NOFOLLOW)?;
        }
        if is_folder && depth > 0 {
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            if let Ok(inner) = openat(&folder, name, flags, Mode::empty()) {
                give(inner, owner, depth - 1, left)?;
            }
        }
    }
    Ok(())
}
