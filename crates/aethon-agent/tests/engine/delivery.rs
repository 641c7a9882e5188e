//! Replies that go elsewhere.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aethon_agent::outbox::{DeliveryWake, Worker};
use aethon_core::channel::{
    Channel, Channels, Delivery, DeliveryError, DeliveryOutcome, DeliveryPage, DeliveryState, NewDelivery,
    Outbox, WaitingDeliveries,
};
use aethon_core::error::Result;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Destination, Inbound};
use aethon_core::shutdown::ShutdownTrigger;
use aethon_core::testkit::ManualClock;
use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;

use crate::harness::{House, now, quiet, session};

#[tokio::test]
async fn a_reply_is_stored_together_with_its_delivery() {
    let harness = House::new([]);
    let to = Destination { channel: "telegram".into(), recipient: Some("42".into()) };
    let inbound = Inbound::say(session("a"), "hi").delivered_to(to);
    harness.submit(inbound, quiet()).await.reply.wait().await.unwrap();
    let expires_at = now() + SignedDuration::from_hours(24);
    let expected = NewDelivery::new("telegram", "ok", expires_at).with_recipient(Some("42".into()));
    let expected = expected.as_reply(true);
    assert_eq!(harness.store.deliveries(), [expected]);
}

#[derive(Default)]
struct Rows {
    rows: Mutex<Vec<(Delivery, Timestamp)>>,
    settled: Mutex<Vec<String>>,
    change: Notify,
    /// How long reading takes.
    reads_for: Mutex<Duration>,
}

impl Rows {
    fn put(&self, id: i64, channel: &str, expires_at: Timestamp) {
        let content = NewDelivery::new(channel, format!("text {id}"), expires_at);
        let (session, turn) = (session("a"), TurnId::existing("t"));
        let delivery = Delivery::new(id, session, turn, content);
        self.rows.lock().unwrap().push((delivery, now()));
    }

    async fn settled(&self, count: usize) -> Vec<String> {
        loop {
            let change = self.change.notified();
            let settled = self.settled.lock().unwrap().clone();
            if settled.len() >= count {
                return settled;
            }
            change.await;
        }
    }
}

#[async_trait]
impl WaitingDeliveries for Rows {
    async fn make_due(&self, channel: &str) -> Result<usize> {
        let mut rows = self.rows.lock().unwrap();
        let waiting = rows.iter_mut().filter(|(row, _)| row.content.channel == channel);
        Ok(waiting.map(|(_, at)| *at = (*at).min(now())).count())
    }

    async fn has_waiting(&self, _channel: &str, _recipient: &str) -> Result<bool> {
        Ok(false)
    }
}

#[async_trait]
impl Outbox for Rows {
    async fn enqueue(&self, _session: &SessionId, _turn: &TurnId, _content: NewDelivery) -> Result<i64> {
        unreachable!("the worker only takes out")
    }

    async fn due(&self, now: Timestamp, limit: usize, but: &[String]) -> Result<Vec<Delivery>> {
        let takes = *self.reads_for.lock().unwrap();
        tokio::time::sleep(takes).await;
        let rows = self.rows.lock().unwrap();
        let due = rows
            .iter()
            .filter(|(row, at)| {
                *at <= now && (row.content.expires_at <= now || !but.contains(&row.content.channel))
            })
            .map(|(delivery, _)| delivery.clone());
        Ok(due.take(limit).collect())
    }

    async fn next_due(&self, but: &[String]) -> Result<Option<Timestamp>> {
        let rows = self.rows.lock().unwrap();
        Ok(rows.iter().filter(|(row, _)| !but.contains(&row.content.channel)).map(|(_, at)| *at).min())
    }

    async fn undelivered(&self, _state: DeliveryState, _limit: usize) -> Result<DeliveryPage> {
        Ok(DeliveryPage::default())
    }

    async fn retry_delivery(&self, _id: i64, _expires_at: Timestamp) -> Result<bool> {
        Ok(false)
    }

    async fn remove_delivery(&self, _id: i64) -> Result<bool> {
        Ok(false)
    }

    async fn settle(&self, id: i64, outcome: DeliveryOutcome) -> Result<()> {
        let mut rows = self.rows.lock().unwrap();
        let place = rows.iter().position(|(delivery, _)| delivery.id == id).unwrap();
        let word = match outcome {
            DeliveryOutcome::Delivered => {
                rows.remove(place);
                format!("{id} delivered")
            }
            DeliveryOutcome::Retry { at, .. } => {
                rows[place].1 = at;
                rows[place].0.attempts += 1;
                format!("{id} again in {} s", at.duration_since(now()).as_secs())
            }
            DeliveryOutcome::Held { at, .. } => {
                rows[place].1 = at;
                format!("{id} held for {} s", at.duration_since(now()).as_secs())
            }
            DeliveryOutcome::Failed { error } | DeliveryOutcome::Returned { error } => {
                rows.remove(place);
                format!("{id} failed: {error}")
            }
        };
        self.settled.lock().unwrap().push(word);
        self.change.notify_waiters();
        Ok(())
    }
}

