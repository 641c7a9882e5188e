//! One question and its answer, for scripts and pipes.

use std::io::{IsTerminal, Read, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use aethon::core::approval::Answer;
use aethon::core::visible::{escaped_json, piped, readable};
use anyhow::{Context, Result, bail};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::backend::{Backend, OutgoingMessage, Request};
use super::event::{BackendEvent, ChatEvent, Outcome};
use super::following::LEAVE;
use super::frames::Frames;
use super::interrupts::{Interrupt, Interrupts};
use super::screen::{Screen, style};

/// The maximum size of piped input, in bytes.
const MAX_INPUT: u64 = 512 * 1024;

/// For how long standard input is waited for without a word.
const SILENCE: Duration = Duration::from_millis(800);

/// How a question ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With an answer.
    Answered,
    /// Without one.
    Failed,
    /// By a signal.
    Interrupted,
}

/// What is printed of the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Output {
    /// Its text.
    #[default]
    Text,
    /// One JSON object about the turn, at its end.
    Json,
    /// The frames of the turn as they come, one JSON object per line.
    Events,
}

impl Output {
    /// Returns what these flags ask for.
    pub(crate) fn of(as_json: bool, as_events: bool) -> Self {
        match (as_json, as_events) {
            (_, true) => Self::Events,
            (true, false) => Self::Json,
            (false, false) => Self::Text,
        }
    }
}

/// Returns the question: the words, followed by piped input if that is to be read.
pub(crate) fn question(words: &[String], reads_input: bool) -> Result<String> {
    let text = words.join(" ");
    let piped = match reads_input && !std::io::stdin().is_terminal() {
        true => piped_input()?,
        false => String::new(),
    };
    let parts: Vec<&str> =
        [text.trim(), piped.trim_end()].into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        let words = "there is nothing to ask: give the question as an argument or on standard input";
        return Err(aethon::Error::refused(words).into());
    }
    Ok(parts.join("\n\n"))
}

/// Reads standard input to its end. A script may have left a pipe open that nothing comes through, so on a terminal
/// a line explains the wait.
fn piped_input() -> Result<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut piped = String::new();
        let read = std::io::stdin().lock().take(MAX_INPUT + 1).read_to_string(&mut piped);
        let _ = sender.send(read.map(|_| piped));
    });
    let read = match receiver.recv_timeout(SILENCE) {
        Err(RecvTimeoutError::Timeout) => {
            eprintln!("aethon-cli: waiting for standard input to end; --no-stdin leaves it alone");
            receiver.recv().context("standard input cannot be read")?
        }
        received => received?,
    };
    let piped = read.context("standard input is not readable text")?;
    if piped.len() as u64 > MAX_INPUT {
        bail!(
            "standard input is larger than {} KiB; send less, or put it into the workspace as a file",
            MAX_INPUT / 1024
        );
    }
    Ok(piped)
}

/// Asks a question, and returns how it ended. Approval requests are denied, because no person is there to see them. On a
/// signal the turn is stopped, and the program exits once the text so far is stored.
pub(crate) async fn run(
    mut backend: Box<dyn Backend>,
    session: &str,
    message: &OutgoingMessage,
    output: Output,
) -> Result<Ended> {
    let frames = (output == Output::Events).then(Frames::default);
    let mut events = Events { interrupts: Interrupts::watch()?, turn: None, leaving: None, frames };
    let form = Form { session, output, has_schema: message.schema.is_some() };
    let ended = match events.begin(&mut *backend, session, message).await {
        Ok(()) => answer(&mut *backend, &mut events, &form).await,
        Err(error) => Err(error),
    };
    if let (Err(error), Some(frames)) = (&ended, &mut events.frames)
        && frames.failed(&readable(&format!("{error:#}"))).is_err()
    {
        // Nobody reads the answer any more, and it may cost money.
        let _ = backend.tell(Request::Stop(events.turn.clone())).await;
    }
    backend.close().await;
    match ended {
        // The text so far is stored, and what else went wrong is a consequence.
        _ if events.leaving.is_some() => Ok(Ended::Interrupted),
        ended => ended,
    }
}

