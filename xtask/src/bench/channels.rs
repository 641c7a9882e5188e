//! The cost of channels: six idle ones, and a flood of messages over one.
//!
//! The messengers are the fakes of the black-box tests, in a separate process.

use super::figures::{Bench, settled};
use super::report::{Row, Unit};
use crate::process;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

/// How long the idle server is measured: longer than the longest poll of any channel.
const IDLE: Duration = Duration::from_secs(60);
/// The time limit for signing in.
const SIGNED_IN: Duration = Duration::from_secs(30);
/// The rate of incoming messages, per second.
const OFFERED: u64 = 240;
/// The rate of answers required.
const WANTED: f64 = 200.0;
/// The duration of the flood, in seconds.
const FLOOD: u64 = 10;

/// The process of the fake messengers.
struct Messengers {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    settings: Settings,
}

/// The settings with which a server uses them: one messenger alone, and the other five.
#[derive(Default, Deserialize)]
struct Settings {
    one: Vec<String>,
    others: Vec<String>,
}

/// The server's report on its channels.
#[derive(Deserialize)]
struct Told {
    channels: Vec<Listed>,
}

/// One channel.
#[derive(Deserialize)]
struct Listed {
    name: String,
    state: String,
    detail: String,
}

/// The result of a flood.
#[derive(Deserialize)]
struct Flood {
    answered: u64,
    seconds: f64,
    in_order: bool,
}

impl Messengers {
    fn start(program: &Path, home: &Path) -> Result<Self> {
        let mut command = process::command(home, &program.display().to_string(), &[]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the messengers")?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("the messengers have no pipes");
        };
        let mut own = Self { child, input, output: BufReader::new(output), settings: Settings::default() };
        own.settings = own.answer()?;
        Ok(own)
    }

    fn ask<T: for<'a> Deserialize<'a>>(&mut self, line: &str) -> Result<T> {
        writeln!(self.input, "{line}").context("the messengers are gone")?;
        self.answer()
    }

    fn answer<T: for<'a> Deserialize<'a>>(&mut self) -> Result<T> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("the messengers said {line:?}"))
    }
}

impl Drop for Messengers {
    fn drop(&mut self) {
        // Both fail if the process has already ended, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Measures the figures. The program of the messengers is in the same folder as the server's.
pub(super) fn figures(bench: &Bench) -> Result<Vec<Row>> {
    let home = bench.home()?;
    let mut messengers = Messengers::start(&bench.program("fake-messengers"), home.path())?;
    let settings = &messengers.settings;
    let six: Vec<String> = settings.one.iter().chain(&settings.others).cloned().collect();
    let one = settings.one.clone();
    let (quiet_cpu, quiet) = idle(bench, (0, &[]))?;
    let (cpu, resident) = idle(bench, (6, &six))?;
    let more = resident.saturating_sub(quiet) as f64;
    let mut rows = vec![
        Row::new("CPU a second, idle, no channel but the page", Unit::Millis, quiet_cpu),
        Row::new("CPU a second, idle, six messengers on", Unit::Millis, cpu).at_most(
            Unit::Millis,
            cpu,
            0.010,
        ),
        Row::new("resident memory, idle, six messengers on, against none", Unit::Mib, more).at_most(
            Unit::Mib,
            more,
            4.0 * 1024.0 * 1024.0,
        ),
    ];
    rows.extend(flood(bench, &mut messengers, &one)?);
    Ok(rows)
}

/// Returns the CPU seconds per second and the resident memory of an idle server.
fn idle(bench: &Bench, (messengers, settings): (usize, &[String])) -> Result<(f64, u64)> {
    let home = bench.home()?;
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let server = bench.start(&home, &settings)?;
    all_run(server.address, messengers)?;
    settled(&server)?;
    let (before, begun) = (server.cpu()?, Instant::now());
    std::thread::sleep(IDLE);
    let used = server.cpu()?.saturating_sub(before);
    Ok((used.as_secs_f64() / begun.elapsed().as_secs_f64(), server.resident()?))
}

/// Waits until this many messengers run: one that cannot reach its platform backs off and costs nothing.
fn all_run(address: SocketAddr, messengers: usize) -> Result<()> {
    let until = Instant::now() + SIGNED_IN;
    loop {
        let channels = look(address)?.channels;
        let running =
            channels.iter().filter(|channel| channel.name != "webchat" && channel.state == "running");
        if running.count() == messengers {
            return Ok(());
        }
        if Instant::now() > until {
            let states: Vec<String> = channels
                .iter()
                .map(|Listed { name, state, detail }| format!("{name} {state} {detail}"))
                .collect();
            bail!("not {messengers} messengers run after {SIGNED_IN:?}: {}", states.join("; "));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Requests `GET /api/channels`.
fn look(address: SocketAddr) -> Result<Told> {
    let mut connection = TcpStream::connect(address).context("cannot reach the server")?;
    connection.set_read_timeout(Some(SIGNED_IN))?;
    write!(connection, "GET /api/channels HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    serde_json::from_str(body).with_context(|| format!("the server answered {answer:?}"))
}

/// Floods one messenger in many chats.
fn flood(bench: &Bench, messengers: &mut Messengers, settings: &[String]) -> Result<Vec<Row>> {
    let home = bench.home()?;
    // The program is to be measured, not the rate limit of Telegram.
    let no_limit = ["channels.telegram.messages_a_second=0"];
    let settings: Vec<&str> = settings.iter().map(String::as_str).chain(no_limit).collect();
    let server = bench.start(&home, &settings)?;
    // The server treats messages from before its first poll as history.
    let _: serde_json::Value = messengers.ask("await")?;
    settled(&server)?;
    let before = server.cpu()?;
    let flood: Flood = messengers.ask(&format!("flood {} {OFFERED}", OFFERED * FLOOD))?;
    let cpu = server.cpu()?.saturating_sub(before).as_secs_f64() / flood.answered.max(1) as f64;
    let rate = flood.answered as f64 / flood.seconds;
    let share = flood.answered as f64 / (OFFERED * FLOOD) as f64;
    let share = if flood.in_order { share } else { 0.0 };
    let name = |what: &str| format!("{what} ({OFFERED} a second over Telegram, 600 chats)");
    Ok(vec![
        Row::new(name("messages answered"), Unit::PerSecond, rate).at_least(Unit::PerSecond, rate, WANTED),
        Row::new(name("answered, each chat in its order"), Unit::Percent, share).at_least(
            Unit::Percent,
            share,
            1.0,
        ),
        Row::new(name("CPU a message"), Unit::Millis, cpu),
    ])
}
