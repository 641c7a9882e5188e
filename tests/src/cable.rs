//! A cable to a service on loopback, which a test cuts and mends.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// Passes connections on to a service. While it is cut, connections are accepted and closed at once, and those that were open have
/// ended.
pub struct Cable {
    /// The address to connect to.
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    is_cut: bool,
    open: Vec<TcpStream>,
}

impl Cable {
    /// Starts one to this service.
    pub fn to(service: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port for a cable");
        let address = listener.local_addr().expect("it has an address");
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = state.clone();
        // Never joined; it ends with the test process.
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
                if state.is_cut {
                    continue;
                }
                let Ok(far) = TcpStream::connect(service) else { continue };
                let ends = [connection.try_clone(), far.try_clone(), connection.try_clone(), far.try_clone()];
                let [Ok(near_out), Ok(far_out), Ok(near_kept), Ok(far_kept)] = ends else { continue };
                state.open.extend([near_kept, far_kept]);
                drop(state);
                std::thread::spawn(move || pass(connection, far_out));
                std::thread::spawn(move || pass(far, near_out));
            }
        });
        Self { address, state }
    }

    /// Cuts or mends it.
    pub fn cut(&self, is_cut: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_cut = is_cut;
        for end in state.open.drain(..) {
            // It may have ended already.
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = [0; 16 << 10];
    while let Ok(count) = from.read(&mut bytes) {
        if count == 0 || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Read), to.shutdown(Shutdown::Write));
}
