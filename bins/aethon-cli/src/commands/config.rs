//! `config path|show|get|list|explain|set|unset|reload|edit|check|schema`.

use std::path::Path;
use std::process::{Command, ExitCode};

use aethon::config::{
    Draft, NewKeys, Resumed, Saved, changed_keys, dump, get, schema, set_in_file, unset_in_file,
};
use aethon::core::audit::AuditAction;
use anyhow::{Context, Result, bail};

use super::{config_effect as effect, config_reference as reference, note, print, print_json};
use crate::args::{Common, ConfigCommand};

pub(crate) fn run(common: &Common, command: ConfigCommand) -> Result<ExitCode> {
    match command {
        ConfigCommand::Path => {
            print(&format!("{}\n", crate::setup::sources(common)?.config_file().display()))?
        }
        ConfigCommand::Schema => print_json(&schema())?,
        ConfigCommand::Show { json: true } => print_json(&dump(crate::setup::prepared(common)?.config()))?,
        ConfigCommand::Show { json: false } => {
            print(&as_toml(&dump(crate::setup::prepared(common)?.config()))?)?
        }
        ConfigCommand::Get { key } => match get(crate::setup::prepared(common)?.config(), &key) {
            Some(serde_json::Value::String(text)) => print(&format!("{text}\n"))?,
            Some(value) => print_json(&value)?,
            None if reference::is_known(&key) => bail!("{key} is not set, and has no default"),
            None => return Err(reference::no_such_key(&key)),
        },
        ConfigCommand::List { part, set, json } => reference::list(common, part.as_deref(), set, json)?,
        ConfigCommand::Explain { key } => reference::explain(common, &key)?,
        ConfigCommand::Reload => effect::reload(common)?,
        ConfigCommand::Set { key, value: None, .. } => return Err(reference::without_value(&key)),
        ConfigCommand::Set { key, value: Some(value), force, reload } => {
            let sources = crate::setup::sources(common)?;
            aethon::Home::at(&sources.home).prepare()?;
            let new_keys = if force { NewKeys::Written } else { NewKeys::Refused };
            set_in_file(&sources, &key, &value, new_keys)
                .map_err(|error| reference::with_whole_entry(crate::setup::refused(error), &key, &value))?;
            note(&sources, AuditAction::Config, (&key, "set"))?;
            warn(common);
            print(&format!("{key} is set in {}\n", sources.config_file().display()))?;
            if aethon::config::secrets_in_file(&sources.config_file()).contains(&key) {
                let name = key.rsplit('.').next().unwrap_or(&key).to_uppercase();
                eprintln!(
                    "note: the file now holds this secret in plain text. To keep it apart: `aethon-cli secrets set {name}`, then `aethon-cli config set {key} '${{credential:{name}}}'`"
                );
            }
            effect::tell(common, &[key], reload)?;
        }
        ConfigCommand::Unset { key, reload } => {
            let sources = crate::setup::sources(common)?;
            let file = sources.config_file();
            match unset_in_file(&sources, &key).map_err(crate::setup::refused)? {
                true => {
                    note(&sources, AuditAction::Config, (&key, "unset"))?;
                    print(&format!("{key} is no longer set in {}\n", file.display()))?;
                    effect::tell(common, &[key], reload)?;
                }
                // A key that there is not may stand in the file, and is removed above.
                false if !reference::is_known(&key) => return Err(reference::no_such_key(&key)),
                false => print(&format!("{key} is not set in {}\n", file.display()))?,
            }
        }
        ConfigCommand::Edit => edit(common)?,
        ConfigCommand::Check { strict } => {
            let prepared = crate::setup::prepared(common)?;
            // A configuration with which aethon-server would refuse to start is not fine.
            crate::setup::runtime()?.block_on(prepared.preflight())?;
            if strict {
                prepared.without_warnings()?;
            }
            let concerns = prepared.concerns();
            concerns.iter().for_each(|concern| eprintln!("warning: {concern}"));
            if strict && !concerns.is_empty() {
                let words = format!("warnings: {}; --strict treats them as failures", concerns.len());
                return Err(aethon::Error::refused(words).into());
            }
            print("the configuration is fine\n")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints warnings, so that a misspelt key is noticed now and not at the next start.
fn warn(common: &Common) {
    if let Ok(prepared) = crate::setup::builder(common).load() {
        for warning in prepared.warnings() {
            eprintln!("warning: {warning}");
        }
    }
}

/// Opens a copy in the user's editor, and puts it into the file if it has no problem.
fn edit(common: &Common) -> Result<()> {
    let sources = crate::setup::sources(common)?;
    let file = sources.config_file();
    let set = ["VISUAL", "EDITOR"].iter().filter_map(|name| sources.variable(name));
    let Some(editor) = set.into_iter().find(|editor| !editor.trim().is_empty()) else {
        bail!("no editor is set; set EDITOR, for example EDITOR=nano aethon-cli config edit");
    };
    aethon::Home::at(&sources.home).prepare()?;
    let draft = Draft::open(&sources).map_err(crate::setup::refused)?;
    match draft.resumed() {
        Resumed::Nothing => {}
        Resumed::Earlier => eprintln!("continuing with the refused text: {}", draft.path().display()),
        Resumed::SetAside(kept) => eprintln!(
            "the refused text no longer fits the file and is kept in {}; this is the current file",
            kept.display()
        ),
    }
    if let Err(error) = run_editor(editor, draft.path()) {
        draft.discard()?;
        return Err(error);
    }
    let was = crate::setup::builder(common).load();
    let saved = draft.save(&sources).map_err(crate::setup::refused)?;
    if saved == Saved::Unchanged {
        return print("nothing was changed\n");
    }
    let keys = edited(common, was.ok().as_ref());
    note(&sources, AuditAction::Config, (&keys.join(", "), "edited"))?;
    warn(common);
    let merged = match saved {
        Saved::Merged => " together with the changes made there while you edited it",
        Saved::Replaced | Saved::Unchanged => "",
    };
    print(&format!("{} is changed{merged}\n", file.display()))?;
    effect::tell(common, &keys, false)
}

/// Returns the keys changed since then, or the file if the keys cannot be determined. Never a value.
fn edited(common: &Common, was: Option<&aethon::Prepared>) -> Vec<String> {
    let is = crate::setup::builder(common).load().ok();
    let keys = was.zip(is.as_ref()).map(|(was, is)| changed_keys(was.config(), is.config()));
    keys.filter(|keys| !keys.is_empty()).unwrap_or_else(|| vec!["config.toml".to_owned()])
}

/// Runs the editor through a shell, as is usual, because its name may include arguments, such as `code --wait`.
#[expect(
    clippy::disallowed_methods,
    reason = "the person's own editor has the terminal, and ends when they do"
)]
fn run_editor(editor: &str, file: &Path) -> Result<()> {
    let status = Command::new("sh").args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(file).status();
    let status = status.with_context(|| format!("cannot start {editor}"))?;
    if !status.success() {
        bail!("{editor} ended with {status}; nothing was changed");
    }
    Ok(())
}

/// Formats the dump as TOML, leaving out keys without a value because TOML has no null.
fn as_toml(dump: &serde_json::Value) -> Result<String> {
    Ok(toml::to_string_pretty(&without_nulls(dump))?)
}

fn without_nulls(value: &serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), without_nulls(value)))
            .collect(),
        Value::Array(list) => list.iter().filter(|value| !value.is_null()).map(without_nulls).collect(),
        other => other.clone(),
    }
}
