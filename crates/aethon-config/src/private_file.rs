//! Writes files that only their owner can read, atomically: after a crash there is the old file or the new one.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use aethon_files::Directory;

/// The most numbered files beside one path.
const MAX_NUMBERED: u32 = 1_000;
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
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    Directory::open(&directory)?.write(name, content)
}

/// Writes a private file under the next free name beside a path, such as `config.toml.bak-1`, and returns its path. It
/// never replaces an existing file.
pub fn write_numbered(path: &Path, ending: &str, content: &[u8]) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy().into_owned();
    for number in 1..=MAX_NUMBERED {
        let numbered = path.with_file_name(format!("{name}.{ending}-{number}"));
        match OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&numbered) {
            Ok(mut file) => {
                return match file.write_all(content).and_then(|()| file.sync_all()) {
                    Ok(()) => Ok(numbered),
                    Err(error) => {
                        // Half a text would pass for one that was kept.
                        let _ = fs::remove_file(&numbered);
                        Err(error)
                    }
                };
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    let sentence = format!("there are {MAX_NUMBERED} files like {name}.{ending}-1 already; remove some");
    Err(io::Error::new(io::ErrorKind::AlreadyExists, sentence))
}

/// Opens a file with these options, creating it if necessary, and makes it private whatever the umask. If that fails because
/// another user owns it, it is opened all the same.
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
