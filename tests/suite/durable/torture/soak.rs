//! The memory held for conversations: many turns in many sessions under dashboards and the recorder, then silence. At
//! the end of it the daemon has released its memory.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use aethon_tests::{Server, Socket};

use super::{number, tell};

/// Turns come in this many sessions, in turn.
const SESSIONS: usize = 50;
/// How many turns there are a second.
const TURNS_A_SECOND: u32 = 20;
/// How often it is looked at.
const LOOK: Duration = Duration::from_secs(60);
/// How much more than at the start may be held after the silence, in KiB.
const MORE_MEMORY: u64 = 25 << 10;
/// After how much silence that is due: windows and frame logs are kept for ten minutes, and looked through every minute.
const SILENCE: Duration = Duration::from_secs(12 * 60);

/// What `/metrics` says that is kept, in KiB.
fn kept(server: &Server) -> String {
    let metrics = server.get("/metrics").text();
    let caches = metrics.lines().filter_map(|line| line.strip_prefix("aethon_cache_bytes{cache=\""));
    let sizes = caches.filter_map(|line| {
        let (name, bytes) = line.split_once("\"} ")?;
        Some(format!("{name} {}", bytes.parse::<u64>().ok()? >> 10))
    });
    sizes.collect::<Vec<_>>().join(", ")
}

fn look(server: &Server, what: &str) {
    tell(&format!("{what}: {} KiB resident; kept, in KiB: {}", server.resident(), kept(server)));
}

fn talk(server: &Server, time: Duration) -> usize {
    let sockets: Vec<Mutex<Socket>> =
        (0..SESSIONS).map(|session| Mutex::new(server.chat(&format!("soak-{session}")))).collect();
    let (begun, mut looked, mut turns) = (Instant::now(), Instant::now(), 0);
    while begun.elapsed() < time {
        let due = begun + Duration::from_secs(turns as u64) / TURNS_A_SECOND;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let mut socket = sockets[turns % SESSIONS].lock().unwrap();
        let words = "a few words of a question that somebody asks ".repeat(1 + turns % 4);
        socket.say(&format!("m{turns}"), &format!("!say {turns} {words}"));
        turns += 1;
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            look(server, &format!("{:.0?}, {turns} turns", begun.elapsed()));
        }
    }
    turns
}

/// `cargo xtask soak` runs this.
#[test]
#[ignore = "a chore that runs for minutes: cargo xtask soak"]
fn memory_of_idle_conversations_is_released() {
    let minutes = |name, usual| Duration::from_secs(60 * number(name, usual));
    let (busy, silent) = (minutes("AETHON_SOAK_MINUTES", 34), minutes("AETHON_SOAK_SILENCE", 12));
    let server = Server::start(&["session_recorder.enabled=true"]);
    let dashboards: Vec<Socket> = (0..2).map(|_| server.socket("/ws/dashboard")).collect();
    let readers: Vec<_> = dashboards
        .into_iter()
        .map(|mut dashboard| thread::spawn(move || while dashboard.receive().is_ok() {}))
        .collect();
    server.get("/metrics");
    let at_first = server.resident();
    look(&server, "at the start");
    let turns = talk(&server, busy);
    look(&server, &format!("after {turns} turns"));
    let (begun, mut least) = (Instant::now(), server.resident());
    while begun.elapsed() < silent {
        thread::sleep(LOOK.min(silent));
        look(&server, &format!("silent for {:.0?}", begun.elapsed()));
        least = server.resident();
    }
    tell(&format!("{at_first} KiB at the start, {least} KiB after {silent:.0?} of silence"));
    if silent >= SILENCE {
        assert!(least <= at_first + MORE_MEMORY, "{least} KiB after {at_first}");
    }
    drop(server);
    for reader in readers {
        reader.join().unwrap();
    }
}
