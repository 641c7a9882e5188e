//! Clients of three instances on one PostgreSQL server, through kills of instances, crashes of the server and cut connections; the
//! chore also fails over to a standby.
//!
//! Each client connects to any of them, and to another one when its connection ends. An instance that was killed comes back at
//! once, or only when the others have taken its turns over.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use aethon_postgres::testkit::OwnServer;
use aethon_tests::{Random, Server};
use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::http::HeaderValue;
use tungstenite::{Message, WebSocket};

use super::super::instances::home_on;
use super::{Record, TortureRun, check, clients, number, tell};

/// How many instances there are.
const INSTANCES: usize = 3;

/// How long an instance stays away so that others take its turns over.
const TAKEN_OVER: Duration = Duration::from_secs(13);

const SETTINGS: [&str; 2] = ["budget.daily_usd=1000000", "budget.pricing.fake={input=1.0, output=1.0}"];

/// How much of it.
struct RunSize {
    /// How many kills, crashes and cuts.
    blows: usize,
    /// One kill of so many is a long one.
    one_in: u64,
    /// Whether the standby takes over in the middle.
    fails_over: bool,
    /// Clients of each kind.
    each: usize,
    seed: u64,
}

/// What was done to them.
#[derive(Debug, Default)]
struct Blows {
    kills: usize,
    long_kills: usize,
    crashes: usize,
    cuts: usize,
    failovers: usize,
}

/// The instances on this database.
fn all_on(url: &str) -> Vec<Server> {
    (0..INSTANCES).map(|_| Server::start_in(home_on(url), &SETTINGS)).collect()
}

fn torture(plan: &RunSize) {
    let primary = OwnServer::start();
    let standby = plan.fails_over.then(|| primary.standby());
    let url = standby.as_ref().map_or_else(|| primary.url.clone(), |standby| primary.url_with(standby));
    let mut servers = all_on(&url);
    let (stage, begun) = (TortureRun::new(&servers[0]), Instant::now());
    let serve = |servers: &[&Server]| {
        stage.is_served_at(servers.iter().map(|server| server.address).collect());
    };
    serve(&servers.iter().collect::<Vec<_>>());
    let (records, seen, blows) = std::thread::scope(|scope| {
        let stage = &stage;
        let mut writers = Vec::new();
        let mut readers = Vec::new();
        for number in 0..plan.each {
            let random = Random::new(plan.seed + number as u64);
            let other = random.clone();
            writers.push(scope.spawn(move || clients::page(stage, number, random)));
            writers.push(scope.spawn(move || clients::editor(stage, number, other)));
            writers.push(scope.spawn(move || clients::remover(stage, number)));
            writers.push(scope.spawn(move || clients::hook(stage, number)));
            readers.push(scope.spawn(move || reader(stage)));
        }
        let (mut random, mut blows) = (Random::new(plan.seed), Blows::default());
        let mut database = &primary;
        for blow in 1..=plan.blows {
            std::thread::sleep(Duration::from_millis(random.between(300, 1200)));
            let taking_over = standby.as_ref().filter(|_| blow == plan.blows / 2);
            if let Some(standby) = taking_over {
                primary.fail_over_to(standby);
                database = standby;
                blows.failovers += 1;
                continue;
            }
            match random.between(0, 6) {
                0 => {
                    database.crash();
                    blows.crashes += 1;
                }
                1 | 2 => {
                    database.cut(i64::try_from(random.between(1, 12)).unwrap_or(1));
                    blows.cuts += 1;
                }
                _ => {
                    let which = random.between(0, INSTANCES as u64) as usize;
                    let killed = servers.remove(which);
                    serve(&servers.iter().collect::<Vec<_>>());
                    let home = killed.kill();
                    if random.between(0, plan.one_in) == 0 {
                        std::thread::sleep(TAKEN_OVER);
                        blows.long_kills += 1;
                    }
                    servers.insert(which, Server::start_in(home, &SETTINGS));
                    blows.kills += 1;
                }
            }
            serve(&servers.iter().collect::<Vec<_>>());
            if blow % 50 == 0 {
                tell(&format!("{blow} blows, {:.0?}", begun.elapsed()));
            }
        }
        std::thread::sleep(Duration::from_secs(2));
        stage.is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        let records: Vec<Record> =
            writers.into_iter().flat_map(|client| client.join().expect("a client ends")).collect();
        let seen: usize = readers.into_iter().map(|reader| reader.join().expect("a reader ends")).sum();
        (records, seen, blows)
    });
    let tortured = begun.elapsed();
    // Each of them tells the same.
    for server in &servers {
        check::conversations(server, &records);
        check::money(server);
    }
    let acknowledged: usize = records.iter().map(|record| record.acknowledged.len()).sum();
    assert!(acknowledged > plan.blows && seen > 0, "{acknowledged} acknowledged, {seen} frames");
    tell(&format!(
        "seed {}: {INSTANCES} instances, {blows:?} in {tortured:.0?}; {acknowledged} messages acknowledged, {seen} frames read; \
         0 lost, 0 doubled, 0 out of order, nothing reserved",
        plan.seed
    ));
}

