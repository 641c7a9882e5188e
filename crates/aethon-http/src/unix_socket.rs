//! The Unix socket that the application serves on, beside the port or in its place.
//!
//! It is the owner's alone: mode 0600 from the first moment, in a folder that other users cannot change. A socket that
//! an earlier process left there is replaced; one that a process still serves, and anything that is no socket, is not
//! touched. A link is never followed at its place.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use socket2::{Domain, SockAddr, Socket, Type};
use tokio::net::{UnixListener, UnixStream};

use crate::error::{Error, Result};

const KEY: &str = "channels.webchat.socket";
/// How many bytes the path of a socket may have; the system adds a null byte.
const MAX_PATH: usize = if cfg!(target_os = "macos") { 103 } else { 107 };
const BACKLOG: i32 = 1024;
const PRIVATE: u32 = 0o600;

/// The bound socket. Its file is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode of the file, so that a file of another process is never removed.
    identity: (u64, u64),
}

impl UnixSocket {
    /// Binds a socket at this path.
    pub(crate) fn bind(path: &Path) -> Result<Self> {
        let path = place(path)?;
        let shown = path.display();
        let failed =
            |error: io::Error| Error::new(format!("cannot serve on the socket {shown} ({KEY})"), error);
        make_room(&path)?;
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        // On Linux the file takes the mode of the socket, so that there is no moment in which others may connect. Where
        // this is not known, the folder keeps them out.
        let _ = rustix::fs::fchmod(&socket, Mode::from_raw_mode(PRIVATE as _));
        socket.bind(&SockAddr::unix(&path).map_err(failed)?).map_err(failed)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(PRIVATE)).map_err(failed)?;
        let identity = identity(&fs::symlink_metadata(&path).map_err(failed)?);
        socket.listen(BACKLOG).map_err(failed)?;
        let listener = UnixListener::from_std(socket.into()).map_err(failed)?;
        Ok(Self { listener, path, identity })
    }

    /// Returns the path of the socket.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits for the next connection.
    pub(crate) async fn accept(&self) -> io::Result<UnixStream> {
        self.listener.accept().await.map(|(stream, _)| stream)
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path).is_ok_and(|found| identity(&found) == self.identity);
        if is_ours {
            // A file that stays is replaced by the next start.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(found: &Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// Returns the path with its folder resolved, if other users cannot put something in its place.
fn place(path: &Path) -> Result<PathBuf> {
    let shown = path.display();
    let refused = |why: String| Error::refused(format!("{KEY} is {shown}, {why}"));
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(refused("which names no file; give the path of the socket".to_owned()));
    };
    let folder = fs::canonicalize(folder).map_err(|error| {
        let folder = folder.display();
        refused(format!("and its folder {folder} cannot be used ({error}); make it with `mkdir -m 700`"))
    })?;
    for (distance, above) in folder.ancestors().enumerate() {
        let found = fs::metadata(above)
            .map_err(|error| refused(format!("and {} cannot be looked at ({error})", above.display())))?;
        if let Some(why) = exposure(&found, distance) {
            return Err(refused(format!(
                "and {} {why}: others could put their own in its place; choose a folder of your own, with mode 700",
                above.display()
            )));
        }
    }
    let path = folder.join(name);
    let length = path.as_os_str().len();
    if length > MAX_PATH {
        return Err(refused(format!(
            "which has {length} bytes in full, and the path of a socket has at most {MAX_PATH}; choose a shorter one"
        )));
    }
    Ok(path)
}

/// Returns how other users could change the content of this folder, at this distance above the socket.
fn exposure(folder: &Metadata, distance: usize) -> Option<&'static str> {
    const STICKY: u32 = 0o1000;
    let own = rustix::process::geteuid().as_raw();
    let (owner, mode) = (folder.uid(), folder.mode());
    let may_write = mode & 0o022 != 0;
    match distance {
        0 if owner != own => Some("is not yours"),
        0 if may_write => Some("may be written by others"),
        0 => None,
        _ if owner != own && owner != 0 => Some("belongs to somebody else"),
        // In a sticky folder, users cannot replace the files of others.
        _ if may_write && mode & STICKY == 0 => Some("may be written by others"),
        _ => None,
    }
}

/// Removes the socket of a process that is gone.
fn make_room(path: &Path) -> Result<()> {
    let shown = path.display();
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::new(format!("{KEY} is {shown}, which cannot be looked at"), error)),
        Ok(found) => found,
    };
    if !found.file_type().is_socket() {
        return Err(Error::refused(format!(
            "{KEY} is {shown}, and something that is no socket is there; remove it, or choose another path"
        )));
    }
    if is_served(path) {
        return Err(Error::refused(format!(
            "{KEY} is {shown}, and another program serves there; stop it, or choose another path"
        )));
    }
    fs::remove_file(path)
        .map_err(|error| Error::new(format!("the old socket {shown} ({KEY}) cannot be removed"), error))
}

/// Returns whether a process still serves on a socket. Where that is not known, it is left alone.
fn is_served(path: &Path) -> bool {
    let connected = Socket::new(Domain::UNIX, Type::STREAM, None).and_then(|socket| {
        // Never waits: the queue of a busy program may be full.
        socket.set_nonblocking(true)?;
        socket.connect(&SockAddr::unix(path)?)
    });
    !connected.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener as PlainListener;

    use super::*;

    fn folder() -> PathBuf {
        let folder = std::env::temp_dir().join(format!("aethon-{}", aethon_core::ids::unique()));
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        folder
    }

    #[tokio::test]
    async fn the_socket_is_private_and_goes_with_its_process() {
        let folder = folder();
        let path = folder.join("a.sock");
        let socket = UnixSocket::bind(&path).unwrap();
        assert_eq!(fs::symlink_metadata(&path).unwrap().mode() & 0o777, PRIVATE);
        assert!(UnixSocket::bind(&path).unwrap_err().to_string().contains("another program serves"));
        drop(socket);
        assert!(!path.exists());
        drop(PlainListener::bind(&path).unwrap());
        assert!(path.exists(), "it was left behind");
        let socket = UnixSocket::bind(&path).expect("what a dead process left is replaced");
        fs::remove_file(&path).unwrap();
        let other = PlainListener::bind(&path).unwrap();
        drop(socket);
        assert!(path.exists(), "somebody else's is not removed");
        drop(other);
        fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn foreign_files_at_the_socket_path_are_not_touched() {
        let folder = folder();
        let check = |path: &Path, expected: &str| {
            let error = UnixSocket::bind(path).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains(KEY), "{path:?}: {error}");
        };
        let file = folder.join("file");
        fs::write(&file, "mine").unwrap();
        check(&file, "no socket");
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
        for (name, target) in [("to-file", "file"), ("dangling", "nothing")] {
            symlink(folder.join(target), folder.join(name)).unwrap();
            check(&folder.join(name), "no socket");
        }
        assert!(!folder.join("nothing").exists());
        check(&folder.join("absent/a.sock"), "mkdir");
        check(&folder.join("x".repeat(120)), "at most");
        check(&std::env::temp_dir().join("a.sock"), "folder of your own");
        let open = folder.join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        check(&open.join("a.sock"), "may be written by others");
        fs::create_dir(open.join("below")).unwrap();
        fs::set_permissions(open.join("below"), fs::Permissions::from_mode(0o700)).unwrap();
        check(&open.join("below/a.sock"), "may be written by others");
        fs::remove_dir_all(folder).unwrap();
    }
}
