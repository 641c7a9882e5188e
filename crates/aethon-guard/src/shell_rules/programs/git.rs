//! What `git` runs because of its arguments: settings that are commands, aliases, hooks of its subcommands, unusual
//! URLs. Files that git reads by itself are not followed.

use crate::shell_rules::options::{Inner, scripts, values};
use crate::words::is_in;

/// The last components of settings that are commands.
const COMMANDS: &str = "pager editor sshcommand fsmonitor external textconv clean smudge process helper program driver cmd \
    uploadpack receivepack askpass command packobjectshook gitproxy smtpserver sendmailcmd headercmd tocmd cccmd \
    defaultkeycommand difffilter";
/// Options, of any subcommand, whose value is executed.
const RUNNING: &str = "--upload-pack --receive-pack --exec --extcmd --access-hook --to-cmd --cc-cmd --header-cmd \
    --sendmail-cmd --smtp-server";
/// Options of `git` itself, and of `git config`, whose value is the next word.
const VALUED: &str = "-c -C --git-dir --work-tree --namespace --config-env --attr-source";
const VALUED_OF_CONFIG: &str = "-f --file --blob --type --default --comment --value --url";

/// Returns what `git` runs, including the settings given before the subcommand.
pub(super) fn hooks(arguments: &[String]) -> Vec<Inner> {
    let (settings, rest) = split_settings(arguments);
    let mut found: Vec<Inner> = settings.iter().flat_map(|(key, value)| held(key, value)).collect();
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
    hooks(&[&[verb.to_owned()][..], arguments].concat())
}

/// Splits the arguments into the settings before the subcommand, and the subcommand with the rest.
fn split_settings(arguments: &[String]) -> (Vec<(String, String)>, &[String]) {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(word) = arguments.get(at).filter(|word| word.starts_with('-')) {
        at += 1;
        let value = |option: &str| {
            let next = || arguments.get(at).map(String::as_str);
            word.strip_prefix(option).and_then(|rest| if rest.is_empty() { next() } else { Some(rest) })
        };
        if let Some((key, name)) =
            value("--config-env").and_then(|it| it.trim_start_matches('=').split_once('='))
        {
            // The value is in a variable.
            found.push((key.to_owned(), format!("${name}")));
        } else if let Some((key, value)) = value("-c").and_then(|setting| setting.split_once('=')) {
            found.push((key.to_owned(), value.to_owned()));
        }
        at += usize::from(is_in(VALUED, word));
    }
    (found, arguments.get(at..).unwrap_or_default())
}

fn of_verb(verb: &str, rest: &[String]) -> Vec<Inner> {
    match verb {
        "clone" | "ls-remote" | "fetch" | "pull" => {
            let settings = values(rest, "-c --config").into_iter().filter_map(|it| it.split_once('='));
            let held = settings.flat_map(|(key, value)| held(key, value));
            scripts(values(rest, "-u")).into_iter().chain(held).collect()
        }
        "rebase" | "difftool" => scripts(values(rest, "-x")),
        "bisect" if rest.first().is_some_and(|word| word == "run") => {
            vec![Inner::Command(rest[1..].to_vec())]
        }
        // Passes its words, one or many, to a shell.
        "submodule" | "submodule--helper" => {
            let words = rest.iter().skip_while(|word| *word != "foreach").skip(1);
            let words: Vec<String> = words.skip_while(|word| word.starts_with('-')).cloned().collect();
            scripts([words.join(" ").as_str()])
        }
        "filter-branch" => {
            let names = rest.iter().filter(|word| word.contains("-filter") || word.starts_with("--setup"));
            names.flat_map(|word| scripts(values(rest, word.split('=').next().unwrap_or_default()))).collect()
        }
        "grep" => scripts(values(rest, "-O --open-files-in-pager")),
        "instaweb" => scripts(values(rest, "-d --httpd -b --browser")),
        "config" => {
            let mut words = Vec::new();
            let mut at = rest.iter();
            while let Some(word) = at.next() {
                if is_in(VALUED_OF_CONFIG, word) {
                    at.next();
                } else if !(word.starts_with('-') || words.is_empty() && word == "set") {
                    words.push(word);
                }
            }
            if let [key, value, ..] = words.as_slice() { held(key, value) } else { Vec::new() }
        }
        _ => Vec::new(),
    }
}

/// The command in an `ext::` URL. No shell reads it; `% ` is a blank within a word.
fn transport(text: &str) -> Inner {
    let words = text.replace("% ", "\0").split(' ').map(|word| word.replace('\0', " ")).collect::<Vec<_>>();
    Inner::Command(words.iter().flat_map(|word| word.split('%')).map(|word| word.trim().to_owned()).collect())
}

/// What calling an alias with these words runs. Git splits its value at blanks and quotes, much as a shell does.
fn called(value: &str, rest: &[String]) -> Inner {
    let words = [&["git".to_owned()][..], rest].concat();
    let text = value.strip_prefix('!').map_or_else(|| format!("git {value}"), str::to_owned);
    Inner::Shell(format!("{text} \"$@\""), words)
}

/// The commands in a setting.
fn held(key: &str, value: &str) -> Vec<Inner> {
    let key = key.to_ascii_lowercase();
    let last = key.rsplit('.').next().unwrap_or_default();
    if key.starts_with("alias.") {
        return vec![called(value, &[])];
    }
    let is_command =
        is_in(COMMANDS, last) || last == "update" && value.starts_with('!') || key.starts_with("pager.");
    if is_command { scripts([value.trim_start_matches('!')]) } else { Vec::new() }
}
