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
//! `syntax` is the syntax tree; `reader` and `words` parse a command. `walk` goes through it and through everything that it
//! runs: `expand` makes the words, `run` knows what commands do and write, `programs`, `options`, `interpreters` and `languages` what
//! runs what, `variables` which values are executed. `entries` and `danger` know what must not run. `meter` bounds the work:
//! a command that cannot be read to its end is refused. `docs/decisions/0147` lists which effects are followed.

mod danger;
mod entries;
mod escapes;
mod expand;
mod interpreters;
mod languages;
mod marks;
mod meter;
mod options;
mod paths;
mod patterns;
mod programs;
mod reader;
mod redirects;
mod refusal;
mod rules;
mod run;
mod syntax;
#[cfg(test)]
mod tests;
mod variables;
mod walk;
mod words;

pub use marks::UNKNOWN;
pub use meter::Meter;
pub use refusal::Refusal;
pub use rules::ShellRules;
