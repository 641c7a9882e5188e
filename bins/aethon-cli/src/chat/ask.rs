//! One question, one answer, for scripts and pipes.

use std::io::{IsTerminal, Read};

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::backend::{Backend, ChatEvent, Outcome};
use super::screen::{Screen, put, style};

/// The largest input that is read from a pipe.
const MOST_INPUT: u64 = 512 * 1024;

/// What to ask: the argument, and below it what is piped in.
pub(crate) fn question(text: Option<String>) -> Result<String> {
    let mut piped = String::new();
    if !std::io::stdin().is_terminal() {
        std::io::stdin()
            .lock()
            .take(MOST_INPUT + 1)
            .read_to_string(&mut piped)
            .context("standard input is not readable text")?;
        if piped.len() as u64 > MOST_INPUT {
            bail!(
                "standard input is larger than {} KiB; send less, or put it into the workspace as a file",
                MOST_INPUT / 1024
            );
        }
    }
    let parts: Vec<&str> = [text.as_deref().unwrap_or_default().trim(), piped.trim_end()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    if parts.is_empty() {
        bail!("there is nothing to ask: give the question as an argument or on standard input");
    }
    Ok(parts.join("\n\n"))
}

/// Asks; returns whether the turn ended as it should. Questions for approval are denied: nobody is there to see them.
pub(crate) async fn run(
    mut backend: Box<dyn Backend>,
    session: &str,
    text: &str,
    as_json: bool,
) -> Result<bool> {
    backend.say(session, text).await?;
    let mut screen = Screen::new(style());
    let mut failure = None;
    let outcome = loop {
        match backend.next().await {
            ChatEvent::Approval { id, .. } => backend.decide(&id, false).await?,
            ChatEvent::Lost(why) => bail!("{why}"),
            ChatEvent::Done(outcome) if as_json => break outcome,
            ChatEvent::Error(message) if as_json => failure = Some(message),
            _ if as_json => {}
            event => {
                if let Some(outcome) = screen.show(event) {
                    break outcome;
                }
            }
        }
    };
    backend.close().await;
    if as_json {
        put(&format!("{}\n", document(session, &outcome, failure)));
    }
    Ok(outcome.stop_reason == "end")
}

fn document(session: &str, outcome: &Outcome, failure: Option<String>) -> serde_json::Value {
    json!({
        "session_id": format!("webchat:{session}"),
        "text": outcome.text,
        "stop_reason": outcome.stop_reason,
        "model": outcome.model,
        "error": failure,
    })
}
