//! The text format of Prometheus, version 0.0.4.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use aethon_core::telemetry::{BOUNDS, Series};

/// A growing exposition. The samples of one metric must be written consecutively.
#[derive(Default)]
pub(super) struct Exposition {
    text: String,
    announced: BTreeSet<String>,
}

/// A histogram of one metric.
pub(super) struct Histogram<'h> {
    pub(super) name: &'h str,
    pub(super) help: &'h str,
    pub(super) label: (&'h str, &'h str),
}

impl Exposition {
    /// Writes a counter.
    pub(super) fn counter(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: f64) {
        self.announce(name, help, "counter");
        self.sample(name, labels, value);
    }

    /// Writes a gauge.
    pub(super) fn gauge(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: f64) {
        self.announce(name, help, "gauge");
        self.sample(name, labels, value);
    }

    /// Writes a histogram of durations.
    pub(super) fn histogram(&mut self, histogram: &Histogram<'_>, series: &Series) {
        let Histogram { name, help, label } = *histogram;
        self.announce(name, help, "histogram");
        let bucket = format!("{name}_bucket");
        let mut sum = 0;
        for (bound, count) in BOUNDS.iter().zip(series.buckets) {
            sum += count;
            self.sample(&bucket, &[label, ("le", &bound.to_string())], sum as f64);
        }
        self.sample(&bucket, &[label, ("le", "+Inf")], series.timed as f64);
        self.sample(&format!("{name}_sum"), &[label], series.seconds);
        self.sample(&format!("{name}_count"), &[label], series.timed as f64);
    }

    /// Writes the metadata of a metric, once.
    pub(super) fn announce(&mut self, name: &str, help: &str, kind: &str) {
        if self.announced.insert(name.to_owned()) {
            // Writing to a string cannot fail.
            let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        }
    }

    /// Returns the whole text.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.text.push_str(name);
        for (place, (label, text)) in labels.iter().enumerate() {
            let before = if place == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{before}{label}=\"{}\"", escaped(text));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{end} {value}");
    }
}

/// Escapes a label value: backslash, quotation mark and line feed.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
