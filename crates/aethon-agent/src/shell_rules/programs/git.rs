//! What `git` runs because of its arguments: settings that are commands, aliases, hooks of its subcommands, unusual
//! URLs, and the files that may contain all of that.

use super::{Inner, values};

/// The last components of settings that are commands.
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
    "sendmailcmd",
    "headercmd",
    "tocmd",
    "cccmd",
    "defaultkeycommand",
    "difffilter",
];

/// Options, of any subcommand, whose value is executed.
const RUNNING: &[&str] = &[
    "--upload-pack",
    "--receive-pack",
    "--exec",
    "--extcmd",
    "--access-hook",
    "--to-cmd",
    "--cc-cmd",
    "--header-cmd",
    "--sendmail-cmd",
    "--smtp-server",
];

/// Options of `git` itself whose value is the next word.
const VALUED: &[&str] =
    &["-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source"];

/// Options of `git config` whose value is the next word.
const VALUED_OF_CONFIG: &[&str] =
    &["-f", "--file", "--blob", "--type", "--default", "--comment", "--value", "--url"];

/// Returns what `git` runs, including the settings given before the subcommand.
pub(super) fn hooks(arguments: &[String]) -> Vec<Inner> {
    let (settings, rest) = split_settings(arguments);
    let mut found = vec![Inner::GitFiles];
    found.extend(settings.iter().flat_map(|(key, value)| held(key, value)));
    let Some((verb, rest)) = rest.split_first() else { return found };
    let alias = format!("alias.{verb}");
    for (_, value) in settings.iter().filter(|(key, _)| key.eq_ignore_ascii_case(&alias)) {
        found.push(called(value, rest));
    }
    found.extend(rest.iter().filter_map(|word| word.strip_prefix("ext::")).map(transport));
    found.extend(scripts(values(rest, RUNNING)));
    found.extend(of_verb(verb, rest));
    found
}

/// The same for a subcommand called as a program: `git-submodule foreach`.
pub(super) fn hooks_of_verb(verb: &str, arguments: &[String]) -> Vec<Inner> {
    let words: Vec<String> = std::iter::once(verb.to_owned()).chain(arguments.iter().cloned()).collect();
    hooks(&words)
}

/// Splits the arguments into the settings before the subcommand, and the subcommand with the rest.
fn split_settings(arguments: &[String]) -> (Vec<(String, String)>, &[String]) {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(word) = arguments.get(at).filter(|word| word.starts_with('-')) {
        at += 1;
        let setting =
            if word == "-c" { arguments.get(at).map(String::as_str) } else { word.strip_prefix("-c") };
        let setting = setting.and_then(|setting| setting.split_once('='));
        found.extend(setting.map(|(key, value)| (key.to_owned(), value.to_owned())));
        if let Some(folder) = word.strip_prefix("--exec-path=") {
            found.push((EXEC_PATH.to_owned(), folder.to_owned()));
        }
        // The value is in a variable.
        let named = if word == "--config-env" {
            arguments.get(at).map(String::as_str)
        } else {
            word.strip_prefix("--config-env=")
        };
        let named = named.and_then(|setting| setting.rsplit_once('='));
        found.extend(named.map(|(key, name)| (key.to_owned(), format!("${name}"))));
        at += usize::from(VALUED.contains(&word.as_str()));
    }
    (found, arguments.get(at..).unwrap_or_default())
}

/// Represents `--exec-path` among the settings: a folder of programs, like `core.hooksPath`.
const EXEC_PATH: &str = "exec.hookspath";

