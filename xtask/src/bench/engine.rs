//! The engine's own share of a turn, and how it grows with the history.
//!
//! The figures come from the example `turn_cost` of `aethon-agent`, with a model that answers at once and an in-memory storage,
//! so that only the engine remains. It is a separate program, built in release mode beside this one.

use super::report::{Row, Unit};
use crate::process;
use anyhow::{Context, Result};
use std::path::Path;

/// Runs the example and extracts the rows of the large window.
pub(super) fn figures(program: &Path) -> Result<Vec<Row>> {
    let program = program.display().to_string();
    let printed = process::output(Path::new("."), &program, &[])?;
    let lines: Vec<Line> = printed.lines().filter_map(Line::parse).collect();
    let find = |history: f64| {
        let line = lines.iter().find(|line| line.history == history && line.is_wide);
        line.with_context(|| format!("turn_cost printed no line for {history} messages"))
    };
    let (short, long) = (find(100.0)?, find(5000.0)?);
    let p50 = |history: &str, line: &Line, goal: f64| {
        Row::new(format!("the engine's part of a turn, {history} messages, p50"), Unit::Micros, line.p50)
            .at_most(Unit::Millis, line.p50, goal)
    };
    let memory = "resident memory that grows with each turn, 100 messages (the storage in memory included)";
    Ok(vec![
        p50("100", short, 0.001),
        p50("5,000", long, 0.005),
        Row::new("the longer history against the shorter", Unit::Times, long.p50 / short.p50),
        Row::new(memory, Unit::Kib, short.bytes).at_most(Unit::Kib, short.bytes, 64.0 * 1024.0),
    ])
}

/// A line of the example's table: history, window, p50, p99, KiB per turn.
struct Line {
    history: f64,
    is_wide: bool,
    /// In seconds.
    p50: f64,
    /// In bytes per turn.
    bytes: f64,
}

impl Line {
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words.get(at)?.parse::<f64>().ok();
        Some(Self {
            history: number(0)?,
            is_wide: number(1)? > 100_000.0,
            p50: number(2)? / 1e6,
            bytes: words.last()?.parse::<f64>().ok()? * 1024.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_example_is_read() {
        let line = Line::parse("       100  1000000      24 us      61 us            1").expect("a line");
        assert!((line.history - 100.0).abs() < f64::EPSILON && line.is_wide);
        assert!((line.p50 - 24e-6).abs() < 1e-9 && (line.bytes - 1024.0).abs() < f64::EPSILON);
        assert!(Line::parse("   history   window        p50        p99   KiB a turn").is_none());
    }
}
