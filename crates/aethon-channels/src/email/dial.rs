//! Connections to mail servers: encrypted, or in plain text to this machine.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::Server;

/// How long connecting and the TLS handshake may take, each.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The longest line before a connection is encrypted, in bytes.
const MAX_LINE: usize = 4096;

/// A byte stream in both directions.
pub(super) trait Wire: AsyncRead + AsyncWrite + Unpin + Send + Sync {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + Sync> Wire for T {}

/// Connects. Plain connections are allowed to this machine only, which is checked before anything is sent.
pub(super) async fn connect(server: &Server, is_plain: bool) -> io::Result<TcpStream> {
    let to = (server.host.trim_matches(['[', ']']), server.port);
    let connected = timeout(TIMEOUT, TcpStream::connect(to)).await;
    let stream = connected.map_err(|_| io::Error::other("it did not answer in time"))??;
    if is_plain && !stream.peer_addr()?.ip().to_canonical().is_loopback() {
        return Err(io::Error::other(NOT_HERE));
    }
    Ok(stream)
}

/// Describes a connection error for people.
pub(super) fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "nothing listens there".to_owned(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => "the connection broke".to_owned(),
        _ => error.to_string(),
    }
}

/// The error for a plain connection to another machine.
pub(super) const NOT_HERE: &str =
    "channels.email.tls is off, and the server is not on this machine; passwords travel encrypted only";

/// Encrypts a connection and verifies the server's name.
pub(super) async fn encrypt(server: &Server, stream: TcpStream) -> io::Result<Box<dyn Wire>> {
    let name = ServerName::try_from(server.host.trim_matches(['[', ']']).to_owned());
    let name = name.map_err(|_| io::Error::other("its name cannot be one of a certificate"))?;
    let agreed = timeout(TIMEOUT, TlsConnector::from(trust()?).connect(name, stream)).await;
    let stream = agreed.map_err(|_| io::Error::other("it did not agree on keys in time"))??;
    Ok(Box::new(stream))
}

/// Performs STARTTLS on a plain IMAP connection. Reads no byte beyond the server's responses, because anything
/// unencrypted after them could be injected.
pub(super) async fn ask_for_tls(mut stream: TcpStream) -> io::Result<TcpStream> {
    let asked = timeout(TIMEOUT, async {
        let greeting = line(&mut stream).await?;
        if !greeting.starts_with("* OK") {
            return Err(io::Error::other("this is no IMAP server"));
        }
        stream.write_all(b"t STARTTLS\r\n").await?;
        loop {
            let answer = line(&mut stream).await?;
            if answer.starts_with("t OK") {
                return Ok(());
            }
            if answer.starts_with("t ") {
                return Err(io::Error::other(
                    "it offers no encryption on this port; set channels.email.imap_port",
                ));
            }
        }
    });
    asked.await.map_err(|_| io::Error::other("it did not answer in time"))??;
    Ok(stream)
}

async fn line(stream: &mut TcpStream) -> io::Result<String> {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        if line.len() > MAX_LINE {
            return Err(io::Error::other("it sends a line without an end"));
        }
        line.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

/// Returns the TLS configuration, which trusts the same authorities as browsers.
fn trust() -> io::Result<Arc<ClientConfig>> {
    static TRUST: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(trust) = TRUST.get() {
        return Ok(trust.clone());
    }
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TRUST.get_or_init(|| Arc::new(config)).clone())
}
