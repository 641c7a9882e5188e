//! Finds other paths to the same place: a directory, or one above or below it, can be mounted a second time elsewhere
//! (bind mounts, container volumes). The mount table tells where.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The mounts of this process.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mounts(Vec<Mount>);

#[derive(Debug, PartialEq, Eq)]
struct Mount {
    device: String,
    /// Which part of the file system is mounted.
    root: PathBuf,
    point: PathBuf,
}

impl Mounts {
    /// Reads the current mount table; empty if there is none.
    pub(super) fn read() -> Self {
        Self::parse(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
    }

    fn parse(table: &str) -> Self {
        Self(table.lines().filter_map(Mount::parse).collect())
    }

    /// Returns other paths at which this directory, or a part of it that is not within `kept`, is mounted.
    pub(super) fn aliases(&self, path: &Path, kept: &Path) -> Vec<PathBuf> {
        let identity = |path: &Path| fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
        let Some(within) = self.within(path) else { return Vec::new() };
        let kept = self.within(kept).map(|(_, kept)| kept);
        let (home, inside) = within;
        let same_device: Vec<&Mount> = self.0.iter().filter(|mount| mount.device == home.device).collect();
        if same_device.len() == 1 {
            return Vec::new();
        }
        let candidates = same_device.into_iter().filter_map(|mount| match inside.strip_prefix(&mount.root) {
            Ok(rest) if rest.as_os_str().is_empty() => Some(mount.point.clone()),
            Ok(rest) => Some(mount.point.join(rest)),
            Err(_) if kept.as_ref().is_some_and(|kept| mount.root.starts_with(kept)) => None,
            Err(_) => mount.root.starts_with(&inside).then(|| mount.point.clone()),
        });
        // A path that another mount hides no longer leads to the same directory. A mounted part has another identity by
        // nature.
        let is_same = |alias: &PathBuf| alias != path && !alias.starts_with(path);
        let is_there = |alias: &PathBuf| {
            identity(alias) == identity(path) || self.0.iter().any(|mount| mount.point == *alias)
        };
        candidates.filter(is_same).filter(is_there).collect()
    }

    /// Returns the points of the mounts at a path and below it.
    pub(super) fn at_or_below(&self, path: &Path) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|mount| mount.point.as_path()).filter(move |point| point.starts_with(path))
    }

    /// Returns the mount that a path is on (the last one at the same point), and the path within its file system.
    fn within(&self, path: &Path) -> Option<(&Mount, PathBuf)> {
        let on = self.0.iter().filter(|mount| path.starts_with(&mount.point));
        let mount = on.max_by_key(|mount| mount.point.components().count())?;
        Some((mount, mount.root.join(path.strip_prefix(&mount.point).ok()?)))
    }
}

impl Mount {
    /// Parses a line: `36 35 98:0 /root /point options - type source options`.
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split(' ').skip(2);
        let (device, root, point) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Self { device: device.to_owned(), root: unescape(root), point: unescape(point) })
    }
}

/// Returns where something is mounted below this path.
pub(crate) fn mounted_below(path: &Path) -> Vec<PathBuf> {
    let mounts = Mounts::read();
    mounts.at_or_below(path).filter(|point| *point != path).map(Path::to_path_buf).collect()
}

/// Decodes spaces and the like, which appear as `\040`.
fn unescape(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'\\').then(|| after.get(..3)).flatten();
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        if let Some(byte) = code.and_then(|code| u8::from_str_radix(code, 8).ok()) {
            bytes.push(byte);
            rest = &after[3..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_mount_of_the_home_or_of_a_part_of_it_is_found() {
        let mounts = Mounts::parse(
            "1 0 8:1 / / rw - ext4 /dev/a rw\n\
             2 1 8:2 / /home rw - ext4 /dev/b rw\n\
             3 1 8:2 /ada/.aethon /mnt/the\\040home rw - ext4 /dev/b rw\n\
             4 1 8:2 /ada/.aethon/credentials /mnt/keys rw - ext4 /dev/b rw\n\
             5 1 8:2 /ada/.aethon/workspace/out /mnt/out rw - ext4 /dev/b rw\n\
             6 1 8:3 /ada/.aethon /mnt/other rw - ext4 /dev/c rw\n",
        );
        let home = Path::new("/home/ada/.aethon");
        let aliases = mounts.aliases(home, &home.join("workspace"));
        assert_eq!(aliases, [PathBuf::from("/mnt/the home"), PathBuf::from("/mnt/keys")]);
    }
}
