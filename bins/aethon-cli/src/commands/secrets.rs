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
                bail!("there is no secret {name:?}; `aethon-cli secrets list` lists them");
            }
            note(&sources, AuditAction::Secret, (&name, "removed"))?;
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
