//! Holds the server's port on the loopback address of the other family.
//!
//! `localhost` is both `127.0.0.1` and `[::1]`, and browsers try one before the other. If the server listened on only one of
//! them, any program on this machine could listen on the other, and a browser would take its page for the server's, cookies
//! and all. The socket here is bound and never listens: no other program gets the address, and a connection to it is
//! refused at once, so the browser then tries the server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use socket2::{Domain, Protocol, Socket, Type};

/// The socket that holds the address until it is dropped.
pub(crate) struct LoopbackGuard {
    _socket: Socket,
}

impl LoopbackGuard {
    /// Binds the twin of this address, if it has one. On failure, the log states the reason and the consequence.
    pub(crate) fn hold(address: SocketAddr) -> Option<Self> {
        let twin = of(address)?;
        match bound(twin) {
            Ok(socket) => Some(Self { _socket: socket }),
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
                tracing::warn!(
                    %twin,
                    "another program has this port on the other loopback address; open the pages under http://{address}, not under \
                     http://localhost"
                );
                None
            }
            // Without the other address family, there is no twin to protect.
            Err(error) => {
                tracing::debug!(%twin, %error, "the port is not held on the other loopback address");
                None
            }
        }
    }
}

fn of(address: SocketAddr) -> Option<SocketAddr> {
    let twin: IpAddr = match address.ip() {
        IpAddr::V4(Ipv4Addr::LOCALHOST) => Ipv6Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::LOCALHOST) => Ipv4Addr::LOCALHOST.into(),
        _ => return None,
    };
    Some(SocketAddr::new(twin, address.port()))
}

fn bound(address: SocketAddr) -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    // Without SO_REUSEADDR, so that no other program can bind the same address.
    socket.bind(&address.into())?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_twin_address_is_held_and_refuses_connections() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let twin = of(address).unwrap();
        assert_eq!((twin.ip(), of(twin)), (Ipv6Addr::LOCALHOST.into(), Some(address)));
        let Some(held) = LoopbackGuard::hold(address) else {
            assert!(TcpListener::bind("[::1]:0").is_err(), "only a machine without that family has no twin");
            return;
        };
        assert_eq!(TcpListener::bind(twin).unwrap_err().kind(), ErrorKind::AddrInUse);
        assert_eq!(TcpStream::connect(twin).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        drop(held);
        assert!(TcpListener::bind(twin).is_ok());
    }

    #[test]
    fn an_address_beyond_loopback_has_no_twin() {
        for address in ["0.0.0.0:80", "[::]:80", "127.0.0.2:80", "192.0.2.1:80"] {
            assert_eq!(of(address.parse().unwrap()), None, "{address}");
        }
    }
}
