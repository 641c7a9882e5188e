//! Programs that run what their arguments say: `env`, `sudo`, `xargs`, `sh -c`, `find -exec` and the like.
//!
//! Programs that only run the rest of their words are listed in a table here; those with hooks of their own are in
//! `programs/hooks.rs`.

mod git;
mod hooks;

use super::interpreters::{Code, interpreter};
use super::paths::base_name;

pub(super) use git::settings_in as settings_of_git;

/// Something that a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Inner {
    /// A command, as its words.
    Command(Vec<String>),
    /// A text that a shell reads.
    Script(String),
    /// The same, with arguments.
    Shell(String, Vec<String>),
    /// A text that a shell on another machine or in a container reads.
    Elsewhere(String),
    /// A program in another language.
    Program(String),
    /// Its input, read by a shell.
    Input,
    /// Its input, in another language.
    ProgramInput,
    /// A table of commands with times before them, in a file or, as `-`, in the input.
    Crontab(String),
    /// A makefile, whose recipes are run.
    Recipes(String),
    /// The hooks and settings that git finds by itself.
    GitFiles,
    /// A file with git settings.
    Settings(String),
    /// A folder of programs.
    Programs(String),
    /// A command to which the words that it reads are appended.
    Appending(Vec<String>),
}

/// A program whose operands are a command.
struct Wrapper {
    names: &'static [&'static str],
    /// Letters of options that take a value.
    valued: &'static str,
    /// Long options that take a value.
    long: &'static [&'static str],
    /// How many operands precede the command.
    skipped: usize,
}

const fn wrapper(names: &'static [&'static str], valued: &'static str) -> Wrapper {
    Wrapper { names, valued, long: &[], skipped: 0 }
}

const fn behind(names: &'static [&'static str], valued: &'static str, skipped: usize) -> Wrapper {
    Wrapper { names, valued, long: &[], skipped }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper(
        &[
            "command", "builtin", "nohup", "setsid", "busybox", "toybox", "unshare", "fakeroot", "chronic",
            "setarch", "linux32",
        ],
        "",
    ),
    wrapper(
        &[
            "eatmydata",
            "caffeinate",
            "rlwrap",
            "torsocks",
            "proxychains",
            "proxychains4",
            "winpty",
            "pkexec",
            "firejail",
            "bwrap",
        ],
        "",
    ),
    wrapper(&["exec"], "a"),
    Wrapper { names: &["nice"], valued: "n", long: &["adjustment"], skipped: 0 },
    Wrapper { names: &["ionice"], valued: "cnpPu", long: &["class", "classdata"], skipped: 0 },
    behind(&["chrt", "taskset", "flock", "chroot", "setpriv", "lockf"], "wE", 1),
    wrapper(&["time", "gtime"], "fo"),
    Wrapper { names: &["timeout", "gtimeout"], valued: "sk", long: &["signal", "kill-after"], skipped: 1 },
    Wrapper { names: &["stdbuf"], valued: "ioe", long: &["input", "output", "error"], skipped: 0 },
    Wrapper { names: &["env"], valued: "uCS", long: &["unset", "chdir", "split-string"], skipped: 0 },
    Wrapper {
        names: &["sudo", "doas"],
        valued: "ugpCchRTtrDU",
        long: &["user", "group", "prompt", "host", "chdir", "chroot", "other-user"],
        skipped: 0,
    },
    Wrapper {
        names: &["xargs", "gxargs"],
        valued: "ILnPsdaE",
        long: &["arg-file", "delimiter", "max-lines", "max-args", "max-procs", "max-chars", "replace"],
        skipped: 0,
    },
    wrapper(&["parallel"], "jIaS"),
    wrapper(&["strace", "ltrace", "gdb", "valgrind", "perf", "hyperfine"], "oepsE"),
    wrapper(&["nsenter"], "tS"),
    Wrapper {
        names: &["systemd-run", "systemd-inhibit"],
        valued: "puGMtE",
        long: &[
            "unit",
            "property",
            "on-active",
            "on-calendar",
            "on-boot",
            "description",
            "uid",
            "gid",
            "setenv",
            "slice",
        ],
        skipped: 0,
    },
    wrapper(
        &["entr", "ts", "cpulimit", "prlimit", "numactl", "catchsegv", "dbus-run-session", "xvfb-run"],
        "l",
    ),
    behind(&["faketime"], "f", 1),
];

/// Returns what this command runs, one layer deep.
pub(super) fn inner(argv: &[String]) -> Vec<Inner> {
    let Some(program) = argv.first().map(|first| base_name(first)) else { return Vec::new() };
    let arguments = &argv[1..];
    let mut found = Vec::new();
    if let Some(rest) = wrapped(program, arguments) {
        let rest = replaced(program, arguments, rest);
        found.push(Inner::Command(rest.clone()));
        if matches!(program, "xargs" | "gxargs" | "parallel") {
            found.push(Inner::Appending(rest));
        }
    }
    found.extend(hooks::hooks(program, arguments));
    if let Some(interpreter) = interpreter(argv) {
        found.extend(interpreter.code.map(|code| match code {
            Code::Shell(text, arguments) => Inner::Shell(text, arguments),
            Code::Other(text) => Inner::Program(text),
        }));
        if interpreter.reads_input {
            found.push(if interpreter.is_shell { Inner::Input } else { Inner::ProgramInput });
        }
    }
    found
}

