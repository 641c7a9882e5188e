//! The loop of prompt and turn.
//!
//! Ctrl-C stops the turn, or clears the line; a second one right after it leaves. Enter sends; Alt-Enter, or a backslash
//! at the end of a line, breaks the line. What was typed is remembered in the home.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use aethon::core::model::Effort;
use anyhow::{Context, Result};
use reedline::{
    EditCommand, Emacs, FileBackedHistory, KeyCode, KeyModifiers, Prompt, PromptEditMode,
    PromptHistorySearch, Reedline, ReedlineEvent, Signal, ValidationResult, Validator,
    default_emacs_keybindings,
};

use super::backend::Backend;
use super::event::ChatEvent;
use super::input;
use super::interrupts::{Interrupt, Interrupts};
use super::screen::{Screen, put, style};

/// How many lines are remembered.
const HISTORY: usize = 2000;

/// How long a stopped turn may take to end before the program leaves all the same.
pub(super) const LEAVE: Duration = Duration::from_secs(3);

const HELP: &str = "\
/new [NAME]     a new conversation, or one of that name
/sessions       the conversations there are
/effort [LEVEL] how much the model thinks here: none, low, medium, high, or default
/stop           stop the running turn
/help           this help
/quit           leave (or Ctrl-D)

Enter sends. Alt-Enter, or \\ at the end of a line, starts a new line. Ctrl-C stops a reply, and leaves when pressed again.
";

