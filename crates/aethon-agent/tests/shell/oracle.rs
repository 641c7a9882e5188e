//! Whatever bash looks for must be among the commands that the rules say may run, or the rules refuse the line.

use std::time::{Duration, Instant};

use aethon_agent::shell_rules::{Meter, ShellRules, UNKNOWN};

use super::bash::Sandbox;
use super::grammar::command_line;
use aethon_core::testkit::Random;

/// What came of many lines.
#[derive(Debug, Default)]
pub struct Score {
    lines: usize,
    /// Commands that bash looked for.
    asked: usize,
    /// Of those, the ones that the rules had with each word.
    exact: usize,
    refused: usize,
    /// Lines with commands that the rules did not see.
    missed: Vec<String>,
}

fn rules() -> ShellRules {
    ShellRules::new(&[], Some(std::path::Path::new("/nowhere")))
}

/// Compares one line.
fn compare(rules: &ShellRules, sandbox: &Sandbox, line: &str, score: &mut Score) {
    score.lines += 1;
    let Ok(seen) = rules.commands(line) else {
        score.refused += 1;
        return;
    };
    for asked in sandbox.asked_for(line) {
        score.asked += 1;
        if seen.contains(&asked) {
            score.exact += 1;
        } else if !seen.iter().any(|pattern| covers(pattern, &asked)) {
            score.missed.push(format!("{line:?}\n  bash ran {asked:?}\n  seen {seen:?}"));
        }
    }
}

/// Whether these words, in which something may be unknown, can be those. What is unknown may be several words, or none.
fn covers(pattern: &[String], words: &[String]) -> bool {
    if !pattern.iter().any(|word| word.contains(UNKNOWN)) {
        return false;
    }
    // What is unknown takes the separator before it along, so that it can be nothing.
    let mut joined = format!("\u{1f}{}", pattern.join("\u{1f}"));
    while joined.contains(&format!("{UNKNOWN}{UNKNOWN}")) {
        joined = joined.replace(&format!("{UNKNOWN}{UNKNOWN}"), &UNKNOWN.to_string());
    }
    let pattern: Vec<char> =
        joined.replace(&format!("\u{1f}{UNKNOWN}"), &UNKNOWN.to_string()).chars().collect();
    let text: Vec<char> = format!("\u{1f}{}", words.join("\u{1f}")).chars().collect();
    fits(&pattern, &text)
}

fn fits(pattern: &[char], text: &[char]) -> bool {
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        if p < pattern.len() && pattern[p] == UNKNOWN {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && pattern[p] == text[t] {
            p += 1;
            t += 1;
        } else if let Some((place, taken)) = star {
            star = Some((place, taken + 1));
            p = place + 1;
            t = taken + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == UNKNOWN)
}

/// Runs lines from this seed on until the time is over, or so many.
pub fn run(seed: u64, most: usize, time: Duration) -> Option<Score> {
    let sandbox = Sandbox::new()?;
    let (rules, begun, mut score) = (rules(), Instant::now(), Score::default());
    for number in 0..most as u64 {
        if begun.elapsed() > time || score.missed.len() > 20 {
            break;
        }
        compare(&rules, &sandbox, &command_line(seed.wrapping_add(number)), &mut score);
    }
    Some(score)
}

#[test]
fn what_bash_runs_is_seen() {
    let Some(score) = run(20_261_122, 250, Duration::from_secs(3600)) else { return };
    assert!(score.missed.is_empty(), "{}", score.missed.join("\n"));
    assert!(score.asked > 250 && score.exact * 10 > score.asked * 8, "too little was compared: {score:?}");
    assert!(score.refused * 20 < score.lines, "too much was refused: {score:?}");
}

/// `cargo xtask fuzz-shell` runs this with its own length and seed.
#[test]
#[ignore = "a chore that runs for minutes: cargo xtask fuzz-shell"]
fn what_bash_runs_is_seen_for_minutes() {
    let number = |name: &str, usual: u64| {
        std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
    };
    let (minutes, seed) = (number("FUZZ_MINUTES", 10), number("FUZZ_SEED", 1));
    let bytes = std::thread::spawn(move || any_bytes(seed, usize::MAX, Duration::from_secs(minutes * 6)));
    let Some(score) = run(seed, usize::MAX, Duration::from_secs(minutes * 60)) else {
        panic!("there is no bash here")
    };
    println!(
        "seed {seed}, {minutes} minutes: {} lines, {} commands of bash, {} seen word for word, {} refused, {} missed; {} texts of \
         random bytes",
        score.lines,
        score.asked,
        score.exact,
        score.refused,
        score.missed.len(),
        bytes.join().unwrap()
    );
    assert!(score.missed.is_empty(), "{}", score.missed.join("\n"));
}

/// What texts of the language are made of.
const PARTS: &[&str] = &[
    "$(",
    ")",
    "`",
    "'",
    "\"",
    "\\",
    "{",
    "}",
    "${",
    "((",
    "))",
    "$((",
    "<<E",
    "<<-",
    "<<<",
    "<(",
    ">(",
    "\n",
    ";",
    ";;",
    "&",
    "&&",
    "|",
    "||",
    "|&",
    ">",
    ">&",
    "&>",
    "2>",
    "#",
    " ",
    "\t",
    "if",
    "fi",
    "do",
    "done",
    "case",
    "esac",
    "for x in ",
    "while ",
    "function",
    "f()",
    "rm",
    "-rf",
    "/",
    "sh",
    "-c",
    "eval ",
    "echo ",
    "curl",
    "x",
    "a=",
    "$a",
    "$a$a$a",
    "$'",
    "\\x41",
    "E",
    "{a,b}",
    "{1..9}",
    "xargs",
    "env",
    "-S",
    "é",
    "\u{e010}",
    "\u{e011}",
    "[[",
    "]]",
    "${a//",
    "${!a",
    "a=(",
    "${a[@]}",
    "read a",
    "f",
    "; ",
    "python3 -c ",
    "system(",
    "awk ",
    "%s",
    "printf ",
    "set -- ",
    "shift",
    "trap ",
];

/// Judges texts that mean nothing, and holds what they took against the budget.
fn any_bytes(seed: u64, most: usize, time: Duration) -> usize {
    let (rules, begun, mut random) = (rules(), Instant::now(), Random::new(seed));
    for number in 0..most {
        if begun.elapsed() > time {
            return number;
        }
        let mut text = String::new();
        let repeated = 1 + random.below(3) * random.below(20);
        for _ in 0..random.below(40) {
            if random.below(6) == 0 {
                let bytes: Vec<u8> =
                    (0..random.below(12)).map(|_| random.number().to_le_bytes()[0]).collect();
                text.push_str(&String::from_utf8_lossy(&bytes));
            } else {
                text.push_str(random.pick(PARTS));
            }
        }
        check_budget(&rules, &text.repeat(repeated));
    }
    most
}

/// Judges a text; what it took is within the budget, or it was refused.
pub fn check_budget(rules: &ShellRules, text: &str) -> Meter {
    let meter = rules.meter(text);
    let is_within = meter.steps <= Meter::MAX_STEPS && meter.bytes <= Meter::MAX_BYTES;
    assert!(
        is_within || rules.check(text).is_err(),
        "beyond the budget and not refused: {meter:?} for {text:?}"
    );
    meter
}

#[test]
fn any_bytes_are_judged_within_the_budget() {
    any_bytes(7, 500, Duration::from_secs(3600));
}
