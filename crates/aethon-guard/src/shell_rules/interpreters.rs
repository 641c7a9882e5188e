//! Programs that run programs: shells and interpreters of other languages.

use super::paths::base_name;
use crate::words::is_in;

const SHELLS: &str = "sh bash dash zsh ksh ash mksh fish rbash csh tcsh yash hush";

/// The program of an interpreter.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Interpreter {
    /// The program text among its arguments.
    pub(super) code: Option<Code>,
    /// The file that contains the program.
    pub(super) file: Option<String>,
    /// Whether it reads the program from standard input.
    pub(super) reads_input: bool,
    /// Whether that program is in the shell's language.
    pub(super) is_shell: bool,
}

/// Program text in an argument.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// In the shell's language, with its arguments.
    Shell(String, Vec<String>),
    /// In another language.
    Other(String),
}

/// An interpreter of a language other than the shell's.
struct Language {
    name: &'static str,
    /// Letters of options whose value is program text.
    code: &'static str,
    /// Long options whose value is program text.
    long: &'static [&'static str],
    /// Letters of options with any other value.
    valued: &'static str,
    /// Letters of options whose value is the rest of the word.
    attached: &'static str,
    /// Letters of options that name a module, which is then the program.
    module: &'static str,
}

const LANGUAGES: &[Language] = &[
    Language { name: "python", code: "c", long: &[], valued: "WX", attached: "", module: "m" },
    Language { name: "pypy", code: "c", long: &[], valued: "WX", attached: "", module: "m" },
    Language { name: "perl", code: "eE", long: &[], valued: "", attached: "MmiI0lFCDx", module: "" },
    Language { name: "ruby", code: "e", long: &[], valued: "rI", attached: "", module: "" },
    Language { name: "node", code: "ep", long: &["eval", "print"], valued: "r", attached: "", module: "" },
    Language { name: "bun", code: "ep", long: &["eval", "print"], valued: "r", attached: "", module: "" },
    Language { name: "php", code: "r", long: &["run"], valued: "dczn", attached: "", module: "" },
    Language { name: "lua", code: "e", long: &[], valued: "l", attached: "", module: "" },
    Language { name: "tclsh", code: "", long: &[], valued: "", attached: "", module: "" },
    Language { name: "osascript", code: "e", long: &[], valued: "l", attached: "", module: "" },
    Language { name: "pwsh", code: "", long: &[], valued: "", attached: "", module: "" },
];

/// What this command interprets; `None` if it is not an interpreter.
pub(super) fn interpreter(argv: &[String]) -> Option<Interpreter> {
    let (program, arguments) = argv.split_first()?;
    let name = base_name(program).trim_start_matches('-');
    if is_in(SHELLS, name) {
        return Some(shell(arguments));
    }
    if matches!(name, "awk" | "gawk" | "mawk" | "nawk" | "original-awk") {
        return Some(awk(arguments));
    }
    // `python3.12`, `nodejs`
    let is_version =
        |rest: &str| rest == "js" || rest.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-');
    let language =
        LANGUAGES.iter().find(|language| name.strip_prefix(language.name).is_some_and(is_version))?;
    Some(other(language, arguments))
}

fn awk(arguments: &[String]) -> Interpreter {
    let mut at = 0;
    while let Some(option) = arguments.get(at).filter(|word| word.starts_with('-') && word.len() > 1) {
        at += 1;
        match option.as_str() {
            "--" => break,
            "-f" | "--file" => {
                return Interpreter { file: arguments.get(at).cloned(), ..Interpreter::default() };
            }
            "-F" | "-v" | "--assign" | "--field-separator" | "-i" => at += 1,
            "-e" | "--source" => break,
            _ => {}
        }
    }
    arguments.get(at).cloned().map_or_else(Interpreter::default, of_code)
}

fn shell(arguments: &[String]) -> Interpreter {
    let mut found = Interpreter { is_shell: true, ..Interpreter::default() };
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
        Some(code) if has_code => {
            // The first word after it is its name, `$0`.
            let arguments = arguments.get(at + 1..).unwrap_or_default().to_vec();
            found.code = Some(Code::Shell(code.clone(), arguments));
        }
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
            if language.attached.contains(letter) {
                break;
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

/// Whether a file is standard input itself.
pub(super) fn is_input(file: &str) -> bool {
    matches!(file, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}
