//! Connections that break: some requests are cut off before they are heard, and some after they were done and before their answer.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Random;

/// Where a connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Nobody has heard the request.
    Before,
    /// It was done, and its answer gets lost.
    After,
}

/// Breaks connections at random places that follow from a seed; none at first.
#[derive(Debug, Default)]
pub struct Cuts(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    random: Option<Random>,
    /// One request of so many is cut.
    one_in: u64,
    cut: usize,
}

impl Cuts {
    /// From now on one request of so many is cut.
    pub fn begin(&self, seed: u64, one_in: u64) {
        let mut state = self.state();
        (state.random, state.one_in) = (Some(Random::new(seed)), one_in);
    }

    /// Nothing is cut any more.
    pub fn end(&self) {
        self.state().random = None;
    }

    /// How many were.
    pub fn count(&self) -> usize {
        self.state().cut
    }

    /// What becomes of the next request.
    pub fn draw(&self) -> Option<Cut> {
        let mut state = self.state();
        let one_in = state.one_in;
        let number = state.random.as_mut()?.between(0, 2 * one_in);
        let cut = match number {
            0 => Cut::Before,
            1 => Cut::After,
            _ => return None,
        };
        state.cut += 1;
        Some(cut)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