/// Follows the turn to its end, and prints the answer.
async fn answer(backend: &mut dyn Backend, events: &mut Events, form: &Form<'_>) -> Result<Ended> {
    // Only a person wants to watch the answer arrive; a program wants the answer and nothing else. An answer that must fit
    // a schema is for a program, too, and is checked before it counts.
    let is_text = form.output == Output::Text && !form.has_schema;
    let outcome = match is_text && std::io::stdout().is_terminal() {
        true => shown(backend, events).await?,
        false => {
            let (collected, outcome) = collect(backend, events).await?;
            match form.output {
                Output::Events => {}
                Output::Json => {
                    let document = document(form.session, &outcome, collected.failure).to_string();
                    print(&format!("{}\n", escaped_json(&document)))?;
                }
                Output::Text if form.has_schema => collected.print_checked(&outcome)?,
                Output::Text => collected.print(&outcome)?,
            }
            outcome
        }
    };
    Ok(if outcome.stop_reason == "end" { Ended::Answered } else { Ended::Failed })
}

/// Writes to standard output. A script must not take a paid answer that was lost for one that it has.
fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("the answer could not be written")
}

/// The form in which an answer is printed.
struct Form<'a> {
    session: &'a str,
    output: Output,
    has_schema: bool,
}

/// The events of the turn, handled without asking anybody.
struct Events {
    interrupts: Interrupts,
    /// The turn that answers the question, once known. Other turns of the session are ignored.
    turn: Option<String>,
    /// The deadline for a stopped turn to end.
    leaving: Option<Instant>,
    /// Where the frames go, if they are wanted.
    frames: Option<Frames>,
}

/// An event that matters to the question.
enum Next {
    Event(ChatEvent),
    Resize,
}

impl Events {
    /// Sends the message.
    async fn begin(
        &mut self,
        backend: &mut dyn Backend,
        session: &str,
        message: &OutgoingMessage,
    ) -> Result<()> {
        if let Some(frames) = &mut self.frames {
            frames.ready(session)?;
        }
        // A message that is not taken is a failure, as beside a server, whose socket does not say of what kind.
        self.turn = backend.say(message).await.map_err(|error| {
            let is_ours = error.is::<aethon::core::error::Error>();
            if is_ours { anyhow::Error::msg(format!("{error:#}")) } else { error }
        })?;
        if let (Some(frames), Some(turn)) = (&mut self.frames, &self.turn) {
            frames.taken(turn)?;
        }
        Ok(())
    }

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
                        let tool = readable(&request.tool);
                        eprintln!(
                            "aethon-cli: `{tool}` needs approval, and no person could be asked; `chat` asks"
                        );
                        backend.tell(Request::Decide { id: request.id, answer: Answer::unasked() }).await?;
                    }
                    event => return Ok(Next::Event(event)),
                }
            }
        }
    }

    /// Returns the event if it belongs to the question's turn.
    fn concerns(&mut self, received: BackendEvent) -> Result<Option<ChatEvent>> {
        let is_own = received.turn.is_empty() || self.turn.as_deref().is_none_or(|own| own == received.turn);
        if let (Some(frames), true) = (&mut self.frames, is_own) {
            frames.event(&received)?;
        }
        let BackendEvent { turn, event, .. } = received;
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
            // A program that follows the frames has the notice.
            ChatEvent::Notice(_) if events.frames.is_some() => {}
            ChatEvent::Notice(text) | ChatEvent::Connection(text) => {
                eprintln!("aethon-cli: {}", readable(&text))
            }
            _ => {}
        }
    }
}

impl CollectedAnswer {
    /// Prints JSON that fits the schema, and nothing else to standard output; what does not fit is for a person to see.
    fn print_checked(&self, outcome: &Outcome) -> Result<()> {
        if outcome.stop_reason == "end" && self.failure.is_none() {
            return print(&format!("{}\n", escaped_json(outcome.text.trim())));
        }
        let failure = self.failure.as_deref().unwrap_or_default();
        let raw = outcome.text.strip_suffix(failure).unwrap_or(&outcome.text).trim_end();
        if !raw.is_empty() {
            eprintln!("{}", readable(raw));
        }
        if let Some(failure) = &self.failure {
            eprintln!("aethon-cli: {}", readable(failure));
        }
        Ok(())
    }

    /// Prints the answer as written, without characters that could control a terminal. Failures are not part of it.
    fn print(&self, outcome: &Outcome) -> Result<()> {
        let answer = if self.failure.is_some() { &self.text } else { &outcome.text };
        if !answer.is_empty() {
            print(&format!("{}\n", piped(answer.trim_end_matches('\n'))))?;
        }
        if let Some(failure) = &self.failure {
            eprintln!("aethon-cli: {}", readable(failure));
        }
        Ok(())
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
