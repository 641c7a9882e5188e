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
    ColumnarMenu, EditCommand, EditMode, Emacs, ExternalPrinter, FileBackedHistory, HistoryItem, KeyCode,
    KeyModifiers, Keybindings, MenuBuilder as _, PromptEditMode, PromptHistorySearch, PromptViMode, Reedline,
    ReedlineEvent, ReedlineMenu, ReedlineRawEvent, Signal, ValidationResult, Validator, Vi,
    default_emacs_keybindings, default_vi_insert_keybindings, default_vi_normal_keybindings,
    default_vi_visual_keybindings,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

use super::complete::{ChatCompleter, ListRequest};
use super::editor;
use super::output::put;
use super::paste::{Pastes, WholeHistory};
use super::screen::style;
use super::words::{is_continued, is_incomplete, pasted};

/// The number of lines kept in the history.
const HISTORY: usize = 2000;

/// How many texts can wait to be printed above the line. The editor takes them ten times a second; any excess is dropped,
/// because the transcript has it.
const PRINTED: usize = 256;

/// The name of the menu of completions.
const MENU: &str = "completion";

/// The line editor.
pub(super) struct Editor {
    /// `None` while a line is being read.
    line: Option<Reedline>,
    above: SyncSender<String>,
    /// The last texts given to the editor, some of which it may not have printed yet.
    given: VecDeque<String>,
    leave: Arc<AtomicBool>,
    pastes: Pastes,
    requests: UnboundedReceiver<ListRequest>,
}

/// A line being read.
pub(super) type Reading = JoinHandle<(Reedline, std::io::Result<Signal>)>;

/// How the line is edited.
#[derive(Debug)]
pub(crate) struct Habits {
    /// The file of the history; the drafts of the external editor lie beside it.
    pub(crate) history: PathBuf,
    /// Whether that file keeps what is typed.
    pub(crate) is_kept: bool,
    /// Whether the keys are those of vi.
    pub(crate) is_vi: bool,
}

impl Editor {
    pub(super) fn new(habits: &Habits, pastes: Pastes) -> Self {
        let printer = ExternalPrinter::new(PRINTED);
        let above = printer.sender();
        let leave = Arc::new(AtomicBool::new(false));
        let (sender, requests) = unbounded_channel();
        let menu = ColumnarMenu::default().with_name(MENU).with_marker("> ");
        let line = Reedline::create()
            .with_edit_mode(edit_mode(habits.is_vi, &pastes))
            .with_validator(Box::new(Continued(pastes.clone())))
            .with_ansi_colors(style().colour)
            .use_bracketed_paste(true)
            .with_completer(Box::new(ChatCompleter::new(sender)))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
            .with_external_printer(printer)
            .with_break_signal(leave.clone());
        let line = match editor::command() {
            Some(editor) => line.with_buffer_editor(editor, habits.history.with_file_name("message.md")),
            None => line,
        };
        let history = match habits.is_kept {
            true => FileBackedHistory::with_file(HISTORY, habits.history.clone()),
            false => FileBackedHistory::new(HISTORY),
        };
        let line = match history {
            Ok(file) => line.with_history(Box::new(WholeHistory { file, pastes: pastes.clone() })),
            // An unreadable history is inconvenient, but no reason not to chat.
            Err(_) => line,
        };
        Self { line: Some(line), above, given: VecDeque::new(), leave, pastes, requests }
    }

    /// Waits for the line editor to ask for a list, which Tab completes from.
    pub(super) async fn request(&mut self) -> Option<ListRequest> {
        self.requests.recv().await
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
        self.pastes.forget_continued();
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
        Ok(match signal.context("the terminal cannot be read")? {
            Signal::Success(text) => Signal::Success(self.pastes.unfold(&text)),
            signal => signal,
        })
    }

    /// Returns what stands in the line and was not submitted.
    pub(super) fn unsubmitted(&self) -> String {
        self.line.as_ref().map(|line| self.pastes.unfold(line.current_buffer_contents())).unwrap_or_default()
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

/// Returns the key bindings: those of Emacs or vi, and our own.
fn edit_mode(is_vi: bool, pastes: &Pastes) -> Box<dyn EditMode> {
    let pastes = pastes.clone();
    if is_vi {
        let (mut insert, normal) = (default_vi_insert_keybindings(), default_vi_normal_keybindings());
        bind(&mut insert);
        return Box::new(Plain { keys: Vi::new(insert, normal, default_vi_visual_keybindings()), pastes });
    }
    let mut keys = default_emacs_keybindings();
    bind(&mut keys);
    Box::new(Plain { keys: Emacs::new(keys), pastes })
}

fn bind(keys: &mut Keybindings) {
    let newline = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, newline);
    let complete = ReedlineEvent::UntilFound(vec![ReedlineEvent::Menu(MENU.into()), ReedlineEvent::MenuNext]);
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, complete);
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('o'), ReedlineEvent::OpenEditor);
    let picture = ReedlineEvent::ExecuteHostCommand("/paste".into());
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('v'), picture);
}

/// Characters that would control the terminal are replaced in pasted text, and long pastes are folded.
struct Plain<M> {
    keys: M,
    pastes: Pastes,
}

impl<M: EditMode> EditMode for Plain<M> {
    fn parse_event(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        match Event::from(event) {
            Event::Paste(text) => {
                ReedlineEvent::Edit(vec![EditCommand::InsertString(self.pastes.fold(pasted(&text)))])
            }
            event => match ReedlineRawEvent::try_from(event) {
                Ok(event) => self.keys.parse_event(event),
                Err(()) => ReedlineEvent::None,
            },
        }
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.keys.edit_mode()
    }
}

/// Continues an incomplete message.
struct Continued(Pastes);

impl Validator for Continued {
    fn validate(&self, text: &str) -> ValidationResult {
        // The editor asks only when Enter is pressed.
        if is_continued(text) {
            self.0.note_continued(text);
        }
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
    fn render_prompt_indicator(&self, mode: PromptEditMode) -> std::borrow::Cow<'_, str> {
        if matches!(mode, PromptEditMode::Vi(PromptViMode::Normal)) { ": ".into() } else { "> ".into() }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsubmitted_line_is_kept_whole() {
        let folder = tempfile::tempdir().unwrap();
        let habits = Habits { history: folder.path().join("history"), is_kept: true, is_vi: false };
        let pastes = Pastes::default();
        let mut editor = Editor::new(&habits, pastes.clone());
        assert_eq!(editor.unsubmitted(), "");
        let long = "line\n".repeat(200);
        let line = format!("see {}", pastes.fold(long.clone()));
        editor.line.as_mut().unwrap().run_edit_commands(&[EditCommand::InsertString(line)]);
        assert_eq!(editor.unsubmitted(), format!("see {long}"));
    }
}
