//! The chat loop: a prompt, a turn, and again.
//!
//! Between turns the line editor owns the terminal, and messages of others in the session are printed above the line. During
//! a turn the reply owns it, and typed text waits: finished messages are sent after it, in order. Ctrl-C stops the turn, or
//! clears the line; a second one right after it leaves. Unsent text is printed then, and kept in the history.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use aethon::core::model::Effort;
use aethon::core::visible::{exact, readable};
use anyhow::{Result, bail};
use reedline::Signal;

use super::actions::{
    conversations, copy, export, last_exchange, last_message, recap, search, show_choices, usage,
};
use super::attach::{self, Named};
use super::backend::{Backend, Earlier, Listing, OutgoingMessage, Request};
use super::background;
use super::clipboard;
use super::command::{Line, help, remedy};
use super::complete::ListRequest;
use super::editor;
use super::event::ChatEvent;
use super::file_changes::{self, Meanwhile};
use super::following::End;
use super::input;
use super::interrupts::{Interrupt, Interrupts};
use super::output::put;
use super::paste::Pastes;
use super::prompt::{Editor, Habits, prompt};
use super::run;
use super::screen::{elsewhere, listed, style};
use super::turn::{Keyboard, follow};
use super::typed::Typed;
use super::words::{grouped, is_temporary};

/// What a temporary conversation is.
const TEMPORARY: &str =
    "temporary: in no list, and gone when you leave it or the server stops; tools still act";

/// How the chat begins.
#[derive(Debug)]
pub(crate) struct Start {
    /// The conversation.
    pub(crate) session: String,
    /// Whether to continue the newest conversation instead.
    pub(crate) continues: bool,
    /// How lines are edited.
    pub(crate) habits: Habits,
}

