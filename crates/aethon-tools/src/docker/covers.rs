//! Keeps what shapes the assistant read-only in a container whose commands somebody else may have asked for: the pages, and
//! the folders of SOPs, specialists and skills, are mounted over themselves without the right to write.
//!
//! What does not exist yet could not be mounted over, and the command could create it; so an empty one is created first.
//! The daemon follows links when it mounts, and a command of another conversation may be at work in the workspace. So the
//! result is verified before a command runs, in the container's own list of mounts: each cover has to show exactly the
//! place that it covers.

use std::io;
use std::path::{Path, PathBuf};

use aethon_core::shaping::{FOLDERS, PAGES};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, openat, statat};
use serde_json::{Value, json};

/// Prints the list of mounts with nothing but the shell.
pub(super) const LIST_MOUNTS: &str = r#"while read -r line; do echo "$line"; done < /proc/self/mountinfo"#;

/// Makes sure that everything to be covered exists, and returns the mounts. Blocks.
pub(super) fn prepare(workspace: &Path) -> io::Result<Vec<Value>> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = rustix::fs::open(workspace, flags, Mode::empty())?;
    let kinds = PAGES.map(|name| (name, FileType::RegularFile)).into_iter();
    let kinds = kinds.chain(FOLDERS.map(|name| (name, FileType::Directory)));
    let mut mounts = Vec::new();
    for (name, kind) in kinds {
        let found = statat(&root, name, AtFlags::SYMLINK_NOFOLLOW);
        if matches!(found, Err(rustix::io::Errno::NOENT)) {
            create(&root, name, kind)?;
        }
        let found = FileType::from_raw_mode(statat(&root, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode);
        if found != kind {
            let message =
                format!("{name} in the workspace is not a plain file or folder, so it cannot be protected");
            return Err(io::Error::other(message));
        }
        let path = workspace.join(name).display().to_string();
        mounts.push(json!({"Type": "bind", "Source": path, "Target": path, "ReadOnly": true}));
    }
    Ok(mounts)
}

fn create(root: impl std::os::fd::AsFd, name: &str, kind: FileType) -> io::Result<()> {
    if kind == FileType::Directory {
        return Ok(mkdirat(root, name, Mode::RWXU)?);
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(root, name, flags, Mode::RUSR | Mode::WUSR)?;
    Ok(())
}

/// A line of the list of mounts.
struct Mount {
    device: String,
    /// What is mounted, as a path in its file system.
    root: PathBuf,
    is_read_only: bool,
}

/// Verifies the covers in the list of mounts of a container. The error says what is not as it should be.
pub(super) fn verify(workspace: &Path, list: &str) -> Result<(), String> {
    let of_workspace = mount_at(list, workspace).ok_or("the workspace is not mounted in the container")?;
    for name in PAGES.iter().chain(&FOLDERS) {
        let cover = mount_at(list, &workspace.join(name));
        let stands = cover.is_some_and(|cover| {
            cover.is_read_only
                && cover.device == of_workspace.device
                && cover.root == of_workspace.root.join(name)
        });
        if !stands {
            return Err(format!("{name} in the workspace could not be protected in the container"));
        }
    }
    Ok(())
}

/// Returns the last mount at a place: it covers those before.
fn mount_at(list: &str, place: &Path) -> Option<Mount> {
    let mut mounts = list.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        let [_, _, device, root, point, options, ..] = fields.as_slice() else { return None };
        (Path::new(&plain(point)) == place).then(|| Mount {
            device: (*device).to_owned(),
            root: plain(root).into(),
            is_read_only: options.split(',').any(|option| option == "ro"),
        })
    });
    mounts.next_back()
}

/// Replaces the kernel's escapes for blanks and backslashes.
fn plain(field: &str) -> String {
    field.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_shapes_the_assistant_exists_and_is_covered() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("SOUL.md"), "be kind").unwrap();
        let mounts = prepare(folder.path()).unwrap();
        assert_eq!(mounts.len(), PAGES.len() + FOLDERS.len());
        assert!(mounts.iter().all(|mount| mount["ReadOnly"] == true));
        assert_eq!(std::fs::read_to_string(folder.path().join("SOUL.md")).unwrap(), "be kind");
        assert!(folder.path().join("skills").is_dir() && folder.path().join("TOOLS.md").is_file());
        assert_eq!(prepare(folder.path()).unwrap(), mounts, "again");
        std::fs::remove_file(folder.path().join("SOUL.md")).unwrap();
        symlink("/etc/passwd", folder.path().join("SOUL.md")).unwrap();
        assert!(
            prepare(folder.path()).unwrap_err().to_string().contains("SOUL.md"),
            "a link is not followed"
        );
    }

    #[test]
    fn a_cover_that_shows_something_else_is_noticed() {
        let line = |root: &str, point: &str, options: &str| {
            format!("1 2 8:1 {root} {point} {options} - ext4 /dev/sda1 rw\n")
        };
        let names: Vec<&str> = PAGES.iter().chain(&FOLDERS).copied().collect();
        let whole = |change: &dyn Fn(&str) -> Option<String>| -> String {
            let covers = names.iter().filter_map(|name| match change(name) {
                Some(changed) => (!changed.is_empty()).then_some(changed),
                None => Some(line(
                    &format!("/ada/my\\040work/{name}"),
                    &format!("/w\\040s/{name}"),
                    "ro,relatime",
                )),
            });
            line("/ada/my\\040work", "/w\\040s", "rw,relatime") + &covers.collect::<String>()
        };
        let check = |change: &dyn Fn(&str) -> Option<String>| verify(Path::new("/w s"), &whole(change));
        assert_eq!(check(&|_| None), Ok(()));
        let of_sops = |line: String| move |name: &str| (name == "sops").then(|| line.clone());
        for (what, changed) in [
            ("not there", String::new()),
            ("another place", line("/ada/.ssh", "/w\\040s/sops", "ro")),
            ("writable", line("/ada/my\\040work/sops", "/w\\040s/sops", "rw")),
        ] {
            assert!(check(&of_sops(changed)).unwrap_err().contains("sops"), "{what}");
        }
        assert!(verify(Path::new("/w s"), "").is_err());
    }
}
