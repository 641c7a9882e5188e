//! Decides which machines the web tools may reach: public addresses, and the hosts that the owner has allowed. Never
//! the assistant's own port, or a fetched page could talk to it from inside.

use std::fs;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::PathBuf;

use aethon_core::egress::HostRule;

use super::address::class_of;
use super::refusal::Refusal;

/// The rules of one client.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    /// `security.egress_allowed_hosts`, and the service that the owner has configured.
    pub(super) allowed: Vec<HostRule>,
    /// The configured port of the assistant.
    pub(super) own_port: Option<u16>,
    /// The file in which a running daemon publishes its address.
    pub(super) address_file: Option<PathBuf>,
}

impl Rules {
    /// Checks whether a connection may be made to this address of a host. Every address of a host is checked, and one
    /// refusal applies to all: a name with both a public and a private address is a trap, or soon will be.
    pub(super) fn check(&self, host: &str, address: SocketAddr) -> Result<(), Refusal> {
        let (ip, port) = (address.ip(), address.port());
        let place = format!("{host}:{port}");
        if self.is_own_port(port) && is_of_this_machine(ip) {
            return Err(Refusal::own_port(&place));
        }
        let Some(class) = class_of(ip) else { return Ok(()) };
        let mut admitting = self.allowed.iter().filter(|rule| rule.admits(host, port));
        if admitting.any(|rule| rule.is_address() || !class.by_address_only) {
            return Ok(());
        }
        let shown = if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() };
        Err(Refusal::not_public(&place, &shown, class.name))
    }

    fn is_own_port(&self, port: u16) -> bool {
        self.own_port == Some(port) || self.running_port() == Some(port)
    }

    /// Returns the port published by a running daemon. Read each time, because the daemon may have started meanwhile.
    fn running_port(&self) -> Option<u16> {
        let text = fs::read_to_string(self.address_file.as_ref()?).ok()?;
        text.trim().trim_end_matches('/').rsplit(':').next()?.parse().ok()
    }
}

/// Returns whether an address belongs to this machine, on any interface.
fn is_of_this_machine(address: IpAddr) -> bool {
    let address = address.to_canonical();
    address.is_loopback() || address.is_unspecified() || UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(allowed: &[&str]) -> Rules {
        let allowed = allowed.iter().map(|rule| rule.parse().unwrap()).collect();
        Rules { allowed, ..Rules::default() }
    }

    #[test]
    fn the_owner_opens_hosts_and_nothing_else_is_open() {
        let check = |allowed: &[&str], host: &str, address: &str, expected: bool| {
            let judged = rules(allowed).check(host, address.parse().unwrap());
            assert_eq!(judged.is_ok(), expected, "{allowed:?} {host} {address}: {judged:?}");
            if let Err(refusal) = judged {
                assert!(refusal.to_string().contains("security.egress_allowed_hosts"), "{refusal}");
            }
        };
        check(&[], "example.com", "93.184.215.14:443", true);
        check(&[], "example.com", "10.0.0.1:443", false);
        check(&[], "localhost", "127.0.0.1:80", false);
        check(&["localhost"], "localhost", "127.0.0.1:80", true);
        check(&["localhost"], "127.0.0.1", "127.0.0.1:80", false);
        check(&["localhost:81"], "localhost", "127.0.0.1:80", false);
        check(&["nas.local"], "nas.local", "192.168.1.5:80", true);
        check(&["nas.local"], "nas.local", "169.254.169.254:80", false);
        check(&["nas.local"], "nas.local", "0.0.0.0:80", false);
        check(&["169.254.169.254"], "169.254.169.254", "169.254.169.254:80", true);
        check(&["127.0.0.1"], "[::ffff:7f00:1]", "[::ffff:127.0.0.1]:80", true);
        check(&["::1"], "[::1]", "[::1]:80", true);
        check(&["other.example"], "nas.local", "192.168.1.5:80", false);
    }

    #[test]
    fn its_own_port_stays_closed_whatever_is_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("address");
        let mut rules = rules(&["127.0.0.1", "localhost", "0.0.0.0", "192.168.1.5"]);
        rules.own_port = Some(18_790);
        rules.address_file = Some(file.clone());
        let check = |host: &str, address: &str| {
            rules.check(host, address.parse().unwrap()).map_err(|refusal| refusal.to_string())
        };
        for (host, address) in
            [("127.0.0.1", "127.0.0.1:18790"), ("localhost", "127.0.0.2:18790"), ("0.0.0.0", "0.0.0.0:18790")]
        {
            let refusal = check(host, address).unwrap_err();
            assert!(refusal.contains("own port"), "{refusal}");
        }
        assert!(check("127.0.0.1", "127.0.0.1:4000").is_ok());
        fs::write(&file, "http://127.0.0.1:4000\n").unwrap();
        assert!(check("127.0.0.1", "127.0.0.1:4000").unwrap_err().contains("own port"));
        assert!(check("192.168.1.5", "192.168.1.5:18790").is_ok(), "another machine's port of that number");
    }
}
