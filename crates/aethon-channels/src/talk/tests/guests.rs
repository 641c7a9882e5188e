//! People who may write but are not owners.

use super::*;

#[tokio::test(start_paused = true)]
async fn approvals_are_neither_shown_to_nor_accepted_from_guests() {
    for marks_others in [true, false] {
        let stage = Stage::new(Rules { marks_others, ..guests() });
        let intake = stage.intake();
        let request = stage.question();
        let listed = Arrival {
            sender: Sender { id: "2".into(), name: None, group: None },
            chat: "2".into(),
            ..stage.arrival("a", "hi")
        };
        for arrival in [listed, in_group(&stage, "3", "hi")] {
            intake.arrive(arrival.clone()).await.unwrap();
            let surface = stage.assistant.surface().unwrap();
            assert!(!surface.is_attended(), "{arrival:?}");
            surface.emit(&request.turn, TurnEvent::Approval(request.clone()));
            tokio::time::sleep(Duration::from_secs(5)).await;
            assert!(stage.shown().is_empty(), "{:?}", stage.shown());
            assert_eq!(stage.assistant.last().unwrap().untrusted, marks_others);
        }
        intake.arrive(in_group(&stage, "1", "hi")).await.unwrap();
        let surface = stage.assistant.surface().unwrap();
        assert!(surface.is_attended(), "the owner is waited for");
        assert!(!stage.assistant.last().unwrap().untrusted);
    }
}

#[tokio::test(start_paused = true)]
async fn approvals_after_a_restart_go_to_owners_alone() {
    let stage = Stage::new(Rules { owners: Some(vec!["1".into(), "@ada".into()]), ..guests() });
    let (messenger, request) = (stage.messenger(), stage.question());
    let check = async |sender: &str, untrusted: bool, is_asked: bool| {
        let to = Destination { channel: "telegram".into(), recipient: Some("7".into()) };
        let inbound = Inbound::say(SessionId::of("telegram", "7").unwrap(), "hi")
            .via("telegram")
            .from_sender(sender)
            .with_untrusted(untrusted)
            .delivered_to(Some(to));
        let record = TurnRecord::new(request.turn.clone(), inbound, TurnPhase::Running, request.created_at);
        let surface = messenger.watcher(&record).unwrap();
        assert_eq!(surface.is_attended(), is_asked, "{sender} {untrusted}");
    };
    check("1", false, true).await;
    check("1", true, true).await;
    check("2", true, false).await;
    // An owner configured by name, which is not stored.
    check("9", false, true).await;
}

#[tokio::test(start_paused = true)]
async fn approval_shown_to_a_guest_before_owners_were_named_is_refused() {
    let stage = Stage::new(guests());
    let (messenger, request) = (stage.messenger(), stage.question());
    let _ticket = stage.approvals.open(request.clone());
    messenger.prompts().ask(("7", "2"), &request).await;
    let buttons = stage.paper.buttons.lock().unwrap().last().unwrap().clone();
    let sender = Sender { id: "2".into(), name: None, group: None };
    let press = Press { data: buttons[0].data.clone(), sender: sender.clone(), chat: "7".into() };
    assert_eq!(messenger.prompts().press(&press), "Only an owner can answer this.");
    let code = press.data.trim_start_matches("a:");
    let answered = messenger.prompts().answer(code, Decision::Approve, (&sender, "7"));
    assert_eq!(answered, "Only an owner can answer this.");
    assert_eq!(stage.approvals.pending().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn in_a_group_others_stop_what_is_theirs_and_begin_nothing() {
    let stage = Stage::new(guests());
    let intake = stage.intake();
    let stopped = async |sender: &str, text: &str| {
        intake.arrive(in_group(&stage, sender, text)).await.unwrap();
        stage.said().pop().unwrap()
    };
    intake.arrive(in_group(&stage, "1", "hi")).await.unwrap();
    stage.assistant.surface().unwrap().emit(&TurnId::existing("of-1"), TurnEvent::Started);
    assert_eq!(stopped("3", "/stop").await, "Nothing of yours is running.");
    assert!(stopped("3", "/new").await.starts_with("Only an owner"));
    intake.arrive(in_group(&stage, "3", "hi")).await.unwrap();
    stage.assistant.surface().unwrap().emit(&TurnId::existing("of-3"), TurnEvent::Started);
    assert_eq!(stopped("3", "!stop").await, "Stopped.");
    assert_eq!(stage.submitted().last().unwrap().session.as_str(), "telegram:-7", "the same conversation");
    assert_eq!(stopped("1", "/stop").await, "Stopped.");
    assert!(stopped("1", "/new").await.starts_with("A new conversation"));
    let private = Arrival {
        sender: Sender { id: "2".into(), name: None, group: None },
        chat: "2".into(),
        ..stage.arrival("p", "/new")
    };
    intake.arrive(private).await.unwrap();
    assert!(stage.said().pop().unwrap().starts_with("A new conversation"), "of their own chat");
}
