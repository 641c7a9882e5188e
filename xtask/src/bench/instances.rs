//! Durable turns on PostgreSQL with one, two and three instances, beside the same turns on SQLite.
//!
//! The PostgreSQL server is a process of its own and shares the machine with everything else. Loads on SQLite and on PostgreSQL
//! alternate, because the machine's own speed changes within seconds.

use super::figures::{Bench, CONNECTIONS, median, questions};
use super::load::{self, Outcome};
use super::report::{Row, Unit};
use super::subject::{Subject, cpu_of};
use crate::process;
use anyhow::{Context, Result, bail};
use futures_util::future::try_join_all;
use serde::Deserialize;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

const INSTANCES: usize = 3;
const ROUNDS: usize = 5;

/// A PostgreSQL server, stopped on drop.
struct Postgres {
    child: Child,
    told: Told,
}

/// The line that its program prints.
#[derive(Deserialize)]
struct Told {
    /// The address of its database.
    url: String,
    /// The parent of the processes that serve connections.
    process: u32,
}

impl Postgres {
    fn start(program: &Path, folder: &Path) -> Result<Self> {
        let folder = folder.display().to_string();
        let mut command = process::command(Path::new("."), &program.display().to_string(), &[&folder]);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.context("cannot start own-postgres")?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).context("cannot read its line")?;
        }
        let told = serde_json::from_str(&line).context("own-postgres did not start a server")?;
        Ok(Self { child, told })
    }

    /// The CPU time of all its processes so far. Those that serve connections stay as long as the instances do.
    fn cpu(&self) -> Result<Duration> {
        let own = self.told.process;
        let children = fs::read_to_string(format!("/proc/{own}/task/{own}/children"))?;
        let all = children.split_whitespace().filter_map(|child| child.parse().ok()).chain([own]);
        // A worker may end in between.
        Ok(all.filter_map(|process| cpu_of(process).ok()).sum())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The end of its input is its sign to stop; the folder of its data goes with it.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// The figures of one load.
struct Loaded {
    rate: f64,
    /// CPU seconds of the servers per turn.
    cpu: f64,
    /// The same of PostgreSQL.
    postgres_cpu: f64,
}

/// Measures the figures.
pub(super) fn figures(bench: &Bench) -> Result<Vec<Row>> {
    let homes = (0..=INSTANCES).map(|_| bench.home()).collect::<Result<Vec<_>>>()?;
    let program = bench.program("own-postgres");
    // Beside the programs, because the homes are closed to the account that the database runs as.
    let postgres = Postgres::start(&program, program.parent().unwrap_or(Path::new(".")))?;
    let sqlite = [bench.start(&homes[0], &[])?];
    let url = format!("storage.url=\"{}\"", postgres.told.url);
    let (mut instances, mut rows) = (Vec::new(), Vec::new());
    for home in &homes[1..] {
        instances.push(bench.start(home, &[&url])?);
        let (mut on_sqlite, mut on_postgres) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            on_sqlite.push(load(bench, &sqlite, &postgres)?);
            on_postgres.push(load(bench, &instances, &postgres)?);
        }
        let of = |rounds: &[Loaded], figure: fn(&Loaded) -> f64| median(rounds.iter().map(figure).collect());
        if instances.len() == 1 {
            let (rate, cpu) = (of(&on_sqlite, |load| load.rate), of(&on_sqlite, |load| load.cpu));
            rows.push(Row::new("durable turns on SQLite, in alternation with these", Unit::PerSecond, rate));
            rows.push(Row::new("CPU a turn on SQLite", Unit::Millis, cpu));
        }
        let name = match instances.len() {
            1 => "PostgreSQL and one instance".to_owned(),
            count => format!("PostgreSQL and {count} instances"),
        };
        let (rate, cpu) = (of(&on_postgres, |load| load.rate), of(&on_postgres, |load| load.cpu));
        rows.push(Row::new(format!("durable turns on {name}"), Unit::PerSecond, rate));
        let ratio = rate / of(&on_sqlite, |load| load.rate);
        rows.push(Row::new("the same against SQLite", Unit::Times, ratio));
        rows.push(Row::new(format!("CPU a turn of the server, {name}"), Unit::Millis, cpu));
        let name = format!("CPU a turn of the database, {name}");
        rows.push(Row::new(name, Unit::Millis, of(&on_postgres, |load| load.postgres_cpu)));
    }
    Ok(rows)
}

/// Applies a load to all of these servers at once, with a new session each turn: rounds on the same sessions would measure how long
/// their histories have become.
fn load(bench: &Bench, servers: &[Subject], postgres: &Postgres) -> Result<Loaded> {
    let requests = questions(&vec!["trigger".to_owned(); CONNECTIONS]);
    let repeat = |duration: Duration| -> Result<Outcome> {
        let parts = servers.iter().enumerate().map(|(at, server)| {
            let own = requests.iter().skip(at).step_by(servers.len()).cloned().collect();
            load::repeat(server.address, own, duration)
        });
        let outcomes = bench.wait(try_join_all(parts))?;
        let requests = outcomes.iter().map(|outcome| outcome.requests).sum();
        let elapsed = outcomes.iter().map(|outcome| outcome.elapsed).max().unwrap_or(duration);
        Ok(Outcome { requests, elapsed })
    };
    let cpu = || servers.iter().map(Subject::cpu).sum::<Result<Duration>>();
    repeat(bench.duration / 8)?;
    let (servers_before, postgres_before) = (cpu()?, postgres.cpu()?);
    let outcome = repeat(bench.duration / 2)?;
    if outcome.requests == 0 {
        bail!("no request was answered in time");
    }
    let a_turn = |used: Duration| used.as_secs_f64() / outcome.requests as f64;
    Ok(Loaded {
        rate: outcome.rate(),
        cpu: a_turn(cpu()?.saturating_sub(servers_before)),
        postgres_cpu: a_turn(postgres.cpu()?.saturating_sub(postgres_before)),
    })
}
