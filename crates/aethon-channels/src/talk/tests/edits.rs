//! Edits: the new words replace a message that was not answered, and otherwise go along with the next one.

use aethon_core::message::Intent;

use super::*;

fn edit(stage: &Stage, of: &str, text: &str) -> Arrival {
    Arrival { replaces: Some(of.into()), ..stage.arrival(&format!("{of}!{text}"), text) }
}

const CORRECTED: &str = "(The person corrected an earlier message. It now reads like this.)";

#[tokio::test(start_paused = true)]
async fn edit_of_a_waiting_message_replaces_it() {
    let stage = Stage::new(known());
    let intake = stage.intake();
    intake.0.arrive(stage.arrival("1", "old")).await.unwrap();
    intake.0.arrive(edit(&stage, "1", "new")).await.unwrap();
    // After a crash too.
    let intake = stage.intake();
    intake.resume().await.unwrap();
    intake.process_all_waiting().await;
    assert_eq!(stage.assistant.texts(), ["new"]);
    // The platform delivers both again.
    intake.arrive(stage.arrival("1", "old")).await.unwrap();
    intake.arrive(edit(&stage, "1", "new")).await.unwrap();
    intake.arrive(stage.arrival("2", "next")).await.unwrap();
    assert_eq!(stage.assistant.texts(), ["new", "next"]);
}

#[tokio::test(start_paused = true)]
async fn edit_of_an_unanswered_message_takes_its_place() {
    // The moment of the edit in seconds, whether something was shown before, and whether it takes the place.
    for (seconds, is_shown, is_replaced) in
        [(1, false, true), (9, false, true), (9, true, false), (11, false, false), (1, true, false)]
    {
        let stage = Stage::new(known());
        let intake = stage.intake();
        let old = Arrival { files: vec![text_file()], ..stage.arrival("1", "old") };
        intake.arrive(old.clone()).await.unwrap();
        intake.process_all_waiting().await;
        let turn = stage.assistant.activity().remove(0).turn;
        stage.assistant.surface().unwrap().emit(&turn, TurnEvent::Started);
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        stage.clock.advance(SignedDuration::from_secs(i64::try_from(seconds).unwrap()));
        if is_shown {
            stage.assistant.surface().unwrap().emit(&turn, TurnEvent::Text("It".into()));
            tokio::time::sleep(Duration::from_secs(4)).await;
            assert_eq!(stage.shown(), ["It …"]);
        }
        let edited = Arrival { files: vec![text_file()], ..edit(&stage, "1", "new") };
        intake.arrive(edited).await.unwrap();
        intake.process_all_waiting().await;
        let inbound = stage.assistant.inbound();
        let row = format!("{seconds} {is_shown}");
        assert_eq!(inbound.len(), 1 + usize::from(is_replaced), "{row}");
        let last = inbound.last().unwrap();
        if is_replaced {
            let replaced = Intent::Edit { turn: turn.clone(), keeps_attachments: false };
            assert_eq!((last.text.as_str(), last.attachments.len()), ("new", 1), "{row}");
            assert_eq!(
                (&last.intent, last.dedupe.as_ref().unwrap().id.as_str()),
                (&replaced, "1 #1"),
                "{row}"
            );
            assert!(!stage.assistant.activity().iter().any(|active| active.turn == turn), "it was stopped");
            // Nothing of the old turn is delivered, even after a crash.
            stage.messenger().send(&delivery(&turn, "old answer", true)).await.unwrap();
            assert!(stage.shown().is_empty(), "{row}");
        }
        stage.clock.advance(SignedDuration::from_secs(5));
        intake.arrive(stage.arrival("2", "next")).await.unwrap();
        intake.arrive(stage.arrival("3", "and")).await.unwrap();
        let texts = stage.assistant.texts();
        let next = match is_replaced {
            true => "next".to_owned(),
            false => format!("{CORRECTED}\n> new\n> (with a.txt)\n\nnext"),
        };
        assert_eq!(texts[texts.len() - 2..], [next, "and".to_owned()], "{row}: told once");
    }
}

#[tokio::test(start_paused = true)]
async fn edit_that_changes_nothing_is_none() {
    let stage = Stage::new(known());
    let intake = stage.intake();
    intake.arrive(stage.arrival("1", "see https://a.b")).await.unwrap();
    // The preview of the link was loaded.
    intake.arrive(edit(&stage, "1", "see https://a.b")).await.unwrap();
    intake.arrive(stage.arrival("2", "next")).await.unwrap();
    assert_eq!(stage.assistant.texts(), ["see https://a.b", "next"]);
}

