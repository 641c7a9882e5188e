//! The values that completion offers: providers, keys of the configuration, and content of the home, such as sessions and jobs.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use aethon::config::Sources;
use aethon::core::provider::Provider;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use serde_json::Value;

/// How long listing the content of the home may take: a person waits for it with a finger on a key.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(2);

/// The model providers.
pub(crate) fn providers() -> ArgValueCandidates {
    ArgValueCandidates::new(|| named(Provider::names()))
}

/// The keys of the configuration.
pub(crate) fn keys() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let keys = aethon::config::known_keys().into_iter();
        keys.map(|key| candidate(key.name, &key.description)).collect()
    })
}

/// The names of the messengers and of the web chat.
pub(crate) fn channels() -> ArgValueCandidates {
    ArgValueCandidates::new(|| listed(&["channels", "list"], "channels", "name", "state"))
}

/// The conversations. Those of the web chat are named without their channel, as commands take them.
pub(crate) fn sessions() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        listed(&["sessions", "list", "--limit", "200"], "sessions", "session_id", "title")
    })
}

/// The scheduled jobs.
pub(crate) fn jobs() -> ArgValueCandidates {
    ArgValueCandidates::new(|| listed(&["jobs", "list"], "jobs", "job_id", "cron"))
}

/// The SOPs.
pub(crate) fn sops() -> ArgValueCandidates {
    ArgValueCandidates::new(|| listed(&["sop", "list"], "sops", "name", "description"))
}

/// The recordings.
pub(crate) fn recordings() -> ArgValueCandidates {
    ArgValueCandidates::new(|| listed(&["recordings", "list"], "recordings", "name", "session_id"))
}

/// The stored secrets, by name.
pub(crate) fn secrets() -> ArgValueCandidates {
    ArgValueCandidates::new(|| listed(&["secrets", "list"], "secrets", "name", ""))
}

/// The words that an option takes.
pub(crate) fn words<const N: usize>(words: [&'static str; N]) -> ArgValueCandidates {
    ArgValueCandidates::new(move || named(words))
}

fn named(names: impl IntoIterator<Item = &'static str>) -> Vec<CompletionCandidate> {
    names.into_iter().map(CompletionCandidate::new).collect()
}

fn candidate(value: String, description: &str) -> CompletionCandidate {
    let line = description.lines().next().unwrap_or_default();
    let help = aethon::core::visible::readable(line.get(..80).unwrap_or(line));
    CompletionCandidate::new(value).help((!help.is_empty()).then(|| help.to_string().into()))
}

/// Runs a listing of this program and returns one field of each row. Whatever goes wrong, there is nothing to complete: a
/// shell has no place for an error.
fn listed(command: &[&str], rows: &str, field: &str, help: &str) -> Vec<CompletionCandidate> {
    let document = output(command).and_then(|text| serde_json::from_slice::<Value>(&text).ok());
    let document = document.unwrap_or_default();
    let rows = document.get(rows).unwrap_or(&document).as_array().cloned().unwrap_or_default();
    let text = |row: &Value, name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let each = rows.iter().map(|row| match row.as_str() {
        Some(name) => (name.to_owned(), String::new()),
        None => (text(row, field), text(row, help)),
    });
    each.filter(|(value, _)| !value.is_empty())
        .map(|(value, help)| {
            let short = value.strip_prefix("webchat:").map(str::to_owned);
            candidate(short.unwrap_or(value), &help)
        })
        .collect()
}

/// Returns the JSON output of a command of this program, in the home that the line names.
fn output(command: &[&str]) -> Option<Vec<u8>> {
    let options = common_options(std::env::args_os().skip_while(|word| word != "--").skip(2));
    // A command on a home that is missing would make one, which a key press must not.
    let value = |name: &str| options.iter().position(|word| word == name).and_then(|at| options.get(at + 1));
    let sources = Sources::from_process(value("--home").map(PathBuf::from), None, Vec::new()).ok()?;
    if value("--connect").is_none() && !sources.home.exists() {
        return None;
    }
    let mut child = own_program()?
        .args(command)
        .arg("--json")
        .args(options)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdout = child.stdout.take()?;
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        std::io::Read::read_to_end(&mut stdout, &mut text).map(|_| text)
    });
    let deadline = Instant::now() + LOOKUP_TIMEOUT;
    while child.try_wait().ok()?.is_none() {
        if Instant::now() >= deadline {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    reader.join().ok()?.ok()
}

#[expect(clippy::disallowed_methods, reason = "it is this program, and it is ended after two seconds")]
fn own_program() -> Option<Command> {
    Some(Command::new(std::env::current_exe().ok()?))
}

/// Returns the options of a line that say which home and which server it is about.
fn common_options(line: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let names = ["--home", "--config", "--connect"];
    let mut options = Vec::new();
    let mut words = line.peekable();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if names.contains(&&*text) && words.peek().is_some() {
            options.push(word);
            options.extend(words.next());
        } else if let Some((name, value)) = text.split_once('=').filter(|(name, _)| names.contains(name)) {
            options.extend([name.into(), value.into()]);
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listing_is_of_the_home_that_the_line_names() {
        let options = |line: &str| {
            let words = common_options(line.split(' ').map(OsString::from));
            words.join(std::ffi::OsStr::new(" ")).into_string().unwrap()
        };
        assert_eq!(options("--home /a sessions show x"), "--home /a");
        assert_eq!(options("sessions --connect=unix:/s show --config c"), "--connect unix:/s --config c");
        assert_eq!(options("sessions show --home"), "");
    }
}
