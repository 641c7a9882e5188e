//! Terminals, questions and pages in shared sessions, through kills and restarts of the daemon: every answer that is shown
//! belongs to its question and is stored, nothing acknowledged is missing, doubled or out of order, and in the end each terminal
//! and each page shows the transcript.
//!
//! `terminals` are `aethon-cli`, `pages` real browsers, `sockets` clients that speak the protocol of the page; `check` holds what
//! they noted against the storage. When the daemon ends, and how, follows from a seed; the timing in between is up to the machine.

mod check;
mod pages;
mod sockets;
mod terminals;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aethon_tests::{Browser, Random, Server, Terminal};

/// How much of it.
struct RunSize {
    /// Chats on pseudo-terminals.
    chats: usize,
    /// Programs that ask one question after the other.
    asks: usize,
    /// Clients that speak the protocol of the page.
    sockets: usize,
    /// Real browsers.
    pages: usize,
    /// Sessions that they share.
    sessions: usize,
    /// Kills and polite restarts of the daemon.
    kills: usize,
    restarts: usize,
    /// Between two of them, in milliseconds.
    pause: (u64, u64),
}

const SHORT: RunSize = RunSize {
    chats: 3,
    asks: 2,
    sockets: 1,
    pages: 1,
    sessions: 2,
    kills: 5,
    restarts: 2,
    pause: (200, 1200),
};
const FULL: RunSize = RunSize {
    chats: 16,
    asks: 4,
    sockets: 2,
    pages: 4,
    sessions: 8,
    kills: 100,
    restarts: 20,
    pause: (300, 2500),
};

/// Every call has a price, so that money is set aside for it.
const SETTINGS: [&str; 2] = ["budget.daily_usd=1000000", "budget.pricing.fake={input=1.0, output=1.0}"];

/// How long anybody waits for an answer that must come.
const LONG: Duration = Duration::from_secs(150);

/// The form of a question and its answer; the number is in both.
fn question(number: usize) -> (String, String) {
    let answer = format!("answer-{number}.");
    let question = match number % 3 {
        0 => format!("!say {answer}"),
        1 => format!("!sleep 60 | !say {answer}"),
        _ => format!("!sleep 15 | !say {answer}"),
    };
    (question, answer)
}

/// What everybody shares.
struct SurfaceRun {
    address: Mutex<SocketAddr>,
    is_over: AtomicBool,
    next: AtomicUsize,
    /// How many chats have their first prompt, and how many pages are open.
    seated: AtomicUsize,
    known: Mutex<ClientRecords>,
}

/// The clients' knowledge, by the number of the question.
#[derive(Default)]
struct ClientRecords {
    /// The session of the question.
    asked: BTreeMap<usize, usize>,
    /// The answers that were shown.
    printed: BTreeSet<usize>,
    /// The questions of each writer in the order in which they were acknowledged.
    acknowledged: BTreeMap<String, Vec<usize>>,
    /// Questions that a program gave up, with its words.
    given_up: BTreeMap<usize, String>,
}

impl SurfaceRun {
    fn new(server: &Server) -> Self {
        Self {
            address: Mutex::new(server.address),
            is_over: AtomicBool::new(false),
            next: AtomicUsize::new(1),
            seated: AtomicUsize::new(0),
            known: Mutex::default(),
        }
    }

