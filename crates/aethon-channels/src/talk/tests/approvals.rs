//! Prompts whose answerer, arguments or program change while they are open.

use aethon_core::approval::{Resolution, ResolutionReason};
use aethon_core::channel::ChannelRecords as _;

use super::*;

impl Stage {
    pub(super) fn question(&self) -> ApprovalRequest {
        let now = aethon_core::clock::Clock::now(&*self.clock);
        ApprovalRequest {
            id: "q1".into(),
            tool: "shell".into(),
            input: json!({"command": "ls"}),
            summary: "run: ls".into(),
            preview: None,
            reason: String::new(),
            session_scope: String::new(),
            session_id: SessionId::of("telegram", "7").unwrap(),
            turn: TurnId::existing("t"),
            created_at: now,
            expires_at: now,
        }
    }
}

/// Returns an intake at which this person's turn waits for an answer, and the data of the buttons.
async fn asked_by(stage: &Stage, arrival: Arrival) -> (Desk, ApprovalRequest, [String; 2]) {
    let (intake, request) = (stage.intake(), stage.question());
    intake.arrive(arrival).await.unwrap();
    let surface = stage.assistant.surface().unwrap();
    surface.emit(&request.turn, TurnEvent::Approval(request.clone()));
    tokio::time::sleep(Duration::from_secs(5)).await;
    let buttons = stage.paper.buttons.lock().unwrap().last().unwrap().clone();
    (intake, request, [buttons[0].data.clone(), buttons[1].data.clone()])
}

fn approved(request: &ApprovalRequest, edited: Option<serde_json::Value>) -> TurnEvent {
    let resolution = Resolution { decision: Decision::Approve, reason: ResolutionReason::User };
    TurnEvent::ApprovalDone { id: request.id.clone(), resolution, edited }
}

#[tokio::test(start_paused = true)]
async fn approval_by_a_removed_sender_is_refused() {
    let press = |data: &str, group: Option<&str>, chat: &str| {
        let sender = Sender { id: "1".into(), name: None, group: group.map(str::to_owned) };
        Press { data: data.into(), sender, chat: chat.into() }
    };
    // Removed from the list.
    let stage = Stage::new(known());
    let (intake, request, [approve, _]) = asked_by(&stage, stage.arrival("1", "hi")).await;
    let mut ticket = stage.approvals.open(request.clone());
    stage.rules.allowed.set(vec!["2".into()]);
    assert_eq!(intake.press(&press(&approve, None, "7")).await, "You cannot answer this.");
    let words = format!("approve {}", &approve[2..]);
    intake.arrive(stage.arrival("2", &words)).await.unwrap();
    assert_eq!((stage.approvals.pending().len(), stage.said().len()), (1, 0));
    stage.rules.allowed.set(vec!["1".into()]);
    assert_eq!(intake.press(&press(&approve, None, "7")).await, "Approved.");
    assert_eq!(ticket.answer().await.answer.decision, Decision::Approve);

    // The pairing was revoked.
    let stage = Stage::new(rules());
    stage.records.put("telegram", "paired:1", "", None).await.unwrap();
    let (intake, request, [approve, _]) = asked_by(&stage, stage.arrival("1", "hi")).await;
    let _ticket = stage.approvals.open(request);
    assert!(pairing::revoke(&*stage.records, "telegram", "1").await.unwrap());
    assert_eq!(intake.press(&press(&approve, None, "7")).await, "You cannot answer this.");
    assert_eq!(stage.approvals.pending().len(), 1);

    // A member of a listed group, who may write only there.
    let stage = Stage::new(Rules { allowed: Live::new(vec!["-7".into()]), ..rules() });
    let (intake, request, [approve, _]) = asked_by(&stage, in_group(&stage, "1", "hi")).await;
    let _ticket = stage.approvals.open(request);
    assert_eq!(intake.press(&press(&approve, None, "-7")).await, "You cannot answer this.");
    assert_eq!(intake.press(&press(&approve, Some("-7"), "-7")).await, "Approved.");
}

#[tokio::test(start_paused = true)]
async fn approval_edited_on_another_channel_is_shown_with_its_changes() {
    let stage = Stage::new(known());
    let (_door, request, _) = asked_by(&stage, stage.arrival("1", "hi")).await;
    let surface = stage.assistant.surface().unwrap();
    let edited = json!({"command": "id"});
    surface.emit(&request.turn, approved(&request, Some(edited)));
    tokio::time::sleep(Duration::from_secs(20)).await;
    let shown = stage.shown();
    let question = shown.iter().position(|text| text.contains("Approved with changes: ")).unwrap();
    assert!(stage.paper.buttons.lock().unwrap()[question].is_empty(), "without buttons");
    let below = shown[question + 1..].join("");
    assert!(
        below.starts_with("Approved with changes") && below.contains("shell runs with this"),
        "{shown:?}"
    );
    assert!(below.contains("\"id\"") && !below.contains("\"ls\""), "{shown:?}");
}

