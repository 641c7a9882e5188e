//! Clients of three instances on one PostgreSQL server, people on messengers and jobs, through kills of instances, crashes of the
//! server and cut connections; the chore also fails over to a standby.
//!
//! Each client connects to any of them, and to another one when its connection ends; in the chore through Caddy, as in use. An instance that was killed comes back at
//! once, or only when the others have taken its turns over.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_postgres::testkit::OwnServer;
use aethon_tests::{Random, Server};
use serde_json::{Value, json};
use tempfile::TempDir;
use tungstenite::client::IntoClientRequest;
use tungstenite::http::HeaderValue;
use tungstenite::{Message, WebSocket};

use super::super::instances::home_on;
use super::caddy::{self, Caddy};
use super::messengers::Messengers;
use super::{Record, TortureRun, check, clients, jobs, number, people, tell};

/// How many instances there are.
const INSTANCES: usize = 3;

/// How long an instance stays away so that others take its turns over.
const TAKEN_OVER: Duration = Duration::from_secs(13);

const SETTINGS: [&str; 3] =
    ["budget.daily_usd=1000000", "budget.pricing.fake={input=1.0, output=1.0}", jobs::EVERY_MINUTE];

/// How much of it.
struct RunSize {
    /// How many kills, crashes and cuts.
    blows: usize,
    /// One kill of so many is a long one.
    one_in: u64,
    /// Whether the standby takes over in the middle.
    fails_over: bool,
    /// Whether clients reach them through Caddy, which finds out by itself which of them are there.
    is_proxied: bool,
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

impl Blows {
    /// All after which an answer may arrive twice on a messenger that cannot tell.
    fn count(&self) -> usize {
        self.kills + self.crashes + self.cuts + self.failovers
    }
}

/// The instances, the database that they share, and Caddy if it stands in front of them.
struct Cluster<'a> {
    servers: Vec<Server>,
    messengers: &'a Messengers,
    /// The port of each behind Caddy, the same after each start.
    ports: Vec<u16>,
    caddy: Option<Caddy>,
    primary: OwnServer,
    standby: Option<OwnServer>,
    random: Random,
    blows: Blows,
}

impl<'a> Cluster<'a> {
    fn start(plan: &RunSize, messengers: &'a Messengers) -> Self {
        let mut random = Random::new(plan.seed);
        let primary = OwnServer::start();
        let standby = plan.fails_over.then(|| primary.standby());
        let url = standby.as_ref().map_or_else(|| primary.url.clone(), |standby| primary.url_with(standby));
        let ports: Vec<u16> = match plan.is_proxied {
            true => (0..INSTANCES).map(|_| caddy::free_port(&mut random)).collect(),
            false => vec![0; INSTANCES],
        };
        let servers = ports.iter().map(|&port| start(home_on(&url), port, messengers)).collect();
        let caddy = plan.is_proxied.then(|| Caddy::in_front_of(&ports, &mut random));
        let blows = Blows::default();
        Self { servers, messengers, ports, caddy, primary, standby, random, blows }
    }

    /// Tells the clients where they are served now.
    fn serve(&self, stage: &TortureRun) {
        let own = || self.servers.iter().map(|server| server.address).collect();
        stage.is_served_at(self.caddy.as_ref().map_or_else(own, |caddy| vec![caddy.address]));
    }

    /// The server that has the database now.
    fn database(&self) -> &OwnServer {
        self.standby.as_ref().filter(|_| self.blows.failovers > 0).unwrap_or(&self.primary)
    }

    /// Has the standby take the place of the primary, if there is one.
    fn fail_over(&mut self) {
        if let Some(standby) = &self.standby {
            self.primary.fail_over_to(standby);
            self.blows.failovers += 1;
        }
    }

    /// Crashes the database, cuts connections or kills an instance. One kill of so many is a long one.
    fn strike(&mut self, stage: &TortureRun, one_in: u64) {
        match self.random.between(0, 6) {
            0 => {
                self.database().crash();
                self.blows.crashes += 1;
            }
            1 | 2 => {
                let count = self.random.between(1, 12);
                self.database().cut(i64::try_from(count).unwrap_or(1));
                self.blows.cuts += 1;
            }
            _ => {
                let which = self.random.below(INSTANCES);
                let killed = self.servers.remove(which);
                self.serve(stage);
                let home = killed.kill();
                if self.random.between(0, one_in) == 0 {
                    std::thread::sleep(TAKEN_OVER);
                    self.blows.long_kills += 1;
                }
                self.servers.insert(which, start(home, self.ports[which], self.messengers));
                self.serve(stage);
                self.blows.kills += 1;
            }
        }
    }
}

