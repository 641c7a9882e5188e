//! Clients of every surface through kills of the daemon, and a checker over their records: nothing acknowledged is lost,
//! doubled, out of order or unanswered, removed data stays removed, every job ran once, and no money stays set aside.
//!
//! `configuration` are two writers of the configuration; `clients` are the pages, webhooks and terminals, `people` write over
//! `messengers`, `jobs` makes scheduled jobs; `check` compares their records with the storage. The kills and the clients'
//! actions follow from a seed; the timing in between is up to the machine. `chaos` is people alone, with broken connections
//! besides; `instances` is several daemons on one PostgreSQL server, which
//! crashes too, in the chore behind `caddy`; `steady` has no kills and watches the daemon's resources; `soak` checks that they are released.

mod caddy;
mod chaos;
mod check;
mod clients;
mod clock;
mod configuration;
mod damage;
mod instances;
mod jobs;
mod messengers;
mod people;
mod soak;
mod steady;
mod upgrade;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use aethon_tests::{Random, Server, home};
use tempfile::TempDir;

use messengers::Messengers;

/// How much of it.
pub(crate) struct RunSize {
    kills: usize,
    seed: u64,
    /// Clients of each kind.
    each: usize,
}

/// What all clients share.
pub(crate) struct TortureRun {
    /// Where it is served; by several instances, in turn.
    addresses: Mutex<Vec<SocketAddr>>,
    asked_at: AtomicUsize,
    home: Arc<TempDir>,
    is_over: AtomicBool,
    next: AtomicUsize,
}

impl TortureRun {
    fn new(server: &Server) -> Self {
        Self {
            addresses: Mutex::new(vec![server.address]),
            asked_at: AtomicUsize::new(0),
            home: server.home(),
            is_over: AtomicBool::new(false),
            next: AtomicUsize::new(0),
        }
    }

    /// The server runs at another address now.
    fn moves(&self, server: &Server) {
        self.is_served_at(vec![server.address]);
    }

    /// Instances serve at these addresses now.
    fn is_served_at(&self, addresses: Vec<SocketAddr>) {
        *self.addresses.lock().unwrap_or_else(PoisonError::into_inner) = addresses;
    }

    fn address(&self) -> SocketAddr {
        let addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        addresses[self.asked_at.fetch_add(1, Ordering::Relaxed) % addresses.len()]
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// How many questions there were.
    fn asked(&self) -> usize {
        self.next.load(Ordering::Relaxed)
    }

    /// A new question, and its answer.
    fn question(&self) -> (String, String) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let answer = format!("answer-{number}.");
        let wait = [0, 15, 60][number % 3];
        (format!("!sleep {wait}\n!say {answer}"), answer)
    }
}

/// A client's record.
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
    "budget.daily_usd=1000000",
    "budget.pricing.fake={input=1.0, output=1.0}",
    "session_recorder.enabled=true",
    jobs::EVERY_MINUTE,
];

fn start(home: &Arc<TempDir>, messengers: &Messengers, more: &[&str]) -> Server {
    let own = messengers.settings();
    let settings: Vec<&str> = more.iter().copied().chain(own.iter().map(String::as_str)).collect();
    Server::start_in(home.clone(), &settings)
}

