//! The line below the reply: the state of the running turn, and since when.

use std::time::{Duration, Instant};

use aethon::core::time::in_words;
use aethon::core::visible::exact;

use super::event::ChatEvent;

/// How long nothing happens before the line is shown; a quick reply needs none.
const SILENCE: Duration = Duration::from_millis(400);

/// The state of a turn.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// The message was not acknowledged yet.
    Sending,
    /// This many turns are before it.
    Queued(u64),
    /// The model has not answered yet.
    Thinking,
    /// The model writes.
    Answering,
    /// This tool runs.
    Running(String),
    /// The user stopped the turn.
    Stopping,
}

/// The state of a running turn.
#[derive(Debug)]
pub(super) struct Progress {
    step: Step,
    /// When the step began.
    since: Instant,
    /// When something was last seen of the turn.
    seen: Instant,
}

impl Progress {
    /// Begins with a message that is being sent.
    pub(super) fn new(now: Instant) -> Self {
        Self { step: Step::Sending, since: now, seen: now }
    }

    /// Notes an event of the turn.
    pub(super) fn note(&mut self, event: &ChatEvent, now: Instant) {
        let step = match event {
            ChatEvent::Accepted { queued: 0 } => Step::Thinking,
            ChatEvent::Accepted { queued } => Step::Queued(*queued),
            ChatEvent::Text(_) => Step::Answering,
            ChatEvent::Tool { name, state, .. } if state == "running" => Step::Running(name.clone()),
            ChatEvent::Tool { .. }
            | ChatEvent::Again
            | ChatEvent::ApprovalDone { .. }
            | ChatEvent::Thinking => Step::Thinking,
            _ => return,
        };
        self.seen = now;
        if step != self.step && self.step != Step::Stopping {
            (self.step, self.since) = (step, now);
        }
    }

    /// Notes that the turn is being stopped.
    pub(super) fn stop(&mut self, now: Instant) {
        (self.step, self.since) = (Step::Stopping, now);
    }

    /// Returns the line, unless the reply itself shows that something happens.
    pub(super) fn line(&self, now: Instant) -> Option<String> {
        if now.duration_since(self.seen) < SILENCE && self.step != Step::Stopping {
            return None;
        }
        let words = match &self.step {
            Step::Sending => "sending".to_owned(),
            Step::Queued(1) => "waiting for another turn in this conversation".to_owned(),
            Step::Queued(count) => format!("waiting for {count} other turns in this conversation"),
            Step::Thinking => "thinking".to_owned(),
            Step::Answering => "answering".to_owned(),
            Step::Running(tool) => format!("running {}", exact(tool)),
            Step::Stopping => "stopping".to_owned(),
        };
        let hint = if self.step == Step::Stopping { "Ctrl-C leaves" } else { "Ctrl-C stops" };
        Some(format!("· {words} {}  ({hint})", in_words(now.duration_since(self.since))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_a_turn_waits_for_and_since_when() {
        let begin = Instant::now();
        let after = |seconds| begin + Duration::from_secs(seconds);
        let mut progress = Progress::new(begin);
        assert_eq!(progress.line(begin), None, "not at once");
        progress.note(&ChatEvent::Accepted { queued: 2 }, after(1));
        let waiting = "· waiting for 2 other turns in this conversation 3 s  (Ctrl-C stops)";
        assert_eq!(progress.line(after(4)).as_deref(), Some(waiting));
        progress.note(&ChatEvent::Thinking, after(5));
        assert_eq!(progress.line(after(70)).as_deref(), Some("· thinking 1 min 5 s  (Ctrl-C stops)"));
        let tool = |state: &str| ChatEvent::Tool {
            name: "shell".into(),
            state: state.into(),
            input: None,
            output: None,
        };
        progress.note(&tool("running"), after(70));
        progress.note(&tool("running"), after(72));
        assert_eq!(progress.line(after(73)).as_deref(), Some("· running shell 3 s  (Ctrl-C stops)"));
        progress.note(&tool("ok"), after(74));
        progress.note(&ChatEvent::Text("a".into()), after(75));
        assert_eq!(progress.line(after(75)), None, "the reply itself moves");
        progress.stop(after(76));
        progress.note(&ChatEvent::Text("b".into()), after(76));
        assert_eq!(progress.line(after(76)).as_deref(), Some("· stopping 0 s  (Ctrl-C leaves)"));
        assert_eq!(in_words(Duration::from_secs(3900)), "1 h 5 min");
    }
}
