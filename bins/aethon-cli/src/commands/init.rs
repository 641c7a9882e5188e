//! `init`: creates a first configuration from a few questions. Never replaces one silently.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use aethon::Home;
use aethon::config::schema::Provider;
use aethon::config::{Sources, Starter, private_file, starter};
use aethon::core::audit::AuditAction;
use anyhow::{Context, Result, bail};

use super::{note, print};
use crate::args::Common;

pub(crate) fn run(
    common: &Common,
    force: bool,
    provider: Option<String>,
    model: Option<String>,
    ask_first: Option<bool>,
) -> Result<ExitCode> {
    let sources = Sources::from_process(common.home.clone(), common.config.clone(), Vec::new())
        .map_err(|error| aethon::Error::refused(error.to_string()))?;
    let file = sources.config_file();
    if file.exists() && !force {
        return Err(aethon::Error::refused(format!(
            "{} is there already; change it with `aethon-cli config set`, or pass --force to replace it (the old one is kept beside it)",
            file.display()
        ))
        .into());
    }
    let provider = choose(provider)?;
    let model_id = match model {
        Some(model) => model,
        None => asked(&format!("model [{}]: ", provider.default_model()))?,
    };
    let host = match provider {
        Provider::Ollama => asked("address of Ollama [http://127.0.0.1:11434]: ")?,
        Provider::LiteLlm => asked("address of the LiteLLM proxy: ")?,
        Provider::OpenAi => asked("address of an OpenAI-compatible server, or empty for OpenAI itself: ")?,
        _ => String::new(),
    };
    let asks_first = asks_first(ask_first)?;
    let text = starter(&Starter { provider, model_id, host, asks_first, ..Starter::default() });
    write(&sources, &text)?;
    note(&sources.home, AuditAction::Config, ("config.toml", "written"))?;
    let key = provider.key_variable().map_or(String::new(), |variable| {
        format!("\nThe key is read from {variable}, or store it:\n  aethon-cli secrets set {name}\n  aethon-cli config set model.api_key '${{credential:{name}}}'\n", name = provider.name())
    });
    let reach = reach(common)?;
    print(&format!(
        "wrote {}\n{key}\nWhat the assistant can reach with these settings:\n{reach}\nCheck it with `aethon-cli doctor`, then start `aethon-server`.\n",
        file.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Describes what the new configuration lets the assistant do, one line each.
fn reach(common: &Common) -> Result<String> {
    let prepared = crate::builder(common).load()?;
    Ok(prepared.reach().iter().map(|reach| format!("- {}\n", reach.sentence())).collect())
}

fn write(sources: &Sources, text: &str) -> Result<()> {
    let file = sources.config_file();
    Home::at(&sources.home).prepare()?;
    if file.exists() {
        let old = std::fs::read(&file).with_context(|| format!("{} cannot be read", file.display()))?;
        private_file::write(&file.with_extension("toml.old"), &old)
            .context("the old configuration cannot be kept")?;
    }
    private_file::write(&file, text.as_bytes())
        .with_context(|| format!("{} cannot be written", file.display()))
}

fn choose(given: Option<String>) -> Result<Provider> {
    let names = Provider::names().join(", ");
    let name = match given {
        Some(name) => name,
        None if !std::io::stdin().is_terminal() => {
            bail!("nobody can answer here: pass --provider, one of {names}")
        }
        None => asked(&format!("model provider ({names}) [openai]: "))?,
    };
    let name = if name.is_empty() { "openai" } else { &name };
    Provider::from_name(name)
        .ok_or_else(|| aethon::Error::refused(format!("{name:?} is no provider; use one of {names}")).into())
}

/// Whether the assistant asks before it acts: as given by the flag, else the user's answer, else the default if nobody can
/// answer.
fn asks_first(given: Option<bool>) -> Result<bool> {
    if let Some(given) = given {
        return Ok(given);
    }
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let question = "Should the assistant ask you before it runs a command or changes a file? Recommended: without it, \
                    a web page or a mail that it reads can make it do things in your name. [Y/n]: ";
    let answer = asked(question)?;
    Ok(!matches!(answer.to_lowercase().as_str(), "n" | "no"))
}

/// Asks on a terminal; otherwise the answer is empty, which means the default.
fn asked(question: &str) -> Result<String> {
    if !std::io::stdin().is_terminal() {
        return Ok(String::new());
    }
    eprint!("{question}");
    std::io::stderr().flush().context("the terminal cannot be written")?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).context("the terminal cannot be read")?;
    Ok(answer.trim().to_owned())
}
