//! Waits out a temporary failure of the storage.
//!
//! Acknowledged data must be stored, however long that takes: storing is retried with growing pauses until it succeeds,
//! or until the storage is closed because the program is shutting down. Whatever waits here keeps its place in its
//! session's queue, and new messages are refused meanwhile, so the number of waiters is bounded by the number of open
//! turns.
//!
//! No wait mends a damaged storage, so damage is returned at once. A part of the disk that fails to be read again and again
//! while everything else works counts as damage as well ([`until_read`]).

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::storage::StorageHealth;
use tokio::time::sleep;

use crate::storage_log::log_storage;

/// The first and the longest pause.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// How many failures that the storage does not call temporary are retried. More indicate a bug, which waiting does not
/// fix.
const MAX_FAULTS: usize = 4;

/// How many times in a row the disk may fail to read while the storage is healthy otherwise: with the pauses, some six seconds.
const MAX_LONE_FAILURES: usize = 8;

/// Repeats a read until it succeeds. If it alone keeps failing, the storage is damaged.
pub async fn until_read<T, F>(
    what: &'static str,
    health: &StorageHealth,
    mut attempt: impl FnMut() -> F,
) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let lone_failures = AtomicUsize::new(0);
    let lone_failures = &lone_failures;
    retry_until_stored(what, || {
        let read = attempt();
        async move {
            let error = match read.await {
                // Only the disk itself says something about the file. A lack of descriptors or threads, or a program that
                // holds the file for long, passes.
                Err(error) if error.is_unreadable() && health.fault().is_none() => error,
                outcome => {
                    lone_failures.store(0, Ordering::Relaxed);
                    return outcome;
                }
            };
            if lone_failures.fetch_add(1, Ordering::Relaxed) + 1 < MAX_LONE_FAILURES {
                return Err(error);
            }
            let sentence = format!("a part of the database cannot be read ({error})");
            if health.damaged(sentence.clone()) {
                log_storage("the storage counts as damaged until aethon is started again", &error);
            }
            Err(Error::damaged(sentence).because(error))
        }
    })
    .await
}

/// Repeats a storage operation until it succeeds. Refusals (the target is gone, the data is invalid, the program
/// is shutting down) is returned at once.
pub async fn retry_until_stored<T, F>(what: &'static str, mut attempt: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let (mut pause, mut failures, mut faults) = (FIRST_PAUSE, 0_u32, 0);
    loop {
        let error = match attempt().await {
            Ok(done) => {
                if failures > 0 {
                    tracing::info!(what, failures, "the storage has taken it at last");
                }
                return Ok(done);
            }
            Err(error) => error,
        };
        if !is_passing(&error, &mut faults) {
            return Err(error);
        }
        if failures == 0 {
            log_storage(what, &error);
        }
        failures += 1;
        sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

fn is_passing(error: &Error, faults: &mut usize) -> bool {
    if error.is_damaged() {
        return false;
    }
    let is_refusal = error.is_not_found() || error.is_invalid() || error.is_mismatch() || error.is_denied();
    if error.is_unavailable() {
        return true;
    }
    // Busy but not unavailable: the storage is closed.
    if is_refusal || error.is_busy() {
        return false;
    }
    *faults += 1;
    *faults < MAX_FAULTS
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Counts how often an operation is tried that always fails like this. The storage is closed after a while.
    async fn attempts(fail: impl Fn() -> Error) -> usize {
        let tried = Cell::new(0);
        let attempt = || async {
            tried.set(tried.get() + 1);
            if tried.get() < 100 { Err::<(), _>(fail()) } else { Err(Error::shutting_down()) }
        };
        retry_until_stored("a test", attempt).await.unwrap_err();
        tried.get()
    }

    #[tokio::test(start_paused = true)]
    async fn temporary_storage_failures_are_retried_and_others_are_not() {
        assert_eq!(attempts(|| Error::unavailable("the disk is full")).await, 100, "until it is closed");
        assert_eq!(attempts(|| Error::damaged("the database is damaged")).await, 1);
        assert_eq!(attempts(|| Error::internal("a fault")).await, MAX_FAULTS);
        assert_eq!(attempts(|| Error::not_found("gone")).await, 1);
        assert_eq!(attempts(|| Error::invalid("nonsense")).await, 1);
        assert_eq!(attempts(Error::shutting_down).await, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn read_that_keeps_failing_alone_counts_as_damage() {
        let (health, tried) = (StorageHealth::default(), Cell::new(0));
        let attempt = || async {
            tried.set(tried.get() + 1);
            Err::<(), _>(Error::unreadable("the disk fails"))
        };
        let error = until_read("a test", &health, attempt).await.unwrap_err();
        assert!(error.is_damaged() && error.to_string().contains("the disk fails"), "{error}");
        assert_eq!(tried.get(), MAX_LONE_FAILURES);
        assert!(health.check_damage().is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn read_that_fails_for_lack_of_resources_is_no_damage() {
        let (health, tried) = (StorageHealth::default(), Cell::new(0));
        let attempt = || async {
            tried.set(tried.get() + 1);
            if tried.get() < 100 { Err(Error::unavailable("no thread could be started")) } else { Ok(()) }
        };
        until_read("a test", &health, attempt).await.unwrap();
        assert!(health.check_damage().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_waits_while_the_whole_storage_fails() {
        let (health, tried) = (StorageHealth::default(), Cell::new(0));
        health.failed("the disk is full");
        let attempt = || async {
            tried.set(tried.get() + 1);
            if tried.get() < 100 { Err(Error::unreadable("the disk fails")) } else { Ok(()) }
        };
        until_read("a test", &health, attempt).await.unwrap();
        assert!(health.check_damage().is_ok());
    }
}
