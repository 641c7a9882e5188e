//! Connection floods, slow requests and token guessing: the owner must still be served meanwhile.

use std::time::Duration;

use aethon_config::schema::Config;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::AREA;
use super::probes::held;
use super::wire::{NO_HEADERS, TIMEOUT, Target};
use crate::finding::Finding;

/// How many connections are opened: enough to be felt, and below the default limit of open files.
const CONNECTIONS: usize = 400;

/// The longest that a request may be trickled, in seconds, whatever the configuration allows.
const MAX_SECONDS: u64 = 60;

/// How many bodies are left half sent, and how large each would be.
const HALF_SENT: usize = 64;
const BODY: usize = 500_000;

/// How many wrong tokens are sent.
const GUESSES: usize = 70;

/// Runs all flood attacks.
pub(super) async fn all(target: &Target, config: &Config) -> Vec<Finding> {
    // Both wait for the server's patience to end.
    let (head, body) = tokio::join!(slow(target, config), slow_body(target, config));
    let mut findings = vec![head, body, crowd(target).await, half_sent(target, config).await];
    if !config.dashboard.auth_token.is_empty() {
        findings.push(guesses(target).await);
    }
    findings
}

/// A request that is sent so slowly that it never ends.
struct Trickle {
    what: &'static str,
    /// The part that is sent at once.
    first: Vec<u8>,
    /// The part that is sent repeatedly after it.
    again: &'static [u8],
    /// The key that says how long the server waits, and its value in seconds.
    key: &'static str,
    seconds: u64,
}

/// Sends a request that never ends, one byte at a time (slowloris).
async fn slow(target: &Target, config: &Config) -> Finding {
    let trickle = Trickle {
        what: "a request that is never finished",
        first: Vec::new(),
        again: b"G",
        key: "server.header_timeout_seconds",
        seconds: config.server.header_timeout_seconds,
    };
    trickle.is_cut_off(target).await
}

/// Sends a webhook with a wrong signature whose body arrives one byte at a time.
async fn slow_body(target: &Target, config: &Config) -> Finding {
    let trickle = Trickle {
        what: "a webhook body that is never finished",
        first: webhook(target).into_bytes(),
        again: b" ",
        key: "server.body_timeout_seconds",
        seconds: config.server.body_timeout_seconds,
    };
    trickle.is_cut_off(target).await
}

/// A webhook with a wrong signature, but for its body.
fn webhook(target: &Target) -> String {
    format!(
        "POST /webhook/attack HTTP/1.1\r\nHost: {target}\r\nContent-Type: application/json\r\nContent-Length: {BODY}\r\n\
         X-Aethon-Signature: sha256={}\r\n\r\n",
        "0".repeat(64)
    )
}

impl Trickle {
    /// Sends it until the server closes the connection.
    async fn is_cut_off(&self, target: &Target) -> Finding {
        let what = self.what;
        let limit = Duration::from_secs(self.seconds.min(MAX_SECONDS)) + TIMEOUT;
        let Ok(mut stream) = target.connect().await else {
            return Finding::broken(AREA, format!("could not be tried: {what}"), UNANSWERED);
        };
        let trickle = async {
            if stream.write_all(&self.first).await.is_err() {
                return;
            }
            // Once the server has closed the connection, one of the two fails; earlier output is read and discarded.
            while stream.write_all(self.again).await.is_ok() {
                if let Ok(Ok(0) | Err(_)) = timeout(Duration::from_secs(1), stream.read(&mut [0; 512])).await
                {
                    return;
                }
            }
        };
        match timeout(limit, trickle).await {
            Ok(()) => held(what, "its connection was closed"),
            Err(_) => Finding::broken(
                AREA,
                format!("came through: {what} (open after {} s)", limit.as_secs()),
                format!("set {} to its default", self.key),
            ),
        }
    }
}

/// Leaves many large webhook bodies half sent, while the owner and others make requests.
async fn half_sent(target: &Target, config: &Config) -> Finding {
    let what = "many webhooks whose bodies are half sent";
    let bytes = [webhook(target).into_bytes(), vec![b' '; BODY / 2]].concat();
    let mut open: Vec<TcpStream> = Vec::new();
    for _ in 0..HALF_SENT {
        let Ok(mut stream) = target.connect().await else { break };
        // Bytes that the server does not read stay with the sender.
        let _ = timeout(Duration::from_millis(20), stream.write_all(&bytes)).await;
        open.push(stream);
    }
    let token = config.dashboard.auth_token.expose().trim();
    let owner = format!("Authorization: Bearer {token}");
    let headers: &[&str] = if token.is_empty() { &[] } else { &[&owner] };
    for path in ["/health", "/api/status"] {
        match target.ask(&format!("GET {path}"), headers).await {
            Ok(answer) if answer.status == 200 => {}
            _ => {
                return Finding::broken(
                    AREA,
                    format!("came through: {what} (with {} open, {path} was not answered)", open.len()),
                    "update Aethon: strangers use up the capacity reserved for the owner",
                );
            }
        }
    }
    held(what, format_args!("{} open, and still served", open.len()))
}

/// Opens many silent connections while the owner makes a request.
async fn crowd(target: &Target) -> Finding {
    let what = "hundreds of connections from one address";
    let mut open: Vec<TcpStream> = Vec::new();
    for _ in 0..CONNECTIONS {
        match target.connect().await {
            Ok(stream) => open.push(stream),
            // Our own limit of open files is reached; the connections so far have to do.
            Err(_) => break,
        }
    }
    let answer = target.ask("GET /health", &NO_HEADERS).await;
    match answer {
        Ok(answer) if answer.status == 200 => {
            held(what, format_args!("{} open, and still served", open.len()))
        }
        _ => Finding::broken(
            AREA,
            format!("came through: {what} (with {} open, no other client was served)", open.len()),
            "raise server.max_connections, and the limit of open files of the service",
        ),
    }
}

/// Guesses the token repeatedly.
async fn guesses(target: &Target) -> Finding {
    let what = "guesses at the token";
    for guess in 0..GUESSES {
        let wrong = format!("Authorization: Bearer guess-{guess}");
        match target.ask("GET /api/status", &[&wrong]).await {
            Ok(answer) if answer.status == 429 => {
                return held(what, format_args!("made to wait after {guess}"));
            }
            // Beyond the limit, answers are delayed.
            Ok(answer) if answer.status == 401 => {}
            _ => return Finding::broken(AREA, format!("could not be tried: {what}"), UNANSWERED),
        }
    }
    Finding::broken(
        AREA,
        format!("came through: {what} ({GUESSES} in a row, none was slowed)"),
        "update Aethon",
    )
}

const UNANSWERED: &str = "check whether `aethon-server` still answers";
