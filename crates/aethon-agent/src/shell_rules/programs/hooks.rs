//! Program options that run a command: `tar --to-command`, `sed e`, `ssh -o ProxyCommand`, `vim -c '!…'` and the like.

use super::{Inner, behind, git, value_of, values};

/// Returns what a program runs because of its arguments, besides the rest of its words.
pub(super) fn hooks(program: &str, arguments: &[String]) -> Vec<Inner> {
    let script = |text: String| vec![Inner::Script(text)];
    let scripts =
        |texts: Vec<&str>| texts.into_iter().map(|text| Inner::Script(text.to_owned())).collect::<Vec<_>>();
    match program {
        "env" => value_of(arguments, 'S', "split-string").map(Inner::Script).into_iter().collect(),
        "su" | "runuser" | "script" | "flock" | "pkexec" | "newgrp" | "sg" => {
            value_of(arguments, 'c', "command").map(Inner::Script).into_iter().collect()
        }
        "watch" | "parallel" => script(behind(&[], "nj", 0).rest(arguments).join(" ")),
        "alias" => scripts(
            arguments.iter().filter_map(|word| word.split_once('=')).map(|(_, value)| value).collect(),
        ),
        "ssh" | "autossh" | "mosh" | "sshpass" => ssh(arguments),
        "scp" | "sftp" => scripts(options_of_ssh(arguments))
            .into_iter()
            .chain(scripts(values(arguments, &["-S"])))
            .collect(),
        "rsync" => scripts(values(arguments, &["-e", "--rsh", "--rsync-path"])),
        "find" | "gfind" | "fd" | "fdfind" => executed(arguments),
        "git" => git::hooks(arguments),
        // Git's subcommands as separate programs, in the directory where git keeps them.
        _ if program.starts_with("git-") => git::hooks_of_verb(&program[4..], arguments),
        "tar" | "gtar" | "bsdtar" => tar(arguments),
        "zip" => scripts(values(arguments, &["-TT", "--unzip-command"])),
        "sed" | "gsed" | "ssed" => sed(arguments),
        "make" | "gmake" => make(arguments),
        "vim" | "vi" | "nvim" | "ex" | "view" | "vimdiff" | "gvim" | "emacs" => editor(program, arguments),
        "docker" | "podman" | "nerdctl" | "kubectl" | "lxc" | "docker-compose" => container(arguments),
        "at" | "batch" | "bc-sh" => vec![Inner::Input],
        "crontab" => {
            let file = behind(&[], "us", 0).rest(arguments).first().cloned();
            vec![Inner::Crontab(file.unwrap_or_else(|| "-".to_owned()))]
        }
        "compgen" => scripts(values(arguments, &["-C"]))
            .into_iter()
            // The words of a list are expanded.
            .chain(values(arguments, &["-W"]).iter().map(|words| Inner::Script(format!(": {words}"))))
            .collect(),
        "man" => scripts(values(arguments, &["-P", "--pager", "-H"])),
        "split" => scripts(values(arguments, &["--filter"])),
        "sort" => scripts(values(arguments, &["--compress-program"])),
        "curl" | "wget" => scripts(values(arguments, &["--use-askpass"])),
        "tcpdump" => scripts(values(arguments, &["-z"])),
        "less" | "more" => commands_of_vim(arguments.iter().filter_map(|word| word.strip_prefix('+'))),
        "screen" | "tmux" | "byobu" | "dtach" | "abduco" => terminal(arguments),
        "npx" | "npm" | "yarn" | "pnpm" => scripts(values(arguments, &["-c", "--call"])),
        "expect" => values(arguments, &["-c"])
            .iter()
            .map(|text| Inner::Program(text.replace("spawn ", "system \"") + "\""))
            .collect(),
        "gdb" => values(arguments, &["-ex", "--eval-command"])
            .iter()
            .filter_map(|text| text.strip_prefix("shell ").or_else(|| text.strip_prefix('!')))
            .map(|text| Inner::Script(text.to_owned()))
            .collect(),
        "mysql" | "psql" | "sqlite3" => databases(arguments),
        "nmap" => {
            values(arguments, &["--script"]).iter().map(|text| Inner::Program((*text).to_owned())).collect()
        }
        "xterm" | "gnome-terminal" | "konsole" | "alacritty" | "kitty" => script(
            arguments
                .iter()
                .skip_while(|word| !matches!(word.as_str(), "-e" | "-x" | "--"))
                .skip(1)
                .cloned()
                .collect::<Vec<_>>()
                .join(" "),
        ),
        "ed" | "red" => vec![Inner::Program("system".to_owned())],
        _ => Vec::new(),
    }
}

