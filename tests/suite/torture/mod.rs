//! Clients of every surface through kills of the daemon, and a checker over what they were told: nothing acknowledged is lost,
//! doubled, out of order or unanswered, what was removed stays removed, and no money stays set aside.
//!
//! `clients` are the pages, webhooks, terminals and people; `check` holds what they noted against what is stored. The order of
//! kills follows from a seed, what the clients do from the same; what comes between is up to the machine.

mod check;
mod clients;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use aethon_tests::telegram::Telegram;
use aethon_tests::{Random, Server, home};
use tempfile::TempDir;

/// How much of it.
pub(crate) struct Plan {
    kills: usize,
    seed: u64,
    /// Clients of each kind.
    each: usize,
}

/// What all clients share.
pub(crate) struct Stage {
    address: Mutex<SocketAddr>,
    home: Arc<TempDir>,
    is_over: AtomicBool,
    next: AtomicUsize,
}

impl Stage {
    fn address(&self) -> SocketAddr {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// A question that nobody asked before, and its answer.
    fn question(&self) -> (String, String) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let answer = format!("answer-{number}.");
        let wait = [0, 15, 60][number % 3];
        (format!("!sleep {wait}\n!say {answer}"), answer)
    }
}

/// What a client was told.
#[derive(Default)]
pub(crate) struct Record {
    writer: String,
    session: String,
    /// Questions that were acknowledged, in that order, with the answer that was shown where one was.
    acknowledged: Vec<(String, Option<String>)>,
    /// Whether its session has nothing but these.
    is_whole: bool,
    /// Whether its session was removed at the end.
    is_removed: bool,
}

const SETTINGS: [&str; 4] = [
    "budget.daily_usd=1000",
    "budget.pricing.fake={input=1.0, output=1.0}",
    "session_recorder.enabled=true",
    "security.allowed_senders.telegram=[42]",
];

fn start(home: &Arc<TempDir>, telegram: &Telegram) -> Server {
    let own = telegram.settings();
    let settings: Vec<&str> = SETTINGS.into_iter().chain(own.iter().map(String::as_str)).collect();
    Server::start_in(home.clone(), &settings)
}

fn torture(plan: &Plan) {
    let (telegram, home) = (Telegram::start(), home());
    let mut server = start(&home, &telegram);
    // What is said before the first start has asked is history to it.
    telegram.await_poll();
    let stage = Stage {
        address: Mutex::new(server.address),
        home: home.clone(),
        is_over: AtomicBool::new(false),
        next: AtomicUsize::new(1),
    };
    let begun = Instant::now();
    let (records, asked, server) = std::thread::scope(|scope| {
        let stage = &stage;
        let mut clients = Vec::new();
        for number in 0..plan.each {
            let random = Random::new(plan.seed + number as u64);
            let other = random.clone();
            clients.push(scope.spawn(move || clients::page(stage, number, random)));
            clients.push(scope.spawn(move || clients::editor(stage, number, other)));
            clients.push(scope.spawn(move || clients::remover(stage, number)));
            clients.push(scope.spawn(move || clients::hook(stage, number)));
            clients.push(scope.spawn(move || clients::terminal(stage, number)));
        }
        let person = scope.spawn(|| clients::person(stage, &telegram));
        let mut random = Random::new(plan.seed);
        for kill in 1..=plan.kills {
            std::thread::sleep(Duration::from_millis(random.between(150, 900)));
            let home = server.kill();
            server = start(&home, &telegram);
            *stage.address.lock().unwrap_or_else(PoisonError::into_inner) = server.address;
            if kill % 50 == 0 {
                tell(&format!("{kill} kills, {:.0?}", begun.elapsed()));
            }
        }
        std::thread::sleep(Duration::from_secs(1));
        stage.is_over.store(true, Ordering::Relaxed);
        let records: Vec<Record> =
            clients.into_iter().flat_map(|client| client.join().expect("a client ends")).collect();
        (records, person.join().expect("the person ends"), server)
    });
    let acknowledged: usize = records.iter().map(|record| record.acknowledged.len()).sum();
    check::conversations(&server, &records);
    check::money(&server);
    let doubtful = check::person(&telegram, &asked);
    tell(&format!(
        "seed {}: {} kills in {:.0?}; {acknowledged} messages acknowledged, {} over Telegram ({doubtful} came twice and are \
         told as doubtful); 0 lost, 0 doubled, 0 out of order, 0 unanswered, nothing reserved",
        plan.seed,
        plan.kills,
        begun.elapsed(),
        asked.len(),
    ));
}

/// For whoever runs it by hand.
fn tell(line: &str) {
    std::io::Write::write_all(&mut std::io::stderr(), format!("{line}\n").as_bytes()).unwrap();
}

#[test]
fn clients_of_every_surface_through_kills() {
    torture(&Plan { kills: 8, seed: 7, each: 1 });
}

/// `cargo xtask torture` runs this.
#[test]
#[ignore = "a chore that runs for many minutes: cargo xtask torture"]
fn clients_of_every_surface_through_many_kills() {
    let number = |name: &str, usual| {
        std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok()).unwrap_or(usual)
    };
    let (kills, seed) = (number("AETHON_TORTURE_KILLS", 1_000), number("AETHON_TORTURE_SEED", 1));
    torture(&Plan { kills: kills as usize, seed, each: 2 });
}
