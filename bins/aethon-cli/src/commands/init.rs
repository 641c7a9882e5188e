//! `init`: creates a first configuration from a few questions. Never replaces one silently.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aethon::Home;
use aethon::config::schema::Provider;
use aethon::config::{Caution, HeldFile, Sources, Starter, private_file, starter};
use aethon::core::audit::AuditAction;
use anyhow::{Context, Result, bail};

use super::{note, print};
use crate::args::Common;

/// The choice of a person who only presses Enter.
const RECOMMENDED: Caution = Caution::Ask;

pub(crate) fn run(
    common: &Common,
    force: bool,
    provider: Option<String>,
    model: Option<String>,
    caution: Option<Caution>,
) -> Result<ExitCode> {
    let sources = Sources::from_process(common.home.clone(), common.config.clone(), Vec::new())
        .map_err(|error| aethon::Error::refused(error.to_string()))?;
    let file = sources.config_file();
    if file.exists() && !force {
        return Err(is_there(&file));
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
    let caution = match caution {
        Some(caution) => caution,
        None => self::caution()?,
    };
    let text = starter(&Starter { provider, model_id, host, caution, ..Starter::default() });
    let kept = write(&sources, &text, force)?;
    note(&sources.home, AuditAction::Config, ("config.toml", "written"))?;
    let key = provider.key_variable().map_or(String::new(), |variable| {
        format!("\nThe key is read from {variable}, or store it:\n  aethon-cli secrets set {name}\n  aethon-cli config set model.api_key '${{credential:{name}}}'\n", name = provider.name())
    });
    let reach = reach(common)?;
    let kept = kept.map_or(String::new(), |kept| format!("the old one is kept in {}\n", kept.display()));
    print(&format!(
        "wrote {}\n{kept}{key}\nWhat the assistant can reach with these settings:\n{reach}\nCheck it with `aethon-cli doctor`, then start `aethon-server`.\n",
        file.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Describes the abilities that the new configuration gives the assistant, one line each.
fn reach(common: &Common) -> Result<String> {
    let prepared = crate::setup::builder(common).load()?;
    Ok(prepared.reach().iter().map(|reach| format!("- {}\n", reach.sentence())).collect())
}

/// Writes the file, and keeps the one before under a number. Without `force` there must be none, not even one that came
/// while the questions were answered.
fn write(sources: &Sources, text: &str, force: bool) -> Result<Option<PathBuf>> {
    let file = sources.config_file();
    Home::at(&sources.home).prepare()?;
    let mut held = HeldFile::open(sources).with_context(|| format!("{} cannot be read", file.display()))?;
    if held.exists() && !force {
        return Err(is_there(&file));
    }
    let kept = match held.exists() {
        true => Some(
            private_file::write_numbered(&file, "bak", held.text().as_bytes())
                .context("the old configuration cannot be kept")?,
        ),
        false => None,
    };
    held.replace(text).with_context(|| format!("{} cannot be written", file.display()))?;
    Ok(kept)
}

fn is_there(file: &Path) -> anyhow::Error {
    aethon::Error::refused(format!(
        "{} is there already; change it with `aethon-cli config set`, or pass --force to replace it (the old one is kept beside it, as {}.bak-1 or with the next number)",
        file.display(),
        file.display()
    ))
    .into()
}

fn choose(given: Option<String>) -> Result<Provider> {
    let names = Provider::names().join(", ");
    let name = match given {
        Some(name) => name,
        None if !std::io::stdin().is_terminal() => {
            bail!("no one can answer here: pass --provider, one of {names}")
        }
        None => asked(&format!("model provider ({names}) [openai]: "))?,
    };
    let name = if name.is_empty() { "openai" } else { &name };
    Provider::from_name(name)
        .ok_or_else(|| aethon::Error::refused(format!("{name:?} is no provider; use one of {names}")).into())
}

/// Asks how much the assistant asks before it acts. Returns the answer, or the default if no user can answer.
fn caution() -> Result<Caution> {
    if !std::io::stdin().is_terminal() {
        return Ok(Caution::default());
    }
    eprintln!("How much should the assistant ask you before it acts?");
    for (index, caution) in Caution::ALL.into_iter().enumerate() {
        let (name, recommended) = (caution.name(), if caution == RECOMMENDED { " Recommended." } else { "" });
        eprintln!("  {}  {name:<8} {}{recommended}", index + 1, caution.describe());
    }
    loop {
        let answer = asked(&format!("1, 2 or 3 [{}]: ", RECOMMENDED.name()))?.to_lowercase();
        match answered(&answer) {
            Some(caution) => return Ok(caution),
            None => eprintln!("{answer:?} is none of them"),
        }
    }
}

/// Returns the choice that an answer means. `y` and `n` answer whether it should ask at all.
fn answered(answer: &str) -> Option<Caution> {
    match answer {
        "" | "y" | "yes" => Some(RECOMMENDED),
        "n" | "no" | "1" => Some(Caution::Open),
        "2" => Some(Caution::Ask),
        "3" => Some(Caution::Guarded),
        name => Caution::from_name(name),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_number_a_word_or_yes_and_no() {
        for (answer, expected) in [
            ("", Some(Caution::Ask)),
            ("yes", Some(Caution::Ask)),
            ("no", Some(Caution::Open)),
            ("1", Some(Caution::Open)),
            ("2", Some(Caution::Ask)),
            ("3", Some(Caution::Guarded)),
            ("guarded", Some(Caution::Guarded)),
            ("4", None),
            ("maybe", None),
        ] {
            assert_eq!(answered(answer), expected, "{answer:?}");
        }
    }
}
