//! Whether the storage takes what it is given, for everybody who has to know: doors refuse new messages while it does not,
//! pages say so, `/api/ready` answers 503.
//!
//! The backend writes it, because only the backend sees every attempt. The rest of the program reads it and decides nothing
//! by itself.

use std::sync::Arc;

use tokio::sync::watch;

use crate::error::Error;

/// The health of a storage. Cheap to clone; clones are the same health.
#[derive(Debug, Clone)]
pub struct StorageHealth(Arc<watch::Sender<Option<Arc<StorageFault>>>>);

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageFault {
    /// A sentence in lower case that names the thing and the remedy.
    pub message: String,
}

impl Default for StorageHealth {
    /// Healthy until somebody tells otherwise.
    fn default() -> Self {
        Self(Arc::new(watch::channel(None).0))
    }
}

impl StorageHealth {
    /// What is wrong now; `None` while everything is stored.
    pub fn fault(&self) -> Option<Arc<StorageFault>> {
        self.0.borrow().clone()
    }

    /// The refusal of whatever would have to be stored now.
    pub fn check(&self) -> Result<(), Error> {
        match self.fault() {
            None => Ok(()),
            Some(fault) => Err(Error::unavailable(fault.message.clone())),
        }
    }

    /// An attempt to store something failed. Returns whether that is new.
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

    /// An attempt to store something succeeded. Returns whether that is new.
    pub fn recovered(&self) -> bool {
        // The usual case only looks.
        self.0.borrow().is_some() && self.0.send_if_modified(|fault| fault.take().is_some())
    }

    /// Tells every change from now on.
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
