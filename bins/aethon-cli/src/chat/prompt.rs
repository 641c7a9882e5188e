//! The line editor: typing, pasting and history.
//!
//! It blocks on the terminal, so it reads on its own thread. Events of the session are printed above the line meanwhile, which
//! stays intact.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use anyhow::{Context, Result};
use crossterm::event::Event;
use reedline::{
    EditCommand, EditMode, Emacs, ExternalPrinter, FileBackedHistory, HistoryItem, KeyCode, KeyModifiers,
    PromptEditMode, PromptHistorySearch, Reedline, ReedlineEvent, ReedlineRawEvent, Signal, ValidationResult,
    Validator, default_emacs_keybindings,
};
use tokio::task::JoinHandle;

use super::output::put;
use super::screen::style;

/// The number of lines kept in the history.
const HISTORY: usize = 2000;

/// How many texts can wait to be printed above the line. The editor takes them ten times a second; any excess is dropped,
/// because the transcript has it.
const PRINTED: usize = 256;

/// The line editor.
pub(super) struct Editor {
    /// `None` while a line is being read.
    line: Option<Reedline>,
    above: SyncSender<String>,
    /// The last texts given to the editor, some of which it may not have printed yet.
    given: VecDeque<String>,
    leave: Arc<AtomicBool>,
}

/// A line being read.
pub(super) type Reading = JoinHandle<(Reedline, std::io::Result<Signal>)>;

impl Editor {
    pub(super) fn new(history: PathBuf) -> Self {
        let mut keys = default_emacs_keybindings();
        keys.add_binding(
            KeyModifiers::ALT,
            KeyCode::Enter,
            ReedlineEvent::Edit(vec![EditCommand::InsertNewline]),
        );
        let printer = ExternalPrinter::new(PRINTED);
        let above = printer.sender();
        let leave = Arc::new(AtomicBool::new(false));
        let line = Reedline::create()
            .with_edit_mode(Box::new(Plain(Emacs::new(keys))))
            .with_validator(Box::new(Continued))
            .with_ansi_colors(style().colour)
            .use_bracketed_paste(true)
            .with_external_printer(printer)
            .with_break_signal(leave.clone());
        let line = match FileBackedHistory::with_file(HISTORY, history) {
            Ok(history) => line.with_history(Box::new(history)),
            // An unreadable history is inconvenient, but no reason not to chat.
            Err(_) => line,
        };
        Self { line: Some(line), above, given: VecDeque::new(), leave }
    }

    /// Adds a text to the history.
    pub(super) fn remember(&mut self, text: &str) {
        if let Some(line) = &mut self.line {
            // An unwritable history is inconvenient, but no reason not to chat.
            let _ = line.history_mut().save(HistoryItem::from_command_line(text));
        }
    }

    /// Starts reading a line that begins with this text. `None` if one is already being read.
    pub(super) fn read(&mut self, session: &str, begun: String) -> Option<Reading> {
        let mut line = self.line.take()?;
        if !begun.is_empty() {
            line.run_edit_commands(&[EditCommand::InsertString(begun)]);
        }
        let prompt = Prompt(session.to_owned());
        Some(tokio::task::spawn_blocking(move || {
            let read = line.read_line(&prompt);
            (line, read)
        }))
    }

    /// Takes the editor back and returns the line.
    pub(super) fn finish(
        &mut self,
        read: Result<(Reedline, std::io::Result<Signal>), tokio::task::JoinError>,
    ) -> Result<Signal> {
        let (line, signal) = read.context("the line editor failed")?;
        let printer = ExternalPrinter::new(PRINTED);
        self.print_the_rest();
        self.above = printer.sender();
        self.line = Some(line.with_external_printer(printer));
        signal.context("the terminal cannot be read")
    }

    /// Prints a text above the line being read.
    pub(super) fn print(&mut self, text: String) {
        if self.above.try_send(text.clone()).is_ok() {
            self.given.push_back(text);
        }
        if self.given.len() > PRINTED {
            self.given.pop_front();
        }
    }

    /// Prints the texts that the editor had not printed when the line was submitted; it would print them above the next line, out
    /// of order. The editor does not report how many there are, so the free space in the queue is counted.
    fn print_the_rest(&mut self) {
        let free = std::iter::from_fn(|| self.above.try_send(String::new()).ok()).take(PRINTED).count();
        let waiting = self.given.len().min(PRINTED - free);
        for text in self.given.split_off(self.given.len() - waiting) {
            put(&format!("{}\n", text.trim_end_matches('\n')));
        }
        self.given.clear();
    }

    /// Cancels reading a line.
    pub(super) fn stop_reading(&self) {
        self.leave.store(true, Ordering::Relaxed);
    }
}

/// Emacs key bindings; characters that would control the terminal are replaced in pasted text.
struct Plain(Emacs);

impl EditMode for Plain {
    fn parse_event(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        match Event::from(event) {
            Event::Paste(text) => ReedlineEvent::Edit(vec![EditCommand::InsertString(pasted(&text))]),
            event => match ReedlineRawEvent::try_from(event) {
                Ok(event) => self.0.parse_event(event),
                Err(()) => ReedlineEvent::None,
            },
        }
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.0.edit_mode()
    }
}

/// Returns a pasted text as it is inserted.
pub(super) fn pasted(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").chars().map(shown).collect()
}

/// Returns whether Enter continues the message: after a trailing backslash, and within an open code fence.
pub(super) fn is_incomplete(text: &str) -> bool {
    let fences = text.lines().filter(|line| line.trim_start().starts_with("```")).count();
    fences % 2 == 1 || text.ends_with('\\')
}

/// Returns the visible symbol of a control character, such as ␛, so that the user sees exactly the text that is sent.
fn shown(c: char) -> char {
    match u32::from(c) {
        _ if c == '\n' || c == '\t' => c,
        code @ 0..=0x1f => char::from_u32(0x2400 + code).unwrap_or('\u{fffd}'),
        0x7f => '\u{2421}',
        0x80..=0x9f => '\u{fffd}',
        _ => c,
    }
}

/// Continues an incomplete message.
struct Continued;

impl Validator for Continued {
    fn validate(&self, text: &str) -> ValidationResult {
        if is_incomplete(text) { ValidationResult::Incomplete } else { ValidationResult::Complete }
    }
}

/// Returns the prompt in this conversation.
pub(super) fn prompt(session: &str) -> String {
    format!("{}> ", name_of(session))
}

fn name_of(session: &str) -> String {
    if session == "default" { String::new() } else { session.chars().take(12).collect() }
}

/// The prompt, which names the conversation unless it is the default one.
struct Prompt(String);

impl reedline::Prompt for Prompt {
    fn render_prompt_left(&self) -> std::borrow::Cow<'_, str> {
        name_of(&self.0).into()
    }
    fn render_prompt_right(&self) -> std::borrow::Cow<'_, str> {
        "".into()
    }
    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> std::borrow::Cow<'_, str> {
        "> ".into()
    }
    fn render_prompt_multiline_indicator(&self) -> std::borrow::Cow<'_, str> {
        ". ".into()
    }
    fn render_prompt_history_search_indicator(
        &self,
        search: PromptHistorySearch,
    ) -> std::borrow::Cow<'_, str> {
        format!("(search: {}) ", search.term).into()
    }
}
