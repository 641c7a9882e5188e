//! The walls of one assistant: what is closed at present, and how a child gets inside.
//!
//! What is closed is determined for every child, because places come and go. The neighbouring files tell it to the
//! kernel.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::thread;

use super::support::Protection;
#[cfg(target_os = "linux")]
use super::{capabilities, filter, grants, kernel, landlock, mounts};
use crate::files::real;
use crate::options::Options;
use crate::protected_paths::ProtectedPaths;
#[cfg(target_os = "linux")]
use crate::sandbox_limits::SandboxLimits;

/// The walls of one assistant.
#[derive(Debug)]
pub struct Confinement {
    options: Options,
    /// Resolved when the first child is started: several confinements exist, and at startup each would resolve the same
    /// places.
    walls: OnceLock<Walls>,
}

/// The resolved settings of the walls.
#[derive(Debug)]
struct Walls {
    protection: Protection,
    /// The assistant's home.
    home: Option<PathBuf>,
    /// What stays open in the home.
    workspace: PathBuf,
    /// The person's home, which no entry of the list can close as a whole.
    user_home: Option<PathBuf>,
    own: Vec<PathBuf>,
    protected: ProtectedPaths,
    /// The places among `security.allowed_paths`.
    allowed: Vec<PathBuf>,
    port: Option<u16>,
    address_file: Option<PathBuf>,
    #[cfg(target_os = "linux")]
    ports: landlock::Ports,
}

impl Confinement {
    /// Creates the walls that these options ask for, as far as this machine supports them.
    pub fn new(options: &Options) -> Self {
        Self { options: options.clone(), walls: OnceLock::new() }
    }

    /// Creates a confinement without walls, for comparison.
    #[cfg(test)]
    pub(crate) fn without_walls(options: &Options) -> Self {
        let none = Protection { files: false, ports: false, signals: false, is_root: false };
        let walls = Walls { protection: none, ..Walls::new(options) };
        Self { options: options.clone(), walls: walls.into() }
    }

    fn walls(&self) -> &Walls {
        self.walls.get_or_init(|| Walls::new(&self.options))
    }

    /// Binds the calling thread and everything it starts from now on, so that it can signal all of that at once and
    /// nothing else. Returns whether the kernel supports it. Meant for the thread that looks after a child; the child
    /// itself gets more walls.
    pub(crate) fn bind_thread(&self) -> io::Result<bool> {
        if !self.walls().protection.signals {
            return Ok(false);
        }
        #[cfg(target_os = "linux")]
        landlock::scope()?;
        Ok(true)
    }

    /// Starts the command inside the walls. Walls belong to a thread and are inherited, so a dedicated thread enters
    /// them and starts the command. That thread is gone when this returns: it belongs to this process, so the child
    /// could signal it, and a signal to one thread is a signal to all.
    pub(crate) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        let walls = self.walls();
        let inside = || (current_thread(), walls.enter().and_then(|()| command.spawn()));
        let (id, child) = thread::scope(|scope| {
            let thread = thread::Builder::new().name("inside".into()).spawn_scoped(scope, inside)?;
            thread.join().map_err(|_| io::Error::other("the thread inside the walls ended early"))
        })?;
        wait_until_gone(&id);
        child
    }

    /// Describes what a command in the kernel sandbox gets.
    #[cfg(target_os = "linux")]
    pub(crate) fn plan(&self, directory: PathBuf, limits: &SandboxLimits) -> kernel::Plan {
        self.walls().plan(directory, limits)
    }
}

impl Walls {
    fn new(options: &Options) -> Self {
        let user_home = options.user_home.as_deref().map(real);
        Self {
            protection: Protection::of_this_machine(),
            home: options.home.as_deref().map(real),
            workspace: real(&options.workspace),
            protected: ProtectedPaths::new(user_home.as_deref(), options),
            user_home,
            allowed: allowed(options),
            own: options.own.iter().map(|path| real(path)).collect(),
            port: options.port,
            address_file: options.address_file.clone(),
            #[cfg(target_os = "linux")]
            ports: landlock::Ports::default(),
        }
    }

    #[cfg(target_os = "linux")]
    fn enter(&self) -> io::Result<()> {
        // Read the address first: it lies in the home, which this thread cannot read once inside.
        let ports = self.own_ports();
        if self.protection.is_root && self.protection.files {
            capabilities::drop_from_children()?;
        }
        if self.protection.files {
            landlock::files(&grants::grants(&self.closed(), &self.workspace), self.protection.signals)?;
        }
        if self.protection.ports {
            filter::apply()?;
            if !ports.is_empty() {
                self.ports.close(&ports)?;
            }
        }
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "there are no walls on this system")]
    fn enter(&self) -> io::Result<()> {
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn plan(&self, directory: PathBuf, limits: &SandboxLimits) -> kernel::Plan {
        kernel::Plan {
            workspace: self.workspace.clone(),
            directory,
            home: self.user_home.clone(),
            hidden: self.closed(),
            kept: self.allowed.clone(),
            network: limits.network != "none",
            ports: self.own_ports(),
            memory: limits.memory,
            group: None,
            processes: limits.processes.into(),
            user: kernel::nobody(),
        }
    }

    /// Returns what is closed now, by its real path and by every other path that a mount gives it.
    #[cfg(target_os = "linux")]
    fn closed(&self) -> Vec<PathBuf> {
        let is_whole = |path: &Path| self.user_home.as_ref().is_some_and(|home| home.starts_with(path));
        let places = self.protected.paths().iter().filter_map(|place| place.canonicalize().ok());
        let places = places.filter(|place| !is_whole(place));
        // A home that is the workspace itself, or lies in it, is closed file by file.
        let home = self.home.iter().filter(|home| !home.starts_with(&self.workspace)).cloned();
        let own = self.own.iter().filter(|path| path.symlink_metadata().is_ok()).cloned();
        let mut closed: Vec<PathBuf> = home.chain(own).chain(places).collect();
        let mounts = mounts::Mounts::read();
        let aliases: Vec<PathBuf> =
            closed.iter().flat_map(|path| mounts.aliases(path, &self.workspace)).collect();
        closed.extend(aliases);
        closed.sort();
        closed.dedup();
        closed
    }

    /// Returns the ports of the assistant: the configured one, and the one that a daemon of this home listens on now.
    /// They differ if the system chose the port, or if a terminal runs an assistant of its own.
    fn own_ports(&self) -> Vec<u16> {
        let published = self.address_file.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        let published = published.and_then(|text| text.trim().rsplit(':').next()?.parse().ok());
        let mut ports: Vec<u16> = self.port.into_iter().chain(published).filter(|port| *port != 0).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }
}

/// Returns the entries opened by the owner that are places.
fn allowed(options: &Options) -> Vec<PathBuf> {
    let home = options.user_home.as_deref();
    let place = |entry: &String| match (entry.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Some(home.join(rest)),
        _ => Some(PathBuf::from(entry)).filter(|path| path.is_absolute()),
    };
    options.allowed_paths.iter().filter_map(place).collect()
}

#[cfg(target_os = "linux")]
fn current_thread() -> PathBuf {
    PathBuf::from(format!("/proc/self/task/{}", rustix::thread::gettid().as_raw_nonzero()))
}

#[cfg(not(target_os = "linux"))]
fn current_thread() -> PathBuf {
    PathBuf::new()
}

/// Even after a join, the thread may still be on its way out of the kernel.
fn wait_until_gone(thread: &Path) {
    while !thread.as_os_str().is_empty() && thread.exists() {
        thread::yield_now();
    }
}