#[tokio::test(start_paused = true)]
async fn edit_before_its_message_counts_as_the_message() {
    let stage = Stage::new(known());
    let intake = stage.intake();
    intake.arrive(edit(&stage, "1", "new")).await.unwrap();
    intake.arrive(stage.arrival("1", "old")).await.unwrap();
    assert_eq!(stage.assistant.texts(), ["new"]);
    // One of an old message that was not addressed to us.
    let old = edit(&stage, "0", "new");
    stage.clock.advance(SignedDuration::from_mins(5));
    intake.arrive(old).await.unwrap();
    assert_eq!(stage.assistant.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn edit_by_another_person_changes_nothing() {
    let stage = Stage::new(Rules { allowed: Live::new(vec!["1".into(), "2".into()]), ..rules() });
    let intake = stage.intake();
    for sender in ["2", "3"] {
        let sender = Sender { id: sender.into(), name: None, group: None };
        intake.0.arrive(stage.arrival("1", "mine")).await.unwrap();
        let forged = Arrival { sender, ..edit(&stage, "1", "theirs") };
        intake.0.arrive(forged.clone()).await.unwrap();
        intake.process_all_waiting().await;
        intake.arrive(forged).await.unwrap();
    }
    intake.arrive(stage.arrival("2", "next")).await.unwrap();
    assert_eq!(stage.assistant.texts(), ["mine", "next"]);
}

#[tokio::test(start_paused = true)]
async fn edit_into_a_command_withdraws_the_message_and_runs_it() {
    let stage = Stage::new(known());
    let intake = stage.intake();
    intake.0.arrive(stage.arrival("1", "hlep")).await.unwrap();
    intake.0.arrive(edit(&stage, "1", "/help")).await.unwrap();
    intake.process_all_waiting().await;
    assert!(stage.assistant.count() == 0 && stage.said()[0].contains("`/new`"));
    // Its turn runs.
    intake.arrive(stage.arrival("2", "stpo")).await.unwrap();
    intake.arrive(edit(&stage, "2", "/stop")).await.unwrap();
    assert!(stage.assistant.activity().is_empty() && stage.said().len() == 1);
    // It was answered.
    intake.arrive(stage.arrival("3", "hi")).await.unwrap();
    stage.clock.advance(SignedDuration::from_mins(1));
    intake.arrive(edit(&stage, "3", "/new")).await.unwrap();
    assert!(stage.said().is_empty());
}

#[tokio::test(start_paused = true)]
async fn edit_of_one_picture_keeps_the_rest_of_the_album() {
    let stage = Stage::new(known());
    let intake = stage.intake();
    let part = |id: &str, text: &str| Arrival {
        act: Some("A".into()),
        files: vec![RemoteFile { handle: id.into(), ..text_file() }],
        ..stage.arrival(id, text)
    };
    for part in [part("1", "compare"), part("2", "")] {
        intake.0.arrive(part).await.unwrap();
    }
    intake.process_all_waiting().await;
    let edited = Arrival { replaces: Some("1".into()), ..part("1!", "describe") };
    // After a crash, the words of the last act are still known.
    let again = stage.intake();
    again.streams.gates.note(
        &stage.assistant.activity()[0].turn,
        tokio::time::Instant::now(),
        &Default::default(),
    );
    again.0.arrive(edited).await.unwrap();
    again.process_all_waiting().await;
    let last = stage.assistant.last().unwrap();
    assert_eq!((last.text.as_str(), last.attachments.len()), ("describe", 2));
    assert!(matches!(last.intent, Intent::Edit { .. }));
}

#[tokio::test(start_paused = true)]
async fn edit_keeps_what_the_message_answered() {
    let stage = Stage::new(known());
    let intake = stage.intake();
    let earlier = RemoteFile { is_earlier: true, ..text_file() };
    let old = Arrival {
        quoted: Some("the plan of Bob".into()),
        earlier: Some("Eve: no".into()),
        files: vec![earlier],
        ..stage.arrival("1", "old")
    };
    intake.0.arrive(old.clone()).await.unwrap();
    // Platforms do not repeat it with the edit.
    intake.0.arrive(edit(&stage, "1", "new")).await.unwrap();
    intake.process_all_waiting().await;
    let inbound = stage.assistant.inbound().remove(0);
    let quoted = inbound.attachments.iter().map(|file| file.data.clone()).collect::<Vec<_>>();
    assert!(inbound.text.contains("new") && !inbound.text.contains("old"), "{inbound:?}");
    assert_eq!(quoted.len(), 2, "{inbound:?}");
    // A link preview was loaded.
    intake.arrive(edit(&stage, "1", "new")).await.unwrap();
    intake.arrive(stage.arrival("2", "next")).await.unwrap();
    assert_eq!(stage.assistant.texts().last().unwrap(), "next");
    assert_eq!(stage.assistant.count(), 2);
}
