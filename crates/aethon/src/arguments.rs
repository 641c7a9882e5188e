//! Keeps secrets of the command line out of the list of processes, which every user of the machine can read.
//!
//! `--set dashboard.auth_token=...` is convenient, and its text stays readable for as long as the process lives: a program
//! cannot change its own arguments. But it can start again with others. So a program whose arguments hold a secret starts
//! itself again, in the same process, with stars in their place, and gets the real ones through a pipe. This takes a few
//! milliseconds, and happens only then. Until it has happened the secret can be seen, so a file or a variable is better.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use aethon_config::SecretKeys;
use aethon_core::secret::MASK;

use crate::error::{Error, Result};

/// The first argument of a program that was started again: where its real arguments are.
const HANDED_OVER: &str = "--arguments-from=";
/// The most bytes of arguments that are handed over. A pipe takes no less.
const MAX_BYTES: u64 = 60_000;
/// Where a program finds its open files by their numbers.
const DESCRIPTORS: &str = "/dev/fd";

/// Returns the arguments that count, given those of this process, its own name first. If they hold a secret, the process
/// starts again without it, and this does not return. Call it before any thread is started and before
/// [`crate::harden_process`].
pub fn without_secrets(all: Vec<OsString>) -> Result<Vec<OsString>> {
    let descriptor = all.get(1).and_then(|first| first.to_str()?.strip_prefix(HANDED_OVER));
    if let Some(descriptor) = descriptor {
        let failed = |error| Error::failed("the program's arguments were not passed on").because(error);
        return handed_over(&all[0], descriptor).map_err(failed);
    }
    if let Some(masked) = masked(&all).filter(|_| Path::new(DESCRIPTORS).exists()) {
        // Where it fails, the program runs with the arguments that it has.
        let _ = begin_anew(&all, &masked);
    }
    Ok(all)
}

/// Reads the real arguments, and removes them so that no other code finds them.
fn handed_over(name: &OsStr, descriptor: &str) -> io::Result<Vec<OsString>> {
    let number: u32 = descriptor.parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut bytes = Vec::new();
    File::open(format!("{DESCRIPTORS}/{number}"))?.take(MAX_BYTES).read_to_end(&mut bytes)?;
    // Each argument ends in a null byte.
    let rest = bytes.split_inclusive(|byte| *byte == 0);
    let rest = rest.map(|text| OsString::from_vec(text[..text.len() - 1].to_vec()));
    Ok(std::iter::once(name.to_owned()).chain(rest).collect())
}

/// Replaces this process by itself. Returns only on failure.
#[expect(
    clippy::disallowed_methods,
    reason = "this is no child: the process goes on as the same program, before it has done anything"
)]
fn begin_anew(all: &[OsString], masked: &[OsString]) -> io::Error {
    let real: Vec<u8> =
        all.iter().skip(1).flat_map(|argument| argument.as_bytes().iter().copied().chain([0])).collect();
    if real.len() as u64 > MAX_BYTES {
        return io::Error::from(io::ErrorKind::ArgumentListTooLong);
    }
    let start = || -> io::Result<io::Error> {
        let (reader, mut writer) = io::pipe()?;
        writer.write_all(&real)?;
        // The write end closes when the program is replaced, and the reader sees the end.
        rustix::io::fcntl_setfd(&reader, rustix::io::FdFlags::empty())?;
        let from = format!("{HANDED_OVER}{}", reader.as_raw_fd());
        let mut command = Command::new(std::env::current_exe()?);
        command.arg0(&masked[0]).arg(from).args(&masked[1..]);
        Ok(command.exec())
    };
    start().unwrap_or_else(|error| error)
}

/// Returns the arguments with stars in place of secrets; `None` if there are none.
fn masked(all: &[OsString]) -> Option<Vec<OsString>> {
    let (keys, changed) = (SecretKeys::default(), changed_value(all));
    let covered = |at: usize| match changed {
        Some((key, value)) if value == at => {
            keys.may_hold(text(all, key), text(all, value)).then(|| MASK.into())
        }
        _ => covered_setting(all, at, &keys).or_else(|| covered_address(all, at)),
    };
    let masked: Vec<OsString> =
        (0..all.len()).map(|at| covered(at).unwrap_or_else(|| all[at].clone())).collect();
    (masked != all).then_some(masked)
}

fn text(all: &[OsString], at: usize) -> &str {
    all.get(at).and_then(|argument| argument.to_str()).unwrap_or_default()
}

/// Returns what stands in place of an argument of `--set` that holds a secret.
fn covered_setting(all: &[OsString], at: usize, keys: &SecretKeys) -> Option<OsString> {
    if at == 0 || all[..at].iter().any(|argument| argument == "--") {
        return None;
    }
    let (flag, assignment) = match text(all, at).strip_prefix("--set=") {
        Some(assignment) => ("--set=", assignment),
        None if text(all, at - 1) == "--set" => ("", text(all, at)),
        None => return None,
    };
    let (key, value) = assignment.split_once('=')?;
    keys.may_hold(key, value).then(|| format!("{flag}{key}={MASK}").into())
}

