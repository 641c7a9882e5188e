//! What all turns of an engine share.

use std::sync::{Arc, Mutex, PoisonError};

use aethon_core::error::Error;
use aethon_core::event::{Event, SessionChange};
use aethon_core::ids::SessionId;
use aethon_core::message::Message;

use super::purse::Purse;
use crate::caught::caught;
use crate::dispatcher::{Job, Lanes};
use crate::options::Options;
use crate::parts::Parts;
use crate::tasks::Tasks;
use crate::window::{Gauge, Limits, Window, Windows};

/// The engine behind its door.
pub(crate) struct Shared {
    pub(super) parts: Parts,
    pub(super) options: Options,
    pub(super) lanes: Lanes,
    pub(super) windows: Windows,
    pub(super) tasks: Tasks,
    pub(super) purse: Purse,
    pub(super) calibration: Calibration,
}

/// What one estimated token really is with this provider, as far as all sessions together tell.
#[derive(Default)]
pub(super) struct Calibration(Mutex<Option<f64>>);

impl Calibration {
    pub(super) fn learn(&self, ratio: f64) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some(known.map_or(ratio, |known| (known + ratio) / 2.0));
    }

    pub(super) fn gauge(&self) -> Gauge {
        Gauge::calibrated(*self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Shared {
    pub(super) fn new(parts: Parts, options: Options) -> Self {
        Self {
            purse: Purse::new(&parts, options.budget),
            calibration: Calibration::default(),
            lanes: Lanes::new(options.queue_per_session, options.max_turns),
            windows: Windows::new(options.cache.sessions, options.cache.bytes),
            tasks: Tasks::default(),
            parts,
            options,
        }
    }

    /// What a request may take.
    pub(super) fn limits(&self) -> Limits {
        let (model, options) = (self.parts.provider.capabilities(), &self.options);
        Limits::of(&model, options.context_share, options.window_messages, options.keep_recent)
    }

    /// A window for a session of which nothing is known yet.
    pub(super) fn new_window(&self) -> Window {
        Window::new(self.limits().rule(), self.calibration.gauge())
    }

    /// Runs a turn, and all that wait behind it.
    pub(super) async fn run_lane(self: &Arc<Self>, first: Job) {
        let session = first.session().clone();
        let mut next = Some(first);
        while let Some(job) = next {
            // Turns catch their own faults; this is for what is left, so that the others of the session get their turn.
            if let Err(panic) = caught(self.run(job)).await {
                tracing::error!(%session, panic, "the end of a turn panicked");
            }
            next = self.lanes.next(&session);
        }
    }

    /// Tells those who watch that a session got a message.
    pub(super) fn tell_message(&self, session: &SessionId, message: &Arc<Message>) {
        self.parts.bus.publish(|| Event::Message { session: session.clone(), message: message.clone() });
    }

    /// Tells those who watch that a session changed.
    pub(super) fn tell_session(&self, session: &SessionId, change: SessionChange) {
        self.parts.bus.publish(|| Event::Session { session: session.clone(), change });
    }
}

/// The storage failed; the cause is for the log. What was removed meanwhile is no failure.
pub(super) fn log_storage(what: &'static str, error: &Error) {
    if error.is_not_found() {
        return tracing::info!(%error, "{what}");
    }
    let cause = std::error::Error::source(error).map(ToString::to_string);
    tracing::error!(%error, cause, "{what}");
}
