//! `secrets set|list|rm`: one file per secret under `HOME/credentials/`, for `${credential:NAME}`.

use std::io::{IsTerminal, Read, Write};
use std::process::ExitCode;

use aethon::config::{Sources, credentials};
use aethon::core::audit::AuditAction;
use aethon::core::secret::Secret;
use anyhow::{Context, Result, bail};

use super::{confirm, note, print, print_json};
use crate::args::{Common, SecretsCommand};

/// The maximum length of a secret, in bytes.
const LONGEST: u64 = 64 * 1024;

pub(crate) fn run(common: &Common, command: SecretsCommand) -> Result<ExitCode> {
    let sources = Sources::from_process(common.home.clone(), None, Vec::new())
        .map_err(|error| aethon::Error::refused(error.to_string()))?;
    let folder = sources.credentials_directory();
    match command {
        SecretsCommand::Set { name } => {
            check(&name)?;
            let value = read_value(&name)?;
            aethon::Home::at(&sources.home).prepare()?;
            credentials::store(&folder, &name, &value)
                .with_context(|| format!("{} cannot be written", folder.display()))?;
            note(&sources.home, AuditAction::Secret, (&name, "stored"))?;
            print(&format!("stored; use it as ${{credential:{name}}}\n"))?;
        }
        SecretsCommand::List { json } => {
            let names =
                credentials::list(&folder).with_context(|| format!("{} cannot be read", folder.display()))?;
            if json {
                print_json(&serde_json::json!({"secrets": names}))?;
            } else {
                print(&names.iter().map(|name| format!("{name}\n")).collect::<String>())?;
            }
        }
        SecretsCommand::Rm { name, yes } => {
            check(&name)?;
            if !confirm(&format!("remove the secret {name}"), yes)? {
                return Ok(ExitCode::FAILURE);
            }
            if !credentials::remove(&folder, &name).with_context(|| format!("{name} cannot be removed"))? {
                bail!("there is no secret {name:?}; `aethon-cli secrets list` shows what there is");
            }
            note(&sources.home, AuditAction::Secret, (&name, "removed"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn check(name: &str) -> Result<()> {
    if credentials::is_name(name) {
        return Ok(());
    }
    Err(aethon::Error::refused(format!(
        "{name:?} cannot name a secret: use letters, digits, `.`, `_` and `-`"
    ))
    .into())
}

fn read_value(name: &str) -> Result<Secret> {
    let value = if std::io::stdin().is_terminal() { read_hidden(name)? } else { read_piped()? };
    let value = Secret::new(value.trim_end_matches(['\r', '\n']));
    if value.is_empty() {
        bail!("the value is empty; nothing was stored");
    }
    Ok(value)
}

fn read_piped() -> Result<String> {
    let mut value = String::new();
    std::io::stdin()
        .lock()
        .take(LONGEST)
        .read_to_string(&mut value)
        .context("standard input is not readable text")?;
    Ok(value)
}

/// Reads a line without echoing it.
fn read_hidden(name: &str) -> Result<String> {
    use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers, read};
    eprint!("value of {name} (not shown): ");
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