#[tokio::test(start_paused = true)]
async fn approval_left_by_a_crash_expires_and_loses_its_buttons() {
    let stage = Stage::new(known());
    let (_door, request, [approve, _]) = asked_by(&stage, stage.arrival("1", "hi")).await;
    // The same messenger restarted within the program: the prompt is still open.
    let messenger = stage.messenger();
    messenger.prompts().ask(("7", "1"), &ApprovalRequest { id: "q2".into(), ..request }).await;
    let count = stage.shown().len();
    messenger.prompts().void().await;
    let (shown, buttons) = (stage.shown(), stage.paper.buttons.lock().unwrap().clone());
    let void: Vec<usize> = (0..count).filter(|at| shown[*at].contains("Expired: Aethon restarted")).collect();
    let with_buttons: Vec<usize> = (0..count).filter(|at| !buttons[*at].is_empty()).collect();
    assert_eq!((void.len(), with_buttons), (1, vec![count - 1]), "{shown:?}");
    assert!(void[0] < count - 1, "the one that is open stays");
    let sender = Sender { id: "1".into(), name: None, group: None };
    let late = Press { data: approve, sender, chat: "7".into() };
    assert!(messenger.prompts().press(&late).contains("settled"));
    let edits = stage.paper.edits.load(Ordering::Relaxed);
    messenger.prompts().void().await;
    assert_eq!(stage.paper.edits.load(Ordering::Relaxed), edits, "once");
    // A settled prompt is no longer stored.
    let resolution = Resolution { decision: Decision::Deny, reason: ResolutionReason::User };
    messenger.prompts().settled("q2", resolution, None).await;
    assert!(stage.records.list("telegram", "question:", 9).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn in_a_group_the_words_of_an_answer_need_no_mention() {
    let stage = Stage::new(known());
    let group = |id: &str, text: &str| Arrival {
        is_private: false,
        is_addressed: false,
        chat: "-7".into(),
        ..stage.arrival(id, text)
    };
    let mention = Arrival { is_addressed: true, ..group("1", "hi") };
    let (intake, request, [approve, _]) = asked_by(&stage, mention).await;
    let mut ticket = stage.approvals.open(request);
    let code = approve[2..].to_lowercase();
    for (id, text) in [("2", "approve ABCDEFGH".to_owned()), ("3", format!("approve {code} please"))] {
        intake.arrive(group(id, &text)).await.unwrap();
    }
    let elsewhere = Arrival { chat: "-8".into(), ..group("4", &format!("approve {code}")) };
    intake.arrive(elsewhere).await.unwrap();
    assert!(stage.said().is_empty() && stage.approvals.pending().len() == 1, "{:?}", stage.said());
    intake.arrive(group("5", &format!("Approve {code}"))).await.unwrap();
    assert_eq!(stage.said(), ["Approved."]);
    assert_eq!(ticket.answer().await.answer.decision, Decision::Approve);
}

#[tokio::test(start_paused = true)]
async fn a_start_takes_up_what_a_crash_has_left() {
    let stage = Stage::new(known());
    let (intake, _, _) = asked_by(&stage, stage.arrival("1", "hi")).await;
    stage.clock.advance(SignedDuration::from_secs(5));
    intake.arrive(with_file(stage.arrival("2", "look"))).await.unwrap();
    drop(intake);
    let (trigger, shutdown) = aethon_core::shutdown::ShutdownTrigger::pair();
    let (messenger, assistant) = (stage.messenger(), stage.assistant.clone());
    let running = tokio::spawn(async move { messenger.run(assistant, shutdown).await });
    tokio::time::sleep(Duration::from_secs(30)).await;
    trigger.trigger();
    running.await.unwrap().unwrap();
    assert_eq!(stage.assistant.texts(), ["hi", "look"]);
    assert!(
        stage.shown().iter().any(|text| text.contains("Expired: Aethon restarted")),
        "{:?}",
        stage.shown()
    );
    assert!(stage.paper.buttons.lock().unwrap().iter().all(Vec::is_empty), "without buttons");
}