/// Chats until the person leaves.
pub(crate) async fn run(mut backend: Box<dyn Backend>, session: &str, history: PathBuf) -> Result<()> {
    let is_terminal = std::io::stdin().is_terminal();
    let mut chat = Chat {
        session: session.to_owned(),
        efforts: HashMap::new(),
        interrupts: if is_terminal { Interrupts::of_keyboard()? } else { Interrupts::all()? },
        was_interrupted: false,
    };
    if !is_terminal {
        return chat.piped(backend.as_mut()).await;
    }
    put(&format!(
        "{}\n{}\n\n",
        style().bold("aethon"),
        style().dim(&format!("{}  ·  /help", backend.describe()))
    ));
    let mut editor = Some(editor(history));
    while let Some(mut reading) = editor.take() {
        // The editor blocks on the terminal, so it reads on a thread of its own and comes back with the line.
        let prompt = Bare(chat.session.clone());
        let (back, line) = tokio::task::spawn_blocking(move || {
            let line = reading.read_line(&prompt);
            (reading, line)
        })
        .await
        .context("the line editor failed")?;
        editor = Some(back);
        match line.context("the terminal cannot be read")? {
            Signal::Success(text) if text.trim().is_empty() => chat.was_interrupted = false,
            Signal::Success(text) => {
                chat.was_interrupted = false;
                if !chat.take(backend.as_mut(), &text).await? {
                    break;
                }
            }
            Signal::CtrlC if !chat.was_interrupted => {
                chat.was_interrupted = true;
                put(&style().dim("(again to leave, or Ctrl-D, or /quit)\n"));
            }
            _ => break,
        }
    }
    backend.close().await;
    Ok(())
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
    /// Handles one line. `false` to leave.
    async fn take(&mut self, backend: &mut dyn Backend, text: &str) -> Result<bool> {
        let (command, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        match command {
            "/help" | "/?" => put(HELP),
            "/quit" | "/exit" => return Ok(false),
            "/stop" => backend.stop(&self.session).await?,
            "/new" => {
                self.session =
                    if rest.trim().is_empty() { aethon::core::ids::unique() } else { rest.trim().to_owned() };
                put(&style().dim(&format!("conversation {}\n", self.session)));
            }
            "/effort" => put(&style().dim(&format!("{}\n", self.set_effort(rest.trim())))),
            "/sessions" => {
                for (id, title) in backend.sessions().await? {
                    put(&format!("{id}  {}\n", style().dim(&crate::render::plain(&title))));
                }
            }
            _ => return self.turn(backend, text).await,
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
    async fn turn(&mut self, backend: &mut dyn Backend, text: &str) -> Result<bool> {
        backend.say(&self.session, text, self.efforts.get(&self.session).copied()).await?;
        let mut screen = Screen::new(style());
        let mut stopping = None;
        loop {
            let event = tokio::select! {
                event = backend.next() => event,
                interrupt = self.interrupts.next() => {
                    if stopping.replace(interrupt).is_some() {
                        return Ok(false);
                    }
                    self.was_interrupted = true;
                    backend.stop(&self.session).await?;
                    continue;
                }
                () = tokio::time::sleep(LEAVE), if stopping.is_some() => {
                    return Ok(stopping != Some(Interrupt::End));
                }
            };
            match event {
                ChatEvent::Lost(why) => anyhow::bail!("{why}"),
                ChatEvent::Approval { id, tool, input, summary } => {
                    screen.question(&tool, &input, &summary);
                    self.decide(backend, &mut screen, &id).await?;
                }
                event => {
                    if screen.show(event).is_some() {
                        return Ok(stopping != Some(Interrupt::End));
                    }
                }
            }
        }
    }

    /// Waits for a yes or a no, or until the question is settled without one.
    async fn decide(&mut self, backend: &mut dyn Backend, screen: &mut Screen, id: &str) -> Result<()> {
        put("  run it? type yes to approve, anything else denies: ");
        tokio::select! {
            answer = input::line() => {
                let approve = answer.is_some_and(|answer| matches!(answer.trim(), "yes" | "y" | "Yes" | "YES"));
                backend.decide(id, approve).await
            }
            _ = self.interrupts.next() => backend.stop(&self.session).await,
            event = settled(backend, screen, id) => {
                put("\n");
                screen.show(event);
                Ok(())
            }
        }
    }

    /// Without a terminal, every line is a message and every reply is printed.
    async fn piped(&mut self, backend: &mut dyn Backend) -> Result<()> {
        while let Some(line) = tokio::select! {
            line = input::line() => line,
            _ = self.interrupts.next() => None,
        } {
            if !line.trim().is_empty() && !self.take(backend, &line).await? {
                break;
            }
        }
        backend.close().await;
        Ok(())
    }
}

async fn settled(backend: &mut dyn Backend, screen: &mut Screen, id: &str) -> ChatEvent {
    loop {
        match backend.next().await {
            event @ ChatEvent::ApprovalDone { .. } if matches!(&event, ChatEvent::ApprovalDone { id: done, .. } if done == id) =>
            {
                return event;
            }
            event @ ChatEvent::Lost(_) => return event,
            event => {
                screen.show(event);
            }
        }
    }
}

fn editor(history: PathBuf) -> Reedline {
    let mut keys = default_emacs_keybindings();
    keys.add_binding(
        KeyModifiers::ALT,
        KeyCode::Enter,
        ReedlineEvent::Edit(vec![EditCommand::InsertNewline]),
    );
    let editor =
        Reedline::create().with_edit_mode(Box::new(Emacs::new(keys))).with_validator(Box::new(Continued));
    let editor = editor.with_ansi_colors(style().colour);
    match FileBackedHistory::with_file(HISTORY, history) {
        Ok(history) => editor.with_history(Box::new(history)),
        // A history that cannot be read is a comfort lost, and no reason not to chat.
        Err(_) => editor,
    }
}

/// A backslash at the end, or an open code fence, means that the message goes on.
struct Continued;

impl Validator for Continued {
    fn validate(&self, text: &str) -> ValidationResult {
        let open_fence = text.lines().filter(|line| line.trim_start().starts_with("```")).count() % 2 == 1;
        if open_fence || text.ends_with('\\') {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Complete
        }
    }
}

/// The prompt: the conversation's name where it is not the usual one.
struct Bare(String);

impl Prompt for Bare {
    fn render_prompt_left(&self) -> std::borrow::Cow<'_, str> {
        if self.0 == "default" { "".into() } else { self.0.chars().take(12).collect::<String>().into() }
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
