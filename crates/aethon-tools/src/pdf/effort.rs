//! How much work a document may be: a number of steps, a time, and whether anybody still waits for it.
//!
//! A small document can ask for any amount of work, since whatever it refers to can be referred to again and again. So
//! every piece of work is charged for, by its cost and not by its result. Once the effort is spent, everything
//! that is not read yet counts as missing, and the reading comes to its end by itself.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::cancel::Cancelled;

/// How many steps a document may take. A step is a byte parsed, a code noted, or an entry copied; a usual document takes
/// some for each of its bytes.
const MAX_STEPS: u64 = 300_000_000;
/// How long it may take.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How many codes of all fonts together are kept: a short map can name many.
const MAX_CODES: usize = 400_000;
/// After how many steps the clock is looked at.
const STEPS_PER_LOOK: u64 = 1 << 16;

/// The effort that is left for a document.
pub(super) struct Effort {
    steps: Cell<u64>,
    max_steps: u64,
    next_look: Cell<u64>,
    is_over: Cell<bool>,
    codes: Cell<usize>,
    until: Instant,
    cancelled: Cancelled,
}

impl Effort {
    pub(super) fn new(cancelled: &Cancelled) -> Self {
        Self::of(MAX_STEPS, cancelled)
    }

    /// The same with another number of steps.
    pub(super) fn of(max_steps: u64, cancelled: &Cancelled) -> Self {
        Self {
            steps: Cell::new(0),
            max_steps,
            next_look: Cell::new(STEPS_PER_LOOK),
            is_over: Cell::new(false),
            codes: Cell::new(MAX_CODES),
            until: Instant::now() + TIMEOUT,
            cancelled: cancelled.clone(),
        }
    }

    /// Charges for some steps. Returns whether to go on.
    pub(super) fn charge(&self, steps: usize) -> bool {
        let all = self.steps.get().saturating_add(u64::try_from(steps).unwrap_or(u64::MAX));
        self.steps.set(all);
        if all >= self.next_look.get() {
            self.next_look.set(all.saturating_add(STEPS_PER_LOOK));
            if all > self.max_steps || self.cancelled.is_cancelled() || Instant::now() > self.until {
                self.is_over.set(true);
            }
        }
        !self.is_over.get()
    }

    /// Returns whether one more code of a font may be kept.
    pub(super) fn keep_code(&self) -> bool {
        let left = self.codes.get();
        self.codes.set(left.saturating_sub(1));
        left > 0
    }

    /// Returns whether nothing more is to be read.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// Returns how many steps were taken.
    pub(super) fn steps(&self) -> u64 {
        self.steps.get()
    }
}
