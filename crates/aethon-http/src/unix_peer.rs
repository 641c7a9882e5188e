//! Who may connect to the Unix socket: only programs of the owner.
//!
//! The kernel says whose process connected. Other users are refused unless a token is set, which then decides; the mode of
//! the file usually keeps them out anyway. The assistant's own commands have the owner's user, too, and the walls around them
//! cannot close a socket that has a path, but they cannot be shed: a process behind more of them than this program itself
//! is one of its commands, or was started like one, and is refused, as the port is closed to commands.

use std::net::{IpAddr, Ipv4Addr};

use tokio::net::UnixStream;

/// Stands for the socket where an address is wanted: no connection of the port comes from there.
pub(crate) const UNIX_PEER: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// Returns an address in words for the log and the audit log.
pub(crate) fn shown(address: IpAddr) -> String {
    if address == UNIX_PEER { "unix-socket".to_owned() } else { address.to_string() }
}

/// The walls around a process, as far as they are visible from outside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Walls {
    /// Whether it can gain no privileges any more, which is a condition for walls.
    is_bound: bool,
    /// How many filters of system calls there are.
    filters: u32,
}

impl Walls {
    /// Returns the walls around this process.
    pub(crate) fn own() -> Self {
        Self::of("self").unwrap_or_default()
    }

    /// Returns the walls around a process, if it exists.
    fn of(process: &str) -> Option<Self> {
        // Without this file system there are no walls either.
        if cfg!(not(target_os = "linux")) {
            return Some(Self::default());
        }
        std::fs::read_to_string(format!("/proc/{process}/status")).ok().map(|status| Self::parse(&status))
    }

    fn parse(status: &str) -> Self {
        let number = |name: &str| -> Option<u32> {
            status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
        };
        // Kernels before 5.9 only say whether there is a filter.
        let has_filter = || number("Seccomp:").map(|mode| u32::from(mode > 0));
        Self {
            is_bound: number("NoNewPrivs:") == Some(1),
            filters: number("Seccomp_filters:").or_else(has_filter).unwrap_or_default(),
        }
    }

    /// Returns whether a process behind `other` is behind more walls than this one.
    fn are_fewer_than(self, other: Self) -> bool {
        other.is_bound && (!self.is_bound || other.filters > self.filters)
    }
}

/// Returns why this peer may not connect.
pub(crate) fn refusal(stream: &UnixStream, own: Walls, has_token: bool) -> Option<&'static str> {
    let Ok(peer) = stream.peer_cred() else { return Some("it is not known who connected") };
    let (user, own_user) = (peer.uid(), rustix::process::geteuid().as_raw());
    if user != own_user && user != 0 && !has_token {
        return Some(
            "only the user who runs the assistant may connect here; others need `dashboard.auth_token`",
        );
    }
    let walls = match peer.pid() {
        Some(process) => Walls::of(&process.to_string()),
        None => Some(Walls::default()),
    };
    match walls {
        Some(walls) if !own.are_fewer_than(walls) => None,
        Some(_) => Some(
            "commands of the assistant may not connect here, nor programs that are confined like them (no_new_privs)",
        ),
        None => Some("the process that connected is gone"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_behind_more_walls_is_recognised() {
        let walls = |is_bound, filters| Walls { is_bound, filters };
        let check = |own: Walls, other: Walls, expected: bool| {
            assert_eq!(own.are_fewer_than(other), expected, "{own:?} {other:?}");
        };
        check(walls(false, 0), walls(false, 0), false);
        check(walls(false, 0), walls(true, 1), true);
        check(walls(false, 0), walls(true, 0), true);
        // In a container everything is behind a filter, and perhaps bound.
        check(walls(false, 1), walls(false, 1), false);
        check(walls(true, 1), walls(true, 1), false);
        check(walls(true, 1), walls(true, 2), true);
    }

    #[test]
    fn walls_are_read_from_what_the_kernel_says() {
        let modern = "Name:\tx\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n";
        assert_eq!(Walls::parse(modern), Walls { is_bound: true, filters: 3 });
        let old = "NoNewPrivs:\t0\nSeccomp:\t2\n";
        assert_eq!(Walls::parse(old), Walls { is_bound: false, filters: 1 });
        assert_eq!(Walls::of("nobody at all").is_none(), cfg!(target_os = "linux"));
    }
}
