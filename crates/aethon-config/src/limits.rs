//! The ranges of numbers, in one table used for validation, error messages and the JSON Schema.

use std::fmt;

/// A range of numbers. Both ends are included unless `is_above` is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    /// The minimum.
    pub(crate) least: f64,
    /// The maximum; infinite if there is none.
    pub(crate) most: f64,
    /// Whether the minimum itself is excluded.
    pub(crate) is_above: bool,
}

impl Range {
    /// Returns whether `number` is in the range. NaN is in none.
    pub(crate) fn contains(&self, number: f64) -> bool {
        let is_high_enough = if self.is_above { number > self.least } else { number >= self.least };
        is_high_enough && number <= self.most
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { least, most, is_above } = *self;
        match (is_above, most.is_finite()) {
            (true, true) => write!(f, "above {least} and at most {most}"),
            (true, false) => write!(f, "above {least}"),
            (false, true) => write!(f, "from {least} to {most}"),
            (false, false) => write!(f, "of at least {least}"),
        }
    }
}

const fn between(least: f64, most: f64) -> Range {
    Range { least, most, is_above: false }
}

const fn at_least(least: f64) -> Range {
    between(least, f64::INFINITY)
}

const fn above(least: f64, most: f64) -> Range {
    Range { least, most, is_above: true }
}

/// A day in seconds, the longest sensible wait of the service.
const DAY: f64 = 86_400.0;
/// The longest retention period in days; beyond it, dates leave the range of the calendar.
const CENTURY: f64 = 36_500.0;

/// Every key with a range narrower than its type.
pub(crate) const LIMITS: &[(&str, Range)] = &[
    ("model.max_tokens", at_least(1.0)),
    ("model.temperature", between(0.0, 2.0)),
    ("model.top_p", above(0.0, 1.0)),
    ("model.context_window", at_least(1.0)),
    ("model.timeout_seconds", between(1.0, DAY)),
    ("model.max_retries", between(0.0, 100.0)),
    ("model.max_tools", at_least(1.0)),
    ("channels.webchat.port", between(-1.0, 65_535.0)),
    ("channels.email.imap_port", between(1.0, 65_535.0)),
    ("channels.email.smtp_port", between(1.0, 65_535.0)),
    ("channels.email.poll_seconds", between(1.0, DAY)),
    ("security.sandbox_cpus", above(0.0, 1024.0)),
    ("security.sandbox_pids_limit", at_least(1.0)),
    ("tools.max_shells", between(1.0, 1_000.0)),
    ("lsp.timeout_seconds", between(1.0, 600.0)),
    ("repo_map.max_chars", between(200.0, 100_000.0)),
    ("approval.timeout_seconds", between(1.0, DAY)),
    ("agent.max_iterations", between(1.0, 10_000.0)),
    ("agent.max_tool_output_chars", between(1.0, 10_000_000.0)),
    ("agent.turn_timeout_seconds", between(1.0, DAY)),
    ("agent.loop_limit", between(2.0, 10_000.0)),
    ("agent.loop_minutes", between(0.0, 1_440.0)),
    ("work.max_iterations", between(1.0, 10_000.0)),
    ("work.max_attempts", between(1.0, 100.0)),
    ("work.max_minutes", between(1.0, 10_080.0)),
    ("work.max_usd", at_least(0.0)),
    ("work.pulse_minutes", between(0.0, 10_080.0)),
    ("work.ambient.idle_minutes", between(0.0, 10_080.0)),
    ("work.ambient.every_minutes", between(1.0, 525_600.0)),
    ("verification.timeout_seconds", between(1.0, 3_600.0)),
    ("session.max_context_share", above(0.0, 1.0)),
    ("session.keep_recent", between(0.0, 10_000.0)),
    ("session.bin_days", between(0.0, CENTURY)),
    ("session.oneshot_keep_days", between(0.0, CENTURY)),
    ("session.oneshot_keep", between(1.0, 10_000_000.0)),
    ("session.oneshot_max_mb", between(1.0, 16_777_216.0)),
    ("backup.keep", between(1.0, 10_000.0)),
    ("storage.max_mb", between(0.0, 1_000_000_000.0)),
    ("memory.recall_top_k", between(0.0, 100.0)),
    ("memory.recall_max_chars", between(0.0, 1_000_000.0)),
    ("memory.embedding.dimensions", between(1.0, 65_536.0)),
    ("memory.embedding.timeout_seconds", between(1.0, DAY)),
    ("transcription.timeout_seconds", between(1.0, DAY)),
    ("budget.daily_usd", at_least(0.0)),
    ("budget.warn_ratio", between(0.0, 1.0)),
    ("session_recorder.idle_minutes", between(1.0, 525_600.0)),
    ("session_recorder.max_age_days", between(0.0, CENTURY)),
    ("telemetry.keep_days", between(0.0, CENTURY)),
    ("logging.keep_files", between(1.0, 10_000.0)),
    ("server.max_body_bytes", between(1.0, 1_073_741_824.0)),
    ("server.max_connections", between(1.0, 1_000_000.0)),
    ("dashboard.session_days", between(1.0, 3650.0)),
    ("server.header_timeout_seconds", between(1.0, DAY)),
    ("server.body_timeout_seconds", between(1.0, DAY)),
    ("server.shutdown_grace", between(0.0, DAY)),
    ("server.webhook_timeout_seconds", between(1.0, DAY)),
];

/// The range of `key`, if it has one.
pub(crate) fn range(key: &str) -> Option<Range> {
    LIMITS.iter().find(|(known, _)| *known == key).map(|(_, range)| *range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_describe_their_bounds() {
        let check = |range: Range, words: &str, inside: &[f64], outside: &[f64]| {
            assert_eq!(range.to_string(), words);
            assert!(inside.iter().all(|&number| range.contains(number)), "{words}");
            assert!(!outside.iter().any(|&number| range.contains(number)), "{words}");
        };
        check(between(1.0, 2.0), "from 1 to 2", &[1.0, 2.0], &[0.9, 2.1, f64::NAN]);
        check(at_least(1.0), "of at least 1", &[1.0, 1e9], &[0.0, f64::NAN]);
        check(above(0.0, 1.0), "above 0 and at most 1", &[0.1, 1.0], &[0.0, 1.1, f64::NAN]);
    }
}
