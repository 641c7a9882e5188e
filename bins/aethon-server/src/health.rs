//! `--health`: asks the server that runs on the same home whether it answers.
//!
//! Containers and scripts need this where there is no `curl`. The server publishes its address in its home, so neither a port
//! nor a token has to be given, and it works over a Unix socket too. The configuration is not read: a file that was broken
//! since the start says nothing about the server that runs.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use aethon::Home;
use anyhow::{Context, Result, bail};

/// How long each step of the request may take: less than the time that a container's health check has.
const TIMEOUT: Duration = Duration::from_secs(4);

/// How much of the answer is read.
const MAX_ANSWER: u64 = 16 * 1024;

/// Succeeds, with a sentence for the terminal, if `GET /health` answers 200.
pub(crate) fn ask(home: &Home) -> Result<String> {
    let shown = home.path().display();
    let Some(address) = home.running_daemon() else {
        if home.has_daemon() {
            bail!("the server on the home {shown} is starting, or listens nowhere");
        }
        bail!("no server runs on the home {shown}");
    };
    let head = answer(&address).with_context(|| format!("the server at {address} does not answer"))?;
    let status = head.lines().next().unwrap_or_default();
    if status.split_ascii_whitespace().nth(1) != Some("200") {
        bail!("the server at {address} answers {status:?}");
    }
    Ok(format!("the server at {address} answers"))
}

fn answer(address: &str) -> Result<String> {
    if let Some(path) = address.strip_prefix("unix:") {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        return exchange(stream, "localhost", "");
    }
    let rest = address.strip_prefix("http://").context("the address is not one of http")?;
    let (host, base) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let place = host.to_socket_addrs()?.next().context("the address leads nowhere")?;
    let stream = TcpStream::connect_timeout(&place, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    exchange(stream, host, base.trim_end_matches('/'))
}

fn exchange(mut stream: impl Read + Write, host: &str, base: &str) -> Result<String> {
    let request = format!("GET {base}/health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_without_a_listener_and_home_without_a_server_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let none = ask(&Home::at(folder.path())).unwrap_err().to_string();
        assert!(none.starts_with("no server runs on the home"), "{none}");
        let socket = folder.path().join("socket");
        assert!(answer(&format!("unix:{}", socket.display())).is_err());
        assert!(answer("https://127.0.0.1:1").is_err());
    }

    #[test]
    fn request_goes_below_the_path_of_the_address() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/aethon/", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 512];
            let length = stream.read(&mut request).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        assert!(answer(&address).unwrap().starts_with("HTTP/1.1 200"));
        assert!(server.join().unwrap().starts_with("GET /aethon/health HTTP/1.1\r\n"));
    }
}
