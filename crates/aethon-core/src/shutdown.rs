//! The wish to stop, passed as a value to everything that runs for long.

use tokio::sync::watch;

/// Tells all [`Shutdown`]s that the program is to stop.
#[derive(Debug)]
pub struct ShutdownTrigger(watch::Sender<bool>);

/// Knows whether the program is to stop. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Shutdown(watch::Receiver<bool>);

impl ShutdownTrigger {
    /// A trigger and what listens to it.
    pub fn pair() -> (Self, Shutdown) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), Shutdown(receiver))
    }

    /// Asks everything to stop.
    pub fn trigger(&self) {
        self.0.send_replace(true);
    }
}

impl Shutdown {
    /// Whether stopping was asked for.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until stopping is asked for, or the trigger is gone.
    pub async fn requested(&mut self) {
        // An error means that nobody can ask any more, which is the end as well.
        let _ = self.0.wait_for(|requested| *requested).await;
    }
}
