//! The outer step: switches to another user if the service is root, creates new namespaces, and covers private places
//! in the file system. It then starts the inner step, waits, and exits with its status.

use std::ffi::{CString, OsString};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, StatVfsMountFlags};
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change, mount_remount,
};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, UnshareFlags, configure_capability_in_ambient_set, set_capabilities,
    set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

use super::super::mounts::Mounts;
use super::plan::Plan;
use super::{INNER, STEP};
use crate::run_as::RunAs;

/// Shared writable places that hold other people's files and sockets. Each is covered by an empty one.
const PRIVATE: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/run"];
/// Each file takes memory of the kernel's own, so their number is limited along with their size.
const BYTES_PER_FILE: u64 = 2_048;
const MIN_FILES: u64 = 1_024;
/// DNS configuration inside a covered place.
const RESOLVER: &str = "/run/systemd/resolve";

pub(super) fn run(plan: &Plan, command: &[OsString]) -> io::Result<ExitCode> {
    // From here on `.` is the workspace, even if this user cannot pass the directories above it.
    std::env::set_current_dir(&plan.workspace).map_err(about("the workspace"))?;
    if let Some(group) = &plan.group {
        fs::write(group.join("cgroup.procs"), "0").map_err(about("the control group"))?;
    }
    if let Some(user) = plan.user {
        become_user(user).map_err(about("another user"))?;
    }
    enter_namespaces(plan).map_err(about("namespaces (user namespaces must be allowed)"))?;
    cover(plan).map_err(about("the view of the files"))?;
    std::env::set_current_dir(&plan.directory).map_err(about("the directory of the command"))?;
    let status = start_inner(plan, command)?.wait()?;
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    Ok(ExitCode::from(u8::try_from(code.unwrap_or(1)).unwrap_or(1)))
}

fn about(what: &'static str) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::other(format!("{what}: {error}"))
}

fn become_user(to: RunAs) -> io::Result<()> {
    let (user, group) = (rustix::fs::Uid::from_raw(to.user), rustix::fs::Gid::from_raw(to.group));
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)?;
    Ok(())
}

#[expect(
    deprecated,
    reason = "its rule is about threads that share descriptors; a step has one thread and keeps them"
)]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    Ok(rustix::thread::unshare(flags)?)
}

/// Creates new namespaces, in which this user keeps its id. Within them it has full rights until the inner step drops
/// them.
fn enter_namespaces(plan: &Plan) -> io::Result<()> {
    // A process that is not dumpable cannot write its own id maps.
    set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let network = if plan.network { UnshareFlags::empty() } else { UnshareFlags::NEWNET };
    unshare(
        UnshareFlags::NEWUSER
            | UnshareFlags::NEWNS
            | UnshareFlags::NEWPID
            | UnshareFlags::NEWIPC
            | UnshareFlags::NEWUTS
            | network,
    )?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    // The capabilities that the inner step needs must survive `exec`.
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::SETPCAP;
    let all = rustix::thread::capabilities(None)?;
    set_capabilities(None, CapabilitySets { inheritable: needed, ..all })?;
    for one in [CapabilitySet::SYS_ADMIN, CapabilitySet::SETPCAP] {
        configure_capability_in_ambient_set(one, true)?;
    }
    Ok(())
}

/// Covers private places with empty ones, and puts back what stays visible.
fn cover(plan: &Plan) -> io::Result<()> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let resolver = plan.network.then(|| PathBuf::from(RESOLVER));
    // Open these before anything is covered; what does not exist or is not accessible to this user is not kept.
    let kept: Vec<(PathBuf, OwnedFd)> = plan
        .kept
        .iter()
        .cloned()
        .chain(resolver)
        .filter_map(|path| Some((path.clone(), opened(&path)?)))
        .collect();
    let parts = plan.parts.iter().flatten();
    // Relative to `.`: this user may be unable to pass the directories above the workspace.
    let relative = |path: &PathBuf| Some((path.clone(), straight(path.strip_prefix(&plan.workspace).ok()?)?));
    let parts: Vec<(PathBuf, OwnedFd)> = parts.filter_map(relative).collect();
    let private = PRIVATE.iter().map(PathBuf::from);
    let mut covered: Vec<PathBuf> =
        private.chain(plan.home.clone()).chain(plan.hidden.iter().cloned()).collect();
    covered.extend(blocking(&plan.workspace));
    covered.retain(|path| path.is_absolute() && path.parent().is_some());
    covered.sort();
    covered.dedup();
    let (mut done, mut folders): (Vec<PathBuf>, _) = (Vec::new(), EmptyFolders::new(plan.memory));
    for path in covered {
        if done.iter().any(|above| path.starts_with(above)) || plan.workspace == path {
            continue;
        }
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() => {
                folders.cover(&path)?;
                done.push(path);
            }
            Ok(found) if found.is_file() => mount_bind_recursive("/dev/null", &path)?,
            // The target of a symlink is covered, or not, in its own right.
            _ => {}
        }
    }
    folders.finish()?;
    let is_gone = |path: &Path| done.iter().any(|above| path.starts_with(above));
    if is_gone(&plan.workspace) || plan.parts.is_some() {
        put_back(".", &plan.workspace)?;
    }
    if plan.parts.is_some() {
        // Landlock cannot keep the rest from being changed: the private folders around it are writable.
        Mounts::read().at_or_below(&plan.workspace).try_for_each(read_only)?;
        for (path, file) in &parts {
            mount_bind_recursive(format!("/proc/self/fd/{}", file.as_raw_fd()), path)?;
        }
    }
    for (path, file) in &kept {
        if is_gone(path) {
            put_back(&format!("/proc/self/fd/{}", file.as_raw_fd()), path)?;
            // Landlock cannot: the home around it is writable.
            Mounts::read().at_or_below(path).try_for_each(read_only)?;
        }
    }
    if let Some(home) = &plan.home
        && is_gone(home)
    {
        DirBuilder::new().recursive(true).mode(0o700).create(home)?;
    }
    Ok(())
}

