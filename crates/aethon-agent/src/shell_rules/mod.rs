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
//! The reader is our own; `docs/decisions/0030-own-shell-reader.md` says which parser was tried and why it was not
//! taken. `word` has the words of the language, `reader` reads it, `fields` says what a word stands for, `wrappers` what
//! runs what, and `judge` walks over all of it with `entries` and `danger` in hand. Nothing here performs I/O, and work is
//! bounded by the length of the command.

mod danger;
mod entries;
mod fields;
mod interpreters;
mod judge;
mod paths;
mod reader;
mod refusal;
mod rules;
#[cfg(test)]
mod tests;
mod word;
mod wrappers;

pub use refusal::Refusal;
pub use rules::ShellRules;
