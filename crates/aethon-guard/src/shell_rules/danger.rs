//! The built-in danger list: commands that an assistant has no business running, whatever `security.blocked_commands`
//! says.
//!
//! Each has a name, which the refusal shows. Dangers that take more than one command to see (running a download, a
//! function that calls itself twice) are detected by the judge and named here.

use super::marks::{DECODED, FETCHED, is_mark};
use super::paths::{Homes, base_name, is_vital, tidy};
use super::refusal::Refusal;
use crate::words::is_in;

/// An entry of the danger list, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Danger(&'static str);

impl From<Danger> for Refusal {
    fn from(danger: Danger) -> Self {
        Self::Danger(danger.0)
    }
}

pub(super) const FORK_BOMB: Danger = Danger("fork bomb");
pub(super) const RUN_DOWNLOAD: Danger = Danger("curl | sh: running what was downloaded");
pub(super) const RUN_DECODED: Danger = Danger("base64 -d | sh: running what was hidden by an encoding");
pub(super) const OVERWRITE: Danger =
    Danger("> /dev/sda: writing to a disk, to memory or to a file that signing in needs");
/// A container that gets access to the whole machine.
const WHOLE_MACHINE: Danger = Danger("docker run -v /:/…: giving a container the whole machine");
pub(super) const REVERSE_SHELL: Danger = Danger("/dev/tcp, nc -e: a shell for somebody elsewhere");
const FORMAT: Danger = Danger("mkfs: making a file system, or wiping a disk");
pub(super) const REMOVE: Danger = Danger("rm -r /: removing the root, a home or a directory of the system");
const OPEN_ALL: Danger =
    Danger("chmod -R 777 /: changing the rights of the root, a home or a directory of the system");
pub(super) const POWER: Danger = Danger("shutdown: stopping or restarting the machine");
pub(super) const KILL_ALL: Danger = Danger("kill -1: killing every process");

/// The program names that the rules know, to be matched against names that are patterns.
pub(super) const PROGRAMS: &str = "rm dd mkfs mkfs.ext4 sudo doas shred wipefs chmod chown find mv sh bash dash zsh env xargs busybox eval shutdown reboot halt poweroff curl wget nc tee cp python3 perl kill";

/// The danger of running a downloaded or decoded text.
pub(super) fn of_text(text: &str) -> Option<Danger> {
    if text.contains(FETCHED) {
        return Some(RUN_DOWNLOAD);
    }
    text.contains(DECODED).then_some(RUN_DECODED)
}

/// Programs that download something.
const DOWNLOADERS: &str =
    "curl wget wget2 aria2c axel fetch http https lynx w3m links ftp tftp nc ncat netcat socat telnet";

/// Whether the command outputs a download.
pub(super) fn downloads(argv: &[String]) -> bool {
    argv.first().is_some_and(|program| is_in(DOWNLOADERS, base_name(program)))
}

/// Whether the command outputs decoded text.
pub(super) fn decodes(argv: &[String]) -> bool {
    let Some(program) = argv.first() else { return false };
    let has = |wanted: &[&str]| argv[1..].iter().any(|word| wanted.contains(&word.as_str()));
    match base_name(program) {
        "base64" | "base32" | "basenc" => argv[1..]
            .iter()
            .any(|word| word.starts_with("--d") || is_letters(word) && word.contains(['d', 'D'])),
        "xxd" => argv[1..].iter().any(|word| is_letters(word) && word.contains('r')),
        "openssl" => has(&["-d"]) || has(&["base64"]) && has(&["-d", "-D"]),
        "uudecode" => true,
        _ => false,
    }
}

/// The files to which the command downloads.
pub(super) fn downloaded_files(argv: &[String]) -> Option<Vec<String>> {
    if !downloads(argv) {
        return None;
    }
    let mut files = Vec::new();
    let is_curl = base_name(&argv[0]) == "curl";
    let mut is_named = false;
    for (at, word) in argv.iter().enumerate().skip(1) {
        let letter = if is_curl { 'o' } else { 'O' };
        let next = argv.get(at + 1).cloned();
        match word.split_once('=') {
            Some(("--output" | "--output-document", file)) => files.push(file.to_owned()),
            _ if matches!(word.as_str(), "--output" | "--output-document")
                || is_letters(word) && word.ends_with(letter) =>
            {
                files.extend(next);
            }
            _ => continue,
        }
        is_named = true;
    }
    let names_itself =
        !is_curl || argv.iter().any(|word| word == "--remote-name" || is_letters(word) && word.contains('O'));
    if !is_named && names_itself {
        let addresses = argv[1..].iter().filter(|word| !word.starts_with('-'));
        files.extend(addresses.filter_map(|word| word.rsplit('/').next()).map(str::to_owned));
    }
    Some(files.iter().map(|file| tidy(file)).filter(|file| !file.is_empty() && file != "-").collect())
}

