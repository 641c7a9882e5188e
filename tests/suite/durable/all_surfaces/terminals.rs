//! `aethon-cli` beside the daemon: chats on pseudo-terminals, and scripts that ask.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::{Duration, Instant};

use aethon_tests::{Terminal, eventually, program};
use tempfile::TempDir;

use super::{LONG, SurfaceRun, question};

/// A person at a terminal: asks, waits for the answer, asks again. Returns the chat as it is at the end.
pub(super) fn chat(stage: &SurfaceRun, home: &TempDir, writer: usize, session: usize) -> Terminal {
    let name = format!("s{session}");
    let mut command = program("aethon-cli", home.path());
    let mut terminal = Terminal::start_sized(command.args(["chat", "--session", &name]), 100, 400);
    terminal.wait_for_screen_within("a first prompt", LONG, |screen| screen.ends_with('>'));
    stage.sits_down();
    let mut own = BTreeSet::new();
    while !stage.is_over() {
        let number = stage.ask(session);
        own.insert(format!("answer-{number}."));
        let (question, answer) = question(number);
        let before = terminal.length();
        while !is_answered(&mut terminal, &question, &answer) {
            std::thread::sleep(Duration::from_millis(200));
        }
        terminal.wait_for_screen_within("a prompt", LONG, |screen| screen.ends_with('>'));
        let printed = terminal.lines_since(before);
        for line in printed.iter().filter(|line| line.starts_with("answer-")) {
            assert!(
                own.contains(line),
                "terminal {writer} printed {line} as its own:\n{}",
                printed.join("\n")
            );
        }
        let mut known = stage.known();
        known.printed.insert(number);
        known.acknowledged.entry(format!("chat {writer}")).or_default().push(number);
    }
    terminal
}

/// Types a question and waits for its answer; not, where too many messages wait, which is reported and changes nothing.
fn is_answered(terminal: &mut Terminal, question: &str, answer: &str) -> bool {
    let before = terminal.length();
    // Several lines of one message, with Alt-Enter.
    terminal.press(&question.replace(" | ", "\u{1b}\r"));
    terminal
        .wait_for_screen_within("the question", LONG, |screen| screen.ends_with(&format!("!say {answer}")));
    terminal.press("\r");
    let deadline = Instant::now() + LONG;
    // Searched in the output: after a reconnection the turns of others may be more than a screen at once.
    loop {
        let lines = terminal.lines_since(before);
        if lines.iter().any(|line| line == answer) {
            return true;
        }
        if lines.iter().any(|line| line.starts_with("error: Too many messages wait")) {
            terminal.wait_for_screen_within("a prompt", LONG, |screen| screen.ends_with('>'));
            return false;
        }
        assert!(Instant::now() < deadline, "{answer} was not printed, but\n{}", lines.join("\n"));
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A script that asks one question after the other.
pub(super) fn ask(stage: &SurfaceRun, home: &TempDir, session: usize) {
    while !stage.is_over() {
        let number = stage.ask(session);
        let (question, answer) = question(number);
        let mut command = program("aethon-cli", home.path());
        command.args(["--set", "model.provider=fake", "ask", "--session", &format!("s{session}")]);
        command.arg(question.replace(" | ", "\n")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = command.output().expect("the program runs");
        let printed = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
        let mut known = stage.known();
        if output.status.success() {
            assert_eq!(printed, answer, "the answer to question {number}");
            known.printed.insert(number);
        } else {
            assert!(printed.is_empty() || answer.starts_with(&printed), "{number}: {printed}");
            known.given_up.insert(number, String::from_utf8_lossy(&output.stderr).into_owned());
        }
    }
}

/// Compares a chat's output with the conversation, which is quiet: every turn in it, each once and in its order, but for the
/// own ones, which are drawn while they grow, and may be printed after later ones of others when a restart came between.
pub(super) fn compare(mut terminal: Terminal, turns: &[(String, String)]) {
    let answers = |prefix: &str| -> Vec<String> {
        let lines = terminal.lines_since(0).into_iter();
        let shown = lines.filter_map(|line| line.strip_prefix(prefix).map(str::to_owned));
        shown.filter(|line| line.starts_with("answer-")).collect()
    };
    let place = |answer: &String| {
        let place = turns.iter().position(|(_, told)| told == answer);
        place.unwrap_or_else(|| panic!("{answer} is not in the conversation of the terminal that shows it"))
    };
    // From the first turn that it has shown. Its own may come after the last of others.
    eventually("the terminal shows every turn", || {
        let shown: Vec<String> = answers("").into_iter().chain(answers("┆ ")).collect();
        let first = shown.iter().map(place).min()?;
        turns[first..].iter().all(|(_, told)| shown.contains(told)).then_some(())
    });
    let others = answers("┆ ");
    let places: Vec<usize> = others.iter().map(place).collect();
    let disorder = places.windows(2).position(|pair| pair[0] >= pair[1]);
    let around = disorder.map(|at| &others[at.saturating_sub(3)..others.len().min(at + 5)]);
    assert_eq!(around, None, "a terminal shows turns of others doubled or out of order");
    terminal.press("/quit\r");
    assert_eq!(terminal.end().code(), Some(0));
}
