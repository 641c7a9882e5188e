//! The figures, group by group. Each group starts its own servers, so that none inherits another's state.

use super::load::{self, Connection, Outcome};
use super::report::{Row, Unit};
use super::sockets;
use super::subject::Subject;
use crate::process;
use anyhow::{Context, Result, bail};
use std::future::Future;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const FREE_PORT: &str = "channels.webchat.port=0";
pub(super) const CONNECTIONS: usize = 16;
const ROUNDS: usize = 5;
const IDLE_SOCKETS: usize = 5000;

/// The inputs of every group.
pub(super) struct Bench {
    server: PathBuf,
    engine: PathBuf,
    pub(super) duration: Duration,
    runtime: tokio::runtime::Runtime,
}

impl Bench {
    /// The path of a program built along with the examples.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        let built = self.engine.parent().and_then(Path::parent).unwrap_or(Path::new("."));
        built.join(name)
    }

    /// Measures the program `server`, and `engine` for the engine's share; each load lasts `duration`.
    pub(super) fn new(server: &Path, engine: &Path, duration: Duration) -> Result<Self> {
        let server = server.canonicalize().with_context(|| format!("no program {}", server.display()))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        Ok(Self { server, engine: engine.to_owned(), duration, runtime })
    }

    /// A home beside the program, and so on disk; a temporary folder may be in memory.
    pub(super) fn home(&self) -> Result<TempDir> {
        let beside = self.server.parent().unwrap_or(Path::new("."));
        TempDir::with_prefix_in("bench-home-", beside).context("cannot make a home")
    }

    /// Starts the server in a home with these settings.
    pub(super) fn start(&self, home: &TempDir, settings: &[&str]) -> Result<Subject> {
        Subject::server(&self.server, home.path(), &[&[FREE_PORT], settings].concat())
    }

    pub(super) fn wait<T>(&self, future: impl Future<Output = Result<T>>) -> Result<T> {
        self.runtime.block_on(future)
    }

    /// Applies a load after a short warm-up; returns the result with the server's CPU seconds per request.
    fn load(&self, subject: &Subject, requests: &[Vec<u8>]) -> Result<Loaded> {
        let warm = self.wait(load::repeat(subject.address, requests.to_vec(), self.duration / 8))?;
        let before = subject.cpu()?;
        let outcome = self.wait(load::repeat(subject.address, requests.to_vec(), self.duration))?;
        let used = subject.cpu()?.saturating_sub(before);
        if outcome.requests == 0 {
            bail!("no request was answered in time");
        }
        Ok(Loaded {
            outcome,
            cpu: used.as_secs_f64() / outcome.requests as f64,
            answered: warm.requests + outcome.requests,
        })
    }

    /// The number of messages in a session.
    fn messages(&self, subject: &Subject, session: &str) -> Result<u64> {
        let request = load::get(&format!("/api/sessions/{session}?limit=1"));
        let answer: serde_json::Value = self.wait(async {
            let mut connection = Connection::open(subject.address).await?;
            Ok(serde_json::from_slice(connection.ask(&request).await?)?)
        })?;
        let count = [&answer["message_count"], &answer["session"]["message_count"]];
        count.iter().find_map(|count| count.as_u64()).with_context(|| format!("no message_count in {answer}"))
    }

    fn ask_health(&self, address: SocketAddr) -> Result<()> {
        self.wait(async { Connection::open(address).await?.ask(&load::get("/health")).await.map(|_| ()) })
    }
}

/// Measures the engine alone.
pub(super) fn engine(bench: &Bench) -> Result<Vec<Row>> {
    super::engine::figures(&bench.engine)
}

/// Measures the memory alone; its example is in the same folder as the engine's.
pub(super) fn recall(bench: &Bench) -> Result<Vec<Row>> {
    super::recall::figures(&bench.engine.with_file_name("memory"))
}

/// The result of a load.
struct Loaded {
    outcome: Outcome,
    /// The server's CPU seconds per request.
    cpu: f64,
    /// The number of answered requests, including the warm-up.
    answered: u64,
}

/// Measures `/health`, with the token set and all headers on, against bare hyper.
pub(super) fn health(bench: &Bench) -> Result<Vec<Row>> {
    let home = bench.home()?;
    let server = bench.start(&home, &["dashboard.auth_token=a-token-for-the-benchmark"])?;
    let bare = Subject::bare(home.path())?;
    let requests = vec![load::get("/health"); CONNECTIONS];
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let bare = bench.load(&bare, &requests)?;
        let ours = bench.load(&server, &requests)?;
        rounds.push([ours.cpu, bare.cpu, ours.outcome.rate(), bare.outcome.rate()]);
    }
    let [cpu, bare_cpu, rate, bare_rate] =
        [0, 1, 2, 3].map(|at| median(rounds.iter().map(|round| round[at]).collect()));
    let ratio = cpu / bare_cpu;
    Ok(vec![
        Row::new("`/health`: CPU a request, token set, all headers on", Unit::Micros, cpu)
            .against(Unit::Micros, cpu, bare_cpu)
            .at_most(Unit::Times, ratio, 1.5),
        Row::new(format!("`/health`: throughput, {CONNECTIONS} connections"), Unit::PerSecond, rate).against(
            Unit::PerSecond,
            rate,
            bare_rate,
        ),
    ])
}

