//! Programs that run programs: shells and the languages beside them.

use super::paths::base_name;

const SHELLS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish", "rbash", "csh", "tcsh", "yash", "hush"];

/// What an interpreter is given to run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Interpreter {
    /// The program in its arguments.
    pub(super) code: Option<Code>,
    /// The file that holds it.
    pub(super) file: Option<String>,
    /// Whether it reads the program from its input.
    pub(super) reads_input: bool,
}

/// A program in an argument.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// In the language of the shell.
    Shell(String),
    /// In another one.
    Other(String),
}

/// A language beside the shell's.
struct Language {
    name: &'static str,
    /// Letters of options with a program.
    code: &'static str,
    /// Long options with a program.
    long: &'static [&'static str],
    /// Letters of options with another value.
    valued: &'static str,
    /// Letters of options that name a module, which is the program then.
    module: &'static str,
}

const LANGUAGES: &[Language] = &[
    Language { name: "python", code: "c", long: &[], valued: "WX", module: "m" },
    Language { name: "pypy", code: "c", long: &[], valued: "WX", module: "m" },
    Language { name: "perl", code: "eE", long: &[], valued: "", module: "" },
    Language { name: "ruby", code: "e", long: &[], valued: "rI", module: "" },
    Language { name: "node", code: "ep", long: &["eval", "print"], valued: "r", module: "" },
    Language { name: "bun", code: "ep", long: &["eval", "print"], valued: "r", module: "" },
    Language { name: "php", code: "r", long: &["run"], valued: "dczn", module: "" },
    Language { name: "lua", code: "e", long: &[], valued: "l", module: "" },
    Language { name: "tclsh", code: "", long: &[], valued: "", module: "" },
    Language { name: "osascript", code: "e", long: &[], valued: "l", module: "" },
    Language { name: "pwsh", code: "", long: &[], valued: "", module: "" },
];

/// What this command interprets; `None` when it is no interpreter.
pub(super) fn interpreter(argv: &[String]) -> Option<Interpreter> {
    let (program, arguments) = argv.split_first()?;
    let name = base_name(program).trim_start_matches('-');
    if SHELLS.contains(&name) {
        return Some(shell(arguments));
    }
    if matches!(name, "awk" | "gawk" | "mawk") {
        let code = arguments.iter().find(|word| !word.starts_with('-')).cloned();
        return Some(Interpreter { code: code.map(Code::Other), ..Interpreter::default() });
    }
    // `python3.12`, `nodejs`
    let is_version =
        |rest: &str| rest == "js" || rest.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-');
    let language =
        LANGUAGES.iter().find(|language| name.strip_prefix(language.name).is_some_and(is_version))?;
    Some(other(language, arguments))
}

fn shell(arguments: &[String]) -> Interpreter {
    let mut found = Interpreter::default();
    let (mut at, mut has_code, mut from_input) = (0, false, false);
    while let Some(argument) = arguments.get(at) {
        let Some(option) = argument.strip_prefix(['-', '+']).filter(|option| !option.is_empty()) else {
            break;
        };
        at += 1;
        if let Some(long) = option.strip_prefix('-') {
            if long.is_empty() {
                break;
            }
            at += usize::from(matches!(long, "rcfile" | "init-file"));
            continue;
        }
        has_code |= option.contains('c');
        from_input |= option.contains('s');
        at += option.chars().filter(|letter| matches!(letter, 'o' | 'O')).count();
    }
    match arguments.get(at) {
        // `xargs` puts the program there, or at the end.
        Some(code) if has_code && code.trim() == "{}" => found.reads_input = true,
        None if has_code => found.reads_input = true,
        Some(code) if has_code => found.code = Some(Code::Shell(code.clone())),
        Some(file) if !from_input && !is_input(file) => found.file = Some(file.clone()),
        _ => found.reads_input = true,
    }
    found
}

fn other(language: &Language, arguments: &[String]) -> Interpreter {
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        let Some(option) = argument.strip_prefix('-').filter(|option| !option.is_empty()) else { break };
        at += 1;
        let next = || arguments.get(at).cloned().unwrap_or_default();
        if let Some(long) = option.strip_prefix('-') {
            let (key, value) = long.split_once('=').map_or((long, None), |(key, value)| (key, Some(value)));
            if language.long.contains(&key) {
                return of_code(value.map_or_else(next, str::to_owned));
            }
            continue;
        }
        for (place, letter) in option.char_indices() {
            let rest = &option[place + letter.len_utf8()..];
            if language.code.contains(letter) {
                return of_code(if rest.is_empty() { next() } else { rest.to_owned() });
            }
            if language.module.contains(letter) {
                return Interpreter::default();
            }
            if language.valued.contains(letter) {
                at += usize::from(rest.is_empty());
                break;
            }
        }
    }
    match arguments.get(at) {
        Some(file) if !is_input(file) => Interpreter { file: Some(file.clone()), ..Interpreter::default() },
        _ => Interpreter { reads_input: true, ..Interpreter::default() },
    }
}

fn of_code(code: String) -> Interpreter {
    Interpreter { code: Some(Code::Other(code)), ..Interpreter::default() }
}

/// Whether a file is the input itself.
pub(super) fn is_input(file: &str) -> bool {
    matches!(file, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}

/// The texts between quotes in a program that runs other programs; one by one, and put together, as lists of words are.
pub(super) fn quoted_commands(program: &str) -> Vec<String> {
    const RUNNING: &[&str] =
        &["system", "popen", "exec", "spawn", "subprocess", "check_output", "check_call", "qx", "shell"];
    let lower = program.to_ascii_lowercase();
    if !RUNNING.iter().any(|word| lower.contains(word)) {
        return Vec::new();
    }
    let (mut texts, mut current): (Vec<String>, Option<(char, String)>) = (Vec::new(), None);
    let mut chars = program.chars();
    while let Some(c) = chars.next() {
        current = match current {
            None => matches!(c, '"' | '\'' | '`').then(|| (c, String::new())),
            Some((quote, text)) if c == quote => {
                texts.push(text);
                None
            }
            Some((quote, mut text)) => {
                text.extend(if c == '\\' { chars.next() } else { Some(c) });
                Some((quote, text))
            }
        };
    }
    if texts.len() > 1 {
        texts.push(texts.join(" "));
    }
    texts
}
