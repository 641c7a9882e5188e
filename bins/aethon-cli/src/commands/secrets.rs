//! `secrets set|list|rm`: one file per secret under `HOME/credentials/`, for `${credential:NAME}`.

use std::io::IsTerminal;
use std::process::ExitCode;

use aethon::config::{Sources, credentials};
use aethon::core::audit::AuditAction;
use aethon::core::secret::Secret;
use anyhow::{Context, Result, bail};

use super::passphrase::{read_hidden, read_piped};
use super::{confirm, note, print, print_json};
use crate::args::{Common, SecretsCommand};

pub(crate) fn run(common: &Common, command: SecretsCommand) -> Result<ExitCode> {
    let sources = Sources::from_process(common.home.clone(), None, Vec::new())
        .map_err(|error| aethon::Error::refused(error.to_string()))?;
    let folder = sources.credentials_directory();
    match command {
        SecretsCommand::Set { name, value } => {
            check(&name)?;
            if value.is_some() {
                return Err(aethon::Error::refused(format!(
                    "the value of a secret is not taken from the command line, where the shell keeps it and other programs see it: \
                     run `aethon-cli secrets set {name}` and paste it, or pipe it in"
                ))
                .into());
            }
            let value = read_value(&name)?;
            aethon::Home::at(&sources.home).prepare()?;
            credentials::store(&folder, &name, &value)
                .with_context(|| format!("{} cannot be written", folder.display()))?;
            note(&sources, AuditAction::Secret, (&name, "stored"))?;
            print(&format!("stored; use it as ${{credential:{name}}}\n"))?;
        }
        SecretsCommand::List { json } => {
            let names =
                credentials::list(&folder).with_context(|| format!("{} cannot be read", folder.display()))?;
            if json {
                print_json(&serde_json::json!({"secrets": names}))?;
            } else if names.is_empty() {
                let home = sources.home.display();
                print(&format!(
                    "no secrets are stored in {home}; `aethon-cli secrets set NAME` stores one\n"
                ))?;
            } else {
                print(&names.iter().map(|name| format!("{name}\n")).collect::<String>())?;
            }
        }
        SecretsCommand::Rm { name, yes } => {
            check(&name)?;
            let users = users_of(&sources, &name);
            let used = if users.is_empty() { String::new() } else { format!(", which {users} uses") };
            if !confirm(&format!("remove the secret {name}{used}"), yes)? {
                return Ok(ExitCode::FAILURE);
            }
            if !credentials::remove(&folder, &name).with_context(|| format!("{name} cannot be removed"))? {
                bail!("there is no secret {name:?}; `aethon-cli secrets list` lists them");
            }
            note(&sources, AuditAction::Secret, (&name, "removed"))?;
            print(&format!("{name} is removed\n"))?;
            if !users.is_empty() {
                eprintln!(
                    "warning: {users} still refers to it, so aethon-server refuses to start: `aethon-cli secrets set {name}` \
                     stores it anew, and `aethon-cli config unset` removes the key"
                );
            }
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

/// The keys of the configuration file that use a secret, as part of a sentence; empty if none does.
fn users_of(sources: &Sources, name: &str) -> String {
    fn look(value: &toml::Value, path: &str, reference: &str, found: &mut Vec<String>) {
        match value {
            toml::Value::String(text) if text.contains(reference) => found.push(path.to_owned()),
            toml::Value::Array(items) => {
                items.iter().for_each(|item| look(item, path, reference, found));
            }
            toml::Value::Table(table) => {
                let path = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
                table.iter().for_each(|(key, value)| look(value, &path(key), reference, found));
            }
            _ => {}
        }
    }
    // A file that cannot be read is a trouble of every other command.
    let text = aethon::config::file_text(sources).unwrap_or_default();
    let mut found = Vec::new();
    if let Ok(document) = text.parse::<toml::Table>() {
        look(&document.into(), "", &format!("${{credential:{name}}}"), &mut found);
    }
    found.join(", ")
}

fn read_value(name: &str) -> Result<Secret> {
    // A paste brings blanks along, which nobody sees here; what a program pipes is meant as it is.
    let value = if std::io::stdin().is_terminal() {
        Secret::new(read_hidden(&format!("value of {name} (not shown): "))?.trim())
    } else {
        Secret::new(read_piped()?.trim_end_matches(['\r', '\n']))
    };
    if value.is_empty() {
        bail!("the value is empty; nothing was stored");
    }
    Ok(value)
}
