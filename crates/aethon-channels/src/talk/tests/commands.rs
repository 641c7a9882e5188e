//! Commands while something runs or is still being received, and what stays stored about deliveries.

use aethon_core::assistant::Assistant as _;
use aethon_core::channel::ChannelRecords as _;

use super::*;

/// Returns a stage on which fetching a file takes a minute.
fn slow() -> Stage {
    let mut stage = Stage::new(known());
    stage.paper = Arc::new(Paper { fetching: Duration::from_secs(60), ..Paper::default() });
    stage
}

#[tokio::test]
async fn stop_reaches_the_previous_conversation() {
    let stage = Stage::new(known());
    let intake = stage.intake();
    let said = async |id: &str, text: &str| {
        intake.arrive(stage.arrival(id, text)).await.unwrap();
        stage.said()
    };
    said("1", "hi").await;
    said("2", "/new").await;
    let told = "Stopped what still ran in the conversation before this one.";
    assert_eq!(said("3", "/stop").await, [told]);
    assert_eq!(said("4", "/stop").await, ["Nothing is running."]);
    said("5", "hi").await;
    said("6", "/new").await;
    said("7", "hi").await;
    assert!(said("8", "/stop").await[0].starts_with("Stopped, with what still ran"));
    assert!(stage.assistant.stop(&SessionId::of("telegram", "7").unwrap(), None).await == 0);
}

#[tokio::test]
async fn a_command_in_a_channel_reaches_what_runs_in_its_threads() {
    let stage = Stage::new(Rules { allowed: Live::new(vec!["1".into(), "2".into()]), ..rules() });
    let intake = stage.intake();
    let say = async |id: &str, sender: &str, chat: &str, text: &str| {
        let sender = Sender { id: sender.into(), name: None, group: None };
        let arrival = Arrival { sender, chat: chat.into(), is_private: false, ..stage.arrival(id, text) };
        intake.arrive(arrival).await.unwrap();
        stage.said()
    };
    for (id, sender, chat) in
        [("1", "1", "C1:10"), ("2", "1", "C1:20"), ("3", "2", "C1:30"), ("4", "1", "C2:9")]
    {
        say(id, sender, chat, "hi").await;
    }
    assert_eq!(say("5", "1", "C1", "/stop").await, ["Stopped."]);
    let running = stage.assistant.activity();
    let left: Vec<&str> = running.iter().map(|turn| turn.session_id.as_str()).collect();
    assert_eq!(left, ["telegram:C1:30", "telegram:C2:9"], "somebody else's, and in another channel");
    assert_eq!(say("6", "1", "C1", "/stop").await, ["Nothing is running."]);
    assert!(say("7", "1", "C1", "/new").await[0].contains("Each thread is a conversation of its own"));
}

#[tokio::test(start_paused = true)]
async fn slow_download_delays_its_chat_alone_and_keeps_its_order() {
    let stage = slow();
    let intake = stage.intake();
    let began = tokio::time::Instant::now();
    let of = |chat: &str, id: &str, text: &str| Arrival { chat: chat.into(), ..stage.arrival(id, text) };
    let taking = async {
        intake.arrive(with_file(of("7", "1", "look"))).await.unwrap();
        intake.arrive(with_file(of("7", "1", "look"))).await.unwrap();
        let later = stage.arrival("2", "").at + SignedDuration::from_secs(5);
        intake.arrive(Arrival { at: later, ..of("7", "2", "and this") }).await.unwrap();
        intake.arrive(of("8", "3", "hi")).await.unwrap();
        intake.arrive(of("8", "4", "/stop")).await.unwrap();
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
        assert_eq!(stage.said(), ["Stopped."]);
        assert_eq!(stage.assistant.texts(), ["hi"]);
        tokio::time::sleep(Duration::from_secs(61)).await;
    };
    tokio::select! {
        () = intake.process_waiting() => {}
        () = taking => {}
    }
    assert_eq!(stage.assistant.texts(), ["hi", "look", "and this"]);
    assert!(stage.records.list("telegram", "arrived:", 9).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn message_with_a_file_survives_a_crash_in_its_conversation() {
    let stage = slow();
    let intake = stage.intake();
    intake.arrive(with_file(stage.arrival("1", "look"))).await.unwrap();
    intake.arrive(stage.arrival("2", "/new")).await.unwrap();
    drop(intake);
    let intake = stage.intake();
    intake.resume().await.unwrap();
    intake.arrive(stage.arrival("3", "behind it")).await.unwrap();
    stage.assistant.refuse(2);
    intake.process_all_waiting().await;
    let sessions: Vec<(String, String)> = stage
        .assistant
        .inbound()
        .into_iter()
        .map(|inbound| (inbound.text, inbound.session.as_str().to_owned()))
        .collect();
    let expected = [("look", "telegram:7"), ("behind it", "telegram:7~2")];
    assert_eq!(sessions, expected.map(|(text, session)| (text.to_owned(), session.to_owned())));
    assert_eq!(stage.assistant.first().unwrap().attachments.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stop_reaches_a_message_whose_file_is_still_being_fetched() {
    let stage = slow();
    let intake = stage.intake();
    let taking = async {
        intake.arrive(with_file(stage.arrival("1", "look"))).await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        intake.arrive(stage.arrival("2", "/stop")).await.unwrap();
        tokio::time::sleep(Duration::from_secs(100)).await;
    };
    tokio::select! {
        () = intake.process_waiting() => {}
        () = taking => {}
    }
    assert_eq!((stage.said(), stage.assistant.count()), (vec!["Stopped.".to_owned()], 0));
}

#[tokio::test(start_paused = true)]
async fn arrival_records_contain_no_text() {
    let stage = Stage::new(known());
    let (turn, text) = (TurnId::fresh(), "The first part of it is here.\n\nAnd this is the second part.");
    let delivery = delivery(&turn, text, true);
    stage.messenger().send(&delivery).await.unwrap();
    for (name, value) in stage.records.list("telegram", "", 99).await.unwrap() {
        assert!(!value.contains("part of it"), "{name}: {value}");
    }
    stage.messenger().send(&delivery).await.unwrap();
    assert_eq!(stage.shown().len(), 2, "it is still known that all of it has arrived");
    // The platform reports afterwards that the second part did not arrive.
    let outlet = RateLimitedSender::new((stage.paper.clone(), None), stage.rules.clone(), stage.services());
    super::super::sending::returned(&outlet, &format!("{turn}-5-1"), "too late").await.unwrap();
    stage.messenger().send(&delivery).await.unwrap();
    assert_eq!(stage.shown()[2..], ["And this is the second part."]);
}
