//! How many durable turns a second: `cargo run --release -p aethon-store --example throughput [CALLERS [SECONDS]]`.
//!
//! A turn is one `accept` that begins it, one `window` as the engine reads it, one model call in the ledger that no caller
//! waits for, and one `finish`. Measured with short
//! sessions and with one that has 20,000 messages, with and without dedupe ids; CPU is the whole process, so the callers'
//! part (JSON, tasks) is in it. What idle moments do afterwards (the search index) is shown apart.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for a person that measures")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_core::ids::{SessionId, TurnId};
use aethon_core::ledger::{Ledger, LedgerEntry, WorkKind};
use aethon_core::message::{Block, Dedupe, Inbound, Message, Reply, Role, TurnEnd};
use aethon_core::model::Usage;
use aethon_core::session::{Begin, Clear, Finish, SessionQuery, Transcripts, TurnLog};
use aethon_store::{Options, Store};
use jiff::Timestamp;

const QUESTION: &str =
    "What is the weather like in the mountains today, and should I take an umbrella with me?";
const ANSWER: &str = "It is **sunny**, with some clouds in the afternoon. You will not need an umbrella, but take \
                      a hat and enough water; the hut at the lake is closed until Thursday.";

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse::<u64>().ok());
    let callers = numbers.next().unwrap_or(16);
    let seconds = numbers.next().unwrap_or(3);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("aethon.db");
    let store = Store::open(&path, Options::default()).unwrap();

    let long = |_| SessionId::parse("webchat:long").unwrap();
    let own = |caller: u64| SessionId::parse(&format!("webhook:own{caller}")).unwrap();
    measure("a session for each caller", &store, callers, seconds, own).await;
    let fresh = |_| SessionId::parse(&format!("webhook:trigger:{}", aethon_core::ids::unique())).unwrap();
    measure("a session for each turn", &store, callers, seconds, fresh).await;
    for _ in 0..10_000 {
        turn(&store, &long(0)).await;
    }
    measure("one session with 20,000 messages", &store, callers, seconds, long).await;

    let summary = store.session(&long(0)).await.unwrap().unwrap();
    timed("a search with the index behind", search(&store)).await;
    let begun = Instant::now();
    let clearing = tokio::spawn({
        let store = store.clone();
        async move { store.clear(&long(0), Clear::Delete).await.unwrap() }
    });
    let mut longest = Duration::ZERO;
    while !clearing.is_finished() {
        let before = Instant::now();
        turn(&store, &own(0)).await;
        longest = longest.max(before.elapsed());
    }
    println!(
        "removing {} messages: {:.0} ms, longest turn meanwhile {:.1} ms",
        summary.message_count,
        millis(begun.elapsed()),
        millis(longest)
    );

    let (begun, cpu) = (Instant::now(), cpu_time());
    store.close().await;
    println!("close: {:.1} ms, {:.1} ms CPU", millis(begun.elapsed()), millis(cpu_time() - cpu));
    let begun = Instant::now();
    let store = Store::open(&path, Options::default()).unwrap();
    println!("open: {:.2} ms ({} MiB)", millis(begun.elapsed()), path.metadata().unwrap().len() >> 20);
    println!("resident after opening: {} KiB", resident());
    timed("a turn after opening", turn(&store, &own(0))).await;
    timed("the list of sessions", async { drop(store.sessions(SessionQuery::newest(50)).await) }).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    println!("resident when idle: {} KiB", resident());
    store.close().await;
}

async fn search(store: &Store) {
    let query = SessionQuery::newest(50).with_search(Some("umbrella mountains".into()));
    println!("{} sessions found", store.sessions(query).await.unwrap().count);
}

async fn timed(what: &str, work: impl Future<Output = ()>) {
    let begun = Instant::now();
    work.await;
    println!("{what}: {:.1} ms", millis(begun.elapsed()));
}

/// The resident memory of this process, from `/proc`, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

async fn measure(
    what: &str,
    store: &Store,
    callers: u64,
    seconds: u64,
    session: impl Fn(u64) -> SessionId + Copy + Send + 'static,
) {
    let (begun, cpu) = (Instant::now(), cpu_time());
    let end = begun + Duration::from_secs(seconds);
    let tasks: Vec<_> = (0..callers)
        .map(|caller| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut times = Vec::new();
                while Instant::now() < end {
                    let before = Instant::now();
                    turn(&store, &session(caller)).await;
                    times.push(before.elapsed());
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.unwrap());
    }
    let (elapsed, cpu) = (begun.elapsed(), cpu_time() - cpu);
    times.sort();
    let turns = times.len();
    println!(
        "{what}: {:.0} turns/s, {:.3} ms CPU a turn, p50 {:.2} ms, p99 {:.2} ms, longest {:.1} ms",
        turns as f64 / elapsed.as_secs_f64(),
        millis(cpu) / turns as f64,
        millis(times[turns / 2]),
        millis(times[turns * 99 / 100]),
        millis(times[turns - 1]),
    );
}

async fn turn(store: &Store, session: &SessionId) {
    let turn = TurnId::fresh();
    let mut inbound = Inbound::say(session.clone(), QUESTION);
    inbound.dedupe =
        Some(Dedupe { id: turn.as_str().to_owned(), fingerprint: None, valid_for: Some(86_400) });
    let now = Timestamp::UNIX_EPOCH;
    let begin = Begin { message: Message::new(Role::User, vec![Block::text(QUESTION)], now), replaces: None };
    store.accept(&turn, &inbound, Some(begin)).await.unwrap();
    store.window(session, 10).await.unwrap();
    let entry = LedgerEntry {
        at: now,
        session: Some(session.clone()),
        turn: Some(turn.clone()),
        provider: "echo".to_owned(),
        model: "echo".to_owned(),
        kind: WorkKind::Turn,
        usage: Usage {
            input_tokens: 300,
            output_tokens: 60,
            cached_tokens: 0,
            cost_usd: 0.0,
            ..Usage::default()
        },
        saved_usd: 0.0,
        is_ok: true,
    };
    store.settle(None, entry).await.unwrap();
    let reply = Reply {
        turn,
        session: session.clone(),
        text: ANSWER.to_owned(),
        end: TurnEnd::End,
        model: "echo".to_owned(),
        usage: Usage::default(),
        failure: None,
    };
    let mut last = Message::new(Role::Assistant, vec![Block::text(ANSWER)], now);
    last.stop_reason = Some(TurnEnd::End);
    let (messages, reply) = (Arc::new(vec![last]), Arc::new(reply));
    store.finish(Finish { messages, reply, deliveries: Vec::new(), next: None }).await.unwrap();
}

/// The CPU time of this process, from `/proc` (in ticks of 10 ms).
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().skip(11).take(2);
    Duration::from_millis(fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() * 10)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
