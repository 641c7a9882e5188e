//! The health of a channel: what it reports, when something last came in or went out, and whether deliveries may go out.
//!
//! Receiving and sending share it. When receiving breaks off, or a message could not be sent and it is not the message's
//! fault, nothing more is sent until the platform is known to answer: `gate` asks it who we are, and a channel that receives
//! again needs no asking. When the platform refuses us, only that question opens the way again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aethon_core::channel::{ChannelState, ChannelStatus};
use jiff::Timestamp;
use tokio::sync::Notify;

use super::knocks::Knocks;

/// The health of a channel. Cheap to clone; clones share the state.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChannelHealthState(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    health: Mutex<Health>,
    /// Notified when the way out opens or closes.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Health {
    status: ChannelStatus,
    life: Life,
    receiving: Receiving,
    /// Whether the platform knows us, but does not accept the credential that only receiving needs.
    is_refusal_of_receiver: bool,
    closed: Option<Closure>,
    /// Whether what waits for the channel is to be made due.
    has_recovered: bool,
    knocks: Knocks,
    /// What does not work although the channel runs.
    remark: Option<String>,
}

/// Whether the channel runs, and with it the task that watches the way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Life {
    #[default]
    New,
    Running,
    Ended,
}

/// The state of the receiving side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Receiving {
    /// It has not got through yet.
    #[default]
    Starting,
    /// The platform answers.
    Works,
    /// The platform could not be reached.
    Fails,
    /// The platform does not accept us.
    Refused,
}

/// Why nothing is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closure {
    /// The platform cannot be reached.
    Unreachable,
    /// The platform does not accept us.
    Refused,
}

/// While it lives, the channel runs.
pub(super) struct RunningChannel<'h>(&'h ChannelHealthState);

impl Drop for RunningChannel<'_> {
    fn drop(&mut self) {
        let mut health = self.0.lock();
        (health.life, health.closed) = (Life::Ended, None);
    }
}

impl ChannelHealthState {
    /// Returns the current status.
    pub(crate) fn now(&self) -> ChannelStatus {
        let health = self.lock();
        let mut status = health.status.clone();
        if status.state == ChannelState::Running && status.detail.is_empty() {
            status.detail = health.remark.clone().unwrap_or_default();
        }
        status
    }

    /// Records something that does not work although the channel runs. It is shown as long as nothing worse is.
    pub(super) fn remark(&self, remark: &str) {
        self.lock().remark = Some(remark.to_owned());
    }

    /// Returns who was not admitted lately.
    pub(super) fn knocks(&self) -> Knocks {
        self.lock().knocks.clone()
    }

    /// Records that a sender was not admitted. Returns whether that is worth a line of the log.
    pub(super) fn note_knock(&self, sender: &str, at: Timestamp) -> bool {
        self.lock().knocks.note(sender, at)
    }

    /// Records that a sender is admitted.
    pub(super) fn forget_knock(&self, sender: &str) {
        self.lock().knocks.forget(sender);
    }

