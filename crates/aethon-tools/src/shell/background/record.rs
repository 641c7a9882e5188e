//! One command: what it is, what it has written, and how it ended.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::background::{BackgroundCommand, CommandEnd, CommandState};
use aethon_guard::redact::Redactor;
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::shell::output::HeadTailBuffer;

/// How much of the newest output is kept for viewers, besides what the model has not read yet.
const RECENT: usize = 48 << 10;
/// How long an incomplete line waits for its end before the model gets it as it is.
const LINE_WAIT: Duration = Duration::from_millis(500);

/// A command of a conversation.
pub(super) struct Record {
    /// Its number in the conversation.
    pub(super) number: u32,
    /// The command itself.
    pub(super) command: String,
    started_at: Timestamp,
    state: Mutex<State>,
    /// Counts what happens to it: output, and its end.
    happened: watch::Sender<u64>,
    /// Who has stopped it.
    stopped_by: watch::Sender<Option<String>>,
}

struct State {
    /// The output that the model has not read.
    unread: HeadTailBuffer,
    /// The newest output, for viewers.
    recent: HeadTailBuffer,
    wrote_at: Instant,
    end: Option<End>,
    /// Whether the model knows of the end.
    is_end_known: bool,
}

/// The end of a command.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub(super) how: CommandEnd,
    pub(super) at: Timestamp,
    pub(super) took: Duration,
    /// What else is to be said about it, in sentences.
    pub(super) notes: Vec<String>,
}

/// What the model reads.
pub(super) struct Reading {
    /// The output since the last time.
    pub(super) output: String,
    /// How the command ended, if it has.
    pub(super) end: Option<End>,
}

impl State {
    fn read(&mut self) -> Reading {
        let is_whole = self.end.is_some() || self.wrote_at.elapsed() >= LINE_WAIT;
        if is_whole { self.read_all() } else { self.read_lines() }
    }

    fn read_all(&mut self) -> Reading {
        let taken = self.unread.take();
        self.reading(&taken)
    }

    fn read_lines(&mut self) -> Reading {
        let taken = self.unread.take_lines();
        self.reading(&taken)
    }

    fn reading(&mut self, taken: &HeadTailBuffer) -> Reading {
        self.is_end_known = self.end.is_some();
        Reading { output: taken.text(), end: self.end.clone() }
    }

    /// Returns when a line that is held back counts as whole.
    fn whole_at(&self) -> Option<Instant> {
        (self.unread.total() > 0).then(|| self.wrote_at + LINE_WAIT)
    }
}

impl Record {
    pub(super) fn new(number: u32, command: &str, started_at: Timestamp) -> Self {
        let state = State {
            unread: HeadTailBuffer::default(),
            recent: HeadTailBuffer::new(RECENT),
            wrote_at: Instant::now(),
            end: None,
            is_end_known: false,
        };
        Self {
            number,
            command: command.to_owned(),
            started_at,
            state: Mutex::new(state),
            happened: watch::channel(0).0,
            stopped_by: watch::channel(None).0,
        }
    }

    /// Takes output.
    pub(super) fn take(&self, bytes: &[u8]) {
        {
            let mut state = self.lock();
            state.unread.push(bytes);
            state.recent.push(bytes);
            state.wrote_at = Instant::now();
        }
        self.happen();
    }

    /// Notes the end. The first one counts.
    pub(super) fn end(&self, end: End) {
        {
            let mut state = self.lock();
            // A last line without its end is whole now.
            state.recent.end_line();
            state.end.get_or_insert(end);
        }
        self.happen();
    }

    /// Asks it to stop. The first one to ask counts.
    pub(super) fn stop(&self, by: &str) {
        self.stopped_by.send_if_modified(|stopped| {
            let is_first = stopped.is_none();
            stopped.get_or_insert_with(|| by.to_owned());
            is_first
        });
    }

    /// Waits until somebody stops it, and returns who.
    pub(super) async fn stopped(&self) -> String {
        let mut stops = self.stopped_by.subscribe();
        // The sender lives as long as this.
        let by = stops.wait_for(Option::is_some).await;
        by.ok().and_then(|by| by.clone()).unwrap_or_default()
    }

    /// Returns when it ended.
    pub(super) fn ended_at(&self) -> Option<Timestamp> {
        self.lock().end.as_ref().map(|end| end.at)
    }

    pub(super) fn is_running(&self) -> bool {
        self.lock().end.is_none()
    }

    /// Returns whether the end is one that the model is still to be told of.
    pub(super) fn has_news(&self) -> bool {
        let state = self.lock();
        state.end.is_some() && !state.is_end_known
    }

    /// Notes that the model knows of the end.
    pub(super) fn end_is_known(&self) {
        let mut state = self.lock();
        state.is_end_known = state.end.is_some();
    }

    /// Takes the output since the last time. The model then knows of the end, if there is one.
    pub(super) fn read(&self) -> Reading {
        self.lock().read()
    }

