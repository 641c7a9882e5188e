//! The commands of the chat that work on conversations and messages.

use std::fs::OpenOptions;
use std::io::{IsTerminal, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use aethon::core::visible::{exact, readable};
use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::backend::{Backend, Listing, LookUp};
use super::event::OthersTurn;
use super::output::put;
use super::screen::style;
use super::transcript::Transcript;
use crate::commands::{sessions, usage};
use crate::environment::expanded;
use crate::render::markdown;

/// How much text terminals take into their clipboard at once, in bytes.
const MAX_COPIED: usize = 74_000;

/// How many conversations there are to choose from.
const CHOICES: usize = 10;

const NOTHING_SAID: &str = "you have said nothing in this conversation yet";

/// Returns the newest conversations of the terminal and the page, by name and title.
pub(super) async fn conversations(backend: &mut dyn Backend) -> Result<Vec<(String, String)>> {
    let all = backend.list(Listing::Sessions).await?.into_iter();
    let own = all.filter_map(|(id, title)| Some((id.strip_prefix("webchat:")?.to_owned(), title)));
    Ok(own.take(CHOICES).collect())
}

/// Prints conversations with their numbers.
pub(super) fn show_choices(conversations: &[(String, String)]) {
    for (number, (name, title)) in conversations.iter().enumerate() {
        put(&format!("{:>3}  {}  {}\n", number + 1, exact(name), style().dim(&readable(title))));
    }
    put(&style().dim("a number continues that conversation; Enter stays here\n"));
}

/// Returns the last message of this conversation, with its answer.
pub(super) async fn last_exchange(backend: &mut dyn Backend) -> Result<Option<OthersTurn>> {
    newest_exchange(backend, |_| true).await
}

/// Returns the newest message for which this holds, with its answer.
async fn newest_exchange(
    backend: &mut dyn Backend,
    fits: impl Fn(&OthersTurn) -> bool,
) -> Result<Option<OthersTurn>> {
    let conversation = backend.look_up(LookUp::Conversation).await?;
    let turns = Transcript::of(&conversation).map(|transcript| transcript.turns).unwrap_or_default();
    Ok(turns.into_iter().rev().map(|turn| turn.other).find(|turn| !turn.said.is_empty() && fits(turn)))
}

/// The same; an error if the conversation is empty.
pub(super) async fn existing_exchange(backend: &mut dyn Backend) -> Result<OthersTurn> {
    last_exchange(backend).await?.context(NOTHING_SAID)
}

/// Returns the last message that is no command for the program, such as `/model`. An error if there is none.
pub(super) async fn last_message(backend: &mut dyn Backend) -> Result<OthersTurn> {
    let is_command = |turn: &OthersTurn| {
        let by_program = turn.outcome.model.is_empty() && turn.outcome.stop_reason == "end";
        by_program && turn.said.starts_with('/')
    };
    newest_exchange(backend, |turn| !is_command(turn)).await?.context(NOTHING_SAID)
}

/// Shows the last exchange of a conversation that is continued here.
pub(super) fn recap(last: &OthersTurn) {
    let style = style();
    let said = readable(&last.said);
    let said: String = said.lines().map(|line| format!("{}\n", style.dim(&format!("> {line}")))).collect();
    put(&format!("{said}{}\n", markdown(&last.outcome.text, style)));
}

/// Finds messages.
pub(super) async fn search(backend: &mut dyn Backend, words: &str) -> Result<()> {
    if words.is_empty() {
        bail!("name the words to look for: /search WORDS");
    }
    let found = backend.look_up(LookUp::Messages(words.to_owned())).await?;
    put(&format!("{}\n", sessions::passages(&found)));
    Ok(())
}

/// Shows today's usage.
pub(super) async fn usage(backend: &mut dyn Backend) -> Result<()> {
    put(&format!("{}\n", usage::table(&backend.look_up(LookUp::Usage).await?)));
    Ok(())
}

/// Copies the last answer by the escape sequence that terminals understand, also over SSH.
pub(super) async fn copy(backend: &mut dyn Backend) -> Result<()> {
    let text = existing_exchange(backend).await?.outcome.text;
    if text.is_empty() {
        bail!("the last message has no answer yet");
    }
    if !std::io::stdout().is_terminal() {
        bail!("there is no terminal with a clipboard here");
    }
    if text.len() > MAX_COPIED {
        bail!("the answer is too long for the clipboard of a terminal; /export writes it to a file");
    }
    put(&format!("\u{1b}]52;c;{}\u{7}", STANDARD.encode(&text)));
    put(&style().dim(&format!("copied {} characters, if this terminal allows it\n", text.chars().count())));
    Ok(())
}

/// Writes the conversation to a new file.
pub(super) async fn export(backend: &mut dyn Backend, session: &str, file: &str) -> Result<()> {
    let file = if file.is_empty() { format!("{}.md", plain(session)) } else { file.to_owned() };
    let path = expanded(&file);
    let as_json = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    let text = backend.look_up(LookUp::Export { as_json }).await?;
    let text = text.as_str().context("this conversation has no messages yet")?;
    write_new(&path, text)?;
    put(&style().dim(&format!("written to {}\n", exact(&path.display().to_string()))));
    Ok(())
}

/// Returns the name of a conversation as the name of a file.
fn plain(session: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    session.chars().map(plain).take(100).collect()
}

/// Writes a private file, and never over another one.
fn write_new(path: &Path, text: &str) -> Result<()> {
    let shown = path.display();
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = match opened {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            bail!("{shown} exists; name another file: /export FILE")
        }
        opened => opened.with_context(|| format!("{shown} cannot be written"))?,
    };
    file.write_all(text.as_bytes()).with_context(|| format!("{shown} cannot be written"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_replaces_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.md");
        write_new(&path, "one").unwrap();
        let refusal = write_new(&path, "two").unwrap_err().to_string();
        assert!(refusal.contains("a.md exists; name another file"), "{refusal}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one");
        assert_eq!(plain("mon/jardin é:1"), "mon-jardin-é-1");
    }
}