/// Has clients of every surface talk while something is done with the server, and compares.
fn with_clients(plan: &RunSize, meanwhile: impl FnOnce(&TortureRun, &Messengers, Server) -> Server) {
    let (messengers, home) = (Messengers::start(), home());
    let server = start(&home, &messengers, &SETTINGS);
    messengers.await_all();
    let (stage, begun) = (TortureRun::new(&server), Instant::now());
    let (records, talks, made, written, server) = std::thread::scope(|scope| {
        let (stage, messengers) = (&stage, &messengers);
        let mut clients = Vec::new();
        let mut people = Vec::new();
        for number in 0..plan.each {
            let random = Random::new(plan.seed + number as u64);
            let other = random.clone();
            clients.push(scope.spawn(move || clients::page(stage, number, random)));
            clients.push(scope.spawn(move || clients::editor(stage, number, other)));
            clients.push(scope.spawn(move || clients::remover(stage, number)));
            clients.push(scope.spawn(move || clients::hook(stage, number)));
            clients.push(scope.spawn(move || clients::terminal(stage, number)));
            for messenger in 0..messengers.all().len() {
                let random = Random::new(plan.seed + 1000 * (messenger as u64 + 1) + number as u64);
                let who = (messengers, messenger, number);
                people.push(scope.spawn(move || people::person(stage, who, random, || !stage.is_over())));
            }
        }
        let maker = scope.spawn(move || jobs::maker(stage, Random::new(plan.seed + 9)));
        let mut writers = Vec::new();
        // Without kills the daemon's resources are measured, and reloads would count.
        if plan.kills > 0 {
            writers.push(scope.spawn(move || configuration::over_the_api(stage)));
            writers.push(scope.spawn(move || configuration::in_a_terminal(stage)));
        }
        let server = meanwhile(stage, messengers, server);
        std::thread::sleep(Duration::from_secs(1));
        stage.is_over.store(true, Ordering::Relaxed);
        let records: Vec<Record> =
            clients.into_iter().flat_map(|client| client.join().expect("a client ends")).collect();
        let talks: Vec<_> = people.into_iter().map(|person| person.join().expect("a person ends")).collect();
        let written: Vec<_> = writers
            .into_iter()
            .map(|writer| writer.join().expect("a writer of the configuration ends"))
            .collect();
        (records, talks, maker.join().expect("the maker of jobs ends"), written, server)
    });
    let tortured = begun.elapsed();
    let compared = Instant::now();
    let outcome = people::check(&server, &messengers, &talks);
    tell(&format!("compared what stands in {} chats, {:.1?}", talks.len(), compared.elapsed()));
    check::conversations(&server, &records);
    tell(&format!("compared {} conversations, {:.1?}", records.len(), compared.elapsed()));
    let every_minute = jobs::check(&server, &made);
    tell(&format!("compared {} jobs, {:.1?}", made.len(), compared.elapsed()));
    let changes = configuration::check(&server, &written);
    tell(&format!("compared {changes} changes of the configuration, {:.1?}", compared.elapsed()));
    check::money(&server);
    let recordings = check::recordings(&server);
    assert!(outcome.doubled + outcome.abandoned <= plan.kills, "{outcome:?} have no reason");
    let acknowledged: usize = records.iter().map(|record| record.acknowledged.len()).sum();
    tell(&format!(
        "seed {}: {} kills in {tortured:.0?}, compared in {:.1?}; {acknowledged} messages acknowledged, {} over messengers \
         (on Telegram {} came twice and {} had begun before; {} listed as failed and {} cut off too often, which was told), {} jobs and {every_minute} runs of another, \
         {recordings} recordings; 0 lost, 0 doubled, 0 out of order, 0 unanswered, nothing reserved",
        plan.seed,
        plan.kills,
        compared.elapsed(),
        outcome.asked,
        outcome.doubled,
        outcome.abandoned,
        outcome.failed,
        outcome.given_up,
        made.len(),
    ));
}

/// Kills the server again and again; now and then it gets SIGTERM instead, as by an update in the middle of everything.
fn torture(plan: &RunSize) {
    with_clients(plan, |stage, messengers, mut server| {
        let (mut random, begun) = (Random::new(plan.seed), Instant::now());
        for kill in 1..=plan.kills {
            // Now and then it lives long enough for those whom every kill has met in mid-answer.
            let breath = if kill % 10 == 0 { 3000 } else { 0 };
            std::thread::sleep(Duration::from_millis(random.between(150, 900) + breath));
            let home = if random.between(0, 4) == 0 { ended(server) } else { server.kill() };
            server = start(&home, messengers, &SETTINGS);
            stage.moves(&server);
            if kill % 50 == 0 {
                tell(&format!("{kill} kills, {:.0?}", begun.elapsed()));
            }
        }
        server
    });
}

/// Ends the server in order, and returns its home.
fn ended(server: Server) -> Arc<TempDir> {
    let home = server.home();
    assert!(server.terminate().success(), "it ends in order");
    home
}

/// For runs by hand.
fn tell(line: &str) {
    std::io::Write::write_all(&mut std::io::stderr(), format!("{line}\n").as_bytes()).unwrap();
}

/// A number of the environment.
fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

#[test]
fn clients_of_every_surface_through_kills() {
    torture(&RunSize { kills: 8, seed: 7, each: 1 });
}

/// `cargo xtask torture` runs this.
#[test]
#[ignore = "a chore that runs for many minutes: cargo xtask torture"]
fn clients_of_every_surface_through_many_kills() {
    let (kills, seed) = (number("AETHON_TORTURE_KILLS", 1_000), number("AETHON_TORTURE_SEED", 1));
    torture(&RunSize { kills: kills as usize, seed, each: 2 });
}
