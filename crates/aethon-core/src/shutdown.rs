//! The request to shut down, passed as a value to everything that runs for long.

use tokio::sync::watch;

/// Tells all [`Shutdown`]s to shut down.
#[derive(Debug)]
pub struct ShutdownTrigger(watch::Sender<bool>);

/// Tells whether to shut down. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Shutdown(watch::Receiver<bool>);

impl ShutdownTrigger {
    /// Creates a trigger, and what listens to it.
    pub fn pair() -> (Self, Shutdown) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), Shutdown(receiver))
    }

    /// Requests the shutdown.
    pub fn trigger(&self) {
        self.0.send_replace(true);
    }
}

impl Shutdown {
    /// Returns whether a shutdown was requested.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until a shutdown is requested, or the trigger is gone.
    pub async fn requested(&mut self) {
        // An error means that no trigger is left, which counts as a shutdown too.
        let _ = self.0.wait_for(|requested| *requested).await;
    }
}
