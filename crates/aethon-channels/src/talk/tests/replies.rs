//! The reference of a reply, the remarks at its head, and when it is shown.

use aethon_core::channel::ChannelRecords as _;

use super::*;

fn group(stage: &Stage, id: &str, text: &str) -> Arrival {
    Arrival { is_private: false, chat: "7".into(), ..stage.arrival(id, text) }
}

fn references(stage: &Stage) -> Vec<Option<String>> {
    stage.paper.references.lock().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn in_a_group_the_first_part_of_a_reply_refers_to_its_question() {
    let text = "The first part of it is here.\n\nAnd this is the second part.";
    for (is_private, is_restarted) in [(false, false), (false, true), (true, false)] {
        let stage = Stage::new(known());
        let intake = stage.intake();
        intake.arrive(Arrival { is_private, ..group(&stage, "7:5", "hi") }).await.unwrap();
        let turn = stage.assistant.activity().remove(0).turn;
        let messenger = stage.messenger();
        if !is_restarted {
            let record = stage.records.get("telegram", &format!("terms:{turn}")).await.unwrap();
            assert_eq!(record.is_some(), !is_private);
        }
        // As after a crash: a new messenger on the same storage.
        messenger.send(&delivery(&turn, text, true)).await.unwrap();
        let question = (!is_private).then(|| "7:5".to_owned());
        assert_eq!(references(&stage), [question, None], "{is_private} {is_restarted}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_growing_reply_refers_to_its_question_too() {
    let stage = Stage::new(known());
    let intake = stage.intake();
    intake.arrive(group(&stage, "7:5", "hi")).await.unwrap();
    let turn = stage.assistant.activity().remove(0).turn;
    stage.assistant.surface().unwrap().emit(&turn, TurnEvent::Text("growing".into()));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(
        (stage.shown(), references(&stage)),
        (vec!["growing …".to_owned()], vec![Some("7:5".to_owned())])
    );
}

#[tokio::test(start_paused = true)]
async fn reply_begins_with_rejected_files() {
    let stage = Stage::new(known());
    let intake = stage.intake();
    let file = RemoteFile { mime: "application/zip".into(), name: "a.zip".into(), ..text_file() };
    intake.arrive(Arrival { files: vec![file.clone()], ..stage.arrival("1", "hi") }).await.unwrap();
    assert!(stage.said().is_empty());
    let turn = stage.assistant.activity().remove(0).turn;
    stage.messenger().send(&delivery(&turn, "Hello.", true)).await.unwrap();
    let shown = stage.shown().join(" ");
    assert!(shown.starts_with("I cannot read a.zip") && shown.ends_with("\n\nHello."), "{shown}");
    // Without a word, there is no reply.
    stage.clock.advance(SignedDuration::from_secs(5));
    intake.arrive(Arrival { files: vec![file], ..stage.arrival("2", "") }).await.unwrap();
    assert!(stage.said()[0].starts_with("I cannot read `a.zip`"));
}

#[tokio::test(start_paused = true)]
async fn reply_stays_hidden_while_its_message_may_be_continued() {
    let stage = Stage::new(known());
    let intake = stage.intake();
    let began = tokio::time::Instant::now();
    intake.arrive(stage.arrival("1", "hi")).await.unwrap();
    let turn = stage.assistant.activity().remove(0).turn;
    let surface = stage.assistant.surface().unwrap();
    surface.emit(&turn, TurnEvent::Text("growing".into()));
    tokio::time::sleep(Duration::from_millis(1900)).await;
    assert!(stage.shown().is_empty());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(stage.shown(), ["growing …"]);
    // With another message behind it, nothing can be added to the first one.
    intake.arrive(stage.arrival("2", "hi")).await.unwrap();
    intake.arrive(stage.arrival("3", "you")).await.unwrap();
    let turns: Vec<TurnId> = stage.assistant.activity().into_iter().map(|turn| turn.turn).collect();
    let at = tokio::time::Instant::now();
    assert!(intake.streams.gates.wait(&turns[1]).await);
    assert!(at.elapsed() < Duration::from_millis(100), "{:?}", at.elapsed());
    assert!(intake.streams.gates.wait(&turns[2]).await);
    assert!(at.elapsed() > Duration::from_secs(2) && began.elapsed() < Duration::from_secs(10));
}
