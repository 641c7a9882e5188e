//! Reading secrets: hidden from a terminal, or from standard input when it is piped.

use std::io::{IsTerminal, Read, Write};

use aethon::core::secret::Secret;
use anyhow::{Context, Result};

/// The maximum length of a secret, in bytes.
const MAX_LEN: u64 = 64 * 1024;

/// Reads all of standard input.
pub(super) fn read_piped() -> Result<String> {
    let mut value = String::new();
    std::io::stdin()
        .lock()
        .take(MAX_LEN)
        .read_to_string(&mut value)
        .context("standard input is not readable text")?;
    Ok(value)
}

/// Reads a line without echoing it.
pub(super) fn read_hidden(prompt: &str) -> Result<String> {
    use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers, read};
    eprint!("{prompt}");
    std::io::stderr().flush().context("the terminal cannot be written")?;
    crossterm::terminal::enable_raw_mode().context("the terminal cannot be switched")?;
    let mut value = String::new();
    let outcome = loop {
        match read() {
            Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => match key.code {
                KeyCode::Enter => break Ok(value),
                KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                    break Ok(String::new());
                }
                KeyCode::Char(character) => value.push(character),
                KeyCode::Backspace => drop(value.pop()),
                _ => {}
            },
            Ok(Event::Paste(text)) => value.push_str(&text),
            Ok(_) => {}
            Err(error) => break Err(error),
        }
    };
    crossterm::terminal::disable_raw_mode().context("the terminal cannot be switched back")?;
    eprintln!();
    outcome.context("the terminal cannot be read")
}

/// Reads the passphrase for a new file: twice on a terminal, because a typing error would lock the owner out.
pub(super) fn new_passphrase() -> Result<Secret> {
    if !std::io::stdin().is_terminal() {
        return piped_passphrase();
    }
    let first = Secret::new(read_hidden("passphrase (not shown): ")?);
    if first.is_empty() {
        return Err(empty());
    }
    let again = Secret::new(read_hidden("the same again: ")?);
    if first.expose() != again.expose() {
        return Err(aethon::Error::refused("the two passphrases differ; nothing was written").into());
    }
    Ok(first)
}

/// Reads the passphrase of an existing file.
pub(super) fn passphrase() -> Result<Secret> {
    if !std::io::stdin().is_terminal() {
        return piped_passphrase();
    }
    let given = Secret::new(read_hidden("passphrase (not shown): ")?);
    if given.is_empty() { Err(empty()) } else { Ok(given) }
}

fn piped_passphrase() -> Result<Secret> {
    let piped = Secret::new(read_piped()?);
    let first = Secret::new(piped.expose().lines().next().unwrap_or_default());
    if first.is_empty() { Err(empty()) } else { Ok(first) }
}

fn empty() -> anyhow::Error {
    aethon::Error::refused("the passphrase is empty; type one, or pipe it to standard input").into()
}