fn options_of_ssh(arguments: &[String]) -> Vec<&str> {
    let hooks = ["proxycommand=", "localcommand=", "knownhostscommand=", "proxycommand ", "localcommand "];
    let found = values(arguments, &["-o"]).into_iter().filter_map(|option| {
        let lower = option.to_ascii_lowercase();
        hooks.iter().find(|hook| lower.starts_with(**hook)).map(|hook| &option[hook.len()..])
    });
    found.collect()
}

/// What runs here for the connection, and what runs on the remote machine.
fn ssh(arguments: &[String]) -> Vec<Inner> {
    let mut found: Vec<Inner> =
        options_of_ssh(arguments).into_iter().map(|text| Inner::Script(text.to_owned())).collect();
    let rest = behind(&[], "pilFoJLRDbcEeIQSWwmB", 1).rest(arguments);
    if !rest.is_empty() {
        found.push(Inner::Elsewhere(rest.join(" ")));
    }
    found
}

fn executed(arguments: &[String]) -> Vec<Inner> {
    let is_exec = |word: &String| {
        matches!(
            word.as_str(),
            "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch"
        )
    };
    let begins = arguments.iter().enumerate().filter(|(_, word)| is_exec(word)).map(|(at, _)| at + 1);
    let commands = begins.map(|from| {
        let words = arguments[from..].iter().take_while(|word| !matches!(word.as_str(), ";" | "+"));
        Inner::Command(words.cloned().collect())
    });
    commands.collect()
}

fn tar(arguments: &[String]) -> Vec<Inner> {
    let names = [
        "--to-command",
        "--use-compress-program",
        "-I",
        "--info-script",
        "--new-volume-script",
        "-F",
        "--rsh-command",
    ];
    let mut found: Vec<Inner> =
        values(arguments, &names).into_iter().map(|text| Inner::Script(text.to_owned())).collect();
    let actions = values(arguments, &["--checkpoint-action"]);
    found.extend(
        actions
            .iter()
            .filter_map(|action| action.strip_prefix("exec="))
            .map(|text| Inner::Script(text.to_owned())),
    );
    found
}

/// `e command`, and `s///e`, which runs what it made; `w` writes files.
fn sed(arguments: &[String]) -> Vec<Inner> {
    let mut programs = values(arguments, &["-e", "--expression"]);
    if programs.is_empty() {
        programs.extend(arguments.iter().find(|word| !word.starts_with('-')).map(String::as_str));
    }
    let mut found = Vec::new();
    for program in programs {
        for line in program.split(['\n', ';', '{']) {
            let command = line.trim().trim_start_matches(|c: char| c.is_ascii_digit() || " ,$!".contains(c));
            if let Some(text) = command.strip_prefix("e ") {
                found.push(Inner::Script(text.trim_end_matches('}').to_owned()));
            }
            let Some(mut rest) = command.strip_prefix('s') else { continue };
            let Some(end) = rest.chars().next().filter(|c| !c.is_alphanumeric() && *c != ' ') else {
                continue;
            };
            rest = &rest[end.len_utf8()..];
            let parts: Vec<&str> = rest.split(end).collect();
            if let [.., made, flags] = parts.as_slice()
                && flags.trim_end_matches('}').chars().take_while(|c| *c != ' ').any(|c| c == 'e')
            {
                found.push(Inner::Script((*made).to_owned()));
            }
            if let [.., flags] = parts.as_slice()
                && let Some((_, file)) = flags.split_once("w ")
            {
                found.push(Inner::Command(vec!["tee".to_owned(), file.trim().to_owned()]));
            }
        }
        if let Some((_, file)) = program.rsplit_once("w ").filter(|(_, file)| file.starts_with('/')) {
            found.push(Inner::Command(vec!["tee".to_owned(), file.trim().to_owned()]));
        }
    }
    found
}

/// `--eval`, and settings that are commands: `$(shell …)`.
fn make(arguments: &[String]) -> Vec<Inner> {
    let mut found = Vec::new();
    let mut files = values(arguments, &["-f", "--file", "--makefile"]);
    if files.is_empty() {
        files.extend(["GNUmakefile", "makefile", "Makefile"]);
    }
    found.extend(files.into_iter().map(|file| Inner::Recipes(file.to_owned())));
    let texts = values(arguments, &["--eval", "-E"]).into_iter().chain(arguments.iter().map(String::as_str));
    for text in texts {
        for (at, _) in text.match_indices("$(shell ") {
            let inside = &text[at + 8..];
            let end = inside.rfind(')').unwrap_or(inside.len());
            found.push(Inner::Script(inside[..end].to_owned()));
        }
        for line in text.lines() {
            if let Some((_, recipe)) = line.split_once(';').or_else(|| line.split_once('\t')) {
                found.push(Inner::Script(recipe.trim_start_matches(['@', '-', '+']).to_owned()));
            }
        }
        if let Some(shell) = text.strip_prefix("SHELL=") {
            found.push(Inner::Script(shell.to_owned()));
        }
    }
    found
}

