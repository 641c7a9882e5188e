//! The writing thread: takes batches from the queue, appends them to the journals, and ends recordings.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use aethon_core::event::{Event, RecordingChange, RecordingNews};
use aethon_core::ids::SessionId;
use aethon_guard::redact::Redactor;
use jiff::Timestamp;

use crate::event::{EventData, SessionEvent};
use crate::live_recording::LiveRecording;
use crate::options::Options;
use crate::pack::pack;
use crate::queue::{Batch, Entry, Snapshot};
use crate::retention;
use crate::shared::{Shared, Status};

/// How often idle sessions are looked for.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(15);

/// How long no new recording starts after a write failed.
const AFTER_FAILURE: Duration = Duration::from_secs(5);

/// Maximum number of sessions recorded at once; beyond it, the longest idle one ends.
const MAX_LIVE: usize = 128;

/// One-shot sessions recorded per minute. A busy webhook creates thousands of them, more than anyone reads.
const MAX_ONE_SHOTS_PER_MINUTE: u32 = 20;

/// Limits at which a recording continues in a new one: readers open no larger ones.
const MAX_BYTES: u64 = 64 << 20;
const MAX_SNAPSHOTS: u64 = 4_000;

/// Maximum number of one-shot session names remembered.
const MAX_ONE_SHOT_NAMES: usize = 10_000;

pub(crate) struct Writer {
    options: Options,
    shared: Arc<Shared>,
    live: BTreeMap<SessionId, LiveRecording>,
    /// One-shot sessions that have not ended.
    one_shots: BTreeSet<SessionId>,
    /// The current minute, and how many one-shot sessions were recorded in it.
    minute: (i64, u32),
    last_idle_check: Instant,
    failed: Option<Instant>,
}

impl Writer {
    pub(crate) fn new(options: Options, shared: Arc<Shared>) -> Self {
        let (live, one_shots) = (BTreeMap::new(), BTreeSet::new());
        Self {
            options,
            shared,
            live,
            one_shots,
            minute: (0, 0),
            last_idle_check: Instant::now(),
            failed: None,
        }
    }

    /// Writes until the queue is closed, then ends all recordings.
    pub(crate) fn run(&mut self) {
        self.clean_up();
        let mut batch = Batch::default();
        loop {
            let wait = if self.live.is_empty() { IDLE_CHECK_INTERVAL * 240 } else { IDLE_CHECK_INTERVAL };
            self.shared.queue.next(&mut batch, wait);
            if batch.dropped > 0 {
                self.note_loss(batch.dropped);
            }
            let redactor = self.options.redactor.get();
            for entry in batch.entries.drain(..) {
                self.take(&redactor, entry);
            }
            self.flush();
            if batch.is_last {
                return self.end_all();
            }
            self.end_idle();
        }
    }

    fn take(&mut self, redactor: &Redactor, entry: Entry) {
        match entry {
            Entry::Event(event) => self.event(redactor, event),
            Entry::Snapshot(snapshot) => self.snapshot(redactor, *snapshot),
            Entry::OneShot { session } => {
                if self.one_shots.len() >= MAX_ONE_SHOT_NAMES {
                    self.one_shots.clear();
                }
                self.one_shots.insert(session);
            }
            Entry::OutsideTurn { session, at, data } => {
                if let Some(live) = self.live.get_mut(&session) {
                    live.event(redactor, at, "", &data);
                }
            }
            Entry::End { session, reason, done } => {
                self.end(&session, reason);
                if let Some(done) = done {
                    // The caller may have stopped waiting.
                    let _ = done.send(());
                }
            }
        }
    }

    fn event(&mut self, redactor: &Redactor, event: SessionEvent) {
        let SessionEvent { session, turn, at, data } = event;
        if matches!(data, EventData::TurnStarted { .. }) && !self.live.contains_key(&session) {
            self.begin(&session, at);
        }
        let Some(live) = self.live.get_mut(&session) else { return };
        let turn = turn.as_ref().map_or("", |turn| turn.as_str());
        live.event(redactor, at, turn, &data);
        if matches!(data, EventData::TurnEnded { .. }) && self.one_shots.remove(&session) {
            self.end(&session, "session_used_once");
        }
    }

    fn snapshot(&mut self, redactor: &Redactor, snapshot: Snapshot) {
        let session = snapshot.session.clone();
        let Some(live) = self.live.get_mut(&session) else { return self.shared.tracker.forget(&session) };
        if !live.snapshot(redactor, snapshot, &self.options.cwd) {
            // Something in between was lost; forgetting the session makes its next snapshot complete.
            self.shared.tracker.forget(&session);
        }
        if live.bytes() >= MAX_BYTES || live.snapshots() >= MAX_SNAPSHOTS {
            self.end(&session, "large");
        }
    }

