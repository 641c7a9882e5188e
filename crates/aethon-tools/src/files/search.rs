//! Finds lines in a text with ripgrep's crates: bounded in hits, memory and time, whatever the pattern and the text.
//! The regular expressions do not backtrack, and the size of a compiled one is bounded.

use std::io::{self, Read};
use std::time::Instant;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};

/// Maximum length of a pattern.
const MAX_PATTERN: usize = 1_000;
/// Maximum size of a compiled pattern.
const MAX_COMPILED_PATTERN: usize = 4 << 20;
/// Maximum length of a line that is searched.
const MAX_LINE: usize = 1 << 20;
/// Maximum characters shown of a line.
const SHOWN: usize = 300;

/// Compiles a pattern.
pub(super) fn pattern(text: &str, ignore_case: bool) -> Result<RegexMatcher, String> {
    if text.is_empty() || text.len() > MAX_PATTERN {
        return Err(format!("the pattern is empty or longer than {MAX_PATTERN} bytes"));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(ignore_case).multi_line(true).line_terminator(Some(b'\n'));
    builder.size_limit(MAX_COMPILED_PATTERN).dfa_size_limit(MAX_COMPILED_PATTERN).nest_limit(64);
    builder.build(text).map_err(|error| {
        let why = error.to_string();
        let why = why.lines().last().unwrap_or_default();
        format!("the pattern cannot be used ({why}); it is a regular expression, so put a backslash before ( ) [ ] . * + ?")
    })
}

/// A matching line, or a context line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) text: String,
    /// Whether it matches, or is context.
    pub(super) is_match: bool,
}

/// The matches in one text.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) lines: Vec<Line>,
    /// Number of matching lines.
    pub(super) hits: usize,
    /// Why the search stopped early.
    pub(super) ended: Option<&'static str>,
}

/// Limits of a search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Maximum number of matching lines.
    pub(super) hits: usize,
    /// Context lines beside each.
    pub(super) context: usize,
    /// The first line to search, counted from 1.
    pub(super) first: u64,
    /// Deadline.
    pub(super) until: Instant,
}

/// Searches a text. Stops at the first NUL byte of binary data.
pub(super) fn lines(matcher: &RegexMatcher, text: impl Read, bounds: Bounds) -> Found {
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_number(true)
        .before_context(bounds.context)
        .after_context(bounds.context)
        .heap_limit(Some(MAX_LINE))
        .build();
    let mut collector = Collector { found: Found::default(), hits: bounds.hits, first: bounds.first };
    let timed = Timed { text, until: bounds.until };
    if let Err(error) = searcher.search_reader(matcher, timed, &mut collector) {
        collector.found.ended = Some(match error.kind() {
            io::ErrorKind::TimedOut => "it took too long",
            _ => "a line in it is too long, or it cannot be read",
        });
    }
    collector.found
}

/// A reader that fails after a deadline.
struct Timed<R> {
    text: R,
    until: Instant,
}

impl<R: Read> Read for Timed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if Instant::now() > self.until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.text.read(buffer)
    }
}

struct Collector {
    found: Found,
    hits: usize,
    first: u64,
}

impl Collector {
    fn push(&mut self, number: Option<u64>, bytes: &[u8], is_match: bool) {
        self.found.lines.push(Line { number: number.unwrap_or_default(), text: shown(bytes), is_match });
    }
}

impl Sink for Collector {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if found.line_number().is_some_and(|number| number < self.first) {
            return Ok(true);
        }
        if self.found.hits >= self.hits {
            self.found.ended = Some("there are more");
            return Ok(false);
        }
        self.found.hits += 1;
        self.push(found.line_number(), found.bytes(), true);
        Ok(true)
    }

    fn context(&mut self, _searcher: &Searcher, beside: &SinkContext<'_>) -> io::Result<bool> {
        if beside.line_number().is_some_and(|number| number < self.first) {
            return Ok(true);
        }
        self.push(beside.line_number(), beside.bytes(), false);
        Ok(true)
    }
}

fn shown(bytes: &[u8]) -> String {
    let line = String::from_utf8_lossy(bytes);
    let line = line.trim_end_matches(['\n', '\r']);
    let visible = |c: char| if c.is_control() && c != '\t' { '\u{fffd}' } else { c };
    let text: String = line.chars().take(SHOWN).map(visible).collect();
    if line.chars().nth(SHOWN).is_some() { text + "…" } else { text }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn bounds(hits: usize, context: usize) -> Bounds {
        Bounds { hits, context, first: 1, until: Instant::now() + Duration::from_secs(60) }
    }

    fn numbers(found: &Found) -> Vec<(u64, bool)> {
        found.lines.iter().map(|line| (line.number, line.is_match)).collect()
    }

    #[test]
    fn lines_are_found_with_those_beside_them() {
        let text = "one\ntwo\nthree\nfour\nfive\n";
        let found = lines(&pattern("^t", false).unwrap(), text.as_bytes(), bounds(10, 0));
        assert_eq!(numbers(&found), [(2, true), (3, true)]);
        let found = lines(&pattern("THREE", true).unwrap(), text.as_bytes(), bounds(10, 1));
        assert_eq!(numbers(&found), [(2, false), (3, true), (4, false)]);
        let found = lines(&pattern(".", false).unwrap(), text.as_bytes(), bounds(2, 0));
        assert_eq!((found.hits, found.ended), (2, Some("there are more")));
    }

    #[test]
    fn hostile_patterns_and_texts_are_bounded() {
        for hostile in
            ["", "(", "(a{1000}){1000}", "((((a{100}){100}){100}){100})", &"(".repeat(500), &"a".repeat(2000)]
        {
            assert!(pattern(hostile, false).is_err(), "{hostile:.40}");
        }
        let slow = pattern("(a*)*b", false).unwrap();
        let found = lines(&slow, "a".repeat(100_000).as_bytes(), bounds(10, 0));
        assert_eq!(found.hits, 0);
        let endless = io::repeat(b'a');
        let found = lines(&slow, endless, bounds(10, 0));
        assert!(found.ended.is_some());
        let blank_lines = io::repeat(b'\n');
        let until = Instant::now() + Duration::from_millis(200);
        let found = lines(&slow, blank_lines, Bounds { until, ..bounds(10, 0) });
        assert_eq!(found.ended, Some("it took too long"));
    }
}
