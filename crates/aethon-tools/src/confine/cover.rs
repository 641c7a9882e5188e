//! Covers sockets in a view of the file system that belongs to one call. Only root can have one for a thread; for other
//! users the kernel has a rule about sockets from Linux 7.1 on (see `landlock`).

use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::thread;

use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::thread::UnshareFlags;

use crate::sockets::ClosedSockets;

/// Returns whether this process can cover anything, by trying it on a thread that ends.
pub(super) fn is_possible() -> bool {
    rustix::process::geteuid().is_root() && thread::spawn(own_view).join().is_ok_and(|tried| tried.is_ok())
}

/// Gives the calling thread, and its children, a view in which these sockets are covered.
pub(super) fn cover(sockets: &ClosedSockets) -> io::Result<()> {
    let closed = sockets.existing();
    if closed.is_empty() {
        return Ok(());
    }
    // Open what stays open in a covered directory before that is covered.
    let inside = |path: &Path| closed.iter().any(|closed| path.starts_with(closed));
    let opened = |path: &Path| rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok();
    let kept = sockets.allowed().iter().filter(|path| inside(path));
    let kept: Vec<_> = kept.filter_map(|path| Some((path, opened(path)?))).collect();
    own_view()?;
    for path in &closed {
        if path.is_dir() {
            mount("tmpfs", path, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"size=64k,mode=0755")?;
        } else {
            mount_bind("/dev/null", path)?;
        }
    }
    for (path, file) in kept {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::File::create(path)?;
        mount_bind(format!("/proc/self/fd/{}", file.as_raw_fd()), path)?;
    }
    Ok(())
}

/// Gives the calling thread a view of its own, which follows later mounts outside.
#[expect(
    deprecated,
    reason = "its rule is about threads that share descriptors; a view of the file system is the thread's own"
)]
fn own_view() -> io::Result<()> {
    rustix::thread::unshare(UnshareFlags::NEWNS)?;
    Ok(mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?)
}