fn editor(program: &str, arguments: &[String]) -> Vec<Inner> {
    if program == "emacs" {
        let texts = values(arguments, &["--eval", "-eval", "--execute", "-f"]);
        return texts
            .into_iter()
            .map(|text| Inner::Program(text.replace("shell-command ", "system ")))
            .collect();
    }
    let commands = values(arguments, &["-c", "--cmd"]);
    let commands = commands.into_iter().chain(arguments.iter().filter_map(|word| word.strip_prefix('+')));
    commands_of_vim(commands)
}

fn commands_of_vim<'a>(commands: impl Iterator<Item = &'a str>) -> Vec<Inner> {
    let mut found = Vec::new();
    for command in commands {
        if let Some((before, text)) = command.split_once('!') {
            let before = before.trim_start_matches(':').trim();
            if before.is_empty()
                || matches!(before, "r" | "read" | "%" | "." | "silent" | "w" | "terminal" | "te")
            {
                found.push(Inner::Script(text.to_owned()));
            }
        } else if ["system(", "lua ", "py", "perl ", "call ", "terminal "]
            .iter()
            .any(|word| command.contains(word))
        {
            found.push(Inner::Program(command.to_owned()));
        }
    }
    found
}

/// What runs in a container.
fn container(arguments: &[String]) -> Vec<Inner> {
    let words: Vec<&String> = arguments.iter().collect();
    let Some(verb) = words.iter().position(|word| matches!(word.as_str(), "run" | "exec" | "create")) else {
        return Vec::new();
    };
    let rest = &arguments[verb + 1..];
    let mut found: Vec<Inner> = Vec::new();
    if let Some(at) = rest.iter().position(|word| word == "--") {
        found.push(Inner::Elsewhere(quoted(&rest[at + 1..])));
    }
    let skipped = behind(&[], "vepuwhlmna", 1);
    let valued = [
        "--volume",
        "--env",
        "--publish",
        "--user",
        "--workdir",
        "--hostname",
        "--name",
        "--network",
        "--mount",
        "--entrypoint",
        "--env-file",
        "--platform",
        "--restart",
        "--memory",
        "--cpus",
        "--label",
        "--add-host",
        "--gpus",
        "--device",
        "--cap-add",
        "--security-opt",
        "--ulimit",
        "--tmpfs",
        "--pid",
        "--ipc",
        "--log-driver",
        "--namespace",
        "--container",
    ];
    let mut kept: Vec<String> = Vec::new();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        if valued.contains(&word.as_str()) && kept.iter().all(|word| word.starts_with('-')) {
            words.next();
            continue;
        }
        kept.push(word.clone());
    }
    let inside = skipped.rest(&kept);
    if !inside.is_empty() {
        found.push(Inner::Elsewhere(quoted(inside)));
    }
    found
}

/// Quotes words into a text that is read as those words.
fn quoted(words: &[String]) -> String {
    words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" ")
}

/// `screen -X`, `tmux new-session 'command'`: a word with blanks may be a command, and so may what follows a verb.
fn terminal(arguments: &[String]) -> Vec<Inner> {
    let mut found: Vec<Inner> =
        arguments.iter().filter(|word| word.contains(' ')).map(|word| Inner::Script(word.clone())).collect();
    let verbs = [
        "new-session",
        "new",
        "new-window",
        "split-window",
        "run-shell",
        "send-keys",
        "-dmS",
        "-dm",
        "-S",
        "respawn-pane",
    ];
    if let Some(at) = arguments.iter().position(|word| verbs.contains(&word.as_str())) {
        let rest: Vec<String> =
            arguments[at + 1..].iter().filter(|word| *word != "Enter" && *word != "C-m").cloned().collect();
        for from in 0..rest.len().min(4) {
            found.push(Inner::Command(rest[from..].to_vec()));
        }
    }
    found
}

fn databases(arguments: &[String]) -> Vec<Inner> {
    let marks = [".shell ", ".system ", "\\! ", "system "];
    let texts = arguments.iter().filter_map(|word| marks.iter().find_map(|mark| word.split_once(mark)));
    texts.map(|(_, text)| Inner::Script(text.to_owned())).collect()
}