struct Flaky {
    failures: Mutex<Vec<DeliveryError>>,
}

#[async_trait]
impl Channel for Flaky {
    fn name(&self) -> &str {
        "flaky"
    }

    async fn send(&self, _delivery: &Delivery) -> std::result::Result<(), DeliveryError> {
        self.failures.lock().unwrap().pop().map_or(Ok(()), Err)
    }
}

#[tokio::test(start_paused = true)]
async fn deliveries_are_tried_again_given_up_and_never_late() {
    let outbox = Arc::new(Rows::default());
    let clock = Arc::new(ManualClock::at(now()));
    let failures =
        vec![DeliveryError::passing("no"), DeliveryError::lasting("no"), DeliveryError::passing("no")];
    let flaky = Flaky { failures: Mutex::new(failures) };
    let channels = Channels::new([Arc::new(flaky) as _]).unwrap();
    let bell = DeliveryWake::default();
    let (trigger, shutdown) = ShutdownTrigger::pair();
    let worker = Worker::new(outbox.clone(), channels, clock.clone(), bell.clone());
    let running = tokio::spawn(worker.run(shutdown));

    let later = now() + SignedDuration::from_hours(1);
    outbox.put(1, "flaky", later);
    bell.ring();
    assert_eq!(outbox.settled(1).await, ["1 again in 5 s"]);

    clock.advance(SignedDuration::from_secs(5));
    assert_eq!(outbox.settled(2).await[1], "1 failed: no");

    outbox.put(2, "flaky", later);
    bell.ring();
    assert_eq!(outbox.settled(3).await[2], "2 again in 10 s");
    clock.advance(SignedDuration::from_hours(2));
    assert_eq!(outbox.settled(4).await[3], "2 failed: it was not delivered in time");

    let later = later + SignedDuration::from_hours(2);
    outbox.put(3, "flaky", later);
    outbox.put(4, "absent", later);
    bell.ring();
    let mut settled = outbox.settled(6).await.split_off(4);
    settled.sort();
    assert_eq!(settled, ["3 delivered", "4 failed: there is no channel \"absent\"; set up: flaky"]);

    trigger.trigger();
    tokio::time::timeout(Duration::from_secs(1), running).await.unwrap().unwrap();
}

/// A channel that takes so long for each delivery.
struct Slow(Duration);

#[async_trait]
impl Channel for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    async fn send(&self, _delivery: &Delivery) -> std::result::Result<(), DeliveryError> {
        tokio::time::sleep(self.0).await;
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn slow_outbox_does_not_delay_what_is_under_way() {
    let (outbox, clock) = (Arc::new(Rows::default()), Arc::new(ManualClock::at(now())));
    let channels = Channels::new([Arc::new(Slow(Duration::from_secs(1))) as _]).unwrap();
    let (bell, (trigger, shutdown)) = (DeliveryWake::default(), ShutdownTrigger::pair());
    outbox.put(1, "slow", now() + SignedDuration::from_hours(1));
    let running = tokio::spawn(Worker::new(outbox.clone(), channels, clock, bell.clone()).run(shutdown));
    // It has been taken. The next reading, which the bell asks for, takes an hour.
    tokio::time::sleep(Duration::from_millis(100)).await;
    *outbox.reads_for.lock().unwrap() = Duration::from_secs(3600);
    bell.ring();
    let settled = tokio::time::timeout(Duration::from_secs(5), outbox.settled(1)).await;
    assert_eq!(settled.unwrap(), ["1 delivered"]);
    trigger.trigger();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn slow_delivery_does_not_delay_the_others() {
    let (outbox, clock) = (Arc::new(Rows::default()), Arc::new(ManualClock::at(now())));
    let others: Arc<dyn Channel> = Arc::new(Flaky { failures: Mutex::default() });
    let channels = Channels::new([Arc::new(Slow(Duration::MAX)) as _, others]).unwrap();
    let (bell, (trigger, shutdown)) = (DeliveryWake::default(), ShutdownTrigger::pair());
    let worker = Worker::new(outbox.clone(), channels, clock, bell.clone());
    let running = tokio::spawn(worker.run(shutdown));
    let later = now() + SignedDuration::from_hours(1);
    outbox.put(1, "slow", later);
    for id in 2..5 {
        outbox.put(id, "flaky", later);
        bell.ring();
        let settled = tokio::time::timeout(Duration::from_secs(20), outbox.settled(id as usize - 1)).await;
        assert_eq!(settled.unwrap().last().unwrap(), &format!("{id} delivered"));
    }
    trigger.trigger();
    running.await.unwrap();
    assert_eq!(outbox.settled(4).await[3], "1 again in 5 s", "what is under way is waited for");
}
