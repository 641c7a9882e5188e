//! The chat loop: a prompt, a turn, and again.
//!
//! Between turns the line editor owns the terminal, and messages of others in the session are printed above the line. During
//! a turn the reply owns it, and what is typed waits: finished messages are sent after it, in order. Ctrl-C stops the turn, or
//! clears the line; a second one right after it leaves. What was not sent by then is printed and kept in the history.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::PathBuf;

use aethon::core::model::Effort;
use aethon::core::visible::{exact, readable};
use anyhow::Result;
use reedline::Signal;

use super::backend::{Backend, Listing, OutgoingMessage, Request};
use super::command::{HELP, Line};
use super::event::{BackendEvent, ChatEvent};
use super::following::End;
use super::input;
use super::interrupts::{Interrupt, Interrupts};
use super::output::put;
use super::prompt::{Editor, prompt};
use super::screen::{elsewhere, style};
use super::turn::{Keyboard, follow};
use super::typed::Typed;

/// Chats until the user leaves.
pub(crate) async fn run(mut backend: Box<dyn Backend>, session: &str, history: PathBuf) -> Result<()> {
    let mut chat = Chat {
        session: session.to_owned(),
        efforts: HashMap::new(),
        interrupts: Interrupts::watch()?,
        was_interrupted: false,
        typed: std::io::stdin().is_terminal().then(Typed::default),
    };
    let outcome = if std::io::stdin().is_terminal() {
        chat.at_terminal(backend.as_mut(), history).await
    } else {
        chat.piped(backend.as_mut()).await
    };
    backend.close().await;
    outcome
}

struct Chat {
    session: String,
    /// The effort by conversation, where it differs from the configuration.
    efforts: HashMap<String, Effort>,
    interrupts: Interrupts,
    /// Whether the user's last action was Ctrl-C.
    was_interrupted: bool,
    /// What was typed ahead; `None` without a terminal.
    typed: Option<Typed>,
}

impl Chat {
    async fn at_terminal(&mut self, backend: &mut dyn Backend, history: PathBuf) -> Result<()> {
        let about = format!("{}  ·  /help", readable(&backend.describe()));
        put(&format!("{}\n{}\n\n", style().bold("aethon"), style().dim(&about)));
        let mut editor = Editor::new(history);
        let outcome = self.until_left(backend, &mut editor).await;
        let rest = self.typed.as_mut().map(Typed::take_all).unwrap_or_default();
        if !rest.trim().is_empty() {
            editor.remember(&rest);
            put(&format!(
                "{}\n{}\n",
                style().dim("not sent, and kept in the history of the line:"),
                readable(&rest)
            ));
        }
        outcome
    }

    async fn until_left(&mut self, backend: &mut dyn Backend, editor: &mut Editor) -> Result<()> {
        loop {
            if let Some(text) = self.typed.as_mut().and_then(Typed::next) {
                put(&echo(&prompt(&self.session), &text));
                editor.remember(&text);
                if !self.take(backend, &text).await? {
                    return Ok(());
                }
                continue;
            }
            match self.line(backend, editor).await? {
                Signal::Success(text) if text.trim().is_empty() => self.was_interrupted = false,
                Signal::Success(text) => {
                    self.was_interrupted = false;
                    if !self.take(backend, &text).await? {
                        return Ok(());
                    }
                }
                Signal::CtrlC if !self.was_interrupted => {
                    self.was_interrupted = true;
                    put(&style().dim("(again to leave, or Ctrl-D, or /quit)\n"));
                }
                _ => return Ok(()),
            }
        }
    }

    /// Reads a line and meanwhile shows events of the session.
    async fn line(&mut self, backend: &mut dyn Backend, editor: &mut Editor) -> Result<Signal> {
        let begun = self.typed.as_mut().map(Typed::take_line).unwrap_or_default();
        let Some(mut reading) = editor.read(&self.session, begun) else {
            anyhow::bail!("a line is read already")
        };
        let mut lost = None;
        loop {
            tokio::select! {
                read = &mut reading => {
                    let signal = editor.finish(read)?;
                    return match lost {
                        Some(why) => Err(anyhow::Error::msg(why)),
                        None => Ok(signal),
                    };
                }
                received = backend.next(), if lost.is_none() => match received.event {
                    ChatEvent::Lost(why) => {
                        lost = Some(why);
                        editor.stop_reading();
                    }
                    _ => above(received).into_iter().for_each(|text| editor.print(text)),
                },
                interrupt = self.interrupts.next() => if interrupt == Interrupt::End {
                    editor.stop_reading();
                }
            }
        }
    }