/// Measures exec to the first 200 with an existing database, and SIGTERM to exit.
pub(super) fn start(bench: &Bench) -> Result<Vec<Row>> {
    let home = bench.home()?;
    let first = bench.start(&home, &[])?;
    let text = load::post("/webhook/bench", "{\"text\":\"something to store\"}");
    bench.wait(async { Connection::open(first.address).await?.ask(&text).await.map(|_| ()) })?;
    first.stop()?;

    let mut starts = Vec::new();
    let mut stops = Vec::new();
    for _ in 0..11 {
        // The line on stdout comes too late for timing, so the port is chosen beforehand.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let setting = format!("channels.webchat.port={port}");
        let program = bench.server.clone();
        let folder = home.path().to_owned();
        let exec = Instant::now();
        let starting = std::thread::spawn(move || Subject::server(&program, &folder, &[&setting]));
        let answered = first_answer(SocketAddr::from(([127, 0, 0, 1], port)), exec);
        let server = starting.join().map_err(|_| anyhow::anyhow!("the starting thread panicked"))??;
        starts.push(answered?.as_secs_f64());
        stops.push(server.stop()?.as_secs_f64());
    }
    let (start, stop) = (median(starts), median(stops));
    Ok(vec![
        Row::new("exec to the first 200, existing database", Unit::Millis, start).at_most(
            Unit::Millis,
            start,
            0.010,
        ),
        Row::new("SIGTERM to exit, nothing running", Unit::Millis, stop).at_most(Unit::Millis, stop, 0.200),
    ])
}

/// Requests `/health` until it answers 200.
fn first_answer(address: SocketAddr, since: Instant) -> Result<Duration> {
    use std::io::{Read, Write};
    let mut answer = [0; 12];
    while since.elapsed() < Duration::from_secs(20) {
        if let Ok(mut stream) = TcpStream::connect(address) {
            stream.write_all(&load::get("/health"))?;
            stream.read_exact(&mut answer).context("the server closed its first connection")?;
            if answer == *b"HTTP/1.1 200" {
                return Ok(since.elapsed());
            }
            bail!("the first answer was {}", String::from_utf8_lossy(&answer));
        }
        // A refused connection returns at once; without a pause this loop would take the server's core.
        std::thread::sleep(Duration::from_micros(100));
    }
    bail!("no answer in 20 s")
}

/// Measures the resident memory of an idle server.
pub(super) fn memory(bench: &Bench) -> Result<Vec<Row>> {
    let home = bench.home()?;
    bench.start(&home, &[])?.stop()?;
    let server = bench.start(&home, &[])?;
    let bare = Subject::bare(home.path())?;
    for subject in [&server, &bare] {
        bench.ask_health(subject.address)?;
    }
    let resident = settled(&server)? as f64;
    Ok(vec![
        Row::new("resident memory, idle", Unit::Mib, resident)
            .against(Unit::Mib, resident, settled(&bare)? as f64)
            .at_most(Unit::Mib, resident, 12.0 * 1024.0 * 1024.0),
    ])
}

/// Measures what thousands of idle WebSockets cost, and whether their memory is returned.
pub(super) fn idle_sockets(bench: &Bench) -> Result<Vec<Row>> {
    let home = bench.home()?;
    // All sockets come from one address, which may hold a quarter of the connections.
    let server = bench.start(&home, &["server.max_connections=24000"])?;
    bench.ask_health(server.address)?;
    let before = settled(&server)?;
    let streams = bench.wait(sockets::open_idle(server.address, IDLE_SOCKETS))?;
    let open = settled(&server)?;
    bench.wait(sockets::close(streams))?;
    let closed = settled(&server)?;
    bench.ask_health(server.address)?;
    let grown = open.saturating_sub(before) as f64;
    let each = grown / IDLE_SOCKETS as f64;
    let kept = closed.saturating_sub(before) as f64;
    let given_back = if grown > 0.0 { 1.0 - kept / grown } else { 1.0 };
    Ok(vec![
        Row::new(format!("resident memory for each of {IDLE_SOCKETS} idle WebSockets"), Unit::Kib, each)
            .at_most(Unit::Kib, each, 12.0 * 1024.0),
        Row::new("given back after they close", Unit::Percent, given_back).at_least(
            Unit::Percent,
            given_back,
            0.9,
        ),
        Row::new("resident memory after they closed", Unit::Mib, closed as f64),
    ])
}

