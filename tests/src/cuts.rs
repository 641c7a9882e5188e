//! Broken connections: some requests are cut before they are read, some after they were carried out but before the answer.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Random;

/// Where a connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Before the request is read.
    Before,
    /// After the request is carried out; the answer is lost.
    After,
}

/// Breaks connections at pseudo-random places given by a seed; none at first.
#[derive(Debug, Default)]
pub struct Cuts(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    random: Option<Random>,
    /// One in so many requests is cut.
    one_in: u64,
    cut: usize,
}

impl Cuts {
    /// Starts cutting one in so many requests.
    pub fn begin(&self, seed: u64, one_in: u64) {
        let mut state = self.state();
        (state.random, state.one_in) = (Some(Random::new(seed)), one_in);
    }

    /// Stops cutting.
    pub fn end(&self) {
        self.state().random = None;
    }

    /// The number of cuts so far.
    pub fn count(&self) -> usize {
        self.state().cut
    }

    /// Decides about the next request.
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