/// Starts an instance on this port, or on any if it is 0.
fn start(home: Arc<TempDir>, port: u16, messengers: &Messengers) -> Server {
    let mut own = messengers.settings();
    own.push(format!("channels.webchat.port={port}"));
    let settings: Vec<&str> = SETTINGS.into_iter().chain(own.iter().map(String::as_str)).collect();
    Server::start_in(home, &settings)
}

fn torture(plan: &RunSize) {
    let messengers = Messengers::start();
    let mut cluster = Cluster::start(plan, &messengers);
    messengers.await_all();
    let (stage, begun) = (TortureRun::new(&cluster.servers[0]), Instant::now());
    cluster.serve(&stage);
    let (records, seen, talks, made) = std::thread::scope(|scope| {
        let (stage, messengers) = (&stage, &messengers);
        let (mut writers, mut readers, mut people) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..plan.each {
            let random = Random::new(plan.seed + number as u64);
            let other = random.clone();
            writers.push(scope.spawn(move || clients::page(stage, number, random)));
            writers.push(scope.spawn(move || clients::editor(stage, number, other)));
            writers.push(scope.spawn(move || clients::remover(stage, number)));
            writers.push(scope.spawn(move || clients::hook(stage, number)));
            readers.push(scope.spawn(move || reader(stage)));
            for messenger in 0..messengers.all().len() {
                let random = Random::new(plan.seed + 1000 * (messenger as u64 + 1) + number as u64);
                let who = (messengers, messenger, number);
                people.push(scope.spawn(move || people::person(stage, who, random, || !stage.is_over())));
            }
        }
        let maker = scope.spawn(move || jobs::maker(stage, Random::new(plan.seed + 9)));
        for blow in 1..=plan.blows {
            std::thread::sleep(Duration::from_millis(cluster.random.between(300, 1200)));
            if plan.fails_over && blow == plan.blows / 2 {
                cluster.fail_over();
            } else {
                cluster.strike(stage, plan.one_in);
            }
            if blow % 50 == 0 {
                tell(&format!("{blow} blows, {:.0?}", begun.elapsed()));
            }
        }
        std::thread::sleep(Duration::from_secs(2));
        stage.is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        let records: Vec<Record> =
            writers.into_iter().flat_map(|client| client.join().expect("a client ends")).collect();
        let seen: usize = readers.into_iter().map(|reader| reader.join().expect("a reader ends")).sum();
        let talks: Vec<_> = people.into_iter().map(|person| person.join().expect("a person ends")).collect();
        (records, seen, talks, maker.join().expect("the maker of jobs ends"))
    });
    let tortured = begun.elapsed();
    let (servers, blows) = (&cluster.servers, &cluster.blows);
    let outcome = people::check(&servers[0], &messengers, &talks);
    assert!(outcome.doubled + outcome.abandoned <= blows.count(), "{outcome:?} have no reason");
    assert_eq!(messengers.telegram.conflicts(), 0, "two instances received from Telegram at the same time");
    let every_minute = jobs::check(&servers[0], &made);
    // Each of them tells the same.
    for server in servers {
        check::conversations(server, &records);
        check::money(server);
    }
    let acknowledged: usize = records.iter().map(|record| record.acknowledged.len()).sum();
    assert!(acknowledged > plan.blows && seen > 0, "{acknowledged} acknowledged, {seen} frames");
    tell(&format!(
        "seed {}: {INSTANCES} instances, {blows:?} in {tortured:.0?}; {acknowledged} messages acknowledged, {seen} frames read, \
         {} over messengers ({} came twice, {} had begun before, {} listed as failed), {} jobs and {every_minute} runs of another; \
         0 lost, 0 doubled, 0 out of order, one receiver at a time, nothing reserved",
        plan.seed,
        outcome.asked,
        outcome.doubled,
        outcome.abandoned,
        outcome.failed,
        made.len(),
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
    torture(&RunSize { blows: 10, one_in: 8, fails_over: false, is_proxied: false, each: 1, seed: 3 });
}

/// `cargo xtask torture` runs this.
#[test]
#[ignore = "a chore that runs for many minutes: cargo xtask torture --instances"]
fn clients_of_three_instances_through_many_blows() {
    let (blows, seed) = (number("AETHON_TORTURE_KILLS", 300), number("AETHON_TORTURE_SEED", 1));
    torture(&RunSize {
        blows: blows as usize,
        one_in: 12,
        fails_over: true,
        is_proxied: true,
        each: 2,
        seed,
    });
}