/// Measures durable `echo` turns over webhooks. After each load the server is killed and restarted, and the messages of the
/// sessions with known names are counted: there must be two for every answered turn.
pub(super) fn webhook_turns(bench: &Bench) -> Result<Vec<Row>> {
    let trigger = ("`/webhook/trigger`, a session each turn", vec!["trigger".to_owned(); CONNECTIONS]);
    let own = ("`/webhook/bench-N`, a session each connection", own_channels());
    let one = ("`/webhook/bench`, one session", vec!["bench".to_owned(); CONNECTIONS]);
    let mut rows = Vec::new();
    for (name, channels) in [trigger, own, one] {
        let home = bench.home()?;
        let server = bench.start(&home, &[])?;
        let requests = questions(&channels);
        let loaded = bench.load(&server, &requests)?;
        let (rate, cpu) = (loaded.outcome.rate(), loaded.cpu);
        rows.push(Row::new(format!("durable turns, {name}"), Unit::PerSecond, rate).at_least(
            Unit::PerSecond,
            rate,
            3000.0,
        ));
        rows.push(Row::new(format!("CPU a turn, {name}"), Unit::Millis, cpu).at_most(
            Unit::Millis,
            cpu,
            0.0003,
        ));

        drop(server);
        if channels[0] == "trigger" {
            continue;
        }
        let server = bench.start(&home, &[])?;
        let mut channels = channels;
        channels.dedup();
        let mut messages = 0;
        for channel in &channels {
            messages += bench.messages(&server, &format!("webhook:{channel}"))?;
        }
        let stored = messages as f64 / (2 * loaded.answered) as f64;
        rows.push(Row::new(format!("stored after kill -9, {name}"), Unit::Percent, stored).at_least(
            Unit::Percent,
            stored,
            1.0,
        ));
    }
    Ok(rows)
}

/// The webhook channels of connections that each have a session of their own.
fn own_channels() -> Vec<String> {
    (0..CONNECTIONS).map(|number| format!("bench-{number}")).collect()
}

/// The request that starts a turn on each of these webhook channels.
pub(super) fn questions(channels: &[String]) -> Vec<Vec<u8>> {
    let body = "{\"text\":\"What is the weather like where you are?\"}";
    channels.iter().map(|channel| load::post(&format!("/webhook/{channel}"), body)).collect()
}

/// Measures how much recording every session lowers the throughput of durable turns. Short loads on the two servers
/// alternate, because the machine's own speed changes within seconds by as much as is measured here.
pub(super) fn recorded_turns(bench: &Bench) -> Result<Vec<Row>> {
    const ROUNDS: usize = 20;
    let requests = questions(&own_channels());
    let (plain_home, recorded_home) = (bench.home()?, bench.home()?);
    let plain = bench.start(&plain_home, &[])?;
    let recorded = bench.start(&recorded_home, &["session_recorder.enabled=true"])?;
    let rate = |subject: &Subject| -> Result<f64> {
        let load = load::repeat(subject.address, requests.clone(), bench.duration / 4);
        Ok(bench.wait(load)?.rate())
    };
    // The first loads create the sessions.
    for subject in [&plain, &recorded] {
        rate(subject)?;
    }
    let (mut rates, mut shares) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        // Each of them comes first half of the time.
        let early = if round % 2 == 0 { Some(rate(&plain)?) } else { None };
        let recorded = rate(&recorded)?;
        let plain = early.map_or_else(|| rate(&plain), Ok)?;
        rates.push(recorded);
        shares.push(recorded / plain);
    }
    let (rate, share) = (median(rates), median(shares));
    Ok(vec![
        Row::new("durable turns while sessions are recorded", Unit::PerSecond, rate),
        Row::new("the same against turns that are not recorded", Unit::Times, share).at_least(
            Unit::Times,
            share,
            0.9,
        ),
    ])
}

