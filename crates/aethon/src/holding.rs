//! What must run on one instance at a time: the channels, deliveries, jobs and long work.
//!
//! One role stands for all of it. Whoever holds it runs it, and stops when the role is lost; the others answer conversations and
//! wait. A storage that only one daemon can use gives the role at once and for ever.

use std::sync::Arc;

use aethon_core::owner::Owners;
use aethon_core::shutdown::{Shutdown, ShutdownTrigger};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// The role.
const ROLE: &str = "background";

/// How often it is renewed while a lease lasts.
const RENEWALS_PER_LEASE: u32 = 4;

/// Keeps the role, or waits for it, until it is given up.
pub(crate) struct Keeper {
    owners: Arc<dyn Owners>,
    held: watch::Receiver<bool>,
    /// `None` where the role needs no renewal.
    task: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Asks for the role, and goes on to do so.
    pub(crate) async fn start(owners: Arc<dyn Owners>) -> Self {
        if !owners.is_shared() {
            return Self { owners, held: Holding::always().0, task: None };
        }
        let (sender, held) = watch::channel(holds(&*owners).await.unwrap_or(false));
        let task = tokio::spawn(keep(owners.clone(), sender));
        Self { owners, held, task: Some(task) }
    }

    /// What runs while the role is held.
    pub(crate) fn holding(&self) -> Holding {
        Holding(self.held.clone())
    }

    /// Gives the role up, when nothing runs any more: then another instance need not wait for the end of the lease.
    pub(crate) async fn give_up(self) {
        let Some(task) = self.task else { return };
        task.abort();
        if let Err(error) = self.owners.let_go().await {
            tracing::debug!(%error, "other instances wait for the end of the lease");
        }
    }
}

/// Whether this instance holds the role now. Clones see the same.
#[derive(Clone)]
pub(crate) struct Holding(watch::Receiver<bool>);

impl Holding {
    /// Holds for ever: for what every instance runs.
    pub(crate) fn always() -> Self {
        Self(watch::channel(true).1)
    }

    /// Runs something whenever this instance holds the role, until shutdown. What it makes is told to end when the role is
    /// lost, and made anew when it is held again.
    pub(crate) async fn while_held<Running: Future<Output = ()>>(
        mut self,
        mut shutdown: Shutdown,
        mut make: impl FnMut(Shutdown) -> Running,
    ) {
        loop {
            tokio::select! {
                biased;
                () = shutdown.requested() => return,
                is_held = becomes(&mut self.0, true) => if !is_held { return },
            }
            let (trigger, end) = ShutdownTrigger::pair();
            let (running, mut is_told) = (make(end), false);
            let lost = async {
                let is_lost = tokio::select! {
                    () = shutdown.requested() => true,
                    is_lost = becomes(&mut self.0, false) => is_lost,
                };
                if !is_lost {
                    // Nobody can take it away any more.
                    shutdown.requested().await;
                }
                is_told = true;
                trigger.trigger();
                // It ends by itself from here.
                std::future::pending::<()>().await;
            };
            tokio::select! {
                biased;
                () = running => {}
                () = lost => {}
            }
            // What has ended by itself is not made anew.
            if !is_told || shutdown.is_requested() {
                return;
            }
        }
    }
}

/// Waits until the role is held, or is not. `false` if that never happens.
async fn becomes(held: &mut watch::Receiver<bool>, wanted: bool) -> bool {
    held.wait_for(|held| *held == wanted).await.is_ok()
}

/// Renews the role, or waits for it. Where the storage does not answer, the role is over before its lease is.
async fn keep(owners: Arc<dyn Owners>, held: watch::Sender<bool>) {
    let every = owners.lease() / RENEWALS_PER_LEASE;
    let mut renewed = Instant::now();
    loop {
        sleep(every).await;
        let asked = Instant::now();
        match timeout(every, holds(&*owners)).await {
            Ok(Some(is_held)) => {
                renewed = asked;
                if held.send_replace(is_held) != is_held {
                    let now = if is_held { "runs here now" } else { "runs on another instance now" };
                    tracing::info!("what has one holder {now}: channels, deliveries, jobs and work");
                }
            }
            _ if renewed.elapsed() + every >= owners.lease() && held.send_replace(false) => {
                tracing::warn!(
                    "the storage does not answer, so channels, deliveries, jobs and work pause here"
                );
            }
            _ => {}
        }
    }
}

/// Whether the role is held now; `None` if the storage does not say.
async fn holds(owners: &dyn Owners) -> Option<bool> {
    match owners.hold(&[ROLE.to_owned()]).await {
        Ok(held) => Some(!held.is_empty()),
        Err(error) => {
            tracing::debug!(%error, "the role could not be renewed");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_runs_ends_when_the_role_is_lost_and_begins_again_with_it() {
        let (held, watched) = watch::channel(false);
        let (stop, shutdown) = ShutdownTrigger::pair();
        let (running, begun) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (now, all) = (running.clone(), begun.clone());
        let task = tokio::spawn(Holding(watched).while_held(shutdown, move |mut end| {
            let (now, all) = (now.clone(), all.clone());
            async move {
                now.fetch_add(1, Ordering::SeqCst);
                all.fetch_add(1, Ordering::SeqCst);
                end.requested().await;
                now.fetch_sub(1, Ordering::SeqCst);
            }
        }));
        let check = async |expected: (usize, usize)| {
            sleep(Duration::from_millis(10)).await;
            assert_eq!((running.load(Ordering::SeqCst), begun.load(Ordering::SeqCst)), expected);
        };
        check((0, 0)).await;
        held.send_replace(true);
        check((1, 1)).await;
        held.send_replace(false);
        check((0, 1)).await;
        held.send_replace(true);
        check((1, 2)).await;
        stop.trigger();
        task.await.unwrap();
        check((0, 2)).await;
    }
}
