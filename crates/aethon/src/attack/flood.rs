//! Connection floods, slow requests and token guessing: the owner must still be served meanwhile.

use std::time::Duration;

use aethon_config::schema::Config;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::AREA;
use super::probes::held;
use super::wire::{NO_HEADERS, PATIENCE, Target};
use crate::doctor::Finding;

/// How many connections are opened: enough to be felt, and below the default limit of open files.
const CONNECTIONS: usize = 400;

/// How many wrong tokens are sent.
const GUESSES: usize = 70;

/// Runs all flood attacks.
pub(super) async fn all(target: &Target, config: &Config) -> Vec<Finding> {
    let mut findings = vec![slow(target, config).await, crowd(target).await];
    if !config.dashboard.auth_token.is_empty() {
        findings.push(guesses(target).await);
    }
    findings
}

/// Sends a request that never ends, one byte at a time (slowloris).
async fn slow(target: &Target, config: &Config) -> Finding {
    let what = "a request that is never finished";
    let limit = Duration::from_secs(config.server.header_timeout_seconds) + PATIENCE;
    let Ok(mut stream) = target.connect().await else {
        return Finding::broken(AREA, format!("could not be tried: {what}"), UNANSWERED);
    };
    let trickle = async {
        // Once the server has closed the connection, one of the two fails; earlier output is read and discarded.
        while stream.write_all(b"G").await.is_ok() {
            if let Ok(Ok(0) | Err(_)) = timeout(Duration::from_secs(1), stream.read(&mut [0; 512])).await {
                return;
            }
        }
    };
    match timeout(limit, trickle).await {
        Ok(()) => held(what, "its connection was closed"),
        Err(_) => Finding::broken(
            AREA,
            format!("came through: {what} (open after {} s)", limit.as_secs()),
            "set server.header_timeout_seconds to 10",
        ),
    }
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
            format!("came through: {what} (with {} open nobody else was served)", open.len()),
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

const UNANSWERED: &str = "look whether `aethon-server` still answers";
