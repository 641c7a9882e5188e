//! How often a server has its list of tools read.
//!
//! A list may be large, and reading it costs the assistant more than announcing a change costs the server. So the wait
//! between two reads doubles with each change that is announced soon after a read, up to the interval at which the list is
//! read anyway. A server that has been quiet for a while starts from zero.

use std::time::Duration;

use tokio::time::Instant;

/// The shortest wait between two reads.
pub(super) const MIN_WAIT: Duration = Duration::from_secs(2);
/// The longest one, and how often the list of a server is read that announces nothing.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(300);
/// A change that is announced this long after the last read is no storm.
const QUIET: Duration = Duration::from_secs(60);

/// The reads of one connection.
pub(super) struct Relisting {
    wait: Duration,
    read_at: Instant,
    was_warned: bool,
}

impl Relisting {
    pub(super) fn new() -> Self {
        Self { wait: MIN_WAIT, read_at: Instant::now(), was_warned: false }
    }

    /// Notes that the list is read.
    pub(super) fn begin(&mut self) {
        self.read_at = Instant::now();
    }

    /// Returns how long to wait before the list is read because of a change that was announced just now.
    pub(super) fn wait(&mut self, server: &str) -> Duration {
        if self.read_at.elapsed() >= self.wait + QUIET {
            self.wait = MIN_WAIT;
            return self.wait;
        }
        let wait = self.wait;
        self.wait = (wait * 2).min(MAX_WAIT);
        if wait >= QUIET && !std::mem::replace(&mut self.was_warned, true) {
            tracing::warn!(
                server,
                "an MCP server keeps announcing new tools; its list is read less and less often"
            );
        }
        wait
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn server_with_constant_changes_is_read_a_few_times_a_minute() {
        let (mut relisting, begun, mut reads) = (Relisting::new(), Instant::now(), 0);
        while begun.elapsed() < Duration::from_secs(3_600) {
            relisting.begin();
            reads += 1;
            assert!(reads <= 6 || begun.elapsed() >= Duration::from_secs(60), "{reads} within a minute");
            advance(relisting.wait("s")).await;
        }
        assert!(reads <= 20, "{reads} reads within an hour");
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_now_and_then_is_read_at_once() {
        let mut relisting = Relisting::new();
        for _ in 0..5 {
            relisting.begin();
            advance(2 * QUIET).await;
            assert_eq!(relisting.wait("s"), MIN_WAIT);
        }
    }
}