/// The command with its paths resolved against this directory.
pub(super) fn resolved(argv: &[String], folder: &str) -> Vec<String> {
    if !matches!(
        base_name(&argv[0]),
        "rm" | "srm" | "find" | "gfind" | "mv" | "chmod" | "chown" | "chgrp" | "shred" | "tee" | "cp"
    ) {
        return argv.to_vec();
    }
    let resolve = |word: &String| {
        let is_path = !word.starts_with(['/', '~', '-', '$', '(', '!']) && !word.contains('+');
        if is_path { format!("{folder}/{word}") } else { word.clone() }
    };
    std::iter::once(argv[0].clone()).chain(argv[1..].iter().map(resolve)).collect()
}

/// The danger of a simple command.
pub(super) fn danger(argv: &[String], homes: &Homes) -> Option<Danger> {
    let (program, arguments) = argv.split_first()?;
    let program = of_system(program);
    let precious = || operands(arguments).any(|path| homes.is_precious(path));
    let vital = || operands(arguments).any(is_vital);
    match program {
        "rm" | "srm" | "unlink" | "rmdir" | "shred" => {
            let everything =
                has_option(arguments, 'r', "recursive") || has_option(arguments, 'R', "recursive");
            let asked_for = arguments.iter().any(|word| word == "--no-preserve-root");
            if asked_for || everything && precious() {
                return Some(REMOVE);
            }
            vital().then_some(OVERWRITE)
        }
        "find" | "gfind" => finds_and_removes(arguments, homes).then_some(REMOVE),
        "mv" => {
            let last = operands(arguments).last()?;
            let is_gone = last == "/dev/null" && precious();
            is_gone.then_some(REMOVE).or_else(|| is_vital(last).then_some(OVERWRITE))
        }
        "chmod" | "chown" | "chgrp" | "setfacl" => {
            let is_deep = has_option(arguments, 'R', "recursive");
            if program == "chmod" && narrows(arguments, homes) {
                return None;
            }
            (is_deep && operands(arguments).skip(1).any(|path| homes.is_precious(path))).then_some(OPEN_ALL)
        }
        "dd" => {
            let mut targets = arguments.iter().filter_map(|word| word.strip_prefix("of="));
            targets.any(is_vital).then_some(OVERWRITE)
        }
        "tee" | "truncate" | "sponge" => vital().then_some(OVERWRITE),
        "sed" | "gsed" | "perl" => {
            let in_place = arguments
                .iter()
                .any(|word| is_letters(word) && word.contains('i') || word.starts_with("--in-place"));
            (in_place && vital()).then_some(OVERWRITE)
        }
        "sort" | "curl" | "wget" => {
            let mut targets =
                arguments.windows(2).filter(|pair| matches!(pair[0].as_str(), "-o" | "-O" | "--output"));
            targets.any(|pair| is_vital(&pair[1])).then_some(OVERWRITE)
        }
        "docker" | "podman" | "nerdctl" => mounts_all(arguments).then_some(WHOLE_MACHINE),
        "socat" => {
            let runs = |word: &String| {
                let upper = word.to_ascii_uppercase();
                upper.starts_with("EXEC:") || upper.starts_with("SYSTEM:")
            };
            arguments.iter().any(runs).then_some(REVERSE_SHELL)
        }
        "cp" | "install" | "ln" => {
            operands(arguments).last().filter(|last| is_vital(last)).map(|_| OVERWRITE)
        }
        "wipefs" | "blkdiscard" | "mke2fs" | "mkswap" | "newfs" | "sgdisk" | "sfdisk" => Some(FORMAT),
        "hdparm" => arguments.iter().any(|word| word.starts_with("--security-erase")).then_some(FORMAT),
        "badblocks" => has_option(arguments, 'w', "").then_some(FORMAT),
        "nvme" => arguments
            .first()
            .is_some_and(|word| matches!(word.as_str(), "format" | "sanitize"))
            .then_some(FORMAT),
        "shutdown" | "reboot" | "halt" | "poweroff" | "init" | "telinit" | "systemctl" | "loginctl" => {
            stops_machine(program, arguments).then_some(POWER)
        }
        "kill" => kills_all(arguments).then_some(KILL_ALL),
        "nc" | "ncat" | "netcat" => {
            let runs = |word: &String| {
                is_letters(word) && word.ends_with(['e', 'c']) || is_in("--exec --sh-exec", word)
            };
            arguments.iter().any(runs).then_some(REVERSE_SHELL)
        }
        _ => is_mkfs(program).then_some(FORMAT),
    }
}

/// The danger of writing to a path.
pub(super) fn write_danger(target: &str) -> Option<Danger> {
    if target.starts_with("/dev/tcp/") || target.starts_with("/dev/udp/") {
        return Some(REVERSE_SHELL);
    }
    if target.starts_with("/proc/sysrq") {
        return Some(POWER);
    }
    is_vital(target).then_some(OVERWRITE)
}

/// The program's name if it is a system program: it has no path, or that of a system directory.
fn of_system(program: &str) -> &str {
    let name = base_name(program);
    let Some(folder) = program.strip_suffix(name).filter(|folder| !folder.is_empty()) else { return name };
    let is_computed = folder.contains(is_mark) || folder.contains(['*', '?', '[']) || folder.contains("..");
    let is_of_system = folder.starts_with('/') && folder.trim_end_matches('/').ends_with("bin");
    let is_own = !is_computed && !is_of_system;
    let is_word =
        matches!(name, "shutdown" | "reboot" | "halt" | "poweroff" | "init" | "telinit") || is_mkfs(name);
    if is_own && is_word { "" } else { name }
}

