//! How many texts a service takes in one request, learnt from its refusals.
//!
//! The limit belongs to the service and not to one client of it: a reload of the configuration, or a second assistant
//! in this process, need not learn it again.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// More places than any configuration has.
const MAX_PLACES: usize = 256;

static LIMITS: LazyLock<Mutex<HashMap<String, usize>>> = LazyLock::new(Mutex::default);

/// Returns the limit of a model at an address.
pub(super) fn of(place: &str) -> Option<usize> {
    lock().get(place).copied()
}

/// Remembers that a service takes this many texts, and not many more.
pub(super) fn keep(place: &str, texts: usize) {
    let mut limits = lock();
    if limits.len() >= MAX_PLACES && !limits.contains_key(place) {
        limits.clear();
    }
    let limit = limits.entry(place.to_owned()).or_insert(texts);
    *limit = (*limit).min(texts.max(1));
}

fn lock() -> MutexGuard<'static, HashMap<String, usize>> {
    LIMITS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_of_a_place_stays() {
        keep("http://limit.test m", 8);
        keep("http://limit.test m", 30);
        assert_eq!((of("http://limit.test m"), of("http://limit.test n")), (Some(8), None));
    }
}
