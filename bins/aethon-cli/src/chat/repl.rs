//! The chat: a prompt, a turn, and again.
//!
//! Between turns the line editor has the terminal, and what others say in the session is printed above the line. During a
//! turn the reply has it. Ctrl-C stops the turn, or clears the line; a second one right after it leaves.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::PathBuf;

use aethon::core::model::Effort;
use aethon::core::visible::{exact, readable};
use anyhow::Result;
use reedline::Signal;

use super::backend::{Backend, Wish};
use super::command::{HELP, Line};
use super::event::{ChatEvent, Told};
use super::input;
use super::interrupts::{Interrupt, Interrupts};
use super::prompt::Editor;
use super::screen::{elsewhere, put, style};
use super::turn::{End, follow};

/// Chats until the person leaves.
pub(crate) async fn run(mut backend: Box<dyn Backend>, session: &str, history: PathBuf) -> Result<()> {
    let mut chat = Chat {
        session: session.to_owned(),
        efforts: HashMap::new(),
        interrupts: Interrupts::watch()?,
        was_interrupted: false,
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
    /// How much the model is to think, by conversation, where it differs from the configuration.
    efforts: HashMap<String, Effort>,
    interrupts: Interrupts,
    /// Whether the last thing that the person did was to press Ctrl-C.
    was_interrupted: bool,
}

impl Chat {
    async fn at_terminal(&mut self, backend: &mut dyn Backend, history: PathBuf) -> Result<()> {
        let about = format!("{}  ·  /help", readable(&backend.describe()));
        put(&format!("{}\n{}\n\n", style().bold("aethon"), style().dim(&about)));
        let mut editor = Editor::new(history);
        loop {
            match self.line(backend, &mut editor).await? {
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

    /// Reads a line, and shows what happens in the session meanwhile.
    async fn line(&mut self, backend: &mut dyn Backend, editor: &mut Editor) -> Result<Signal> {
        let Some(mut reading) = editor.read(&self.session) else { anyhow::bail!("a line is read already") };
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
                told = backend.next(), if lost.is_none() => match told.event {
                    ChatEvent::Lost(why) => {
                        lost = Some(why);
                        editor.stop_reading();
                    }
                    _ => above(told).into_iter().for_each(|text| editor.print(text)),
                },
                interrupt = self.interrupts.next() => if interrupt == Interrupt::End {
                    editor.stop_reading();
                }
            }
        }
    }

    /// Handles one line. `false` to leave.
    async fn take(&mut self, backend: &mut dyn Backend, text: &str) -> Result<bool> {
        match Line::parse(text) {
            Line::Help => put(HELP),
            Line::Quit => return Ok(false),
            Line::Stop => backend.tell(Wish::Stop(None)).await?,
            Line::New(name) => {
                self.session = if name.is_empty() { aethon::core::ids::unique() } else { name.to_owned() };
                backend.enter(&self.session).await?;
                put(&style().dim(&format!("conversation {}\n", exact(&self.session))));
            }
            Line::Effort(word) => put(&style().dim(&format!("{}\n", self.set_effort(word)))),
            Line::Sessions => {
                for (id, title) in backend.sessions().await? {
                    put(&format!("{}  {}\n", exact(&id), style().dim(&readable(&title))));
                }
                put("\n");
            }
            Line::Status => {
                for sentence in backend.reach().await? {
                    put(&format!("- {}\n", readable(&sentence)));
                }
                put("\n");
            }
            Line::Unknown(word) => {
                let words = format!("there is no command {}; nothing was sent", exact(word));
                put(&format!("{}\n\n{HELP}", style().bold(&words)));
            }
            Line::Message(text) => return self.say(backend, text).await,
        }
        Ok(true)
    }

    /// Sets how much the model is to think in this conversation; without a word, only tells it.
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

    /// One turn. `false` to leave.
    async fn say(&mut self, backend: &mut dyn Backend, text: &str) -> Result<bool> {
        let turn = backend.say(text, self.efforts.get(&self.session).copied()).await?;
        let end = follow(backend, &mut self.interrupts, turn).await?;
        self.was_interrupted = end == End::Stopped;
        Ok(end != End::Leave)
    }

    /// Without a terminal, every line is a message and every reply is printed.
    async fn piped(&mut self, backend: &mut dyn Backend) -> Result<()> {
        loop {
            let mut line = std::pin::pin!(input::line());
            let read = loop {
                tokio::select! {
                    line = &mut line => break line,
                    told = backend.next() => if let ChatEvent::Lost(why) = told.event {
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

/// What is printed above the line that is being typed.
fn above(told: Told) -> Option<String> {
    let aside = |text: &str| Some(style().dim(&format!("· {}", readable(text))));
    match told.event {
        ChatEvent::Other(other) => Some(elsewhere(&other, style())),
        ChatEvent::Link(text) | ChatEvent::Notice(text) => aside(&text),
        ChatEvent::Refused(text) => aside(&format!("a message was not taken: {text}")),
        // A turn that was stopped and not waited for.
        ChatEvent::Done(outcome) => aside(&format!("the earlier reply has ended ({})", outcome.stop_reason)),
        _ => None,
    }
}
