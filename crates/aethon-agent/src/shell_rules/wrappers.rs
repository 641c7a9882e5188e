//! Programs that run what their arguments say: `env`, `sudo`, `xargs`, `sh -c`, `find -exec` and their kin.

use super::interpreters::{Code, interpreter};
use super::paths::base_name;

/// What a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Inner {
    /// A command, as its words.
    Command(Vec<String>),
    /// A text that a shell reads.
    Script(String),
    /// A program in another language.
    Program(String),
}

/// A program whose operands are a command.
struct Wrapper {
    names: &'static [&'static str],
    /// Letters of options that take a value.
    valued: &'static str,
    /// Long options that take a value.
    long: &'static [&'static str],
    /// How many operands stand before the command.
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
        &["command", "builtin", "nohup", "setsid", "busybox", "toybox", "unshare", "fakeroot", "chronic"],
        "",
    ),
    wrapper(
        &["eatmydata", "caffeinate", "rlwrap", "torsocks", "proxychains", "proxychains4", "winpty", "pkexec"],
        "",
    ),
    wrapper(&["exec"], "a"),
    Wrapper { names: &["nice"], valued: "n", long: &["adjustment"], skipped: 0 },
    Wrapper { names: &["ionice"], valued: "cnpPu", long: &["class", "classdata"], skipped: 0 },
    behind(&["chrt", "taskset", "flock", "chroot"], "wE", 1),
    wrapper(&["time"], "fo"),
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
    wrapper(&["strace", "ltrace"], "oepsE"),
    wrapper(&["nsenter"], "tS"),
    wrapper(&["systemd-run", "systemd-inhibit"], "puGM"),
];

/// What this command runs, one layer of it.
pub(super) fn inner(argv: &[String]) -> Vec<Inner> {
    let Some(program) = argv.first().map(|first| base_name(first)) else { return Vec::new() };
    let arguments = &argv[1..];
    let mut found = Vec::new();
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&program)) {
        let rest = wrapper.rest(arguments);
        if !rest.is_empty() {
            found.push(Inner::Command(rest.to_vec()));
        }
    }
    match program {
        "env" => found.extend(value_of(arguments, 'S', "split-string").map(Inner::Script)),
        "su" | "runuser" | "script" | "flock" => {
            found.extend(value_of(arguments, 'c', "command").map(Inner::Script));
        }
        "eval" | "watch" | "parallel" => {
            let wrapper = behind(&[], "nj", 0);
            found.push(Inner::Script(wrapper.rest(arguments).join(" ")));
        }
        "ssh" => found.push(Inner::Script(behind(&[], "pilFoJLRDbcEeIQSWwmB", 1).rest(arguments).join(" "))),
        "trap" => found.extend(arguments.first().cloned().map(Inner::Script)),
        "alias" => {
            let values = arguments.iter().filter_map(|word| word.split_once('='));
            found.extend(values.map(|(_, value)| Inner::Script(value.to_owned())));
        }
        "find" | "gfind" | "fd" | "fdfind" => found.extend(executed(arguments)),
        _ => {}
    }
    if let Some(interpreter) = interpreter(argv) {
        found.extend(interpreter.code.map(|code| match code {
            Code::Shell(text) => Inner::Script(text),
            Code::Other(text) => Inner::Program(text),
        }));
    }
    found
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
                // The value of the last letter is the next word; of an earlier one, the rest of this.
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
pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.strip_suffix('+').unwrap_or(name);
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// The value of an option with this letter or name, and the words behind it.
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

/// What `find` executes.
fn executed(arguments: &[String]) -> Vec<Inner> {
    let is_exec =
        |word: &String| matches!(word.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X");
    let begins = arguments.iter().enumerate().filter(|(_, word)| is_exec(word)).map(|(at, _)| at + 1);
    let commands = begins.map(|from| {
        let words = arguments[from..].iter().take_while(|word| !matches!(word.as_str(), ";" | "+"));
        Inner::Command(words.cloned().collect())
    });
    commands.collect()
}
