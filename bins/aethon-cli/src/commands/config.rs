//! `config path|show|get|set|check|schema`.

use std::process::ExitCode;

use aethon::config::{Sources, dump, get, schema, set_in_file};
use anyhow::{Result, bail};

use super::{print, print_json};
use crate::args::{Common, ConfigCommand};

pub(crate) fn run(common: &Common, command: ConfigCommand) -> Result<ExitCode> {
    match command {
        ConfigCommand::Path => print(&format!("{}\n", sources(common)?.config_file().display()))?,
        ConfigCommand::Schema => print_json(&schema())?,
        ConfigCommand::Show { json: true } => print_json(&dump(crate::prepared(common)?.config()))?,
        ConfigCommand::Show { json: false } => print(&as_toml(&dump(crate::prepared(common)?.config()))?)?,
        ConfigCommand::Get { key } => match get(crate::prepared(common)?.config(), &key) {
            Some(serde_json::Value::String(text)) => print(&format!("{text}\n"))?,
            Some(value) => print_json(&value)?,
            None => bail!("there is no key {key:?}; `aethon-cli config show` lists them all"),
        },
        ConfigCommand::Set { key, value } => {
            let sources = sources(common)?;
            aethon::Home::at(&sources.home).prepare()?;
            set_in_file(&sources, &key, &value).map_err(refused)?;
            // A slip in the key is pointed out now, and not at the next start. Other faults of the file were there before.
            if let Ok(prepared) = crate::builder(common).load() {
                for warning in prepared.warnings() {
                    eprintln!("warning: {warning}");
                }
            }
            print(&format!(
                "{key} is set in {}; a running aethon-server takes it up when it is restarted\n",
                sources.config_file().display()
            ))?;
        }
        ConfigCommand::Check => {
            let prepared = crate::prepared(common)?;
            // What aethon-server would refuse to start with is not fine either.
            crate::runtime()?.block_on(prepared.preflight())?;
            print("the configuration is fine\n")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn sources(common: &Common) -> Result<Sources> {
    Sources::from_process(common.home.clone(), common.config.clone(), common.sets.clone()).map_err(refused)
}

fn refused(error: aethon::config::Error) -> anyhow::Error {
    aethon::Error::refused(error.to_string()).into()
}

/// The dump as TOML, which has no null: a key without a value is left out.
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
