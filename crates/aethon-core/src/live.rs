//! A value that can be replaced at run time, such as rules that a configuration reload provides.
//!
//! Users take it once, at the beginning of a request or a turn, and keep that one to the end, so that no piece of work
//! sees half of the old value and half of the new one.

use std::sync::{Arc, PoisonError, RwLock};

/// A value that is replaced as a whole. Cheap to clone; clones share it.
#[derive(Debug)]
pub struct Live<T>(Arc<RwLock<Arc<T>>>);

impl<T> Live<T> {
    /// Starts with this value.
    pub fn new(value: T) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(value))))
    }

    /// Returns the current value.
    pub fn get(&self) -> Arc<T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the value. Callers that have taken the old one keep it.
    pub fn set(&self, value: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(value);
    }
}

impl<T: Default> Default for Live<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Clone for Live<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_value_that_was_taken_stays_after_a_replacement() {
        let live = Live::new(1);
        let (taken, clone) = (live.get(), live.clone());
        clone.set(2);
        assert_eq!((*taken, *live.get()), (1, 2));
    }
}