/// Reads a conversation wherever it can, and goes on elsewhere when its connection ends. The numbers of frames only grow, and
/// each turn ends once. Returns how many frames it saw.
fn reader(stage: &TortureRun) -> usize {
    let (mut seen, mut after) = (0, 0);
    while !stage.is_over() {
        let Some(mut socket) = connect(stage) else {
            std::thread::sleep(Duration::from_millis(100));
            continue;
        };
        if after > 0 {
            let resume = json!({"type": "resume", "session": "shared", "after": after});
            if socket.send(Message::text(resume.to_string())).is_err() {
                continue;
            }
        }
        let (mut last, mut ended) = (0, std::collections::HashSet::new());
        while !stage.is_over() {
            let frame: Value = match socket.read() {
                Ok(Message::Text(text)) => serde_json::from_str(&text).expect("JSON"),
                Ok(Message::Ping(_) | Message::Pong(_)) => continue,
                Ok(_) | Err(_) => break,
            };
            if frame["code"] == "resume_gap" {
                // A page loads the conversation now.
                (last, after) = (0, 0);
                continue;
            }
            // It repeats the number of the last frame that was replayed.
            if frame["type"] == "resumed" {
                continue;
            }
            let Some(seq) = frame["seq"].as_u64() else { continue };
            assert!(seq > last, "{seq} after {last}: {frame}");
            if frame["type"] == "done" {
                assert!(ended.insert(frame["turn"].clone()), "a turn ends twice: {frame}");
            }
            (last, after) = (seq, seq);
            seen += 1;
        }
    }
    seen
}

fn connect(stage: &TortureRun) -> Option<WebSocket<TcpStream>> {
    let address = stage.address();
    let stream = TcpStream::connect_timeout(&address, Duration::from_secs(2)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(3))).ok()?;
    let mut request =
        format!("ws://{address}/ws/chat?session=shared").into_client_request().expect("an address");
    request.headers_mut().insert("Sec-WebSocket-Protocol", HeaderValue::from_static("aethon.chat.v1"));
    Some(tungstenite::client(request, stream).ok()?.0)
}

#[test]
fn clients_of_three_instances_through_kills_crashes_and_cuts() {
    torture(&RunSize { blows: 10, one_in: 8, fails_over: false, each: 1, seed: 3 });
}

/// `cargo xtask torture` runs this.
#[test]
#[ignore = "a chore that runs for many minutes: cargo xtask torture --instances"]
fn clients_of_three_instances_through_many_blows() {
    let (blows, seed) = (number("AETHON_TORTURE_KILLS", 300), number("AETHON_TORTURE_SEED", 1));
    torture(&RunSize { blows: blows as usize, one_in: 12, fails_over: true, each: 2, seed });
}
