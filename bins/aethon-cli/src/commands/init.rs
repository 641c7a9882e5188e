//! `init`: creates a first configuration from a few questions. Never replaces one silently.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aethon::Home;
use aethon::config::schema::Provider;
use aethon::config::{Caution, HeldFile, Sources, Starter, credentials, private_file, starter};
use aethon::core::audit::AuditAction;
use aethon::core::secret::Secret;
use aethon::core::visible::readable;
use anyhow::{Context, Result, bail};

use super::chat::Wish;
use super::passphrase::{read_hidden, read_piped};
use super::{note, print};
use crate::args::{Common, InitArgs};

/// The choice of a person who only presses Enter.
const RECOMMENDED: Caution = Caution::Ask;

/// The question before a configuration that `model.allow_http` makes valid.
const UNENCRYPTED: &str =
    "Plain http to another machine: what is sent can be read on the way, the key included. Allow it?";

/// What is said where no region was given.
const NO_REGION: &str = "\nThe region is read from AWS_REGION or the AWS profile, or set it:\n  aethon-cli config set model.region us-east-1\n";

/// How many models are offered.
const MAX_LISTED: usize = 30;

/// Writes the first configuration, from flags and, on a terminal, from answers.
pub(crate) fn run(common: &Common, wish: InitArgs) -> Result<ExitCode> {
    let sources = Sources::from_process(common.home.clone(), common.config.clone(), Vec::new())
        .map_err(|error| aethon::Error::refused(error.to_string()))?;
    let file = sources.config_file();
    if file.exists() && !wish.force {
        return Err(is_there(&file));
    }
    let provider = choose(wish.provider.clone())?;
    let host = host(provider, wish.host.clone())?;
    let is_plain = is_plain_elsewhere(&host);
    if is_plain && !wish.allow_http && !confirmed(UNENCRYPTED)? {
        return Err(aethon::Error::refused(format!(
            "--host {host:?}: plain http to another machine sends keys and conversations unencrypted; use https, or pass --allow-http"
        ))
        .into());
    }
    let region = region(provider, wish.region.clone())?;
    let key = key(provider, wish.key_stdin)?;
    let mut choice = Starter { provider, host, ..Starter::default() };
    if let Some(key) = &key {
        store(&sources, provider, key)?;
        choice.api_key = format!("${{credential:{}}}", provider.name());
    }
    choice.model_id = match wish.model.clone() {
        Some(model) => model,
        None => model(common, &choice, &region)?,
    };
    choice.caution =
        match wish.caution.or(wish.ask_first.map(|asks| if asks { Caution::Ask } else { Caution::Open })) {
            Some(caution) => caution,
            None => caution()?,
        };
    let kept = write(&sources, &text(&choice, &region, is_plain), wish.force)?;
    note(&sources, AuditAction::Config, ("config.toml", "written"))?;
    let missing =
        provider.key_variable().filter(|variable| key.is_none() && !crate::environment::is_set(variable));
    let missing = missing.map_or(String::new(), |variable| {
        format!("\nThe key is read from {variable}, or store it:\n  aethon-cli secrets set {name}\n  aethon-cli config set model.api_key '${{credential:{name}}}'\n", name = provider.name())
    });
    let no_region = match provider == Provider::Bedrock && region.is_empty() {
        true => NO_REGION,
        false => "",
    };
    let reach = reach(common)?;
    let kept = kept.map_or(String::new(), |kept| format!("the old one is kept in {}\n", kept.display()));
    print(&format!(
        "wrote {}\n{kept}{missing}{no_region}\nWhat the assistant can reach with these settings:\n{reach}\n",
        file.display()
    ))?;
    let is_offered = missing.is_empty() && !matches!(provider, Provider::Fake | Provider::Echo);
    let tries = wish.test || is_offered && confirmed("Ask the model for one answer now?")?;
    if tries && try_out(common)? != ExitCode::SUCCESS {
        print(
            "\nThe file is written, but the model did not answer. `aethon-cli doctor` says what to change.\n",
        )?;
        return Ok(ExitCode::FAILURE);
    }
    print(
        "Check it with `aethon-cli doctor`, then start `aethon-server`, or `aethon-cli service install` to have it always run.\n",
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the text of the file.
fn text(choice: &Starter, region: &str, allow_http: bool) -> String {
    let mut section = "[model]\n".to_owned();
    if !region.is_empty() {
        section += &format!("region = {region:?}\n");
    }
    if allow_http {
        section += "# Plain http to another machine: keys and conversations can be read on the way.\nallow_http = true\n";
    }
    starter(choice).replacen("[model]\n", &section, 1)
}

/// Returns whether an address is plain http to another machine.
fn is_plain_elsewhere(host: &str) -> bool {
    let Some(rest) = host.strip_prefix("http://") else { return false };
    let authority = rest.split('/').next().unwrap_or_default();
    let name = match authority.find(']') {
        Some(end) => &authority[..=end],
        None => authority.split(':').next().unwrap_or_default(),
    };
    !aethon::core::egress::is_loopback(&name.to_lowercase())
}

/// Asks the model one question.
fn try_out(common: &Common) -> Result<ExitCode> {
    let text = vec!["Say hello in one short sentence.".to_owned()];
    let wish = Wish { text, ..Wish::default() };
    match crate::setup::finish(super::chat::ask(common, wish)) {
        Ok(code) => Ok(code),
        Err(error) => {
            eprintln!("aethon-cli: {error:#}");
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Returns the address of the service, if it is not the provider's own.
fn host(provider: Provider, given: Option<String>) -> Result<String> {
    let question = match provider {
        Provider::Ollama => "address of Ollama [http://127.0.0.1:11434]: ",
        Provider::LiteLlm => "address of the LiteLLM proxy: ",
        Provider::OpenAi => "address of an OpenAI-compatible server, or empty for OpenAI itself: ",
        _ => return Ok(given.unwrap_or_default()),
    };
    let is_needed = provider == Provider::LiteLlm;
    let is_good = |host: &str| match host {
        "" => !is_needed,
        host => host.starts_with("http://") || host.starts_with("https://"),
    };
    let wrong = "an address begins with http:// or https://, such as http://127.0.0.1:4000";
    if given.is_some() || !std::io::stdin().is_terminal() {
        let host = given.unwrap_or_default();
        if !is_good(&host) {
            return Err(aethon::Error::refused(format!("--host {host:?}: {wrong}")).into());
        }
        return Ok(host);
    }
    loop {
        let host = asked(question)?;
        if is_good(&host) {
            return Ok(host);
        }
        eprintln!("{wrong}");
    }
}

/// Returns the region of a service that has some.
fn region(provider: Provider, given: Option<String>) -> Result<String> {
    match given {
        Some(_) if provider != Provider::Bedrock => {
            let name = provider.name();
            Err(aethon::Error::refused(format!("--region is for bedrock, and {name} has none: leave it out"))
                .into())
        }
        Some(region) => Ok(region),
        None if provider == Provider::Bedrock => {
            asked("region, such as us-east-1 [AWS_REGION or the AWS profile]: ")
        }
        None => Ok(String::new()),
    }
}

/// Returns the key of the model, without the blanks that a paste brings along. `None` if it is not given here.
fn key(provider: Provider, is_piped: bool) -> Result<Option<Secret>> {
    let Some(variable) = provider.key_variable() else { return Ok(None) };
    let text = match is_piped {
        true => read_piped()?,
        false if !std::io::stdin().is_terminal() || crate::environment::is_set(variable) => return Ok(None),
        false => {
            read_hidden(&format!("key of {} (it is not shown; empty to store it later): ", provider.name()))?
        }
    };
    let text = text.trim();
    if is_piped && text.is_empty() {
        return Err(aethon::Error::refused("--key-stdin: standard input has no key").into());
    }
    Ok((!text.is_empty()).then(|| Secret::new(text)))
}

fn store(sources: &Sources, provider: Provider, key: &Secret) -> Result<()> {
    Home::at(&sources.home).prepare()?;
    credentials::store(&sources.credentials_directory(), provider.name(), key)
        .context("the key cannot be stored")?;
    note(sources, AuditAction::Secret, (provider.name(), "stored"))
}

/// Asks for the model, of those that the service lists.
fn model(common: &Common, choice: &Starter, region: &str) -> Result<String> {
    if !std::io::stdin().is_terminal() {
        return Ok(String::new());
    }
    let listed = listed(common, choice, region);
    for (number, id) in listed.iter().enumerate() {
        eprintln!("{:>4}  {}", number + 1, readable(id));
    }
    let usual = choice.provider.default_model();
    let numbers = if listed.is_empty() { "" } else { ", a number or an id" };
    loop {
        let answer = asked(&format!("model{numbers} [{usual}]: "))?;
        match answer.parse::<usize>() {
            Ok(number) => match number.checked_sub(1).and_then(|number| listed.get(number)) {
                Some(id) => return Ok(id.clone()),
                None => eprintln!("there is no number {number}"),
            },
            Err(_) => return Ok(answer),
        }
    }
}

/// Returns the first models that the service lists with these settings; none if it does not answer.
fn listed(common: &Common, choice: &Starter, region: &str) -> Vec<String> {
    // Those without a list of their own have nothing to choose from.
    if matches!(choice.provider, Provider::Fake | Provider::Echo) {
        return Vec::new();
    }
    let settings = [
        ("model.provider", choice.provider.name()),
        ("model.host", &choice.host),
        ("model.region", region),
        ("model.api_key", &choice.api_key),
    ];
    let builder = settings
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .fold(crate::setup::builder(common), |builder, (key, value)| {
            builder.flag(format!("{key}={value:?}"))
        });
    let listing = async { Ok(aethon::listed_models(&builder.load()?).await) };
    let mut listed = crate::setup::finish(listing).unwrap_or_default();
    listed.truncate(MAX_LISTED);
    listed
}

/// Describes the abilities that the new configuration gives the assistant, one line each.
fn reach(common: &Common) -> Result<String> {
    let prepared = crate::setup::prepared(common)?;
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

/// Returns the provider of the flag, or asks until there is one.
fn choose(given: Option<String>) -> Result<Provider> {
    let names = Provider::names().join(", ");
    if let Some(name) = given {
        let known = Provider::from_name(if name.is_empty() { "openai" } else { &name });
        return known.ok_or_else(|| {
            aethon::Error::refused(format!("{name:?} is not a provider; use one of {names}{}", meant(&name)))
                .into()
        });
    }
    if !std::io::stdin().is_terminal() {
        bail!("no one can answer here: pass --provider, one of {names}");
    }
    loop {
        let name = asked(&format!("model provider ({names}) [openai]: "))?.to_lowercase();
        match Provider::from_name(if name.is_empty() { "openai" } else { &name }) {
            Some(provider) => return Ok(provider),
            None => eprintln!("{name:?} is not one of them{}", meant(&name)),
        }
    }
}

/// Names the provider that a word is a slip of.
fn meant(name: &str) -> String {
    let nearest = aethon::config::nearest_word(name, &Provider::names());
    nearest.map(|nearest| format!("; the nearest is {nearest}")).unwrap_or_default()
}

/// Asks a question that Enter answers with yes. Without a terminal the answer is no.
fn confirmed(question: &str) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    loop {
        match asked(&format!("{question} [yes]: "))?.to_lowercase().as_str() {
            "" | "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            other => eprintln!("{other:?} is neither yes nor no"),
        }
    }
}

/// Asks how much the assistant asks before it acts. Returns the answer, or the default if no user can answer.
fn caution() -> Result<Caution> {
    if !std::io::stdin().is_terminal() {
        let (taken, recommended) = (Caution::default().name(), RECOMMENDED.name());
        eprintln!(
            "note: --caution {taken}, because no one can answer here; recommended is --caution {recommended}"
        );
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
            None => eprintln!("{answer:?} is not one of them"),
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
    let read = std::io::stdin().read_line(&mut answer).context("the terminal cannot be read")?;
    if read == 0 {
        eprintln!();
        bail!("stopped; no configuration was written");
    }
    Ok(answer.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_harmless_on_this_machine_alone() {
        for (host, expected) in [
            ("", false),
            ("https://192.168.1.20/v1", false),
            ("http://127.0.0.1:11434", false),
            ("http://LOCALHOST:8080/v1", false),
            ("http://[::1]:8080", false),
            ("http://192.168.1.20:11434", true),
            ("http://host.docker.internal:11434", true),
            ("http://[fe80::1]:8080/v1", true),
        ] {
            assert_eq!(is_plain_elsewhere(host), expected, "{host}");
        }
    }

    #[test]
    fn a_misspelled_provider_is_recognised() {
        let refused = |name: &str| choose(Some(name.to_owned())).unwrap_err().to_string();
        assert!(refused("olama").ends_with("; the nearest is ollama"), "{}", refused("olama"));
        assert!(refused("grok").ends_with("echo"), "{}", refused("grok"));
    }

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
