//! Deliveries during outages and after refusals, and messages of people who lose their access.

use super::*;
use crate::talk::rounds::{ReceiveLoop, Stop, receive};

/// A running messenger, once its platform is known to answer.
async fn running(stage: &Stage) -> (Arc<Messenger>, aethon_core::shutdown::ShutdownTrigger) {
    let messenger = Arc::new(stage.messenger());
    let (trigger, shutdown) = aethon_core::shutdown::ShutdownTrigger::pair();
    let (running, assistant) = (messenger.clone(), stage.assistant.clone());
    assert!(!messenger.takes_deliveries(), "it has not started");
    tokio::spawn(async move { running.run(assistant, shutdown).await });
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(messenger.takes_deliveries());
    (messenger, trigger)
}

fn fail(stage: &Stage, faults: impl IntoIterator<Item = Fault>) {
    stage.paper.faults.lock().unwrap().extend(faults);
}

fn identities(stage: &Stage, faults: impl IntoIterator<Item = Fault>) {
    stage.paper.identities.lock().unwrap().extend(faults);
}

#[tokio::test(start_paused = true)]
async fn doubtful_message_waits_for_the_end_of_the_outage() {
    let stage = Stage::new(known());
    let (messenger, _trigger) = running(&stage).await;
    let recoveries = stage.courier.recoveries();
    assert_eq!(recoveries, 1, "what waited over a restart is due");
    let outage = || Fault::Doubtful("the connection broke".into());
    identities(&stage, [outage(), outage(), outage()]);
    fail(&stage, [outage()]);
    let delivery = delivery(&TurnId::fresh(), "hi", true);
    let error = messenger.send(&delivery).await.unwrap_err();
    assert!(error.retryable && !error.is_held, "{error:?}");
    assert!(!messenger.takes_deliveries());
    for _ in 0..5 {
        let error = messenger.send(&delivery).await.unwrap_err();
        assert!(error.is_held && error.message.contains("can be reached"), "{error:?}");
    }
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert!(!messenger.takes_deliveries() && messenger.status().unwrap().detail.contains("broke"));
    tokio::time::sleep(Duration::from_secs(12)).await;
    assert_eq!(stage.courier.recoveries(), recoveries + 1);
    messenger.send(&delivery).await.unwrap();
    assert_eq!(stage.shown(), ["hi"], "its one repeat was not spent on the outage");
}

#[tokio::test(start_paused = true)]
async fn refusal_of_ourselves_holds_deliveries_until_we_are_known() {
    let stage = Stage::new(known());
    let (messenger, _trigger) = running(&stage).await;
    let refused = || Fault::Identity("set channels.telegram.token".into());
    fail(&stage, [refused()]);
    identities(&stage, [refused()]);
    let delivery = delivery(&TurnId::fresh(), "hi", true);
    assert!(messenger.send(&delivery).await.unwrap_err().is_held);
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(!messenger.takes_deliveries(), "it was refused once more");
    let status = messenger.status().unwrap();
    assert!(status.state == aethon_core::channel::ChannelState::Degraded, "{status:?}");
    assert!(status.detail.contains("channels.telegram.token"), "{status:?}");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(messenger.takes_deliveries());
    messenger.send(&delivery).await.unwrap();
    assert_eq!(stage.shown(), ["hi"]);
    assert_eq!(messenger.status().unwrap().state, aethon_core::channel::ChannelState::Running);
}

