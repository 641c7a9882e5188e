//! The start-up time of `aethon-mcp`: from exec to its answer to `initialize`, alone and beside a server on the same home. An
//! editor starts the program with every window.

use super::figures::{Bench, median};
use super::report::{Row, Unit};
use crate::process;
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const GREETING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const STARTS: usize = 21;

/// Returns the medians of several starts.
pub(super) fn figures(bench: &Bench) -> Result<Vec<Row>> {
    let program = bench.program("aethon-mcp");
    let home = bench.home()?;
    bench.start(&home, &[])?.stop()?;
    let alone = starts(&program, home.path())?;
    let server = bench.start(&home, &[])?;
    let beside = starts(&program, home.path())?;
    server.stop()?;
    let row = |name: &str, seconds: f64| {
        Row::new(name, Unit::Millis, seconds).at_most(Unit::Millis, seconds, 0.050)
    };
    Ok(vec![
        row("`aethon-mcp`: exec to the answer to `initialize`", alone),
        row("the same beside a running server on its home", beside),
    ])
}

fn starts(program: &Path, home: &Path) -> Result<f64> {
    let times: Vec<f64> =
        (0..STARTS).map(|_| Ok(answered(program, home)?.as_secs_f64())).collect::<Result<_>>()?;
    Ok(median(times))
}

/// Starts the program, sends `initialize`, waits for the answer, and ends it by closing its input.
fn answered(program: &Path, home: &Path) -> Result<Duration> {
    let arguments = ["--set", "model.provider=echo", "--log-level", "warn", "--home"];
    let mut command = process::command(home, &program.display().to_string(), &arguments);
    let exec = Instant::now();
    let mut child = command
        .arg(home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let (mut input, output) = input.zip(output).context("the program has no pipes")?;
    writeln!(input, "{GREETING}")?;
    let mut answer = String::new();
    BufReader::new(output).read_line(&mut answer)?;
    let took = exec.elapsed();
    drop(input);
    let status = child.wait()?;
    if !answer.contains("\"serverInfo\"") || !status.success() {
        bail!("the program answered `{}` and ended with {status}", answer.trim());
    }
    Ok(took)
}