    /// Handles one line. Returns `false` to leave.
    async fn take(&mut self, backend: &mut dyn Backend, text: &str) -> Result<bool> {
        match Line::parse(text) {
            Line::Help => put(HELP),
            Line::Quit => return Ok(false),
            Line::Stop => backend.tell(Request::Stop(None)).await?,
            Line::New(name) => {
                self.session = if name.is_empty() { aethon::core::ids::unique() } else { name.to_owned() };
                backend.enter(&self.session).await?;
                put(&style().dim(&format!("conversation {}\n", exact(&self.session))));
            }
            Line::Effort(word) => put(&style().dim(&format!("{}\n", self.set_effort(word)))),
            Line::Sessions => show(backend, Listing::Sessions).await?,
            Line::Sops => show(backend, Listing::Sops).await?,
            Line::Status => {
                for sentence in backend.reach().await? {
                    put(&format!("- {}\n", readable(&sentence)));
                }
                put("\n");
            }
            Line::Unknown(word) if calls_sop(backend, word).await? => return self.say(backend, text).await,
            Line::Unknown(word) => {
                let words = format!("there is no command {}; nothing was sent", exact(word));
                put(&format!("{}\n\n{HELP}", style().bold(&words)));
            }
            Line::Message(text) => return self.say(backend, text).await,
        }
        Ok(true)
    }

    /// Sets the effort of this conversation, or shows it if `word` is empty.
    fn set_effort(&mut self, word: &str) -> String {
        match (word, Effort::parse(word)) {
            ("default", _) => drop(self.efforts.remove(&self.session)),
            (_, Some(effort)) => drop(self.efforts.insert(self.session.clone(), effort)),
            ("", None) => {}
            _ => return format!("{word:?} is not an effort: use none, low, medium, high or default"),
        }
        let effort = self.efforts.get(&self.session).map_or("default", |effort| effort.as_str());
        format!("effort {effort}")
    }

    /// Runs one turn. Returns `false` to leave.
    async fn say(&mut self, backend: &mut dyn Backend, text: &str) -> Result<bool> {
        let effort = self.efforts.get(&self.session).copied();
        let turn = backend.say(&OutgoingMessage { effort, ..OutgoingMessage::of(text) }).await?;
        let prompt = prompt(&self.session);
        let keyboard = self.typed.as_mut().map(|typed| Keyboard { typed, prompt: &prompt });
        let end = follow(backend, &mut self.interrupts, turn, keyboard).await?;
        self.was_interrupted = end == End::Stopped;
        if let Some(typed) = self.typed.as_mut().filter(|_| end == End::Stopped) {
            typed.gather();
            // Ctrl-C then clears the line, and does not leave with it.
            self.was_interrupted = typed.line().is_empty();
        }
        Ok(end != End::Leave)
    }

    /// Reads messages line by line and prints every reply, for use without a terminal.
    async fn piped(&mut self, backend: &mut dyn Backend) -> Result<()> {
        loop {
            let mut line = std::pin::pin!(input::line());
            let read = loop {
                tokio::select! {
                    line = &mut line => break line,
                    received = backend.next() => if let ChatEvent::Lost(why) = received.event {
                        anyhow::bail!("{why}");
                    },
                    interrupt = self.interrupts.next() => if interrupt != Interrupt::Resize {
                        break None;
                    }
                }
            };
            match read {
                Some(text) if text.trim().is_empty() => {}
                Some(text) if self.take(backend, &text).await? => {}
                _ => return Ok(()),
            }
        }
    }
}

/// Formats a message as the line editor would leave it.
fn echo(prompt: &str, text: &str) -> String {
    let marks = std::iter::once(prompt).chain(std::iter::repeat(". "));
    marks.zip(readable(text).split('\n')).map(|(mark, line)| format!("{mark}{line}\n")).collect()
}

/// Prints a list.
async fn show(backend: &mut dyn Backend, what: Listing) -> Result<()> {
    for (name, title) in backend.list(what).await? {
        put(&format!("{}  {}\n", exact(&name), style().dim(&readable(&title))));
    }
    put("\n");
    Ok(())
}

/// Returns whether a word calls a SOP, or is `/cancel`, which answers a SOP's question.
async fn calls_sop(backend: &mut dyn Backend, word: &str) -> Result<bool> {
    let name = word.trim_start_matches('/');
    Ok(name == "cancel" || backend.list(Listing::Sops).await?.iter().any(|(known, _)| known == name))
}

/// Returns the text to print above the line being typed.
fn above(received: BackendEvent) -> Option<String> {
    let aside = |text: &str| Some(style().dim(&format!("· {}", readable(text))));
    match received.event {
        ChatEvent::OthersTurn(other) => Some(elsewhere(&other, style())),
        ChatEvent::Connection(text) | ChatEvent::Notice(text) => aside(&text),
        ChatEvent::Refused(text) => aside(&format!("a message was not taken: {text}")),
        // The end of a turn that was stopped and not waited for.
        ChatEvent::Done(outcome) => aside(&format!("the earlier reply has ended ({})", outcome.stop_reason)),
        _ => None,
    }
}