#[tokio::test(start_paused = true)]
async fn unexplained_refusals_are_repeated_and_explained_ones_are_not() {
    let stage = Stage::new(known());
    let messenger = stage.messenger();
    let delivery = delivery(&TurnId::fresh(), "hi", true);
    fail(&stage, (0..8).map(|_| Fault::Unclear("403".into())));
    for attempt in 0..8 {
        let error = messenger.send(&delivery).await.unwrap_err();
        assert_eq!(error.retryable, attempt < 7, "{attempt}: {error:?}");
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    messenger.send(&delivery).await.unwrap();
    fail(&stage, [Fault::Refused("blocked".into())]);
    let other = super::delivery(&TurnId::fresh(), "ho", true);
    let other = Delivery::new(6, other.session, other.turn, other.content);
    assert!(!messenger.send(&other).await.unwrap_err().retryable);
    assert_eq!(stage.shown(), ["hi"]);
}

#[tokio::test(start_paused = true)]
async fn pause_of_the_platform_is_kept_over_a_restart() {
    let stage = Stage::new(known());
    let (messenger, trigger) = running(&stage).await;
    fail(&stage, [Fault::Later { message: "429".into(), after: Some(Duration::from_secs(60)) }]);
    let delivery = delivery(&TurnId::fresh(), "hi", true);
    assert_eq!(messenger.send(&delivery).await.unwrap_err().retry_after, Some(Duration::from_secs(60)));
    trigger.trigger();
    let (messenger, _trigger) = running(&stage).await;
    let again = messenger.send(&delivery).await.unwrap_err().retry_after.unwrap();
    assert!(again > Duration::from_secs(50) && again <= Duration::from_secs(60), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn rejected_senders_are_shown_to_the_owner() {
    let stage = Stage::new(Rules { channel: "whatsapp", ..rules() });
    let (messenger, _trigger) = running(&stage).await;
    let intake = messenger.intake_of(stage.assistant.clone());
    let from = |id: &str| Arrival {
        sender: Sender { id: id.into(), name: None, group: None },
        ..stage.arrival(id, "hi")
    };
    intake.arrive(from("5215512345678")).await.unwrap();
    let detail = messenger.status().unwrap().detail;
    assert!(detail.contains("add 5215512345678 to security.allowed_senders.whatsapp"), "{detail}");
    assert!(stage.submitted().is_empty() && stage.said().is_empty());
    // However the owner writes the number.
    stage.rules.allowed.set(vec!["+52 55 1234 5678".into()]);
    assert_eq!(messenger.status().unwrap().detail, "");
    intake.arrive(from("5215512345678")).await.unwrap();
    intake.process_all_waiting().await;
    let inbound = stage.submitted().remove(0);
    assert_eq!(inbound.deliver_to.unwrap().recipient.as_deref(), Some("7"));
}

/// A receiver whose credential is refused.
struct RefusedReceiver(Arc<AtomicU32>);

#[async_trait]
impl ReceiveLoop for RefusedReceiver {
    async fn round(&mut self, _intake: &Intake) -> std::result::Result<(), Stop> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Err(Stop::Refused("set channels.slack.app_token".into()))
    }
}

#[tokio::test(start_paused = true)]
async fn refusal_of_the_receiver_alone_holds_no_deliveries() {
    let stage = Stage::new(known());
    let (messenger, _trigger) = running(&stage).await;
    let (intake, rounds) = (messenger.intake_of(stage.assistant.clone()), Arc::new(AtomicU32::new(0)));
    let counted = rounds.clone();
    let (_end, shutdown) = aethon_core::shutdown::ShutdownTrigger::pair();
    tokio::spawn(async move { receive(&mut RefusedReceiver(counted), &intake, shutdown).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!messenger.takes_deliveries(), "it may be refused altogether");
    for _ in 0..400 {
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert!(messenger.takes_deliveries());
    }
    let status = messenger.status().unwrap();
    assert!(status.detail.contains("app_token") && !status.is_holding, "{status:?}");
    let rounds = rounds.load(Ordering::Relaxed);
    assert!((6..=9).contains(&rounds), "it is tried again ever more seldom: {rounds}");
}

#[tokio::test(start_paused = true)]
async fn turn_of_a_removed_person_ends_after_a_restart() {
    for (list, is_ended) in [(vec!["2"], true), (vec!["2", "@ada"], false), (vec!["-7"], false)] {
        let stage = Stage::new(known());
        let intake = stage.intake();
        intake.arrive(stage.arrival("m1", "hi")).await.unwrap();
        intake.process_all_waiting().await;
        let turn = stage.assistant.activity().remove(0).turn;
        stage.rules.allowed.set(list.iter().map(|&entry| entry.to_owned()).collect());
        // As after a restart.
        let (messenger, _trigger) = running(&stage).await;
        let inbound = stage.submitted().remove(0);
        let record = TurnRecord::new(turn.clone(), inbound, TurnPhase::Running, stage.question().created_at);
        let _surface = messenger.watcher(&record).unwrap();
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(stage.assistant.activity().is_empty(), is_ended, "{list:?}");
        let sent = messenger.send(&delivery(&turn, "the answer", true)).await;
        assert_eq!(sent.is_err(), is_ended, "{list:?}: {sent:?}");
    }
}