    /// Starts the recording of a session, unless it exceeds a limit or writing fails at present.
    fn begin(&mut self, session: &SessionId, at: Timestamp) {
        if self.failed.is_some_and(|failed| failed.elapsed() < AFTER_FAILURE) || !self.may_record(session, at)
        {
            return;
        }
        if self.live.len() >= MAX_LIVE {
            let longest_idle = self.live.iter().min_by_key(|(_, live)| live.last());
            if let Some(longest_idle) = longest_idle.map(|(session, _)| session.clone()) {
                self.end(&longest_idle, "many_sessions");
            }
        }
        match LiveRecording::begin(&self.options.folder, session, at, self.options.version) {
            Ok(mut live) => {
                let (version, cwd) = (self.options.version, self.options.cwd.clone());
                let data = EventData::RecordingStarted { session_id: session.clone(), version, cwd };
                live.event(&self.options.redactor.get(), at, "", &data);
                self.announce(live.stem(), session, RecordingChange::Began);
                self.live.insert(session.clone(), live);
                self.count();
            }
            Err(error) => self.trouble("a recording could not be begun", &error),
        }
    }

    /// Applies the rate limit for one-shot sessions.
    fn may_record(&mut self, session: &SessionId, at: Timestamp) -> bool {
        if !self.one_shots.contains(session) {
            return true;
        }
        let minute = at.as_second() / 60;
        if self.minute.0 != minute {
            self.minute = (minute, 0);
        }
        self.minute.1 += 1;
        self.minute.1 <= MAX_ONE_SHOTS_PER_MINUTE
    }

    fn flush(&mut self) {
        let flushed = self.live.iter_mut().map(|(session, live)| (session.clone(), live.flush()));
        let failed: Vec<_> = flushed.filter_map(|(session, done)| Some((session, done.err()?))).collect();
        for (session, error) in &failed {
            // The next start recovers the written part.
            self.live.remove(session);
            self.shared.tracker.forget(session);
            self.trouble("a recording could not be written", error);
        }
        if failed.is_empty() && !self.live.is_empty() && self.failed.take().is_some() {
            self.status(|status| status.trouble = None);
        }
        self.count();
    }

    fn end_idle(&mut self) {
        if self.last_idle_check.elapsed() < IDLE_CHECK_INTERVAL {
            return;
        }
        self.last_idle_check = Instant::now();
        let (now, idle) = (self.shared.clock.now(), self.options.idle);
        let idle_sessions = self.live.iter().filter(|(_, live)| live.is_idle(now, idle));
        let idle_sessions: Vec<_> = idle_sessions.map(|(session, _)| session.clone()).collect();
        for session in idle_sessions {
            self.end(&session, "idle");
        }
        self.clean_up();
    }

    fn end_all(&mut self) {
        let redactor = self.options.redactor.get();
        let now = self.shared.clock.now();
        // Do the quick part first: from here on every journal says how it ended.
        for live in self.live.values_mut() {
            live.close(&redactor, now, "shutdown");
            if let Err(error) = live.flush() {
                tracing::warn!(%error, recording = live.stem(), "a recording could not be written to its end");
            }
        }
        for (session, live) in std::mem::take(&mut self.live) {
            self.finish(&session, live);
        }
        self.clean_up();
    }

    /// Ends the recording of a session, if there is one.
    fn end(&mut self, session: &SessionId, reason: &'static str) {
        self.shared.tracker.forget(session);
        let Some(mut live) = self.live.remove(session) else { return };
        live.close(&self.options.redactor.get(), self.shared.clock.now(), reason);
        match live.flush() {
            Ok(()) => self.finish(session, live),
            Err(error) => self.trouble("a recording could not be written to its end", &error),
        }
        self.clean_up();
        self.count();
    }

    fn finish(&mut self, session: &SessionId, live: LiveRecording) {
        let name = live.stem().to_owned();
        match pack(live.into_journal(), &self.options.folder, self.options.seal.as_ref()) {
            Ok(true) => self.announce(&name, session, RecordingChange::Ended),
            Ok(false) => {}
            Err(error) => {
                self.trouble("a recording could not be finished; the next start tries again", &error)
            }
        }
    }

    fn clean_up(&self) {
        let (folder, keep, now) = (&self.options.folder, self.options.keep, self.shared.clock.now());
        for name in retention::remove_old(folder, keep, now) {
            tracing::info!(recording = name, "an old recording was removed");
            let news = RecordingNews { name, session: None, change: RecordingChange::Deleted };
            self.options.bus.publish(|| Event::Recording(Arc::new(news)));
        }
    }

    fn note_loss(&mut self, dropped: u64) {
        tracing::warn!(dropped, "the recorder could not keep up; recordings have a gap");
        let (redactor, now) = (self.options.redactor.get(), self.shared.clock.now());
        for live in self.live.values_mut() {
            live.event(&redactor, now, "", &EventData::Gap { dropped });
        }
    }

    fn trouble(&mut self, what: &str, error: &io::Error) {
        if self.failed.is_none() {
            tracing::warn!(error = error as &dyn std::error::Error, "{what}");
        }
        self.failed = Some(Instant::now());
        self.status(|status| status.trouble = Some(format!("{what}: {error}")));
    }

    fn announce(&self, name: &str, session: &SessionId, change: RecordingChange) {
        self.options.bus.publish(|| {
            let (name, session) = (name.to_owned(), Some(session.clone()));
            Event::Recording(Arc::new(RecordingNews { name, session, change }))
        });
    }

    fn count(&self) {
        let live = self.live.len();
        self.status(|status| status.live = live);
    }

    fn status(&self, change: impl FnOnce(&mut Status)) {
        change(&mut self.shared.status.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
