//! Which shell commands are refused: a pure function of the command and the rules, for the security hook, tests and fuzzers.
//!
//! There are two layers, as the specification has it. A command that contains an entry of `security.blocked_commands` is
//! refused wherever the entry stands; runs of blanks and tabs count as one. Then the command is read as a shell would read
//! it, and each command in it (behind quotes, `;`, pipes, substitutions, `env`, `xargs`, `sh -c`) is compared with the
//! entries again, whatever the order and spelling of its options, and with a built-in list of dangers.
//!
//! This is a tripwire: it stops accidents and crude attacks, and it says what tripped it. Whoever wants to get past it
//! can compute a command at run time. The wall is the sandbox (`security.sandbox`).
//!
//! The reader is our own; `docs/decisions/0030-own-shell-reader.md` says which parser was tried and why it was not taken,
//! and `0037` how the judge walks. `word` has the words of the language and `reader` reads it. `judge` walks over what was
//! read like a shell that runs nothing: `expand`, `parameters`, `braces`, `patterns`, `arithmetic` and `escapes` say what
//! words stand for, `commands`, `builtins`, `outputs` and `flows` what a command does to that, `repositories` what git finds of it, `state` keeps it, and `meter`
//! bounds it. `programs`, `interpreters`, `languages` and `settings` know what runs what; `entries` and `danger` what must
//! not run. Nothing here performs I/O.

mod arithmetic;
mod braces;
mod builtins;
mod commands;
mod danger;
mod entries;
mod escapes;
mod expand;
mod flows;
mod forks;
mod interpreters;
mod judge;
mod languages;
mod marks;
mod meter;
mod outputs;
mod parameters;
mod paths;
mod patterns;
mod programs;
mod reader;
mod refusal;
mod repositories;
mod rules;
mod settings;
mod state;
#[cfg(test)]
mod tests;
mod word;

pub use marks::UNKNOWN;
pub use meter::Meter;
pub use refusal::Refusal;
pub use rules::ShellRules;