/// Returns the words of a command with `{}` wherever `xargs` puts what it reads: `xargs -I@ sh -c @`.
fn replaced(program: &str, arguments: &[String], rest: &[String]) -> Vec<String> {
    let options = &arguments[..arguments.len() - rest.len()];
    let own = || {
        options.iter().enumerate().find_map(|(at, word)| {
            if let Some(value) = word.strip_prefix("--replace=") {
                return Some(value.to_owned());
            }
            let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
            let (_, value) = letters.split_once(['I', 'i'])?;
            let is_next = value.is_empty() && letters.ends_with('I');
            if is_next { options.get(at + 1).cloned() } else { Some(value.to_owned()) }
        })
    };
    match matches!(program, "xargs" | "gxargs").then(own).flatten().filter(|mark| !mark.is_empty()) {
        Some(mark) => rest.iter().map(|word| word.replace(&mark, "{}")).collect(),
        None => rest.to_vec(),
    }
}

/// Returns the variables that a command sets for the one inside it: `env NAME=value command`.
pub(super) fn settings_for(argv: &[String]) -> impl Iterator<Item = super::settings::Setting<'_>> {
    let program = argv.first().map_or("", |first| base_name(first));
    let arguments = if matches!(program, "env" | "sudo" | "doas") { &argv[1..] } else { &[] };
    let before = arguments.len() - wrapped(program, arguments).map_or(0, <[String]>::len);
    arguments[..before].iter().filter_map(|word| super::settings::parse(word))
}

/// Whether a command writes what the command inside it writes.
pub(super) fn is_wrapper(argv: &[String]) -> bool {
    let Some(program) = argv.first().map(|first| base_name(first)) else { return false };
    let runs_shell = interpreter(argv).is_some_and(|found| found.is_shell);
    runs_shell
        || wrapped(program, &argv[1..]).is_some()
            && !matches!(program, "xargs" | "gxargs" | "parallel" | "script")
}

/// The words of the command that is run.
fn wrapped<'a>(program: &str, arguments: &'a [String]) -> Option<&'a [String]> {
    let only_tells =
        |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains(['v', 'V']);
    if program == "command" && arguments.first().is_some_and(only_tells) {
        return None;
    }
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&program))?;
    let rest = wrapper.rest(arguments);
    (!rest.is_empty()).then_some(rest)
}

impl Wrapper {
    /// The words of the command that is run.
    fn rest<'a>(&self, arguments: &'a [String]) -> &'a [String] {
        let mut at = 0;
        while let Some(argument) = arguments.get(at) {
            let Some(option) = argument.strip_prefix('-').filter(|option| !option.is_empty()) else { break };
            at += 1;
            if option == "-" {
                break;
            }
            let takes_next = match option.strip_prefix('-') {
                Some(long) => self.long.contains(&long),
                // The last letter takes the next word as its value; an earlier one takes the rest of this word.
                None => {
                    option.chars().position(|letter| self.valued.contains(letter))
                        == Some(option.chars().count() - 1)
                }
            };
            at += usize::from(takes_next);
        }
        while arguments.get(at).is_some_and(|word| is_assignment(word)) {
            at += 1;
        }
        arguments.get(at + self.skipped..).unwrap_or_default()
    }
}

/// Whether a word sets a variable.
fn is_assignment(word: &str) -> bool {
    super::settings::parse(word).is_some()
}

/// The value of the option with this letter or name, with the words after it.
fn value_of(arguments: &[String], letter: char, name: &str) -> Option<String> {
    arguments.iter().enumerate().find_map(|(at, argument)| {
        let rest = || arguments[at + 1..].join(" ");
        let option = argument.strip_prefix('-')?;
        if let Some(long) = option.strip_prefix('-') {
            let (key, value) = long.split_once('=').map_or((long, None), |(key, value)| (key, Some(value)));
            return (key == name).then(|| value.map_or_else(rest, str::to_owned));
        }
        let (_, value) = option.split_once(letter)?;
        Some(if value.is_empty() { rest() } else { format!("{value} {}", rest()) })
    })
}

/// The values of options with one of these names, as `--name value` and `--name=value`, or `-nvalue` for single
/// letters.
fn values<'a>(arguments: &'a [String], names: &[&str]) -> Vec<&'a str> {
    let mut found = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        for name in names {
            if word == name {
                found.extend(arguments.get(at + 1).map(String::as_str));
            } else if let Some(rest) = word.strip_prefix(name) {
                let is_letter = name.len() == 2 && !name.starts_with("--");
                found.extend(rest.strip_prefix('=').or(is_letter.then_some(rest)));
            }
        }
    }
    found
}