    /// Records that the channel runs and is connecting. Nothing is sent before the platform answers.
    pub(super) fn connects(&self) -> RunningChannel<'_> {
        let mut health = self.lock();
        health.status.state = ChannelState::Connecting;
        health.status.detail.clear();
        (health.life, health.receiving) = (Life::Running, Receiving::Starting);
        health.is_refusal_of_receiver = false;
        health.closed = Some(Closure::Unreachable);
        drop(health);
        self.0.changed.notify_waiters();
        RunningChannel(self)
    }

    /// Records that it is signed in as this account and receiving.
    pub(crate) fn runs(&self, account: Option<&str>) {
        let mut health = self.lock();
        if let Some(account) = account {
            account.clone_into(&mut health.status.account);
        }
        health.is_refusal_of_receiver = false;
        if health.closed != Some(Closure::Refused) {
            health.status.state = ChannelState::Running;
            health.status.detail.clear();
        }
        self.answered(health);
    }

    /// Records that the platform answers, although something keeps us from receiving. Returns whether that is new.
    pub(super) fn limps(&self, detail: &str) -> bool {
        let is_news = self.fails(detail);
        self.answered(self.lock());
        is_news
    }

    /// Records a failure. Returns whether that is new.
    pub(crate) fn fails(&self, detail: &str) -> bool {
        self.lock().degrade(detail)
    }

    /// Records that the platform could not be reached for receiving. Returns whether that is new.
    pub(super) fn breaks_off(&self, detail: &str) -> bool {
        let mut health = self.lock();
        // Later rounds say nothing new about the way out, which may have been found open meanwhile.
        if health.receiving != Receiving::Fails && health.life == Life::Running {
            health.closed.get_or_insert(Closure::Unreachable);
        }
        health.receiving = Receiving::Fails;
        let is_news = health.degrade(detail);
        drop(health);
        self.0.changed.notify_waiters();
        is_news
    }

    /// Records that the platform did not accept us for receiving. Returns whether that is new. It closes the way out, unless the
    /// platform has said meanwhile that it knows us: sending may need another credential.
    pub(super) fn refuses_receiver(&self, detail: &str) -> bool {
        let mut health = self.lock();
        health.receiving = Receiving::Refused;
        if health.is_refusal_of_receiver {
            return health.degrade(detail);
        }
        drop(health);
        self.refuses(detail)
    }

    /// Returns whether only receiving is refused, so that nothing else says when to try it again.
    pub(super) fn is_refusal_of_receiver(&self) -> bool {
        self.lock().is_refusal_of_receiver
    }

    /// Records that the platform does not accept us. Returns whether that is new.
    pub(super) fn refuses(&self, detail: &str) -> bool {
        let mut health = self.lock();
        if health.life == Life::Running {
            health.closed = Some(Closure::Refused);
        }
        let is_news = health.degrade(detail);
        drop(health);
        self.0.changed.notify_waiters();
        is_news
    }

    /// Records that a message could not be sent, for reasons other than its content.
    pub(super) fn sending_failed(&self) {
        let mut health = self.lock();
        if health.life == Life::Running && health.closed.is_none() {
            health.closed = Some(Closure::Unreachable);
            drop(health);
            self.0.changed.notify_waiters();
        }
    }

    /// Records that the question who we are got no answer.
    pub(super) fn is_unreachable(&self, detail: &str) {
        let mut health = self.lock();
        health.closed = Some(Closure::Unreachable);
        health.degrade(detail);
    }

    /// Records that the platform knows us. `was_away` says whether that was in doubt for more than a moment.
    pub(super) fn is_known(&self, was_away: bool) {
        let mut health = self.lock();
        health.closed = None;
        health.has_recovered |= was_away;
        health.is_refusal_of_receiver |= health.receiving == Receiving::Refused;
        if health.receiving == Receiving::Works {
            health.status.state = ChannelState::Running;
            health.status.detail.clear();
        }
        drop(health);
        self.0.changed.notify_waiters();
    }

    pub(super) fn received(&self, at: Timestamp) {
        self.lock().status.last_inbound = Some(at);
    }

    /// Records that something was sent, so the platform can be reached.
    pub(super) fn sent(&self, at: Timestamp) {
        let mut health = self.lock();
        health.status.last_outbound = Some(at);
        if health.closed == Some(Closure::Unreachable) {
            (health.closed, health.has_recovered) = (None, true);
            drop(health);
            self.0.changed.notify_waiters();
        }
    }

    /// Returns whether the outbox may hand over deliveries. A channel that has ended takes them, and says why it cannot send.
    pub(super) fn takes_deliveries(&self) -> bool {
        let health = self.lock();
        health.life != Life::New && health.closed.is_none()
    }

    /// Returns whether something may be sent now, or why not. What may already have arrived is repeated only while the channel
    /// receives.
    pub(super) fn admits(&self, is_repeat: bool) -> Result<(), String> {
        let health = self.lock();
        match (health.life, health.closed) {
            (Life::New | Life::Ended, _) => Ok(()),
            (Life::Running, Some(_)) => Err(health.why_closed()),
            (Life::Running, None) if is_repeat && health.receiving != Receiving::Works => {
                Err("it may have arrived; it is repeated once the channel receives again".to_owned())
            }
            (Life::Running, None) => Ok(()),
        }
    }

    /// Returns whether a refusal of ourselves is looked into, so that what waits may go out later.
    pub(super) fn is_looked_after(&self) -> bool {
        self.lock().life == Life::Running
    }

    /// Returns why nothing is sent, if nothing is.
    pub(super) fn closure(&self) -> Option<Closure> {
        self.lock().closed
    }

    /// Waits until nothing is sent, and returns why.
    pub(super) async fn closed(&self) -> Closure {
        self.wait_for(|health| health.closed).await
    }

    /// Waits until things are otherwise than this.
    pub(super) async fn other_than(&self, closure: Closure) {
        self.wait_for(|health| (health.closed != Some(closure)).then_some(())).await;
    }

    /// Waits until the platform is not known to refuse us.
    pub(super) async fn not_refused(&self) {
        self.other_than(Closure::Refused).await;
    }

    /// Waits until the platform can be reached again after an outage, once for each.
    pub(super) async fn recovered(&self) {
        self.wait_for(|health| std::mem::take(&mut health.has_recovered).then_some(())).await;
    }

    async fn wait_for<T>(&self, look: impl Fn(&mut Health) -> Option<T>) -> T {
        loop {
            let changed = self.0.changed.notified();
            if let Some(found) = look(&mut self.lock()) {
                return found;
            }
            changed.await;
        }
    }

    /// Records that the platform has answered.
    fn answered(&self, mut health: MutexGuard<'_, Health>) {
        let is_back = health.receiving != Receiving::Works;
        health.receiving = Receiving::Works;
        if health.closed == Some(Closure::Unreachable) {
            health.closed = None;
        } else if !is_back {
            return;
        }
        health.has_recovered |= is_back;
        drop(health);
        self.0.changed.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Health> {
        // Every statement leaves the state consistent, so a poisoned lock is usable.
        self.0.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Health {
    /// Shows a failure. Returns whether that is new.
    fn degrade(&mut self, detail: &str) -> bool {
        let is_news = self.status.state != ChannelState::Degraded || self.status.detail != detail;
        self.status.state = ChannelState::Degraded;
        detail.clone_into(&mut self.status.detail);
        is_news
    }

    fn why_closed(&self) -> String {
        match (self.closed, self.status.detail.as_str()) {
            (_, "") => "it waits until the platform can be reached".to_owned(),
            (Some(Closure::Refused), detail) => format!("it waits until the platform accepts us: {detail}"),
            (_, detail) => format!("it waits until the platform can be reached: {detail}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_holds_what_is_sent_until_the_platform_answers() {
        let health = ChannelHealthState::default();
        assert!(!health.takes_deliveries(), "it has not started");
        assert!(health.admits(true).is_ok(), "nobody looks after it");
        let running = health.connects();
        assert!(!health.takes_deliveries() && health.admits(false).is_err());
        health.runs(Some("@bot"));
        assert!(health.takes_deliveries() && health.admits(true).is_ok());
        assert!(health.breaks_off("down") && !health.breaks_off("down"));
        assert!(!health.takes_deliveries());
        health.is_known(true);
        assert!(health.takes_deliveries() && health.admits(false).is_ok());
        assert!(health.admits(true).is_err(), "it does not receive");
        health.breaks_off("still down");
        assert!(health.takes_deliveries(), "a further round says nothing new");
        health.sending_failed();
        assert!(!health.takes_deliveries());
        health.runs(None);
        assert!(health.takes_deliveries() && health.admits(true).is_ok());
        drop(running);
        health.sending_failed();
        assert!(health.takes_deliveries(), "one that has ended says so itself");
    }

    #[test]
    fn a_refusal_is_over_only_when_the_platform_knows_us() {
        let health = ChannelHealthState::default();
        let _running = health.connects();
        health.runs(None);
        assert!(health.refuses("set channels.telegram.token"));
        health.runs(None);
        health.sent(Timestamp::UNIX_EPOCH);
        assert!(!health.takes_deliveries());
        assert_eq!(health.now().state, ChannelState::Degraded);
        assert!(health.admits(false).unwrap_err().contains("channels.telegram.token"));
        health.is_known(true);
        assert!(health.takes_deliveries());
        assert_eq!((health.now().state, health.now().detail.as_str()), (ChannelState::Running, ""));
    }

    #[test]
    fn a_refusal_of_receiving_alone_lets_messages_out() {
        let health = ChannelHealthState::default();
        let _running = health.connects();
        assert!(health.refuses_receiver("set channels.email.imap_password") && !health.takes_deliveries());
        health.is_known(true);
        assert!(health.takes_deliveries());
        assert!(!health.refuses_receiver("set channels.email.imap_password"), "it is not new");
        assert!(health.takes_deliveries() && health.admits(false).is_ok());
        assert_eq!(health.now().state, ChannelState::Degraded);
        health.refuses("set channels.email.smtp_password");
        assert!(!health.takes_deliveries(), "what is sent is refused as well");
        health.is_known(true);
        health.runs(None);
        assert!(health.takes_deliveries());
        assert_eq!(health.now().state, ChannelState::Running);
        health.refuses_receiver("set channels.email.imap_password");
        assert!(!health.takes_deliveries(), "the next one is looked into anew");
    }

    #[tokio::test(start_paused = true)]
    async fn each_recovery_is_reported_once() {
        use std::time::Duration;
        use tokio::time::timeout;
        let health = ChannelHealthState::default();
        let _running = health.connects();
        let is_told = async || timeout(Duration::from_secs(1), health.recovered()).await.is_ok();
        assert!(!is_told().await);
        health.runs(None);
        assert!(is_told().await && !is_told().await);
        health.runs(None);
        assert!(!is_told().await);
        health.breaks_off("down");
        health.limps("409");
        assert!(is_told().await && !is_told().await);
    }
}
