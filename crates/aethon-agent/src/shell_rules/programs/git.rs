//! What `git` runs for its arguments: settings that are commands, aliases, hooks of its subcommands, odd addresses.

use super::{Inner, values};

/// What ends the name of a setting that is a command.
const COMMANDS: &[&str] = &[
    "pager",
    "editor",
    "sshcommand",
    "fsmonitor",
    "external",
    "textconv",
    "clean",
    "smudge",
    "process",
    "helper",
    "program",
    "driver",
    "cmd",
    "uploadpack",
    "receivepack",
    "askpass",
    "command",
    "packobjectshook",
    "alternaterefscommand",
    "gitproxy",
    "difftool",
    "mergetool",
    "path",
    "smtpserver",
    "tocmd",
    "cccmd",
];

pub(super) fn hooks(arguments: &[String]) -> Vec<Inner> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(word) = arguments.get(at).filter(|word| word.starts_with('-')) {
        at += 1;
        if matches!(
            word.as_str(),
            "-c" | "-C" | "--git-dir" | "--work-tree" | "--exec-path" | "--namespace" | "--config-env"
        ) {
            if word == "-c" {
                found.extend(
                    arguments
                        .get(at)
                        .and_then(|setting| setting.split_once('='))
                        .and_then(|(key, value)| held(key, value)),
                );
            }
            at += 1;
        } else if let Some((key, value)) = word.strip_prefix("-c").and_then(|setting| setting.split_once('='))
        {
            found.extend(held(key, value));
        }
    }
    let Some(verb) = arguments.get(at) else { return found };
    let rest = &arguments[at + 1..];
    let script = |text: &&str| Inner::Script((*text).to_owned());
    found.extend(
        rest.iter().filter_map(|word| word.strip_prefix("ext::")).map(|text| Inner::Script(text.to_owned())),
    );
    found.extend(
        values(rest, &["--upload-pack", "--receive-pack", "--exec", "--extcmd", "--config-env"])
            .iter()
            .map(script),
    );
    match verb.as_str() {
        "clone" | "ls-remote" | "fetch" | "pull" => {
            found.extend(values(rest, &["-u"]).iter().map(script));
            let settings = values(rest, &["-c", "--config"]);
            found.extend(
                settings
                    .iter()
                    .filter_map(|setting| setting.split_once('='))
                    .filter_map(|(key, value)| held(key, value)),
            );
        }
        "rebase" | "difftool" => found.extend(values(rest, &["-x", "--exec", "--extcmd"]).iter().map(script)),
        "bisect" if rest.first().is_some_and(|word| word == "run") => {
            found.push(Inner::Command(rest[1..].to_vec()))
        }
        "submodule" if rest.iter().any(|word| word == "foreach") => {
            let words = rest
                .iter()
                .skip_while(|word| *word != "foreach")
                .skip(1)
                .filter(|word| *word != "--recursive");
            found.push(Inner::Script(words.cloned().collect::<Vec<_>>().join(" ")));
        }
        "filter-branch" => {
            let names = [
                "--tree-filter",
                "--index-filter",
                "--msg-filter",
                "--env-filter",
                "--commit-filter",
                "--parent-filter",
            ];
            found.extend(values(rest, &names).iter().map(script));
        }
        "grep" => found.extend(values(rest, &["-O", "--open-files-in-pager"]).iter().map(script)),
        "config" => {
            let words: Vec<&String> =
                rest.iter().filter(|word| !word.starts_with('-') && *word != "set").collect();
            if let [key, value, ..] = words.as_slice() {
                found.extend(held(key, value));
            }
        }
        _ => {}
    }
    found
}

/// The command that a setting is.
fn held(key: &str, value: &str) -> Option<Inner> {
    let key = key.to_ascii_lowercase();
    let last = key.rsplit('.').next().unwrap_or_default();
    if key.starts_with("alias.") {
        return value.strip_prefix('!').map(|text| Inner::Script(text.to_owned())).or_else(|| {
            let words = ["git"].into_iter().chain(value.split_whitespace());
            Some(Inner::Command(words.map(str::to_owned).collect()))
        });
    }
    let is_command = COMMANDS.contains(&last) || key.starts_with("pager.");
    is_command.then(|| Inner::Script(value.trim_start_matches('!').to_owned()))
}
