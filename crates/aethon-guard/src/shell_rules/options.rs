//! What a command runs, as data, and the words behind the options of programs that run the rest of their words.

use super::words::split_assignment;
use crate::words::is_in;

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
    /// A command to which the words that it reads are appended.
    Appending(Vec<String>),
}

/// Programs whose operands are a command: their names, the letters and the long names of options that take a value, and
/// how many operands precede the command.
struct Wrapper(&'static str, &'static str, &'static str, usize);

const WRAPPERS: &[Wrapper] = &[
    Wrapper(
        "command builtin nohup setsid busybox toybox unshare fakeroot chronic setarch linux32",
        "",
        "",
        0,
    ),
    Wrapper(
        "eatmydata caffeinate rlwrap torsocks proxychains proxychains4 winpty pkexec firejail bwrap",
        "",
        "",
        0,
    ),
    Wrapper("entr ts cpulimit prlimit numactl catchsegv dbus-run-session xvfb-run", "l", "", 0),
    Wrapper("strace ltrace gdb valgrind perf hyperfine", "oepsE", "", 0),
    Wrapper("exec", "a", "", 0),
    Wrapper("nice", "n", "adjustment", 0),
    Wrapper("ionice", "cnpPu", "class classdata", 0),
    Wrapper("chrt taskset flock chroot setpriv lockf", "wE", "", 1),
    Wrapper("time gtime", "fo", "", 0),
    Wrapper("timeout gtimeout", "sk", "signal kill-after", 1),
    Wrapper("stdbuf", "ioe", "input output error", 0),
    Wrapper("env", "uCS", "unset chdir split-string", 0),
    Wrapper("sudo doas", "ugpCchRTtrDU", "user group prompt host chdir chroot other-user", 0),
    Wrapper(
        "xargs gxargs",
        "ILnPsdaE",
        "arg-file delimiter max-lines max-args max-procs max-chars replace",
        0,
    ),
    Wrapper("parallel", "jIaS", "", 0),
    Wrapper("nsenter", "tS", "", 0),
    Wrapper(
        "systemd-run systemd-inhibit",
        "puGMtE",
        "unit property on-active on-calendar uid gid setenv slice",
        0,
    ),
    Wrapper("faketime", "f", "", 1),
];

/// The words of the command that is run.
pub(super) fn wrapped<'a>(program: &str, arguments: &'a [String]) -> Option<&'a [String]> {
    let only_tells =
        |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains(['v', 'V']);
    if program == "command" && arguments.first().is_some_and(only_tells) {
        return None;
    }
    let wrapper = WRAPPERS.iter().find(|wrapper| is_in(wrapper.0, program))?;
    let rest = wrapper.rest(arguments);
    (!rest.is_empty()).then_some(rest)
}

impl Wrapper {
    /// The words of the command that is run.
    fn rest<'a>(&self, arguments: &'a [String]) -> &'a [String] {
        let Self(_, valued, long, skipped) = self;
        let mut at = 0;
        while let Some(option) = arguments.get(at).and_then(|word| word.strip_prefix('-')) {
            at += 1;
            if option == "-" || option.is_empty() {
                break;
            }
            let takes_next = match option.strip_prefix('-') {
                Some(name) => is_in(long, name),
                // The last letter takes the next word as its value; an earlier one takes the rest of this word.
                None => option.find(|letter| valued.contains(letter)) == Some(option.len() - 1),
            };
            at += usize::from(takes_next);
        }
        while arguments.get(at).is_some_and(|word| split_assignment(word).is_some()) {
            at += 1;
        }
        arguments.get(at + skipped..).unwrap_or_default()
    }
}

/// The words behind the options, some of which take a value, and behind this number of operands.
pub(super) fn rest_behind<'a>(arguments: &'a [String], valued: &'static str, skipped: usize) -> &'a [String] {
    Wrapper("", valued, "", skipped).rest(arguments)
}

/// The value of the option with this letter or name, with the words after it.
pub(super) fn value_of(arguments: &[String], letter: char, name: &str) -> Option<String> {
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
pub(super) fn values<'a>(arguments: &'a [String], names: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        for name in names.split(' ') {
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

/// These texts, to be read by a shell.
pub(super) fn scripts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Inner> {
    texts.into_iter().map(|text| Inner::Script(text.to_owned())).collect()
}
