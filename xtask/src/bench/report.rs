//! The table: one row per figure, and the document it is written to.

use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The markers around the generated part of docs/performance.md.
const BEGIN: &str = "<!-- written by `cargo xtask bench --write` -->";
const END: &str = "<!-- end -->";

/// One figure.
pub(super) struct Row {
    /// The measurements.
    name: String,
    /// The result with its unit.
    value: String,
    /// The same figure for the bare hyper server, if it has one.
    bare: String,
    /// The ratio of the two, if there is one.
    ratio: String,
    /// The goal, if there is one.
    goal: String,
    /// Whether the goal was met.
    kept: Option<bool>,
}

/// The format of a number.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    /// `1234/s`
    PerSecond,
    /// `12.3 us`, given in seconds
    Micros,
    /// `1.23 ms`, given in seconds
    Millis,
    /// `12.3 KiB`, given in bytes
    Kib,
    /// `12.3 MiB`, given in bytes
    Mib,
    /// `12.3 MB`, given in bytes
    Megabytes,
    /// `1.23x`
    Times,
    /// `97 %`, given as a share
    Percent,
}

impl Unit {
    fn write(self, value: f64) -> String {
        match self {
            Self::PerSecond => format!("{value:.0}/s"),
            Self::Micros => format!("{:.1} us", value * 1e6),
            Self::Millis => format!("{:.2} ms", value * 1e3),
            Self::Kib => format!("{:.1} KiB", value / 1024.0),
            Self::Mib => format!("{:.1} MiB", value / 1024.0 / 1024.0),
            Self::Megabytes => format!("{:.1} MB", value / 1e6),
            Self::Times => format!("{value:.2}x"),
            Self::Percent => format!("{:.0} %", value * 100.0),
        }
    }
}

impl Row {
    /// A figure without a goal.
    pub(super) fn new(name: impl Into<String>, unit: Unit, value: f64) -> Self {
        Self {
            name: name.into(),
            value: unit.write(value),
            bare: String::new(),
            ratio: String::new(),
            goal: String::new(),
            kept: None,
        }
    }

    /// Adds the same figure for bare hyper, and the ratio.
    pub(super) fn against(mut self, unit: Unit, value: f64, bare: f64) -> Self {
        self.bare = unit.write(bare);
        self.ratio = Unit::Times.write(value / bare);
        self
    }

    /// Sets an upper limit as the goal.
    pub(super) fn at_most(mut self, unit: Unit, value: f64, limit: f64) -> Self {
        self.goal = format!("at most {}", unit.write(limit));
        self.kept = Some(value <= limit);
        self
    }

    /// Sets a lower limit as the goal.
    pub(super) fn at_least(mut self, unit: Unit, value: f64, limit: f64) -> Self {
        self.goal = format!("at least {}", unit.write(limit));
        self.kept = Some(value >= limit);
        self
    }

    /// A figure that could not be measured, and why.
    pub(super) fn missing(name: impl Into<String>, reason: &anyhow::Error) -> Self {
        let mut row = Self::new(name, Unit::Times, 0.0);
        row.value = format!("not measured: {reason:#}").replace(['\n', '|'], " ");
        row.kept = Some(false);
        row
    }

    /// Returns whether a goal was missed.
    pub(super) fn is_over(&self) -> bool {
        self.kept == Some(false)
    }
}

/// Formats the rows as a Markdown table.
pub(super) fn table(rows: &[Row]) -> String {
    let mut text =
        String::from("| figure | value | bare hyper | ratio | goal | |\n|---|---|---|---|---|---|\n");
    for row in rows {
        let verdict = match row.kept {
            Some(true) => "ok",
            Some(false) => "over",
            None => "",
        };
        let cells = [&row.name, &row.value, &row.bare, &row.ratio, &row.goal, verdict];
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}

/// Replaces the generated part of a document, or appends it.
pub(super) fn write(document: &Path, generated: &str) -> Result<()> {
    let text = fs::read_to_string(document).unwrap_or_default();
    let whole = replaced(&text, generated);
    fs::write(document, whole).with_context(|| format!("cannot write {}", document.display()))
}

fn replaced(text: &str, generated: &str) -> String {
    let before = text.split(BEGIN).next().unwrap_or_default().trim_end();
    let after = text.split_once(END).map_or("", |(_, after)| after).trim();
    let part = format!("{BEGIN}\n\n{}\n\n{END}\n", generated.trim());
    let whole = [before, &part, after].map(str::to_owned);
    whole.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_kept_or_missed() {
        for (value, kept) in [(1.5, true), (1.6, false)] {
            let row = Row::new("a", Unit::Times, value).at_most(Unit::Times, value, 1.5);
            assert_eq!(row.is_over(), !kept);
        }
        let row = Row::new("a", Unit::PerSecond, 10.0).at_least(Unit::PerSecond, 10.0, 11.0);
        assert!(row.is_over());
        assert!(table(&[row]).ends_with("| a | 10/s |  |  | at least 11/s | over |\n"));
    }

    #[test]
    fn failed_measurement_is_no_success() {
        let row = Row::missing("a", &anyhow::anyhow!("no | server"));
        assert!(row.is_over());
        assert!(table(&[row]).contains("not measured: no   server"));
    }

    #[test]
    fn report_replaces_the_generated_part_only() {
        let first = replaced("# Title\n\nProse.\n", "one");
        assert!(first.starts_with("# Title\n\nProse.\n\n") && first.contains("one"));
        let second = replaced(&format!("{first}\nMore.\n"), "two");
        assert!(second.contains("two") && !second.contains("one"));
        assert!(second.contains("Prose.") && second.ends_with("More."));
    }
}
