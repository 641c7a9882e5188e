//! Program options that run a command: `tar --to-command`, `sed e`, `ssh -o ProxyCommand`, `vim -c '!…'` and the like.

use super::git;
use crate::shell_rules::options::{Inner, rest_behind, scripts, value_of, values};
use crate::words::is_in;

/// Programs, and their options whose value is executed as a command.
const OPTIONS: &[(&str, &str)] = &[
    ("rsync", "-e --rsh --rsync-path"),
    ("scp sftp", "-S"),
    ("tar gtar bsdtar", "--to-command --use-compress-program -I --info-script -F --rsh-command"),
    ("zip", "-TT --unzip-command"),
    ("man", "-P --pager -H"),
    ("split", "--filter"),
    ("sort", "--compress-program"),
    ("curl wget", "--use-askpass"),
    ("npx npm yarn pnpm", "-c --call"),
];
/// Options of `docker run` and its kin whose value is the next word.
const OF_CONTAINERS: &str = "volume env publish user workdir hostname name network mount entrypoint env-file platform \
    restart memory cpus label add-host gpus device cap-add security-opt ulimit tmpfs pid ipc log-driver namespace container";

/// Returns what a program runs because of its arguments, besides the rest of its words.
pub(super) fn hooks(program: &str, arguments: &[String]) -> Vec<Inner> {
    let after_c = |letter, name| value_of(arguments, letter, name).map(Inner::Script).into_iter().collect();
    let mut found: Vec<Inner> = match program {
        "env" => after_c('S', "split-string"),
        "su" | "runuser" | "script" | "flock" | "pkexec" | "newgrp" | "sg" => after_c('c', "command"),
        "watch" | "parallel" => vec![Inner::Script(rest_behind(arguments, "nj", 0).join(" "))],
        "alias" => scripts(arguments.iter().filter_map(|word| word.split_once('=')).map(|(_, value)| value)),
        "ssh" | "autossh" | "mosh" | "sshpass" => {
            let rest = rest_behind(arguments, "pilFoJLRDbcEeIQSWwmB", 1);
            (!rest.is_empty()).then(|| Inner::Elsewhere(rest.join(" "))).into_iter().collect()
        }
        "find" | "gfind" | "fd" | "fdfind" => executed(arguments),
        "git" => git::hooks(arguments),
        // Git's subcommands as separate programs, in the directory where git keeps them.
        _ if program.starts_with("git-") => git::hooks_of_verb(&program[4..], arguments),
        "sed" | "gsed" => sed(arguments),
        "vim" | "vi" | "nvim" | "ex" | "view" => editor(arguments),
        "docker" | "podman" | "nerdctl" | "kubectl" | "lxc" => container(arguments),
        "at" | "batch" => vec![Inner::Input],
        // A word with blanks may be a command.
        "tmux" | "screen" | "byobu" => {
            let texts = scripts(arguments.iter().filter(|word| word.contains(' ')).map(String::as_str));
            let rest =
                arguments.iter().skip_while(|word| !word.starts_with("-dm")).skip(1).cloned().collect();
            texts.into_iter().chain([Inner::Command(rest)]).collect()
        }
        "mysql" | "psql" | "sqlite3" => {
            let marks = [".shell ", ".system ", "\\! "];
            scripts(
                arguments
                    .iter()
                    .filter_map(|word| marks.iter().find_map(|mark| Some(word.split_once(mark)?.1))),
            )
        }
        _ => Vec::new(),
    };
    for (_, options) in OPTIONS.iter().filter(|(names, _)| is_in(names, program)) {
        found.extend(scripts(values(arguments, options)));
    }
    let prefixed = |option, prefix: &str| {
        let texts = values(arguments, option).into_iter();
        let lower = |text: &str| text.to_ascii_lowercase().replace(' ', "=").starts_with(prefix);
        scripts(texts.filter(|text| lower(text)).map(|text| &text[prefix.len()..]))
    };
    match program {
        "tar" | "gtar" => found.extend(prefixed("--checkpoint-action", "exec=")),
        "ssh" | "scp" | "sftp" | "autossh" => {
            for hook in ["proxycommand=", "localcommand=", "knownhostscommand="] {
                found.extend(prefixed("-o", hook));
            }
        }
        _ => {}
    }
    found
}

fn executed(arguments: &[String]) -> Vec<Inner> {
    let is_exec = |word: &String| is_in("-exec -execdir -ok -okdir -x -X --exec --exec-batch", word);
    let begins = arguments.iter().enumerate().filter(|(_, word)| is_exec(word)).map(|(at, _)| at + 1);
    let command = |from: usize| {
        let words = arguments[from..].iter().take_while(|word| !matches!(word.as_str(), ";" | "+"));
        Inner::Command(words.cloned().collect())
    };
    begins.map(command).collect()
}

/// `e command`, and `s///e`, which runs what it made; `w` writes files.
fn sed(arguments: &[String]) -> Vec<Inner> {
    let mut programs = values(arguments, "-e --expression");
    if programs.is_empty() {
        programs.extend(arguments.iter().find(|word| !word.starts_with('-')).map(String::as_str));
    }
    let mut found = Vec::new();
    for program in programs {
        for line in program.split(['\n', ';', '{']) {
            let command = line.trim().trim_start_matches(|c: char| c.is_ascii_digit() || " ,$!".contains(c));
            found.extend(scripts(command.strip_prefix("e ")));
            let Some(end) = command.strip_prefix('s').and_then(|rest| rest.chars().next()) else { continue };
            let parts: Vec<&str> = command[1 + end.len_utf8()..].split(end).collect();
            if let [.., made, flags] = parts.as_slice()
                && flags.chars().take_while(|c| *c != ' ').any(|c| c == 'e')
            {
                found.extend(scripts([*made]));
            }
        }
        if let Some((_, file)) = program.rsplit_once("w ").filter(|(_, file)| file.starts_with('/')) {
            found.push(Inner::Command(vec!["tee".to_owned(), file.trim().to_owned()]));
        }
    }
    found
}

/// `-c '!command'` and `+'!command'`.
fn editor(arguments: &[String]) -> Vec<Inner> {
    let commands = values(arguments, "-c --cmd").into_iter();
    let commands = commands.chain(arguments.iter().filter_map(|word| word.strip_prefix('+')));
    scripts(commands.filter_map(|command| command.trim_start_matches(':').strip_prefix('!')))
}

/// The command that runs in a container.
fn container(arguments: &[String]) -> Vec<Inner> {
    let Some(verb) = arguments.iter().position(|word| matches!(word.as_str(), "run" | "exec" | "create"))
    else {
        return Vec::new();
    };
    let rest = &arguments[verb + 1..];
    let inside = match rest.iter().position(|word| word == "--") {
        Some(at) => rest[at + 1..].to_vec(),
        None => {
            let is_valued =
                |word: &String| word.strip_prefix("--").is_some_and(|name| is_in(OF_CONTAINERS, name));
            let (mut kept, mut words) = (Vec::new(), rest.iter());
            while let Some(word) = words.next() {
                if is_valued(word) {
                    words.next();
                } else {
                    kept.push(word.clone());
                }
            }
            rest_behind(&kept, "vepuwhlmna", 1).to_vec()
        }
    };
    let quoted = inside.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''")));
    vec![Inner::Elsewhere(quoted.collect::<Vec<_>>().join(" "))]
}
