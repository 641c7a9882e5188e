//! Decides which shell commands are refused: a pure function of the command and the rules, used by the security hook,
//! tests and fuzzers.
//!
//! There are two layers, as the specification demands. A command that contains an entry of `security.blocked_commands`
//! is refused wherever the entry occurs; runs of blanks and tabs count as one. Then the command is read as a shell
//! would read it, and each command in it (behind quotes, `;`, pipes, substitutions, `env`, `xargs`, `sh -c`) is
//! compared with the entries again, whatever the order and spelling of its options, and with a built-in danger list.
//!
//! This is a tripwire: it stops accidents and crude attacks, and says what tripped it. A determined attacker can
//! compute a command at run time. The wall is the sandbox (`security.sandbox`).
//!
//! The reader is our own: `docs/decisions/0030-own-shell-reader.md` says which parser was tried and why it was not
//! adopted, and `0037` describes how the judge walks. `word` defines the syntax tree and `reader` parses it. `judge`
//! walks the tree like a shell that executes nothing: `expand`, `parameters`, `braces`, `patterns`, `arithmetic` and
//! `escapes` expand words; `commands`, `builtins`, `outputs`, `crontab` and `flows` apply the effects of commands; `repositories`
//! covers what git picks up from files; `state` holds what is known, and `meter` bounds the work. `programs`,
//! `interpreters`, `languages` and `settings` know what runs what; `entries` and `danger` know what must not run.
//! Nothing here performs I/O.

mod arithmetic;
mod braces;
mod builtins;
mod commands;
mod crontab;
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
