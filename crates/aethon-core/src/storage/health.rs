//! Whether the storage accepts writes, for everybody who has to know: while it does not, doors refuse new messages,
//! pages say so, and `/api/ready` answers 503.
//!
//! The backend writes it, because only the backend sees every attempt. The rest of the program only reads it. A fault
//! that passes is over with the next success; damage stays until the program is started again on a mended file.

use std::sync::Arc;

use tokio::sync::watch;

use crate::error::Error;

/// The health of a storage. Cheap to clone; clones share it.
#[derive(Debug, Clone)]
pub struct StorageHealth(Arc<watch::Sender<Option<Arc<StorageFault>>>>);

/// The fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageFault {
    /// A lower-case sentence that names the thing and the remedy.
    pub message: String,
    /// Whether waiting helps.
    pub duration: FaultDuration,
}

/// How long a fault lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultDuration {
    /// It may be over with the next attempt.
    Passing,
    /// It lasts until the storage is mended and the program started again.
    Permanent,
}

impl StorageFault {
    /// Returns whether waiting does not help.
    pub fn is_permanent(&self) -> bool {
        self.duration == FaultDuration::Permanent
    }

    /// The error that callers get.
    fn error(&self) -> Error {
        match self.duration {
            FaultDuration::Passing => Error::unavailable(self.message.clone()),
            FaultDuration::Permanent => Error::damaged(self.message.clone()),
        }
    }
}

impl Default for StorageHealth {
    /// Healthy until reported otherwise.
    fn default() -> Self {
        Self(Arc::new(watch::channel(None).0))
    }
}

impl StorageHealth {
    /// Returns the fault; `None` while everything is stored.
    pub fn fault(&self) -> Option<Arc<StorageFault>> {
        self.0.borrow().clone()
    }

    /// Refuses whatever would have to be stored while the storage fails.
    pub fn check(&self) -> Result<(), Error> {
        self.fault().map_or(Ok(()), |fault| Err(fault.error()))
    }

    /// Refuses what can only fail because the storage is damaged.
    pub fn check_damage(&self) -> Result<(), Error> {
        let fault = self.fault().filter(|fault| fault.is_permanent());
        fault.map_or(Ok(()), |fault| Err(fault.error()))
    }

    /// Records that an attempt to store something failed. Returns whether the storage was healthy until then.
    pub fn failed(&self, message: impl Into<String>) -> bool {
        let message = message.into();
        let was_healthy = self.0.borrow().is_none();
        self.0.send_if_modified(|fault| {
            let is_news =
                fault.as_ref().is_none_or(|before| !before.is_permanent() && before.message != message);
            if is_news {
                *fault = Some(Arc::new(StorageFault { message, duration: FaultDuration::Passing }));
            }
            is_news
        });
        was_healthy
    }

    /// Records that the storage is damaged, for as long as the program runs. The first report stays. Returns whether
    /// that is new.
    pub fn damaged(&self, message: impl Into<String>) -> bool {
        let message = message.into();
        self.0.send_if_modified(|fault| {
            let is_news = fault.as_ref().is_none_or(|before| !before.is_permanent());
            if is_news {
                *fault = Some(Arc::new(StorageFault { message, duration: FaultDuration::Permanent }));
            }
            is_news
        })
    }

    /// Records that an attempt to store something succeeded. Returns whether a fault is over with it.
    pub fn recovered(&self) -> bool {
        // The usual case only reads.
        self.0.borrow().is_some()
            && self.0.send_if_modified(|fault| fault.take_if(|fault| !fault.is_permanent()).is_some())
    }

    /// Subscribes to every change from now on.
    pub fn watch(&self) -> watch::Receiver<Option<Arc<StorageFault>>> {
        self.0.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_sees_the_latest_fault_until_it_is_over() {
        let health = StorageHealth::default();
        let (mut watched, other) = (health.watch(), health.clone());
        assert!(other.check().is_ok() && !health.recovered());
        assert!(health.failed("the disk is full"));
        assert!(!health.failed("the disk is full") && !health.failed("the file is in use"));
        let refusal = other.check().unwrap_err();
        assert!(refusal.is_unavailable() && refusal.is_busy(), "{refusal}");
        assert_eq!(refusal.to_string(), "the file is in use");
        assert!(watched.has_changed().unwrap());
        assert_eq!(watched.borrow_and_update().as_ref().unwrap().message, "the file is in use");
        assert!(health.recovered() && other.fault().is_none());
        assert!(watched.has_changed().unwrap());
    }
    #[test]
    fn damage_outlasts_successes_and_later_failures() {
        let health = StorageHealth::default();
        health.failed("the disk is full");
        assert!(health.check_damage().is_ok());
        assert!(health.damaged("the database is damaged") && !health.damaged("it is damaged elsewhere"));
        health.failed("the disk is full");
        assert!(!health.recovered());
        let refusal = health.check().unwrap_err();
        assert!(refusal.is_damaged() && refusal.is_unavailable() && !refusal.is_busy(), "{refusal}");
        assert_eq!(refusal.to_string(), "the database is damaged");
        assert!(health.check_damage().is_err());
    }
}