    /// Takes the output since the last time, and waits for some, or for the end, at most for so long. What is held back of a line
    /// whose end has not come by then is taken as well, because a program that writes dots would never be read otherwise.
    pub(super) async fn read_within(&self, limit: Duration) -> Reading {
        let deadline = Instant::now() + limit;
        let mut happened = self.happened.subscribe();
        while Instant::now() < deadline {
            happened.mark_unchanged();
            let whole_at = {
                let mut state = self.lock();
                let reading = state.read();
                if reading.end.is_some() || !reading.output.is_empty() {
                    return reading;
                }
                state.whole_at()
            };
            let next_look = whole_at.map_or(deadline, |at| at.min(deadline));
            // An error means that it is time to look.
            let _ = timeout_at(next_look, happened.changed()).await;
        }
        if limit.is_zero() { self.read() } else { self.lock().read_all() }
    }

    /// Waits for the end, for so long at most.
    pub(super) async fn ended(&self, limit: Duration) {
        let mut happened = self.happened.subscribe();
        let _ = timeout_at(Instant::now() + limit, happened.wait_for(|_| !self.is_running())).await;
    }

    /// Returns how much has happened, to see whether something has since.
    pub(super) fn revision(&self) -> u64 {
        *self.happened.borrow()
    }

    /// Describes it for viewers.
    pub(super) fn shown(&self, redactor: &Redactor) -> BackgroundCommand {
        let mask = |text: &str| redactor.redact(text).into_owned();
        let state = self.lock();
        let end = state.end.as_ref();
        BackgroundCommand {
            number: self.number,
            command: mask(&self.command),
            state: end.map_or(CommandState::Running, |end| end.how.state()),
            exit_status: end.and_then(|end| match end.how {
                CommandEnd::Status(status) => Some(status),
                _ => None,
            }),
            outcome: end.map(|end| mask(&end.how.outcome(end.took))).unwrap_or_default(),
            started_at: self.started_at,
            ended_at: end.map(|end| end.at),
            output: state.recent.latest(mask),
        }
    }

    fn happen(&self) {
        self.happened.send_modify(|count| *count += 1);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole after every statement.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(how: CommandEnd) -> End {
        End { how, at: Timestamp::UNIX_EPOCH, took: Duration::from_secs(2), notes: Vec::new() }
    }

    #[tokio::test(start_paused = true)]
    async fn reading_takes_what_is_new_and_holds_half_a_line_back() {
        let record = Record::new(1, "make", Timestamp::UNIX_EPOCH);
        record.take(b"one\ntw");
        assert_eq!(record.read().output, "one\n");
        record.take(b"o\nthree");
        assert_eq!(record.read().output, "two\n");
        assert_eq!(record.read().output, "");
        tokio::time::sleep(LINE_WAIT).await;
        assert_eq!(record.read().output, "three", "a question waits for an answer on its line");
        record.take(b"four");
        record.end(end(CommandEnd::Status(0)));
        assert!(record.has_news());
        let last = record.read();
        assert_eq!((last.output.as_str(), last.end.unwrap().how), ("four", CommandEnd::Status(0)));
        assert!(!record.has_news(), "the model has seen it");
        let shown = record.shown(&Redactor::default());
        assert_eq!((shown.output.as_str(), shown.exit_status), ("one\ntwo\nthreefour\n", Some(0)));
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_with_output_with_the_end_and_in_time() {
        let record = std::sync::Arc::new(Record::new(1, "make", Timestamp::UNIX_EPOCH));
        let begun = Instant::now();
        assert_eq!(record.read_within(Duration::from_secs(3)).await.output, "");
        assert_eq!(begun.elapsed(), Duration::from_secs(3));
        let writer = record.clone();
        tokio::spawn(async move { writer.take(b"x\n") });
        let reading = record.read_within(Duration::from_secs(3)).await;
        assert_eq!((begun.elapsed(), reading.output.as_str()), (Duration::from_secs(3), "x\n"));
        let stopper = record.clone();
        tokio::spawn(async move {
            let by = stopper.stopped().await;
            stopper.end(end(CommandEnd::Stopped(by)));
        });
        record.stop("the owner");
        record.stop("somebody later");
        record.ended(Duration::from_secs(3)).await;
        assert_eq!(record.shown(&Redactor::default()).outcome, "was stopped by the owner after 2 s");
        assert!(record.read_within(Duration::from_secs(3)).await.end.is_some());
        assert_eq!(begun.elapsed(), Duration::from_secs(3));
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_goes_on_while_a_line_is_incomplete() {
        let record = std::sync::Arc::new(Record::new(1, "make", Timestamp::UNIX_EPOCH));
        let begun = Instant::now();
        record.take(b"Password: ");
        assert_eq!(record.read_within(Duration::ZERO).await.output, "", "a look does not wait");
        assert_eq!(record.read_within(Duration::from_secs(30)).await.output, "Password: ");
        assert_eq!(begun.elapsed(), LINE_WAIT, "it waits for an answer on its line");
        let writer = record.clone();
        let dots = tokio::spawn(async move {
            loop {
                writer.take(b".");
                tokio::time::sleep(LINE_WAIT / 5).await;
            }
        });
        let begun = Instant::now();
        let reading = record.read_within(Duration::from_secs(2)).await;
        assert_eq!(begun.elapsed(), Duration::from_secs(2), "there is no news before");
        assert!(reading.output.len() >= 20 && reading.output.starts_with("...."), "{}", reading.output);
        dots.abort();
    }
}