    fn address(&self) -> SocketAddr {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, ClientRecords> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn sits_down(&self) {
        self.seated.fetch_add(1, Ordering::Relaxed);
    }

    fn await_seated(&self, many: usize) {
        let deadline = Instant::now() + LONG;
        while self.seated.load(Ordering::Relaxed) < many {
            assert!(Instant::now() < deadline, "not every chat and page has begun");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// A new question in a session.
    fn ask(&self, session: usize) -> usize {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.known().asked.insert(number, session);
        number
    }
}

/// Ends the talk, also after a failure: the others would never end.
struct StopOnDrop<'a>(&'a SurfaceRun);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

fn soak(plan: &RunSize, seed: u64) {
    tell(&format!("seed {seed}"));
    let server = Server::start(&SETTINGS);
    let stage = SurfaceRun::new(&server);
    let begun = Instant::now();
    let (chats, pages, server) = with_everybody(plan, seed, &stage, server);
    let spent = begun.elapsed();
    let conversations = check::conversations(plan, &stage, &server);
    for (session, terminal) in chats {
        terminals::compare(terminal, &conversations[session]);
    }
    let seen = pages.len();
    for (session, browser) in pages {
        pages::compare(&browser, &conversations[session]);
    }
    check::money(&server);
    let known = stage.known();
    tell(&format!(
        "seed {seed}: {} kills and {} restarts under {} chats, {} programs that ask, {} clients and {seen} browsers; {} questions, {} \
         answers shown, {} acknowledged, {} given up, in {spent:.0?}, compared in {:.0?}",
        plan.kills,
        plan.restarts,
        plan.chats,
        plan.asks,
        plan.sockets,
        known.asked.len(),
        known.printed.len(),
        known.acknowledged.values().map(Vec::len).sum::<usize>(),
        known.given_up.len(),
        begun.elapsed() - spent,
    ));
    assert!(known.given_up.is_empty(), "programs gave up: {:#?}", known.given_up);
}

/// A chat or a page at the end, with its session.
type Seat<T> = (usize, T);

/// Has everybody talk while the daemon comes and goes.
fn with_everybody(
    plan: &RunSize,
    seed: u64,
    stage: &SurfaceRun,
    server: Server,
) -> (Vec<Seat<Terminal>>, Vec<Seat<Browser>>, Server) {
    let home = server.home();
    std::thread::scope(|scope| {
        let ending = StopOnDrop(stage);
        let session = |writer: usize| writer % plan.sessions;
        let chats: Vec<_> = (0..plan.chats)
            .map(|writer| (session(writer), (writer, home.clone())))
            .map(|(session, (writer, home))| {
                (session, scope.spawn(move || terminals::chat(stage, &home, writer, session)))
            })
            .collect();
        let pages: Vec<_> = (0..plan.pages)
            .map(|writer| (session(writer), Random::new(seed + 1000 + writer as u64), writer))
            .map(|(session, random, writer)| {
                (session, scope.spawn(move || pages::sit(stage, writer, session, random)))
            })
            .collect();
        for writer in 0..plan.asks {
            let (session, home) = (session(writer), home.clone());
            scope.spawn(move || terminals::ask(stage, &home, session));
        }
        for writer in 0..plan.sockets {
            let session = session(writer);
            scope.spawn(move || sockets::talk(stage, writer, session));
        }
        stage.await_seated(plan.chats + plan.pages);
        let server = torment(plan, seed, stage, server);
        drop(ending);
        let chats = chats.into_iter().map(|(session, chat)| (session, chat.join().expect("a chat ends")));
        let pages = pages.into_iter().map(|(session, page)| (session, page.join().expect("a page ends")));
        let pages = pages.filter_map(|(session, browser)| Some((session, browser?)));
        (chats.collect(), pages.collect(), server)
    })
}

/// Kills and restarts the daemon where it was; returns the last one.
fn torment(plan: &RunSize, seed: u64, stage: &SurfaceRun, mut server: Server) -> Server {
    let (mut random, home) = (Random::new(seed), server.home());
    // Pages go on looking for it at their own origin.
    let port = format!("channels.webchat.port={}", server.address.port());
    let settings: Vec<&str> = SETTINGS.into_iter().chain([port.as_str()]).collect();
    let (mut kills, mut restarts) = (plan.kills, plan.restarts);
    while kills + restarts > 0 {
        std::thread::sleep(Duration::from_millis(random.between(plan.pause.0, plan.pause.1)));
        let is_kill = random.between(0, (kills + restarts) as u64) < kills as u64;
        if is_kill {
            kills -= 1;
            server.kill();
        } else {
            restarts -= 1;
            assert_eq!(server.terminate().code(), Some(0), "a polite stop");
        }
        server = Server::start_in(home.clone(), &settings);
        *stage.address.lock().unwrap_or_else(PoisonError::into_inner) = server.address;
    }
    std::thread::sleep(Duration::from_millis(plan.pause.1));
    server
}

/// For runs by hand and the analysis of failures.
fn tell(line: &str) {
    std::io::Write::write_all(&mut std::io::stderr(), format!("{line}\n").as_bytes()).unwrap();
}

/// The seed of the environment, for runs by hand.
fn seed() -> Option<u64> {
    std::env::var("AETHON_SOAK_SEED").ok()?.parse().ok()
}

#[test]
fn clients_on_all_surfaces_through_restarts() {
    soak(&SHORT, seed().unwrap_or(7));
}

#[test]
#[ignore = "takes minutes: sixteen terminals and four browsers through 100 kills and 20 polite restarts"]
fn many_clients_on_all_surfaces_through_restarts() {
    soak(&FULL, seed().unwrap_or(1));
}
