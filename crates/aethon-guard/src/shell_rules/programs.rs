//! Programs that run what their arguments say: `env`, `sudo`, `xargs`, `sh -c`, `find -exec` and the like.
//!
//! Programs that only run the rest of their words are in the table of `options`; those with hooks of their own in
//! `programs/hooks.rs`.

mod git;
mod hooks;

use super::interpreters::{Code, interpreter};
use super::options::{Inner, wrapped};
use super::paths::base_name;
use super::words::split_assignment;

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

/// Returns the words of a command with `{}` wherever `xargs` inserts its input: `xargs -I@ sh -c @`.
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

/// Returns the assignments for the command inside this one: `env NAME=value command`.
pub(super) fn assignments(argv: &[String]) -> impl Iterator<Item = &str> {
    let program = argv.first().map_or("", |first| base_name(first));
    let arguments = if matches!(program, "env" | "sudo" | "doas") { &argv[1..] } else { &[] };
    let before = arguments.len() - wrapped(program, arguments).map_or(0, <[String]>::len);
    arguments[..before].iter().map(String::as_str).filter(|word| split_assignment(word).is_some())
}

/// Whether the output of a command is that of the command inside it.
pub(super) fn is_wrapper(argv: &[String]) -> bool {
    let Some(program) = argv.first().map(|first| base_name(first)) else { return false };
    let runs_shell = interpreter(argv).is_some_and(|found| found.is_shell);
    runs_shell
        || wrapped(program, &argv[1..]).is_some()
            && !matches!(program, "xargs" | "gxargs" | "parallel" | "script")
}
