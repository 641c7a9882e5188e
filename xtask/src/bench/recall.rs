//! The quality of the memory's search, and its latency among 100,000 memories.
//!
//! The figures come from the example `memory` of `aethon-store`, a separate program built in release mode beside this one.

use super::report::{Row, Unit};
use crate::process;
use anyhow::{Context, Result};
use std::path::Path;

/// Runs the example and extracts its figures.
pub(super) fn figures(program: &Path) -> Result<Vec<Row>> {
    let printed = process::output(Path::new("."), &program.display().to_string(), &[])?;
    let find = |line: &str, word: &str| {
        number(&printed, line, word).with_context(|| format!("the example printed no {word} of {line}"))
    };
    let p99 = |line: &str, how: &str, goal: f64| -> Result<Row> {
        let seconds = find(line, "p99")? / 1e3;
        let name = format!("a search of 100,000 memories {how}, p99");
        Ok(Row::new(name, Unit::Millis, seconds).at_most(Unit::Millis, seconds, goal))
    };
    let found = find("words:", "recall@4")?;
    Ok(vec![
        Row::new("facts found by words by a question in other words, recall@4", Unit::Percent, found)
            .at_least(Unit::Percent, found, 0.8),
        p99("search words:", "by words", 0.020)?,
        p99("search vectors:", "by words and vectors of 768 numbers", 0.060)?,
    ])
}

/// Returns the number after a word in the line with this beginning.
fn number(printed: &str, line: &str, word: &str) -> Option<f64> {
    let line = printed.lines().find(|printed| printed.starts_with(line))?;
    let mut words = line.split_whitespace().skip_while(|found| *found != word);
    words.nth(1)?.trim_end_matches(';').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_the_example_are_read() {
        let printed = "words: recall@1 0.700 recall@4 0.905; auto recall shows 0.600\n\
                       search words: p50 1.20 ms p99 4.50 ms max 6.00 ms; the wanted one among four: 1 of 2";
        assert_eq!(number(printed, "words:", "recall@4"), Some(0.905));
        assert_eq!(number(printed, "search words:", "p99"), Some(4.5));
        assert_eq!(number(printed, "search vectors:", "p99"), None);
    }
}
