//! The ways to end a turn from outside: a person, the program's shutdown, the clock.
//!
//! Everything in a turn that may take long runs under [`Control::guard`], except operations that must not be cut
//! short (writing to the storage). So a turn can end at once in any state, and its stored part is consistent.

use std::future::{Future, pending};
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep_until};

/// Why a turn was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A person requested it.
    Person,
    /// The program is shutting down.
    Shutdown,
    /// Another program has taken the turn over, because this one gave no sign of life for too long.
    TakenOver,
}

/// Stops one turn. The first cause counts.
#[derive(Debug, Clone)]
pub(crate) struct StopSwitch(watch::Sender<Option<Cause>>);

/// Tells whether the turn is to stop.
#[derive(Debug, Clone)]
pub(crate) struct StopSignal(watch::Receiver<Option<Cause>>);

impl StopSwitch {
    pub(crate) fn pair() -> (Self, StopSignal) {
        let (sender, receiver) = watch::channel(None);
        (Self(sender), StopSignal(receiver))
    }

    /// Stops the turn; `false` if it was already stopped.
    pub(crate) fn stop(&self, cause: Cause) -> bool {
        self.0.send_if_modified(|current| {
            let first = current.is_none();
            current.get_or_insert(cause);
            first
        })
    }
}

impl StopSignal {
    /// Returns the cause, if the turn is to stop.
    pub(crate) fn cause(&self) -> Option<Cause> {
        *self.0.borrow()
    }

    pub(crate) async fn stopped(&mut self) -> Cause {
        match self.0.wait_for(Option::is_some).await.map(|cause| *cause) {
            Ok(Some(cause)) => cause,
            // No switch is left that could stop it.
            _ => pending().await,
        }
    }
}

/// Why something was not completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupt {
    /// The turn was stopped.
    Stopped(Cause),
    /// The turn exceeded its time limit.
    TimedOut(Duration),
}

/// A turn's own view of the events that may end it.
pub(crate) struct Control {
    stop: StopSignal,
    limit: Duration,
    deadline: Pin<Box<Sleep>>,
}

impl Control {
    /// Creates the control of a turn that begins now and may take at most `limit`.
    pub(crate) fn new(stop: StopSignal, limit: Duration) -> Self {
        Self { stop, limit, deadline: Box::pin(sleep_until(Instant::now() + limit)) }
    }

    /// Runs a future until it completes or the turn ends. The work is polled before the clock, so the timer is not even
    /// armed for work that completes at once.
    pub(crate) async fn guard<F: Future>(&mut self, work: F) -> Result<F::Output, Interrupt> {
        tokio::select! {
            biased;
            cause = self.stop.stopped() => Err(Interrupt::Stopped(cause)),
            done = work => Ok(done),
            () = self.deadline.as_mut() => Err(Interrupt::TimedOut(self.limit)),
        }
    }

    /// Returns another view of the same events.
    pub(crate) fn another(&self) -> Self {
        let deadline = Box::pin(sleep_until(self.deadline.deadline()));
        Self { stop: self.stop.clone(), limit: self.limit, deadline }
    }

    /// Returns how much of the turn's time is left.
    pub(crate) fn left(&self) -> Duration {
        self.deadline.deadline().saturating_duration_since(Instant::now())
    }
}
