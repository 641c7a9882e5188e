//! The fake messengers as a program, for `cargo xtask bench`: it prints the settings with which a server uses them, floods one of
//! them when told so on standard input, and reports the result. It ends when its input does.

#![allow(clippy::disallowed_methods, reason = "the load generator of a benchmark sleeps and reads the clock")]

use std::collections::HashMap;
use std::io::BufRead;
use std::time::{Duration, Instant};

use aethon_tests::discord::Discord;
use aethon_tests::idle_services::{Graph, Mailbox, Slack};
use aethon_tests::matrix::Matrix;
use aethon_tests::telegram::Telegram;
use serde_json::{Value, json};

/// The number of chats that write at once. Telegram accepts one message per second in each.
const CHATS: i64 = 600;
/// The id of the first.
const FIRST: i64 = 1000;
/// How long the last answer may take.
const TIMEOUT: Duration = Duration::from_secs(60);

fn main() {
    let (telegram, matrix, discord) = (Telegram::start(), Matrix::start(), Discord::start());
    let (slack, graph, mailbox) = (Slack::start(), Graph::start(), Mailbox::start());
    let people: Vec<String> = (FIRST..FIRST + CHATS).map(|chat| format!("\"{chat}\"")).collect();
    let one =
        [telegram.settings(), vec![format!("security.allowed_senders.telegram=[{}]", people.join(","))]];
    let others =
        [matrix.settings(), discord.settings(), slack.settings(), mailbox.settings(), graph.settings()];
    say(&json!({"one": one.concat(), "others": others.concat()}));
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let mut words = line.split_whitespace().skip(1).filter_map(|word| word.parse::<u64>().ok());
        match (line.split_whitespace().next(), words.next(), words.next()) {
            (Some("flood"), Some(count), Some(rate)) => say(&flood(&telegram, count, rate)),
            (Some("await"), _, _) => {
                telegram.await_poll();
                say(&json!({}));
            }
            _ => say(&json!({"error": "write `flood COUNT RATE` or `await`"})),
        }
    }
}

/// Sends messages at this rate, from each chat in turn, and waits for all answers.
fn flood(telegram: &Telegram, count: u64, rate: u64) -> Value {
    let begun = Instant::now();
    for number in 0..count {
        let due = Duration::from_micros(number * 1_000_000 / rate.max(1));
        std::thread::sleep(due.saturating_sub(begun.elapsed()));
        let chat = FIRST + i64::try_from(number).unwrap_or(0) % CHATS;
        telegram.say(chat, &format!("number {number}."));
    }
    let (said, mut last) = (begun.elapsed(), 0);
    let mut answers = HashMap::new();
    while begun.elapsed() < said + TIMEOUT {
        answers = answers_by_chat(telegram);
        last = answers.values().map(Vec::len).sum();
        if last as u64 >= count {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let in_order = answers.values().all(|numbers: &Vec<u64>| numbers.is_sorted());
    json!({"answered": last, "seconds": begun.elapsed().as_secs_f64(), "said": said.as_secs_f64(), "in_order": in_order})
}

/// The numbers in each chat, from the top.
fn answers_by_chat(telegram: &Telegram) -> HashMap<i64, Vec<u64>> {
    let mut answers: HashMap<i64, Vec<u64>> = HashMap::new();
    for posted in telegram.posted() {
        let number = posted.text().trim_end().strip_suffix('.').and_then(|text| text.rsplit_once("number "));
        if let Some(number) = number.and_then(|(_, number)| number.parse().ok()) {
            answers.entry(posted.chat).or_default().push(number);
        }
    }
    answers
}

fn say(value: &Value) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    // If this fails, the parent process is gone.
    let _ = writeln!(out, "{value}").and_then(|()| out.flush());
}
