//! `/run`: a command of the person's own, in their shell and with their rights, whose output the next message can take along.
//!
//! The assistant has no part in it: nothing asks, nothing confines the command, and nothing is sent before the person sends it.

use std::io::{BufRead, BufReader, PipeReader};
use std::process::{Command, ExitStatus};

use aethon::core::visible::readable;
use anyhow::{Context, Result, anyhow};

use super::output::put;
use super::screen::style;

/// How much of the output goes along, in bytes: its end, which has the result.
const MAX_KEPT: usize = 60_000;

/// The outcome of a command.
#[derive(Debug)]
pub(super) struct Ran {
    /// The command and its output, for a message.
    pub(super) text: String,
    /// The number of lines of output.
    pub(super) lines: usize,
}

/// Runs a command to its end and prints what it prints.
pub(super) async fn run(command: &str) -> Result<Ran> {
    let command = command.to_owned();
    let running = tokio::task::spawn_blocking(move || {
        let (output, mut child) = start(&command).context("the command cannot be started")?;
        let printed = shown(output);
        let status = child.wait().context("the command was lost")?;
        if !status.success() {
            put(&style().dim(&format!("{status}\n")));
        }
        Ok(told(&command, &printed, status))
    });
    running.await.map_err(|_| anyhow!("the command was lost"))?
}

#[expect(
    clippy::disallowed_methods,
    reason = "the person's own command, which has the terminal until it ends"
)]
fn start(command: &str) -> std::io::Result<(PipeReader, std::process::Child)> {
    let (output, input) = std::io::pipe()?;
    let mut shell = Command::new(crate::environment::shell());
    shell.args(["-c", command]).stdout(input.try_clone()?).stderr(input);
    // The shell is dropped here with its ends of the pipe, which therefore ends with the command.
    Ok((output, shell.spawn()?))
}

/// Prints all output as it comes, and returns it.
fn shown(output: PipeReader) -> String {
    let mut lines = BufReader::new(output);
    let mut printed = String::new();
    let mut line = Vec::new();
    // A pipe that cannot be read is at its end.
    while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = readable(&String::from_utf8_lossy(&line));
        put(&text);
        printed.push_str(&text);
        line.clear();
    }
    if !printed.is_empty() && !printed.ends_with('\n') {
        put("\n");
    }
    printed
}

/// Words a command and its output for the model.
fn told(command: &str, printed: &str, status: ExitStatus) -> Ran {
    let printed = printed.trim_end_matches('\n');
    let lines = printed.lines().count();
    let status = if status.success() { String::new() } else { format!(" ({status})") };
    let mut from = printed.len().saturating_sub(MAX_KEPT);
    while !printed.is_char_boundary(from) {
        from += 1;
    }
    let text = match (printed.is_empty(), from) {
        (true, _) => format!("`{command}`{status} printed nothing."),
        (false, 0) => format!("`{command}`{status} printed:\n\n{}", fenced(printed)),
        (false, from) => {
            format!("The end of what `{command}`{status} printed:\n\n{}", fenced(&printed[from..]))
        }
    };
    Ran { text, lines }
}

/// Puts a text between fences that it cannot close.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    // What the person adds stands below.
    format!("{fence}text\n{text}\n{fence}\n")
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[test]
    fn output_is_worded_for_a_message() {
        let check = |printed: &str, status: i32, expected: &str, lines: usize| {
            let ran = told("make it", printed, ExitStatus::from_raw(status << 8));
            assert_eq!((ran.text.as_str(), ran.lines), (expected, lines));
        };
        check("one\ntwo\n", 0, "`make it` printed:\n\n```text\none\ntwo\n```\n", 2);
        check("", 0, "`make it` printed nothing.", 0);
        check("no\n", 3, "`make it` (exit status: 3) printed:\n\n```text\nno\n```\n", 1);
        check("a ```` b", 0, "`make it` printed:\n\n`````text\na ```` b\n`````\n", 1);
        let long = told("x", &"é".repeat(MAX_KEPT), ExitStatus::from_raw(0));
        assert!(long.text.starts_with("The end of what `x` printed:") && long.text.len() < MAX_KEPT + 100);
    }
}
