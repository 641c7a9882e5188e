//! Writes files that only their owner can read, atomically: after a crash there is the old file or the new one.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const TEMPORARY: &str = ".aethon-new";
/// Readable and writable by the owner only.
const PRIVATE: u32 = 0o600;

/// Replaces `path` by a file of mode 0600 with `content`: written beside it, synced, renamed over it. A symbolic link is kept;
/// its target is replaced.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    let directory = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let (temporary, file) = create_beside(&target, &directory)?;
    let written = fill(file, content).and_then(|()| fs::rename(&temporary, &target));
    if let Err(error) = written {
        // The first failure is the one to report; a leftover file is harmless and recognisable by its name.
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    File::open(&directory)?.sync_all()
}

/// Opens a file with these options, creating it if necessary, and makes it private whatever the umask. If that fails because
/// somebody else owns it, it is opened all the same.
pub fn open(path: &Path, options: &OpenOptions) -> io::Result<File> {
    let file = options.clone().create(true).mode(PRIVATE).open(path)?;
    let _ = file.set_permissions(fs::Permissions::from_mode(PRIVATE));
    Ok(file)
}

/// Creates a directory and its parents with mode 0700, whatever the umask. An existing one is left unchanged.
pub fn create_directory(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

/// Returns whether this is the name of a temporary file that an interrupted [`write()`] left behind.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.contains(TEMPORARY)
}

fn create_beside(target: &Path, directory: &Path) -> io::Result<(PathBuf, File)> {
    let name = target.file_name().and_then(|name| name.to_str()).unwrap_or("file");
    let process = std::process::id();
    for attempt in 0..100 {
        let temporary = directory.join(format!(".{name}{TEMPORARY}-{process}-{attempt}"));
        match OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "too many unfinished files beside it; remove them"))
}

fn fill(mut file: File, content: &[u8]) -> io::Result<()> {
    file.set_permissions(fs::Permissions::from_mode(PRIVATE))?;
    file.write_all(content)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_written_file_is_private_and_leaves_nothing_beside_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("config.toml");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(mode(&path), 0o600);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_a_link() {
        let home = tempfile::tempdir().unwrap();
        let (target, link) = (home.path().join("target"), home.path().join("link"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        write(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
    }

    #[test]
    fn a_created_directory_is_private() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a/b");
        create_directory(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        assert_eq!(mode(&home.path().join("a")), 0o700);
    }
}