/// Returns what stands in place of the address of a database that holds a password.
fn covered_address(all: &[OsString], at: usize) -> Option<OsString> {
    let text = text(all, at);
    let start = ["", "--from=", "--to="].iter().find_map(|flag| {
        let address = text.strip_prefix(flag)?;
        ["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| address.starts_with(scheme))
            .then_some(flag.len())
    })?;
    let (flag, address) = text.split_at(start);
    let has_password =
        url::Url::parse(address).is_ok_and(|url| url.password().is_some() || url.query().is_some());
    (at > 0 && has_password).then(|| format!("{flag}{MASK}").into())
}

/// Finds the key and the value of `aethon-cli config set KEY VALUE`, with flags wherever they are allowed.
fn changed_value(all: &[OsString]) -> Option<(usize, usize)> {
    /// The flags whose value is an argument of its own.
    const WITH_VALUE: [&str; 6] = ["--home", "--config", "--set", "--log-level", "--log-format", "--connect"];
    let (mut words, mut is_literal, mut is_value) = (Vec::new(), false, false);
    for at in 1..all.len() {
        let text = text(all, at);
        if std::mem::take(&mut is_value) {
            continue;
        }
        match text {
            "--" if !is_literal => is_literal = true,
            _ if !is_literal && text.starts_with('-') => is_value = WITH_VALUE.contains(&text),
            _ => words.push(at),
        }
    }
    match words[..] {
        [first, second, key, value, ..] if text(all, first) == "config" && text(all, second) == "set" => {
            Some((key, value))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_give_way_to_stars_and_nothing_else_changes() {
        let check = |arguments: &[&str], expected: Option<&[&str]>| {
            let all: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            let expected: Option<Vec<OsString>> =
                expected.map(|words| words.iter().map(OsString::from).collect());
            assert_eq!(masked(&all), expected, "{arguments:?}");
        };
        check(&["p"], None);
        check(&["p", "--set", "model.provider=ollama", "--home", "/x"], None);
        check(
            &["p", "--set", "dashboard.auth_token=s3cret"],
            Some(&["p", "--set", "dashboard.auth_token=***"]),
        );
        check(&["p", "--set=model.api_key=k=v", "--demo"], Some(&["p", "--set=model.api_key=***", "--demo"]));
        check(
            &["p", "ask", "--set", "mcp.servers.x.env={A=\"b\"}", "hello"],
            Some(&["p", "ask", "--set", "mcp.servers.x.env=***", "hello"]),
        );
        check(
            &["p", "config", "set", "webhook.secret", "s3cret"],
            Some(&["p", "config", "set", "webhook.secret", "***"]),
        );
        check(&["p", "config", "set", "agent.loop_limit", "4"], None);
        check(
            &["p", "storage", "copy", "--from", "/x/aethon.db", "--to", "postgres://ada:s3cret@db/x"],
            Some(&["p", "storage", "copy", "--from", "/x/aethon.db", "--to", "***"]),
        );
        check(
            &["p", "storage", "copy", "--from=postgresql://db/x?password=s3cret", "--to=a.jsonl"],
            Some(&["p", "storage", "copy", "--from=***", "--to=a.jsonl"]),
        );
        check(&["p", "storage", "copy", "--from", "postgres://ada@db/x", "--to", "a"], None);
        check(
            &[
                "p",
                "--home",
                "/x",
                "config",
                "--log-level=debug",
                "set",
                "--force",
                "webhook.secrt",
                "--",
                "s3cret",
            ],
            Some(&[
                "p",
                "--home",
                "/x",
                "config",
                "--log-level=debug",
                "set",
                "--force",
                "webhook.secrt",
                "--",
                "***",
            ]),
        );
        check(
            &["p", "config", "set", "--", "webhook.secret", "-s3cret"],
            Some(&["p", "config", "set", "--", "webhook.secret", "***"]),
        );
        check(
            &["p", "--set", "mcp.servers.x.args=[\"--token\", \"s3cret\"]", "--set", "webhook=s3cret"],
            Some(&["p", "--set", "mcp.servers.x.args=***", "--set", "webhook=***"]),
        );
        check(&["p", "--set", "dashboard.auth_tok=s3cret"], Some(&["p", "--set", "dashboard.auth_tok=***"]));
        check(&["p", "ask", "config set webhook.secret x"], None);
        check(&["p", "ask", "--", "--set", "webhook.secret=x"], None);
        check(&["p", "--set", "webhook.secret"], None);
        check(&["p", "--set", "dashboard.auth_token=${credential:dashboard}"], None);
    }
}