/// Chats until the user leaves.
pub(crate) async fn run(mut backend: Box<dyn Backend>, start: Start) -> Result<()> {
    let Start { session, continues, habits } = start;
    let pastes = Pastes::default();
    let mut chat = Chat {
        session,
        efforts: HashMap::new(),
        interrupts: Interrupts::watch()?,
        was_interrupted: false,
        typed: std::io::stdin().is_terminal().then(|| Typed::new(pastes.clone())),
        pastes,
        choices: Vec::new(),
        replaced: None,
        drafts: habits.history.parent().map(Path::to_owned).unwrap_or_default(),
    };
    let outcome = if std::io::stdin().is_terminal() {
        chat.at_terminal(backend.as_mut(), &habits, continues).await
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
    /// Text typed ahead; `None` without a terminal.
    typed: Option<Typed>,
    /// Pasted texts.
    pastes: Pastes,
    /// The conversations of which the user may choose one by its number.
    choices: Vec<String>,
    /// The turn whose message the next one replaces.
    replaced: Option<String>,
    /// The folder for drafts of the user's editor.
    drafts: PathBuf,
}

impl Chat {
    async fn at_terminal(
        &mut self,
        backend: &mut dyn Backend,
        habits: &Habits,
        continues: bool,
    ) -> Result<()> {
        let about = format!("{}  ·  /help", readable(&backend.describe()));
        put(&format!("{}\n{}\n\n", style().bold("aethon"), style().dim(&about)));
        if is_temporary(&self.session) {
            put(&format!("{}\n\n", style().dim(TEMPORARY)));
        }
        if continues {
            match conversations(backend).await?.into_iter().next() {
                Some((newest, _)) => self.enter(backend, &newest).await?,
                None => put(&style().dim("there is no conversation to continue yet; this is a new one\n")),
            }
        }
        let mut editor = Editor::new(habits, self.pastes.clone());
        let outcome = self.until_left(backend, &mut editor).await;
        let rest = self.typed.as_mut().map(Typed::take_all).unwrap_or_default();
        if !rest.trim().is_empty() {
            editor.remember(&rest);
            let words = match habits.is_kept {
                true => "not sent, and kept in the history of the line:",
                false => "not sent:",
            };
            put(&format!("{}\n{}\n", style().dim(words), readable(&rest)));
        }
        outcome
    }

    async fn until_left(&mut self, backend: &mut dyn Backend, editor: &mut Editor) -> Result<()> {
        loop {
            if let Some(text) = self.typed.as_mut().and_then(Typed::next) {
                put(&echo(&prompt(self.place()), &text));
                editor.remember(&text);
                if !self.take(backend, &text).await? {
                    return Ok(());
                }
                continue;
            }
            match self.line(backend, editor).await? {
                Signal::Success(text) if text.trim().is_empty() => {
                    self.was_interrupted = false;
                    self.choices.clear();
                }
                Signal::Success(text) => {
                    self.was_interrupted = false;
                    if !self.take(backend, &text).await? {
                        return Ok(());
                    }
                }
                // A key that stands for a command. The line stays as it is, and is continued.
                Signal::HostCommand(command) => {
                    self.was_interrupted = false;
                    if !self.take(backend, &command).await? {
                        return Ok(());
                    }
                }
                Signal::CtrlC if !self.was_interrupted => {
                    self.was_interrupted = true;
                    self.choices.clear();
                    if self.replaced.take().is_some() {
                        put(&style().dim("the message is unchanged\n"));
                    }
                    put(&style().dim("(again to leave, or Ctrl-D, or /quit)\n"));
                }
                _ => return Ok(()),
            }
        }
    }

    /// Reads a line and meanwhile shows events of the session.
    async fn line(&mut self, backend: &mut dyn Backend, editor: &mut Editor) -> Result<Signal> {
        let begun = self.typed.as_mut().map(Typed::take_line).unwrap_or_default();
        let Some(mut reading) = editor.read(self.place(), begun) else {
            anyhow::bail!("a line is read already")
        };
        let mut lost = None;
        loop {
            tokio::select! {
                read = &mut reading => {
                    let signal = editor.finish(read);
                    match &signal {
                        Ok(Signal::Success(text)) if lost.is_some() => self.prefill(text),
                        Ok(Signal::ExternalBreak(_)) | Err(_) => self.prefill(&editor.unsubmitted()),
                        Ok(_) => {}
                    }
                    return match lost {
                        Some(why) => Err(anyhow::Error::msg(why)),
                        None => signal,
                    };
                }
                received = backend.next(), if lost.is_none() => match received.event {
                    ChatEvent::Lost(why) => {
                        lost = Some(why);
                        editor.stop_reading();
                    }
                    event => {
                        let is_answer = matches!(event, ChatEvent::OthersTurn(_) | ChatEvent::Done(_));
                        above(event).into_iter().for_each(|text| editor.print(text));
                        if is_answer {
                            self.note_seen(backend).await;
                        }
                    }
                },
                request = editor.request() => if let Some(ListRequest { what, answer }) = request {
                    // A list that cannot be read completes nothing; a line editor that waits no more wants nothing.
                    let _ = answer.send(backend.list(what).await.unwrap_or_default());
                },
                interrupt = self.interrupts.next() => if interrupt == Interrupt::End {
                    editor.stop_reading();
                }
            }
        }
    }

    /// Returns the word before the prompt.
    fn place(&self) -> &str {
        match self.choices.is_empty() {
            true if is_temporary(&self.session) => "temporary",
            true => &self.session,
            false => "number",
        }
    }

    /// Handles one line. Returns `false` to leave. What cannot be done is only said, except without a terminal, where a script
    /// must learn of it.
    async fn take(&mut self, backend: &mut dyn Backend, text: &str) -> Result<bool> {
        if !self.choices.is_empty() && !text.trim_start().starts_with('/') {
            self.choose(backend, text).await?;
            return Ok(true);
        }
        self.choices.clear();
        match self.act(backend, text).await {
            Err(error) if self.typed.is_some() => {
                put(&format!("{}\n\n", style().alarm(&readable(&format!("{error:#}")))));
                Ok(true)
            }
            done => done,
        }
    }

    async fn act(&mut self, backend: &mut dyn Backend, text: &str) -> Result<bool> {
        match Line::parse(text) {
            Line::Help => put(&help()),
            Line::Quit => return Ok(false),
            Line::Stop => backend.tell(Request::Stop(None)).await?,
            Line::New(name) => {
                let name = if name.is_empty() { aethon::core::ids::unique() } else { name.to_owned() };
                self.go_to(backend, &name).await?;
            }
            Line::Resume("") => self.offer_choices(backend).await?,
            Line::Resume(name) => self.enter(backend, name.trim_start_matches("webchat:")).await?,
            Line::Search(words) => search(backend, words).await?,
            Line::Retry => return self.retry(backend).await,
            Line::Undo("") => self.undo(backend).await?,
            Line::Undo("files") => self.undo_files(backend).await?,
            Line::Undo(word) => {
                bail!(
                    "there is no /undo {}; /undo takes the message back, /undo files the files",
                    exact(word)
                )
            }
            Line::Redo => file_changes::redo(backend).await?,
            Line::Edit(text) => self.prefill(&editor::edited(text, &self.drafts)?),
            Line::Run(command) => self.run_command(command).await?,
            Line::Paste => self.paste().await?,
            Line::Copy => copy(backend).await?,
            Line::Export(file) => export(backend, &self.session, file).await?,
            Line::Commands(words) => background::act(backend, words).await?,
            Line::Usage => usage(backend).await?,
            Line::Effort(word) => put(&style().dim(&format!("{}\n", self.set_effort(word)))),
            Line::Sessions => show(backend, Listing::Sessions).await?,
            Line::Sops => show(backend, Listing::Sops).await?,
            Line::Status => {
                let sentences = backend.reach().await?;
                put(&format!("{}\n", listed(&sentences)));
            }
            Line::Unknown(word) if calls_sop(backend, word).await? => {
                return self.say(backend, text, text).await;
            }
            Line::Unknown(word) => {
                let words = format!("there is no command {}; nothing was sent", exact(word));
                put(&format!("{}\n{}\n", style().bold(&words), style().dim(&remedy(word))));
            }
            Line::Message(message) => return self.say(backend, message, text).await,
        }
        Ok(true)
    }

    /// Goes to a conversation, which may be new.
    async fn go_to(&mut self, backend: &mut dyn Backend, name: &str) -> Result<()> {
        backend.enter(name).await?;
        name.clone_into(&mut self.session);
        self.replaced = None;
        put(&style().dim(&format!("conversation {}\n", exact(&self.session))));
        Ok(())
    }

    /// Goes to a conversation and shows where it stands.
    async fn enter(&mut self, backend: &mut dyn Backend, name: &str) -> Result<()> {
        self.go_to(backend, name).await?;
        match last_exchange(backend).await? {
            Some(last) => {
                recap(&last);
                self.note_seen(backend).await;
            }
            None => {
                put(&style()
                    .dim("nothing has been said here yet; /resume shows the conversations there are\n"))
            }
        }
        Ok(())
    }

    /// Lets the user choose a conversation by its number.
    async fn offer_choices(&mut self, backend: &mut dyn Backend) -> Result<()> {
        let conversations = conversations(backend).await?;
        if conversations.is_empty() {
            anyhow::bail!("there is no conversation yet");
        }
        show_choices(&conversations);
        self.choices = conversations.into_iter().map(|(name, _)| name).collect();
        Ok(())
    }

    /// Goes to the conversation of a number. Any other line is no message, and goes back to be edited.
    async fn choose(&mut self, backend: &mut dyn Backend, line: &str) -> Result<()> {
        let choices = std::mem::take(&mut self.choices);
        let number = line.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        if let Some(name) = number.and_then(|number| choices.get(number)) {
            return self.enter(backend, name).await;
        }
        put(&format!("choose a number from 1 to {}; nothing was sent\n\n", choices.len()));
        self.prefill(line);
        Ok(())
    }

    /// Puts a text into the next line, where it can be edited.
    fn prefill(&mut self, text: &str) {
        if let Some(typed) = &mut self.typed {
            typed.prefill(text);
        }
    }

    /// Has the last message answered again. Returns `false` to leave.
    async fn retry(&mut self, backend: &mut dyn Backend) -> Result<bool> {
        let last = last_message(backend).await?;
        file_changes::tell_changes(backend, &last.outcome.turn, Meanwhile::AnsweredAgain).await;
        let earlier = Some(Earlier::Retried(last.outcome.turn));
        let turn =
            self.begin_turn(backend, OutgoingMessage { earlier, ..OutgoingMessage::default() }).await?;
        Ok(self.follow_turn(backend, turn).await? != End::Leave)
    }

    /// Takes the last message back into the line.
    async fn undo(&mut self, backend: &mut dyn Backend) -> Result<()> {
        let last = last_message(backend).await?;
        put(&style().dim("what you send now replaces this message and its answer; Ctrl-C leaves them\n"));
        file_changes::tell_changes(backend, &last.outcome.turn, Meanwhile::Edited).await;
        self.replaced = Some(last.outcome.turn);
        self.prefill(&last.said);
        Ok(())
    }

    /// Puts the files back that tools have changed since the last message. One that is being replaced stays in the line.
    async fn undo_files(&mut self, backend: &mut dyn Backend) -> Result<()> {
        let last = last_message(backend).await?;
        file_changes::put_back(backend, &last.outcome.turn).await?;
        if self.replaced.is_some() {
            self.prefill(&last.said);
        }
        Ok(())
    }

    /// Runs a command in the user's shell, and puts its output into the next line.
    async fn run_command(&mut self, command: &str) -> Result<()> {
        if self.typed.is_none() {
            anyhow::bail!("/run needs a terminal; a script runs the command itself and pipes its output in");
        }
        if command.is_empty() {
            anyhow::bail!("name the command to run: /run COMMAND");
        }
        let ran = run::run(command).await?;
        self.interrupts.forget_stop().await;
        put(&style().dim("the next message takes the output along; Ctrl-C leaves it out\n"));
        let mark = self.pastes.keep_output(ran.text, ran.lines);
        self.prefill(&format!("{mark} "));
        Ok(())
    }

    /// Puts the picture in the clipboard into the next line.
    async fn paste(&mut self) -> Result<()> {
        if self.typed.is_none() {
            anyhow::bail!("/paste needs a terminal");
        }
        let mark = self.pastes.keep_picture(clipboard::picture().await?);
        self.prefill(&format!("{mark} "));
        Ok(())
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

    /// Sends the message of a line, with the files that it names. Returns `false` to leave.
    async fn say(&mut self, backend: &mut dyn Backend, text: &str, line: &str) -> Result<bool> {
        // Piped text may be anybody's, so it names no files.
        let named = self.typed.is_some().then(|| attach::named_in(text, &self.pastes)).transpose();
        let Named { files, pasted, missing } = match named {
            Ok(named) => named.unwrap_or_default(),
            Err(error) => {
                self.give_back(line);
                return Err(error.context("nothing was sent"));
            }
        };
        for word in pasted {
            let why = "was pasted, so it is only text; to send the file, type its path in another form";
            put(&style().dim(&format!("· {} {why}\n", exact(&word))));
        }
        for word in missing {
            put(&style().dim(&format!("· there is no file for {}, so it is only text\n", exact(&word))));
        }
        for file in &files {
            put(&style().dim(&format!(
                "· with {}, {} bytes\n",
                exact(&file.name),
                grouped(file.bytes.len() as u64)
            )));
        }
        let replaced = self.replaced.take();
        let earlier = replaced.clone().map(Earlier::Replaced);
        let message = OutgoingMessage { files, earlier, ..OutgoingMessage::of(text) };
        let (end, is_unsent) = match self.begin_turn(backend, message).await {
            Ok(turn) => {
                let end = self.follow_turn(backend, turn).await;
                let is_refused = matches!(end, Ok(End::Refused));
                (end, is_refused)
            }
            Err(error) => (Err(error), true),
        };
        if is_unsent && self.typed.is_some() {
            self.give_back(line);
            self.replaced = replaced;
        }
        Ok(end? != End::Leave)
    }

    /// Puts an unsent message back into the line, together with queued ones, because they may build on it.
    fn give_back(&mut self, line: &str) {
        if let Some(typed) = &mut self.typed {
            typed.give_back(line);
        }
    }

    /// Sends a message. Returns its turn, if known.
    async fn begin_turn(
        &mut self,
        backend: &mut dyn Backend,
        message: OutgoingMessage,
    ) -> Result<Option<String>> {
        let effort = self.efforts.get(&self.session).copied();
        backend.say(&OutgoingMessage { effort, ..message }).await
    }

    /// Follows a turn to its end.
    async fn follow_turn(&mut self, backend: &mut dyn Backend, turn: Option<String>) -> Result<End> {
        let prompt = prompt(self.place());
        let keyboard = self.typed.as_mut().map(|typed| Keyboard { typed, prompt: &prompt });
        let end = follow(backend, &mut self.interrupts, turn, keyboard).await?;
        self.note_seen(backend).await;
        self.was_interrupted = end == End::Stopped;
        if let Some(typed) = self.typed.as_mut().filter(|_| end == End::Stopped) {
            typed.gather();
            // Ctrl-C then clears the line, and does not leave with it.
            self.was_interrupted = typed.line().is_empty();
        }
        Ok(end)
    }

    /// Notes that the user has seen the conversation. A script has seen nothing.
    async fn note_seen(&self, backend: &mut dyn Backend) {
        if self.typed.is_some() {
            // An unread mark too many is no reason to end the chat.
            let _ = backend.tell(Request::Read).await;
        }
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
fn above(event: ChatEvent) -> Option<String> {
    let aside = |text: &str| Some(style().dim(&format!("· {}", readable(text))));
    match event {
        ChatEvent::OthersTurn(other) => Some(elsewhere(&other, style())),
        ChatEvent::Connection(text) | ChatEvent::Notice(text) => aside(&text),
        ChatEvent::Refused(text) => aside(&format!("a message was not taken: {text}")),
        // The end of a turn that was stopped and not waited for.
        ChatEvent::Done(outcome) => aside(&format!("the earlier reply has ended ({})", outcome.stop_reason)),
        _ => None,
    }
}
