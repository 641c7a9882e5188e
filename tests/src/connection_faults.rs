//! Broken connections: some requests are cut before they are read, some after they were carried out but before the answer.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Random;

/// Where a connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionFault {
    /// Before the request is read.
    Before,
    /// After the request is carried out; the answer is lost.
    After,
}

/// Breaks connections at pseudo-random places given by a seed; none at first.
#[derive(Debug, Default)]
pub struct ConnectionFaults(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    random: Option<Random>,
    /// One in so many requests is cut off.
    one_in: u64,
    count: usize,
}

impl ConnectionFaults {
    /// Starts breaking one in so many requests.
    pub fn begin(&self, seed: u64, one_in: u64) {
        let mut state = self.state();
        (state.random, state.one_in) = (Some(Random::new(seed)), one_in);
    }

    /// Stops breaking them.
    pub fn end(&self) {
        self.state().random = None;
    }

    /// The number of broken connections so far.
    pub fn count(&self) -> usize {
        self.state().count
    }

    /// Decides about the next request.
    pub fn draw(&self) -> Option<ConnectionFault> {
        let mut state = self.state();
        let one_in = state.one_in;
        let number = state.random.as_mut()?.between(0, 2 * one_in);
        let fault = match number {
            0 => ConnectionFault::Before,
            1 => ConnectionFault::After,
            _ => return None,
        };
        state.count += 1;
        Some(fault)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