/// Whether this only takes permissions away from others, in the user's own home or outside precious directories.
fn narrows(arguments: &[String], homes: &Homes) -> bool {
    let mut words = arguments
        .iter()
        .filter(|word| !matches!(word.as_str(), "-R" | "--recursive" | "-v" | "-f" | "-c" | "--"));
    let is_narrow = words.next().is_some_and(|mode| {
        mode.contains('-') && mode.chars().all(|c| "go-rwx,".contains(c)) && mode.starts_with(['g', 'o'])
    });
    is_narrow && words.all(|path| homes.is_own(path) || !homes.is_precious(path))
}

/// Whether a container gets the machine's root directory writable.
fn mounts_all(arguments: &[String]) -> bool {
    let is_root = |value: &str| {
        let (source, target) = value.split_once(':').unwrap_or_default();
        source.starts_with('/')
            && tidy(source) == "/"
            && target.starts_with('/')
            && !target.split([':', ',']).any(|part| part == "ro")
    };
    let is_mount = |value: &str| {
        let has = |wanted| value.split(',').any(|field| field == wanted);
        (has("source=/") || has("src=/")) && !has("readonly") && !has("ro")
    };
    arguments.iter().enumerate().any(|(at, word)| {
        let next = arguments.get(at + 1).map_or("", String::as_str);
        match word.split_once('=') {
            Some(("--volume" | "-v", value)) => is_root(value),
            Some(("--mount", value)) => is_mount(value),
            _ if matches!(word.as_str(), "-v" | "--volume") => is_root(next),
            _ if word == "--mount" => is_mount(next),
            _ => word.strip_prefix("-v").is_some_and(is_root),
        }
    })
}

fn is_mkfs(program: &str) -> bool {
    program == "mkfs" || program.starts_with("mkfs.")
}

/// Whether this stops or restarts the machine.
fn stops_machine(program: &str, arguments: &[String]) -> bool {
    match program {
        "init" | "telinit" => arguments.first().is_some_and(|level| matches!(level.as_str(), "0" | "6")),
        "systemctl" | "loginctl" => operands(arguments).next().is_some_and(is_power_verb),
        _ => {
            let tells = ["--help", "--version", "-c", "--show", "-?"];
            !arguments.iter().any(|word| tells.contains(&word.as_str()))
        }
    }
}

fn is_power_verb(verb: &str) -> bool {
    is_in("poweroff reboot halt kexec soft-reboot suspend hibernate rescue emergency", verb)
}

/// Whether a word is short options such as `-rf`, not a `--long` one.
fn is_letters(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && !word.starts_with("--")
}

fn has_option(arguments: &[String], letter: char, name: &str) -> bool {
    let options = arguments.iter().take_while(|word| word.as_str() != "--");
    options.into_iter().any(|word| match word.strip_prefix("--") {
        // Programs accept abbreviations of long options.
        Some(long) => long.len() > 1 && name.starts_with(long),
        None => is_letters(word) && word.contains(letter),
    })
}

/// The arguments that are not options.
pub(super) fn operands(arguments: &[String]) -> impl Iterator<Item = &str> {
    let mut only_operands = false;
    arguments
        .iter()
        .map(String::as_str)
        .filter(move |word| {
            if *word == "--" {
                return !std::mem::replace(&mut only_operands, true);
            }
            only_operands || !word.starts_with('-') || word.len() == 1
        })
        .filter(|word| *word != "--")
}

fn finds_and_removes(arguments: &[String], homes: &Homes) -> bool {
    let arguments: Vec<&String> = arguments.iter().skip_while(|word| is_in("-H -L -P --", word)).collect();
    let roots = arguments.iter().take_while(|word| !word.starts_with(['-', '(', '!']));
    // With a test before it, it removes only the matches. Staying on one file system or going depth-first is no test.
    let is_test =
        |word: &&&String| word.starts_with('-') && !matches!(word.as_str(), "-xdev" | "-mount" | "-depth");
    let first_test = arguments.iter().find(is_test).map(|word| word.as_str());
    let removes = matches!(first_test, Some("-delete"))
        || arguments.windows(2).any(|pair| pair[0].starts_with("-exec") && base_name(pair[1]) == "rm")
            && matches!(first_test, Some("-exec" | "-execdir"));
    removes && roots.into_iter().any(|root| homes.is_precious(root))
}

/// Whether every process is to be killed: `-1` as a process, not as a signal.
fn kills_all(arguments: &[String]) -> bool {
    let mut words = arguments.iter().map(String::as_str).peekable();
    match words.peek() {
        Some(&"-s" | &"-n" | &"--signal") => {
            words.next();
            words.next();
        }
        Some(&"--") | None => {}
        Some(word) if word.starts_with('-') => {
            words.next();
        }
        Some(_) => {}
    }
    words.any(|word| word == "-1")
}
