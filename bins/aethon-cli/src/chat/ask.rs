//! One question and its answer, for scripts and pipes.

use std::io::{IsTerminal, Read};

use aethon::core::approval::Decision;
use aethon::core::visible::{escaped_json, piped, readable};
use anyhow::{Context, Result, bail};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::backend::{Backend, OutgoingMessage, Request};
use super::event::{BackendEvent, ChatEvent, Outcome};
use super::following::LEAVE;
use super::interrupts::{Interrupt, Interrupts};
use super::output::put;
use super::screen::{Screen, style};

/// The maximum size of piped input, in bytes.
const MAX_INPUT: u64 = 512 * 1024;

/// Returns the question: the argument, followed by piped input.
pub(crate) fn question(text: Option<String>) -> Result<String> {
    let mut piped = String::new();
    if !std::io::stdin().is_terminal() {
        std::io::stdin()
            .lock()
            .take(MAX_INPUT + 1)
            .read_to_string(&mut piped)
            .context("standard input is not readable text")?;
        if piped.len() as u64 > MAX_INPUT {
            bail!(
                "standard input is larger than {} KiB; send less, or put it into the workspace as a file",
                MAX_INPUT / 1024
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

/// Asks a question, and returns whether its turn succeeded. Approval requests are denied, because no person is there to
/// see them. On a signal the turn is stopped, and the program exits once the text so far is stored.
pub(crate) async fn run(
    mut backend: Box<dyn Backend>,
    session: &str,
    message: &OutgoingMessage,
    as_json: bool,
) -> Result<bool> {
    let interrupts = Interrupts::watch()?;
    let turn = backend.say(message).await?;
    let mut events = Events { interrupts, turn, leaving: None };
    // Only a person wants to watch the answer arrive; a program wants the answer and nothing else. An answer that must fit
    // a schema is for a program, too, and is checked before it counts.
    let is_watched = !as_json && message.schema.is_none() && std::io::stdout().is_terminal();
    let outcome = match is_watched {
        true => shown(&mut *backend, &mut events).await?,
        false => {
            let (collected, outcome) = collect(&mut *backend, &mut events).await?;
            match as_json {
                true => {
                    let document = document(session, &outcome, collected.failure).to_string();
                    put(&format!("{}\n", escaped_json(&document)));
                }
                false if message.schema.is_some() => collected.print_checked(&outcome),
                false => collected.print(&outcome),
            }
            outcome
        }
    };
    backend.close().await;
    Ok(outcome.stop_reason == "end")
}

/// The events of the turn, handled without asking anybody.
struct Events {
    interrupts: Interrupts,
    /// The turn that answers the question, once known. Other turns of the session are ignored.
    turn: Option<String>,
    /// The deadline for a stopped turn to end.
    leaving: Option<Instant>,
}

/// An event that matters to the question.
enum Next {
    Event(ChatEvent),
    Resize,
}

impl Events {
    async fn next(&mut self, backend: &mut dyn Backend) -> Result<Next> {
        loop {
            let received = tokio::select! {
                received = backend.next() => received,
                interrupt = self.interrupts.next() => {
                    if interrupt == Interrupt::Resize {
                        return Ok(Next::Resize);
                    }
                    if self.leaving.is_some() {
                        bail!("interrupted");
                    }
                    self.leaving = Some(Instant::now() + LEAVE);
                    backend.tell(Request::Stop(self.turn.clone())).await?;
                    continue;
                }
                () = sleep_until(self.leaving.unwrap_or_else(Instant::now)), if self.leaving.is_some() => {
                    bail!("interrupted; the turn did not end in time");
                }
            };
            if let Some(event) = self.concerns(received)? {
                match event {
                    ChatEvent::Approval(request) => {
                        backend
                            .tell(Request::Decide { id: request.id, answer: Decision::Deny.into() })
                            .await?;
                    }
                    event => return Ok(Next::Event(event)),
                }
            }
        }
    }

    /// Returns the event if it belongs to the question's turn.
    fn concerns(&mut self, BackendEvent { turn, event }: BackendEvent) -> Result<Option<ChatEvent>> {
        match event {
            ChatEvent::Lost(why) | ChatEvent::Refused(why) => bail!("{}", readable(&why)),
            ChatEvent::Accepted { .. } => {
                self.turn.get_or_insert(turn);
                Ok(None)
            }
            event if turn.is_empty() || self.turn.as_deref() == Some(turn.as_str()) => Ok(Some(event)),
            _ => Ok(None),
        }
    }
}

/// Shows the turn on a terminal as it arrives.
async fn shown(backend: &mut dyn Backend, events: &mut Events) -> Result<Outcome> {
    let mut screen = Screen::new(style());
    loop {
        match events.next(backend).await? {
            Next::Resize => screen.resize(),
            Next::Event(event) => {
                if let Some(outcome) = screen.show(event) {
                    return Ok(outcome);
                }
            }
        }
    }
}

/// The answer of a turn, collected for a program.
#[derive(Default)]
struct CollectedAnswer {
    /// The text so far, from the model's last response on.
    text: String,
    /// Whether a tool was called since then.
    is_after_tool: bool,
    failure: Option<String>,
}

async fn collect(backend: &mut dyn Backend, events: &mut Events) -> Result<(CollectedAnswer, Outcome)> {
    let mut collected = CollectedAnswer::default();
    loop {
        let Next::Event(event) = events.next(backend).await? else { continue };
        match event {
            ChatEvent::Done(outcome) => return Ok((collected, outcome)),
            ChatEvent::Error(message) => collected.failure = Some(message),
            ChatEvent::Tool { .. } => collected.is_after_tool = true,
            ChatEvent::Again => collected = CollectedAnswer::default(),
            ChatEvent::Text(text) => {
                if std::mem::take(&mut collected.is_after_tool) {
                    collected.text.clear();
                }
                collected.text.push_str(&text);
            }
            ChatEvent::Notice(text) | ChatEvent::Connection(text) => {
                eprintln!("aethon-cli: {}", readable(&text))
            }
            _ => {}
        }
    }
}

impl CollectedAnswer {
    /// Prints JSON that fits the schema, and nothing else to standard output; what does not fit is for a person to see.
    fn print_checked(&self, outcome: &Outcome) {
        if outcome.stop_reason == "end" && self.failure.is_none() {
            return put(&format!("{}\n", escaped_json(outcome.text.trim())));
        }
        let failure = self.failure.as_deref().unwrap_or_default();
        let raw = outcome.text.strip_suffix(failure).unwrap_or(&outcome.text).trim_end();
        if !raw.is_empty() {
            eprintln!("{}", readable(raw));
        }
        if let Some(failure) = &self.failure {
            eprintln!("aethon-cli: {}", readable(failure));
        }
    }

    /// Prints the answer as written, without characters that could control a terminal. Failures are not part of it.
    fn print(&self, outcome: &Outcome) {
        let answer = if self.failure.is_some() { &self.text } else { &outcome.text };
        if !answer.is_empty() {
            put(&format!("{}\n", piped(answer.trim_end_matches('\n'))));
        }
        if let Some(failure) = &self.failure {
            eprintln!("aethon-cli: {}", readable(failure));
        }
    }
}

fn document(session: &str, outcome: &Outcome, failure: Option<String>) -> serde_json::Value {
    json!({
        "session_id": format!("webchat:{session}"),
        "turn": outcome.turn,
        "text": outcome.text,
        "stop_reason": outcome.stop_reason,
        "model": outcome.model,
        "error": failure,
    })
}
