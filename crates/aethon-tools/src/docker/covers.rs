//! Protects files that act later from a container whose commands a stranger may have asked for: the workspace is
//! mounted for reading only, and the parts of it that may be changed are mounted over it for writing.
//!
//! It is that way round because a mount hangs on the file that it covers: a page that is replaced by renaming, as
//! editors do, would lose a cover of its own while a command runs. A part that loses its mount this way can only be
//! read.
//!
//! Mounts in the workspace on the machine do not come along: they would be writable in a part, and also in a workspace
//! that older daemons mount for reading. They lie in no part, so their places are empty folders in which nothing can be
//! lost.
//!
//! The daemon follows links when it mounts, and a command of another conversation may be at work in the workspace. So the
//! result is verified before a command runs, in the container's own list of mounts: each part has to show exactly the place
//! that it covers, and nothing else may be writable.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Prints the lines of the list of mounts that concern the workspace, `$1`, with nothing but the shell. Not with
/// `echo`, which in some shells reads the kernel's escape for a blank as one.
pub(super) const LIST_MOUNTS: &str = concat!(
    r#"while read -r line; do case $line in *" $1"[/\ ]*) printf '%s\n' "$line";; esac; done "#,
    "< /proc/self/mountinfo"
);

/// Returns the mounts of a workspace of which only these parts can be changed.
pub(super) fn mounts(workspace: &Path, parts: &[PathBuf]) -> Vec<Value> {
    let bind = |path: &Path, is_read_only: bool| {
        let path = path.display().to_string();
        let alone = json!({"NonRecursive": true});
        let mut mount = json!({"Type": "bind", "Source": path, "Target": path, "BindOptions": alone});
        if is_read_only {
            mount["ReadOnly"] = json!(true);
        }
        mount
    };
    std::iter::once(bind(workspace, true)).chain(parts.iter().map(|part| bind(part, false))).collect()
}

/// A line of the list of mounts.
struct Mount {
    device: String,
    /// The mounted folder, as a path in its file system.
    root: PathBuf,
    point: PathBuf,
    is_read_only: bool,
}

impl Mount {
    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split(' ').collect();
        let [_, _, device, root, point, options, ..] = fields.as_slice() else { return None };
        Some(Self {
            device: (*device).to_owned(),
            root: plain(root).into(),
            point: plain(point).into(),
            is_read_only: options.split(',').any(|option| option == "ro"),
        })
    }
}

/// Verifies in the list of mounts of a container that these parts of the workspace can be changed and nothing else of
/// it. The error names the fault.
pub(super) fn verify(workspace: &Path, parts: &[PathBuf], list: &str) -> Result<(), String> {
    let mounts: Vec<Mount> = list.lines().filter_map(Mount::parse).collect();
    // The last mount at a place covers those before.
    let at = |place: &Path| mounts.iter().rfind(|mount| mount.point == place);
    let whole = at(workspace).ok_or("the workspace is not mounted in the container")?;
    if !whole.is_read_only {
        return Err("the workspace is not protected in the container".into());
    }
    for part in parts {
        let inside = part.strip_prefix(workspace).unwrap_or(part);
        let stands = at(part).is_some_and(|mount| {
            !mount.is_read_only && mount.device == whole.device && mount.root == whole.root.join(inside)
        });
        if !stands {
            return Err(format!("{} in the workspace is something else in the container", inside.display()));
        }
    }
    let is_expected = |mount: &&Mount| {
        !mount.point.starts_with(workspace) || mount.is_read_only || parts.contains(&mount.point)
    };
    match mounts.iter().find(|mount| !is_expected(mount)) {
        Some(other) => {
            Err(format!("{} in the workspace is not protected in the container", other.point.display()))
        }
        None => Ok(()),
    }
}

/// Replaces the kernel's escapes for blanks and backslashes.
fn plain(field: &str) -> String {
    field.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

/// Writes a path as the kernel does in its list of mounts.
pub(super) fn as_listed(path: &Path) -> String {
    let text = path.display().to_string();
    text.replace('\\', "\\134").replace(' ', "\\040").replace('\t', "\\011").replace('\n', "\\012")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_mounted_for_reading_and_its_parts_for_writing() {
        let mounts = mounts(Path::new("/w"), &["/w/work".into()]);
        let alone = json!({"NonRecursive": true});
        let expected = [
            json!({"Type": "bind", "Source": "/w", "Target": "/w", "ReadOnly": true, "BindOptions": alone}),
            json!({"Type": "bind", "Source": "/w/work", "Target": "/w/work", "BindOptions": alone}),
        ];
        assert_eq!(mounts, expected);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test tries the script in the shells of the machine")]
    fn every_shell_lists_a_workspace_with_blanks_as_the_kernel_does() {
        let folder = tempfile::tempdir().unwrap();
        let table = folder.path().join("mountinfo");
        let (own, other) = ("1 2 8:1 /my\\040w /my\\040w ro - ext4 x rw\n", "1 2 8:1 / / rw - ext4 x rw\n");
        std::fs::write(&table, format!("{other}{own}")).unwrap();
        let script = LIST_MOUNTS.replace("/proc/self/mountinfo", table.to_str().unwrap());
        let listed = as_listed(Path::new("/my w"));
        for shell in [&["/bin/sh"][..], &["dash"], &["bash"], &["busybox", "sh"]] {
            let ran = std::process::Command::new(shell[0])
                .args(&shell[1..])
                .args(["-c", &script, "sh", &listed])
                .output();
            // Each machine has one of them, at least.
            let Ok(ran) = ran else { continue };
            assert_eq!(String::from_utf8_lossy(&ran.stdout), own, "{shell:?}");
        }
    }

    #[test]
    fn a_mount_that_shows_something_else_is_noticed() {
        let line = |root: &str, point: &str, options: &str| {
            format!("1 2 8:1 {root} {point} {options} - ext4 /dev/sda1 rw\n")
        };
        let workspace = Path::new("/w s");
        let parts = [workspace.join("work"), workspace.join("app/src")];
        let whole = line("/ada/my\\040work", "/w\\040s", "ro,relatime");
        let work = line("/ada/my\\040work/work", "/w\\040s/work", "rw,relatime");
        let src = line("/ada/my\\040work/app/src", "/w\\040s/app/src", "rw");
        let check = |lines: &[&String]| {
            verify(workspace, &parts, &lines.iter().map(|it| it.as_str()).collect::<String>())
        };
        assert_eq!(check(&[&whole, &work, &src]), Ok(()));
        for (lines, expected) in [
            (vec![], "not mounted"),
            (vec![&line("/ada/my\\040work", "/w\\040s", "rw"), &work, &src], "not protected"),
            (vec![&whole, &src], "work in the workspace is something else"),
            (vec![&whole, &line("/ada/.ssh", "/w\\040s/work", "rw"), &src], "something else"),
            (vec![&whole, &work, &src, &line("/ada/my\\040work/sops", "/w\\040s/sops", "rw")], "sops"),
            (vec![&whole, &work, &line("/x", "/w\\040s/work", "rw"), &src], "something else"),
        ] {
            let error = check(&lines).unwrap_err();
            assert!(error.contains(expected), "{expected}: {error}");
        }
        assert_eq!(as_listed(workspace), "/w\\040s");
        // A part that has lost its mount can only be read.
        assert_eq!(verify(workspace, &[], &whole), Ok(()));
    }
}
