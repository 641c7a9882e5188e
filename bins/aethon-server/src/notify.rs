//! Tells the service manager how the daemon is doing, by the protocol of systemd's `sd_notify`: a datagram to the socket that it
//! named in the environment. Without one nothing is sent.

use std::os::unix::net::{SocketAddr, UnixDatagram};

use rustix::time::{ClockId, clock_gettime};

/// What is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// Connections are accepted.
    Ready,
    /// The configuration is read again.
    Reloading,
    /// The daemon is stopping.
    Stopping,
}

/// The service manager's socket.
#[derive(Debug)]
pub(crate) struct Supervisor(Option<SocketAddr>);

impl Supervisor {
    /// Finds the service manager that started this program, if one did and wants to know.
    #[expect(
        clippy::disallowed_methods,
        reason = "what the service manager says to its service is no configuration"
    )]
    pub(crate) fn find() -> Self {
        let name = std::env::var("NOTIFY_SOCKET").unwrap_or_default();
        Self(address(&name))
    }

    /// Reports this. A report that does not arrive is a matter for the manager, which then gives up in its own time.
    pub(crate) fn tell(&self, report: Report) {
        let Some(address) = &self.0 else { return };
        let sent = UnixDatagram::unbound()
            .and_then(|socket| socket.send_to_addr(message(report).as_bytes(), address));
        if let Err(error) = sent {
            tracing::warn!("the service manager could not be notified of {report:?}: {error}");
        }
    }
}

fn message(report: Report) -> String {
    match report {
        Report::Ready => "READY=1\nSTATUS=accepting connections".to_owned(),
        Report::Reloading => {
            let now = clock_gettime(ClockId::Monotonic);
            format!("RELOADING=1\nMONOTONIC_USEC={}", now.tv_sec * 1_000_000 + now.tv_nsec / 1000)
        }
        Report::Stopping => "STOPPING=1\nSTATUS=letting running turns finish".to_owned(),
    }
}

/// Returns the address of a path, or of an abstract name after an `@`.
fn address(name: &str) -> Option<SocketAddr> {
    match name.strip_prefix('@') {
        #[cfg(target_os = "linux")]
        Some(name) => {
            use std::os::linux::net::SocketAddrExt as _;
            SocketAddr::from_abstract_name(name).ok()
        }
        None if name.starts_with('/') => SocketAddr::from_pathname(name).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_manager_is_notified_by_path_or_abstract_name() {
        assert!(address("").is_none() && address("relative").is_none());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        Supervisor(address(path.to_str().unwrap())).tell(Report::Ready);
        let mut told = [0; 200];
        let length = socket.recv(&mut told).unwrap();
        assert!(told[..length].starts_with(b"READY=1\n"));
        assert!(message(Report::Reloading).starts_with("RELOADING=1\nMONOTONIC_USEC="));
        assert!(Supervisor(None).0.is_none());
    }
}