fn opened(path: &Path) -> Option<OwnedFd> {
    rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// Opens a part of the workspace. A command of another conversation may swap a folder on the way for a link, which is not
/// followed; without the part the command cannot write there.
fn straight(path: &Path) -> Option<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve).ok()
}

/// Returns the topmost directory above the workspace that this user cannot pass.
fn blocking(workspace: &Path) -> Option<PathBuf> {
    let me = rustix::process::geteuid().as_raw();
    let mut above: Vec<&Path> = workspace.ancestors().skip(1).collect();
    above.reverse();
    let is_open = |path: &Path| {
        fs::symlink_metadata(path).is_ok_and(|found| found.mode() & 0o001 != 0 || found.uid() == me)
    };
    above.into_iter().find(|path| !is_open(path)).map(Path::to_path_buf)
}

/// Empty folders over others. One tmpfs, which disappears with the namespaces, is behind all of them, so that files in them
/// take no more memory together than the plan allows.
struct EmptyFolders {
    memory: u64,
    /// The first place that was covered. The tmpfs is mounted there, and holds a folder for each place.
    first: Option<PathBuf>,
    count: usize,
}

impl EmptyFolders {
    fn new(memory: u64) -> Self {
        Self { memory, first: None, count: 0 }
    }

    fn cover(&mut self, path: &Path) -> io::Result<()> {
        let first = match &self.first {
            Some(first) => first.clone(),
            None => {
                let (size, files) = (self.memory, (self.memory / BYTES_PER_FILE).max(MIN_FILES));
                let options = format!("size={size},nr_inodes={files},mode=0755");
                let options = CString::new(options).map_err(io::Error::other)?;
                mount("tmpfs", path, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())?;
                self.first.insert(path.to_path_buf()).clone()
            }
        };
        let own = first.join(self.count.to_string());
        DirBuilder::new().mode(0o755).create(&own)?;
        self.count += 1;
        if path != first { Ok(mount_bind(&own, path)?) } else { Ok(()) }
    }

    /// Covers the folders themselves where the tmpfs is mounted.
    fn finish(&self) -> io::Result<()> {
        self.first.as_ref().map_or(Ok(()), |first| Ok(mount_bind(first.join("0"), first)?))
    }
}

/// Makes a mount read-only. The other restrictions that it has must be named again.
fn read_only(point: &Path) -> io::Result<()> {
    let has = rustix::fs::statvfs(point)?.f_flag;
    let kept = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let kept = kept.into_iter().filter(|(flag, _)| has.contains(*flag)).map(|(_, flag)| flag);
    let flags = kept.fold(MountFlags::BIND | MountFlags::RDONLY, |all, flag| all | flag);
    Ok(mount_remount(point, flags, c"")?)
}

fn put_back(source: &str, path: &Path) -> io::Result<()> {
    let is_file = fs::metadata(source).is_ok_and(|found| found.is_file());
    if is_file {
        if let Some(above) = path.parent() {
            fs::create_dir_all(above)?;
        }
        File::create(path)?;
    } else {
        fs::create_dir_all(path)?;
    }
    mount_bind_recursive(source, path)?;
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a step starts the next one, which is this very program")]
fn start_inner(plan: &Plan, command: &[OsString]) -> io::Result<std::process::Child> {
    // This name works for the running program even if its path is covered.
    Command::new("/proc/self/exe").args([STEP, INNER]).arg(plan.to_text()?).args(command).spawn()
}