fn of_verb(verb: &str, rest: &[String]) -> Vec<Inner> {
    match verb {
        "clone" | "ls-remote" | "fetch" | "pull" | "init" => {
            let mut found = scripts(values(rest, &["-u"]));
            let settings = values(rest, &["-c", "--config"]);
            let settings = settings.iter().filter_map(|setting| setting.split_once('='));
            found.extend(settings.flat_map(|(key, value)| held(key, value)));
            found.extend(
                values(rest, &["--template"])
                    .into_iter()
                    .map(|folder| Inner::Programs(format!("{folder}/hooks"))),
            );
            found
        }
        "rebase" | "difftool" => scripts(values(rest, &["-x"])),
        "bisect" if rest.first().is_some_and(|word| word == "run") => {
            vec![Inner::Command(rest[1..].to_vec())]
        }
        "submodule" | "submodule--helper" => each(rest),
        "filter-branch" => {
            let names = rest.iter().filter(|word| word.starts_with("--"));
            let names: Vec<&str> =
                names.map(|word| word.split_once('=').map_or(word.as_str(), |it| it.0)).collect();
            let filters: Vec<&str> =
                names.into_iter().filter(|name| name.ends_with("-filter") || *name == "--setup").collect();
            scripts(values(rest, &filters))
        }
        "grep" => scripts(values(rest, &["-O", "--open-files-in-pager"])),
        "instaweb" => scripts(values(rest, &["-d", "--httpd", "-b", "--browser"])),
        "config" => {
            let mut words = Vec::new();
            let mut at = rest.iter();
            while let Some(word) = at.next() {
                if VALUED_OF_CONFIG.contains(&word.as_str()) {
                    at.next();
                } else if !(word.starts_with('-') || words.is_empty() && word == "set") {
                    words.push(word);
                }
            }
            match words.as_slice() {
                [key, value, ..] => held(key, value),
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

fn scripts(texts: Vec<&str>) -> Vec<Inner> {
    texts.into_iter().map(|text| Inner::Script(text.to_owned())).collect()
}

/// `foreach`, which passes its words, one or many, to a shell.
fn each(rest: &[String]) -> Vec<Inner> {
    let Some(at) = rest.iter().position(|word| word == "foreach") else { return Vec::new() };
    let words = rest[at + 1..].iter().skip_while(|word| word.starts_with('-'));
    vec![Inner::Script(words.cloned().collect::<Vec<_>>().join(" "))]
}

/// The command in an `ext::` URL. No shell reads it; `% ` is a blank within a word, and other `%` sequences stand for
/// parts of the URL.
fn transport(text: &str) -> Inner {
    let (mut words, mut word) = (Vec::new(), String::new());
    let mut signs = text.chars();
    while let Some(c) = signs.next() {
        match c {
            ' ' => words.push(std::mem::take(&mut word)),
            '%' => word.extend(signs.next()),
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    Inner::Command(words)
}

/// What calling an alias with these words runs. Git splits its value at blanks and quotes, much as a shell does.
fn called(value: &str, rest: &[String]) -> Inner {
    let words = std::iter::once("git".to_owned()).chain(rest.iter().cloned());
    let text = value.strip_prefix('!').map_or_else(|| format!("git {value}"), str::to_owned);
    Inner::Shell(format!("{text} \"$@\""), words.collect())
}

/// What a setting runs.
fn held(key: &str, value: &str) -> Vec<Inner> {
    let key = key.to_ascii_lowercase();
    let last = key.rsplit('.').next().unwrap_or_default();
    if key.starts_with("alias.") {
        return vec![called(value, &[])];
    }
    match last {
        "hookspath" => return vec![Inner::Programs(value.to_owned())],
        "templatedir" => return vec![Inner::Programs(format!("{value}/hooks"))],
        "path" if key.starts_with("include") => return vec![Inner::Settings(value.to_owned())],
        "update" if !value.starts_with('!') => return Vec::new(),
        _ => {}
    }
    let is_command = COMMANDS.contains(&last) || last == "update" || key.starts_with("pager.");
    if is_command { scripts(vec![value.trim_start_matches('!')]) } else { Vec::new() }
}

/// Returns what the settings in a text run. The text has git's own format: `[section "part"]`, and `name = value` below
/// it.
pub(in super::super) fn settings_in(text: &str) -> Vec<Inner> {
    let (mut section, mut found) = (String::new(), Vec::new());
    for line in text.replace("\\\n", "").lines() {
        let mut line = line.trim();
        if let Some((head, rest)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            section = head.replace([' ', '\t'], ".").replace('"', "");
            line = rest.trim();
        }
        if let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with(['#', ';'])) {
            let value = value.trim();
            let bare = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
            let bare = bare.replace("\\\"", "\"").replace("\\\\", "\\");
            found.extend(held(&format!("{section}.{}", name.trim()), &bare));
        }
    }
    found
}
