//! Whether the storage accepts writes, for everybody who has to know: while it does not, doors refuse new messages,
//! pages say so, and `/api/ready` answers 503.
//!
//! The backend writes it, because only the backend sees every attempt. The rest of the program only reads it.

use std::sync::Arc;

use tokio::sync::watch;

use crate::error::Error;

/// The health of a storage. Cheap to clone; clones share it.
#[derive(Debug, Clone)]
pub struct StorageHealth(Arc<watch::Sender<Option<Arc<StorageFault>>>>);

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageFault {
    /// A lower-case sentence that names the thing and the remedy.
    pub message: String,
}

impl Default for StorageHealth {
    /// Healthy until reported otherwise.
    fn default() -> Self {
        Self(Arc::new(watch::channel(None).0))
    }
}

impl StorageHealth {
    /// Returns what is wrong; `None` while everything is stored.
    pub fn fault(&self) -> Option<Arc<StorageFault>> {
        self.0.borrow().clone()
    }

    /// Refuses whatever would have to be stored while the storage fails.
    pub fn check(&self) -> Result<(), Error> {
        match self.fault() {
            None => Ok(()),
            Some(fault) => Err(Error::unavailable(fault.message.clone())),
        }
    }

    /// Records that an attempt to store something failed. Returns whether that is new.
    pub fn failed(&self, message: impl Into<String>) -> bool {
        let message = message.into();
        let was_healthy = self.0.borrow().is_none();
        self.0.send_if_modified(|fault| {
            let is_news = fault.as_ref().is_none_or(|before| before.message != message);
            if is_news {
                *fault = Some(Arc::new(StorageFault { message }));
            }
            is_news
        });
        was_healthy
    }

    /// Records that an attempt to store something succeeded. Returns whether that is new.
    pub fn recovered(&self) -> bool {
        // The usual case only reads.
        self.0.borrow().is_some() && self.0.send_if_modified(|fault| fault.take().is_some())
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
}
