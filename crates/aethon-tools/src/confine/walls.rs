//! The walls of one assistant: how a child gets inside, in a turn of a given trust.
//!
//! The closed places are determined for every child, because places come and go; `places` does that. The neighbouring files
//! tell it to the kernel.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::thread;

use aethon_core::turn::Trust;

#[cfg(target_os = "linux")]
use super::places::ClosedPlaces;
use super::support::{Protection, SocketProtection};
#[cfg(target_os = "linux")]
use super::{capabilities, cover, filter, kernel, landlock};
use crate::options::Options;
#[cfg(target_os = "linux")]
use crate::sandbox_limits::SandboxLimits;
#[cfg(target_os = "linux")]
use crate::sockets::ClosedSockets;

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
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "there are no walls on this system"))]
struct Walls {
    protection: Protection,
    socket_protection: SocketProtection,
    port: Option<u16>,
    address_file: Option<PathBuf>,
    #[cfg(target_os = "linux")]
    places: ClosedPlaces,
    #[cfg(target_os = "linux")]
    sockets: ClosedSockets,
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
        let sockets = SocketProtection::None;
        let walls = Walls { protection: none, socket_protection: sockets, ..Walls::new(options) };
        Self { options: options.clone(), walls: walls.into() }
    }

    fn walls(&self) -> &Walls {
        self.walls.get_or_init(|| Walls::new(&self.options))
    }

    /// Binds the calling thread and everything it starts from now on, so that it can signal all of that at once and
    /// nothing else. Returns whether the kernel supports it. Meant for the thread that supervises a child; the child
    /// itself gets more walls. Sockets that are covered are covered for the thread, too: inside the walls nothing can be
    /// mounted any more.
    pub(crate) fn bind_thread(&self) -> io::Result<bool> {
        #[cfg(target_os = "linux")]
        if self.walls().socket_protection == SocketProtection::Cover {
            cover::cover(&self.walls().sockets)?;
        }
        if !self.walls().protection.signals {
            return Ok(false);
        }
        #[cfg(target_os = "linux")]
        landlock::scope()?;
        Ok(true)
    }

    /// Starts the command inside the walls of a turn of this trust. Walls belong to a thread and are inherited, so a
    /// dedicated thread enters them and starts the command. That thread is gone when this returns: it belongs to this
    /// process, so the child could signal it, and a signal to one thread is a signal to all.
    pub(crate) fn spawn(&self, command: &mut Command, trust: Trust) -> io::Result<Child> {
        let walls = self.walls();
        let inside = || (current_thread(), walls.enter(trust).and_then(|()| command.spawn()));
        let (id, child) = thread::scope(|scope| {
            let thread = thread::Builder::new().name("inside".into()).spawn_scoped(scope, inside)?;
            thread.join().map_err(|_| io::Error::other("the thread inside the walls ended early"))
        })?;
        wait_until_gone(&id);
        child
    }

    /// Describes the kernel sandbox for a command of a turn of this trust.
    #[cfg(target_os = "linux")]
    pub(crate) fn plan(&self, directory: PathBuf, limits: &SandboxLimits, trust: Trust) -> kernel::Plan {
        let walls = self.walls();
        let view = walls.places.view(trust);
        kernel::Plan {
            workspace: view.workspace,
            directory,
            home: view.home,
            hidden: view.hidden,
            kept: view.kept,
            parts: view.parts,
            network: limits.network != "none",
            ports: walls.own_ports(),
            memory: limits.memory,
            group: None,
            processes: limits.processes.into(),
            user: kernel::nobody(),
        }
    }
}

impl Walls {
    fn new(options: &Options) -> Self {
        Self {
            protection: Protection::of_this_machine(),
            socket_protection: SocketProtection::of_this_machine(),
            port: options.port,
            address_file: options.address_file.clone(),
            #[cfg(target_os = "linux")]
            places: ClosedPlaces::new(options),
            #[cfg(target_os = "linux")]
            sockets: ClosedSockets::new(options),
            #[cfg(target_os = "linux")]
            ports: landlock::Ports::default(),
        }
    }

    #[cfg(target_os = "linux")]
    fn enter(&self, trust: Trust) -> io::Result<()> {
        let files = if self.protection.files {
            let sockets = (self.socket_protection == SocketProtection::Rule).then_some(&self.sockets);
            Some(self.places.rules(trust, sockets, self.protection.signals)?)
        } else {
            None
        };
        // Read before anything is in force: addresses lie in homes, which this thread cannot read once inside.
        let ports = self.own_ports();
        if self.protection.is_root && self.protection.files {
            capabilities::drop_from_children()?;
        }
        if let Some(files) = files {
            files.enforce()?;
        }
        let is_stranger = trust != Trust::Owner && !self.sockets.is_any_opened;
        if is_stranger && self.socket_protection == SocketProtection::Strangers {
            filter::forbid_local_sockets()?;
        }
        if self.protection.ports {
            filter::apply()?;
            if !ports.is_empty() {
                self.ports.close(&ports)?;
            }
        } else if self.protection.files && filter::is_known() && filter::is_accepted() {
            filter::forbid_keys()?;
        }
        Ok(())
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "there are no walls on this system")]
    fn enter(&self, _trust: Trust) -> io::Result<()> {
        Ok(())
    }

    /// Returns the ports of the assistant: the configured one, and the one that a daemon of this home listens on now.
    /// They differ if the system chose the port, or if a terminal runs an assistant of its own. The ports of other
    /// assistants of this person are among them, as far as their homes are found: each would obey a command.
    #[cfg(target_os = "linux")]
    fn own_ports(&self) -> Vec<u16> {
        let published = self.address_file.as_deref().and_then(port_in);
        let neighbours = self.places.other_homes();
        let neighbours = neighbours.iter().map(|home| home.join("run")).filter(|run| is_alive(run));
        let neighbours = neighbours.filter_map(|run| port_in(&run.join("server.address")));
        let all = self.port.into_iter().chain(published).chain(neighbours);
        let mut ports: Vec<u16> = all.filter(|port| *port != 0).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }
}

/// Returns the port in the file in which a daemon publishes its address.
#[cfg(target_os = "linux")]
fn port_in(file: &Path) -> Option<u16> {
    std::fs::read_to_string(file).ok()?.trim().rsplit(':').next()?.parse().ok()
}

/// Returns whether a daemon runs, which holds a lock as long as it lives. Its address is left behind by a crash.
#[cfg(target_os = "linux")]
fn is_alive(run: &Path) -> bool {
    let alive = std::fs::File::open(run.join("server.alive"));
    // A shared lock, so that two probes do not take each other for a daemon.
    alive.is_ok_and(|alive| matches!(alive.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock)))
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