/// Measures what open dashboards cost durable turns.
pub(super) fn watched_turns(bench: &Bench) -> Result<Vec<Row>> {
    const DASHBOARDS: usize = 20;
    const PACE: u32 = 500;
    const ROUNDS: usize = 9;
    let requests = questions(&own_channels());
    let home = bench.home()?;
    let server = bench.start(&home, &[])?;
    // The typical turn, and the slow one of which there is one in twenty.
    let paced = || -> Result<[f64; 2]> {
        let pace = (PACE, bench.duration);
        let times = bench.wait(load::paced(server.address, requests.clone(), pace))?;
        let times: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
        Ok([quantile(times.clone(), 0.5), quantile(times, 0.95)])
    };
    let watch = || Subject::dashboards(home.path(), &server, DASHBOARDS);
    let alone = bench.load(&server, &requests)?;
    let watching = watch()?;
    let watched = bench.load(&server, &requests)?;
    let resident = server.resident()? as f64;
    drop(watching);
    // The machine's own noise is larger than the difference, so they alternate.
    let (mut calm, mut busy) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        calm.push(paced()?);
        let watching = watch()?;
        busy.push(paced()?);
        drop(watching);
        std::thread::sleep(Duration::from_millis(200));
    }
    let name = |what: &str| format!("{what} with {DASHBOARDS} dashboards open");
    let mut rows = vec![
        Row::new(name("durable turns"), Unit::PerSecond, watched.outcome.rate()).at_least(
            Unit::PerSecond,
            watched.outcome.rate(),
            500.0,
        ),
        Row::new(name("CPU a turn"), Unit::Millis, watched.cpu),
        Row::new(name("CPU a turn against none,"), Unit::Times, watched.cpu / alone.cpu),
    ];
    for (at, quantile) in ["p50", "p95"].into_iter().enumerate() {
        let of = |rounds: &[[f64; 2]]| median(rounds.iter().map(|round| round[at]).collect());
        let (calm, busy) = (of(&calm), of(&busy));
        let turn = format!("{quantile} of a turn at {PACE} a second");
        rows.push(Row::new(name(&turn), Unit::Millis, busy));
        rows.push(
            Row::new(name(&format!("the same {quantile} against none")), Unit::Times, busy / calm).at_most(
                Unit::Times,
                busy / calm,
                1.1,
            ),
        );
    }
    rows.push(Row::new(name("resident memory"), Unit::Mib, resident));
    Ok(rows)
}

/// Measures round trips over a plain WebSocket, and whether a long transcript slows them down.
pub(super) fn long_session(bench: &Bench) -> Result<Vec<Row>> {
    const TURNS: usize = 10_000;
    const WINDOW: usize = 200;
    let home = bench.home()?;
    let server = bench.start(&home, &[])?;
    bench.wait(sockets::turns(server.address, "warm-up", 500))?;
    let times = bench.wait(sockets::turns(server.address, "bench", TURNS))?;
    let p50 = |range: &[Duration]| median(range.iter().map(Duration::as_secs_f64).collect());
    let early = p50(&times[9..9 + WINDOW]);
    let late = p50(&times[TURNS - WINDOW..]);
    let all = p50(&times);
    Ok(vec![
        Row::new("plain WebSocket round trip, p50", Unit::Millis, all).at_most(Unit::Millis, all, 0.0005),
        Row::new(format!("p50 of the {WINDOW} turns from turn 10"), Unit::Millis, early),
        Row::new(format!("p50 of the {WINDOW} turns up to turn {TURNS}"), Unit::Millis, late),
        Row::new("the later against the earlier", Unit::Times, late / early).at_most(
            Unit::Times,
            late / early,
            1.1,
        ),
    ])
}

/// Measures the size of the program, and how fast it prints its help.
pub(super) fn size(bench: &Bench) -> Result<Vec<Row>> {
    let bytes = std::fs::metadata(&bench.server)?.len() as f64;
    let mut times = Vec::new();
    for _ in 0..21 {
        let mut command = process::command(Path::new("."), &bench.server.display().to_string(), &["--help"]);
        let started = Instant::now();
        let status = command.stdout(Stdio::null()).status()?;
        times.push(started.elapsed().as_secs_f64());
        if !status.success() {
            bail!("--help ended with {status}");
        }
    }
    let help = median(times);
    Ok(vec![
        Row::new("release binary of the server", Unit::Megabytes, bytes).at_most(
            Unit::Megabytes,
            bytes,
            16e6,
        ),
        Row::new("`aethon-server --help`", Unit::Millis, help).at_most(Unit::Millis, help, 0.005),
    ])
}

/// Returns the resident memory once it is stable for a second, or after fifteen seconds.
pub(super) fn settled(subject: &Subject) -> Result<u64> {
    let mut last = subject.resident()?;
    for _ in 0..15 {
        std::thread::sleep(Duration::from_secs(1));
        let now = subject.resident()?;
        if now.abs_diff(last) < 64 * 1024 {
            return Ok(now);
        }
        last = now;
    }
    Ok(last)
}

pub(super) fn median(values: Vec<f64>) -> f64 {
    quantile(values, 0.5)
}

/// Returns the value below which this share of the values lies; not a number if there are none.
fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get((values.len() as f64 * share) as usize).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_one_in_the_middle() {
        assert!((quantile((0..100).map(f64::from).collect(), 0.95) - 95.0).abs() < f64::EPSILON);
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!(median(Vec::new()).is_nan());
    }
}
