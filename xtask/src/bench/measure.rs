//! Runs the groups of figures one after another and prints the table.
//!
//! A failing group becomes a row that says so; the others are still measured.

use super::channels;
use super::command::Options;
use super::figures::{self, Bench};
use super::instances;
use super::machine;
use super::mcp;
use super::report::{self, Row};
use anyhow::{Context, Result, bail};
use rustix::process::{Resource, Rlimit};
use std::path::Path;
use std::time::Duration;

type Group = (&'static str, fn(&Bench) -> Result<Vec<Row>>);

const GROUPS: &[Group] = &[
    ("health", figures::health),
    ("start", figures::start),
    ("memory", figures::memory),
    ("sockets", figures::idle_sockets),
    ("turns", figures::webhook_turns),
    ("recorder", figures::recorded_turns),
    ("dashboards", figures::watched_turns),
    ("session", figures::long_session),
    ("engine", figures::engine),
    ("recall", figures::recall),
    ("mcp", mcp::figures),
    ("channels", channels::figures),
    ("instances", instances::figures),
    ("size", figures::size),
];

const METHOD: &str = "\
The load generator, the server and the bare hyper server (hyper's hello example: two workers, hyper's defaults, the \
system's allocator, the same body) are three processes on the same machine and share its cores, so throughput is what the \
three together reach. CPU is the server's alone: user and system time of its process from `/proc/PID/stat`, divided by the \
answered requests. Memory is `Rss` of `/proc/PID/smaps_rollup`. Every server runs in a fresh home on disk with the `echo` \
model and default settings, except where a row names others. Requests are HTTP/1.1 over kept connections, one at a time \
on each. Loads on the two servers alternate, and the median of the rounds counts. A \
session is talked to over one socket. The engine's part is measured in a process of its own (the example `turn_cost`), \
with a model that answers at once and a storage in memory, and so is the memory (the example `memory` of `aethon-store`). \
PostgreSQL runs on the same machine and the same disk, with Debian's defaults and `fsync` on; its processor time is that of all its \
processes.";

/// Measures and prints the figures; writes docs/performance.md on request.
pub(crate) fn measure(root: &Path, options: &Options) -> Result<()> {
    let server = options.server.clone().context("name the program to measure with --server")?;
    if let Some(unknown) = options.only.iter().find(|name| GROUPS.iter().all(|(group, _)| group != name)) {
        bail!("no group of figures is named `{unknown}`");
    }
    raise_file_limit();
    let engine = options.engine.clone().context("name the engine's example with --engine")?;
    let bench = Bench::new(&server, &engine, Duration::from_secs_f64(options.seconds))?;
    let mut rows = Vec::new();
    for (name, group) in GROUPS {
        if !options.only.is_empty() && !options.only.iter().any(|only| only == name) {
            continue;
        }
        println!("bench: {name}");
        rows.extend(group(&bench).unwrap_or_else(|error| vec![Row::missing(*name, &error)]));
    }
    let machine = machine::describe(root);
    let generated = format!(
        "Measured on: {machine}. Each load lasted {} s.\n\n{}\n{METHOD}",
        options.seconds,
        report::table(&rows)
    );
    println!("\n{generated}");
    let over = rows.iter().filter(|row| row.is_over()).count();
    println!("\nbench: {} figures, {over} over their goal", rows.len());
    if options.write {
        report::write(&root.join("docs/performance.md"), &generated)?;
    }
    Ok(())
}

/// Raises the limit of open files, here and for child processes: thousands of sockets need as many descriptors.
fn raise_file_limit() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // If this fails, the group that needs the sockets reports it.
    let _ = rustix::process::setrlimit(Resource::Nofile, raised);
}
