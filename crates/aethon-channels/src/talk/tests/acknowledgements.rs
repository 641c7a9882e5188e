//! Reactions on messages whose turns wait or run.

use aethon_core::channel::ChannelState;
use aethon_core::surface::Surface;

use super::*;

/// Reactions that were added or removed, and why none can be.
#[derive(Default)]
pub(super) struct Reacted {
    all: Mutex<Vec<String>>,
    fault: Mutex<Option<Fault>>,
    /// How often removing still fails.
    outages: Mutex<u32>,
}

#[async_trait]
impl Reactions for Paper {
    async fn acknowledge(&self, chat: &str, message: &str) -> Result<String, Fault> {
        self.reactions.all.lock().unwrap().push(format!("+{chat}/{message}"));
        self.reactions.fault.lock().unwrap().clone().map_or(Ok("r1".into()), Err)
    }

    async fn withdraw(&self, chat: &str, message: &str, reference: Option<&str>) -> Result<(), Fault> {
        self.reactions.all.lock().unwrap().push(format!("-{chat}/{message} {}", reference.unwrap_or("?")));
        let mut outages = self.reactions.outages.lock().unwrap();
        let is_out = *outages > 0;
        *outages = outages.saturating_sub(1);
        if is_out { Err(Fault::later("503")) } else { Ok(()) }
    }
}

fn acknowledging() -> Rules {
    Rules { acknowledges: true, ..known() }
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

fn done(stage: &Stage) {
    let surface = stage.assistant.surface().unwrap();
    let turn = stage.assistant.activity().last().unwrap().turn.clone();
    end(&*surface, &turn);
}

fn end(surface: &dyn Surface, turn: &TurnId) {
    let reply = Reply {
        turn: turn.clone(),
        session: SessionId::of("telegram", "7").unwrap(),
        text: "done".into(),
        end: TurnEnd::End,
        model: "m".into(),
        usage: aethon_core::model::Usage::default(),
        failure: None,
    };
    surface.emit(turn, TurnEvent::Done(reply.into()));
}

#[tokio::test(start_paused = true)]
async fn a_message_has_a_reaction_until_its_turn_has_ended() {
    let stage = Stage::new(acknowledging());
    let intake = stage.intake();
    let reactions = || stage.paper.reactions.all.lock().unwrap().clone();
    intake.arrive(stage.arrival("m1", "hi")).await.unwrap();
    intake.process_all_waiting().await;
    pass(1).await;
    assert_eq!(reactions(), ["+7/m1"]);
    intake.arrive(stage.arrival("help", "/help")).await.unwrap();
    pass(60).await;
    assert_eq!(reactions().len(), 1, "a command has none, and a turn may take long");
    done(&stage);
    pass(60).await;
    assert_eq!(reactions(), ["+7/m1", "-7/m1 r1"]);
    let quiet = Stage::new(known());
    quiet.intake().arrive(quiet.arrival("m1", "hi")).await.unwrap();
    pass(60).await;
    assert!(quiet.paper.reactions.all.lock().unwrap().is_empty(), "off by default");
}

#[tokio::test(start_paused = true)]
async fn reactions_that_a_crash_left_are_removed() {
    let stage = Stage::new(acknowledging());
    let intake = stage.intake();
    intake.arrive(stage.arrival("m1", "hi")).await.unwrap();
    intake.process_all_waiting().await;
    pass(1).await;
    // The program is killed, and the turn is not taken up again.
    drop(intake);
    let messenger = stage.messenger();
    let (trigger, shutdown) = aethon_core::shutdown::ShutdownTrigger::pair();
    let idle: Arc<CollectingAssistant> = Arc::default();
    let run = async {
        pass(60).await;
        trigger.trigger();
    };
    let (ended, ()) = tokio::join!(messenger.run(idle, shutdown), run);
    ended.unwrap();
    assert_eq!(*stage.paper.reactions.all.lock().unwrap(), ["+7/m1", "-7/m1 r1"]);
}

#[tokio::test(start_paused = true)]
async fn missing_permission_is_reported_once_and_fails_nothing() {
    let stage = Stage::new(acknowledging());
    let refusal = Fault::Refused("reactions.add: the app lacks the scope reactions:write".into());
    *stage.paper.reactions.fault.lock().unwrap() = Some(refusal);
    let intake = stage.intake();
    intake.health().runs(Some("@bot"));
    for id in ["m1", "m2"] {
        intake.arrive(stage.arrival(id, "hi")).await.unwrap();
        intake.process_all_waiting().await;
        pass(30).await;
    }
    assert_eq!(*stage.paper.reactions.all.lock().unwrap(), ["+7/m1"]);
    assert_eq!(stage.submitted().len(), 2);
    let status = intake.health().now();
    assert!(status.state == ChannelState::Running && status.detail.contains("reactions:write"), "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn reaction_is_removed_from_any_message_of_an_act() {
    let stage = Stage::new(Rules { groups: GroupMode::Mention, ..acknowledging() });
    let intake = stage.intake();
    let reactions = || stage.paper.reactions.all.lock().unwrap().clone();
    // The first message of the act is not the one that is addressed to us.
    let bare = Arrival { is_private: false, is_addressed: false, ..with_file(stage.arrival("m1", "")) };
    intake.0.arrive(bare).await.unwrap();
    intake.0.arrive(Arrival { is_private: false, ..stage.arrival("m2", "see this") }).await.unwrap();
    intake.process_all_waiting().await;
    pass(5).await;
    assert_eq!(reactions(), ["+7/m1"]);
    let turn = stage.assistant.activity().last().unwrap().turn.clone();
    intake.streams.silence(&turn);
    done(&stage);
    pass(5).await;
    assert_eq!(reactions(), ["+7/m1", "-7/m1 r1"]);
}

#[tokio::test(start_paused = true)]
async fn reaction_stays_while_a_turn_is_replaced() {
    let stage = Stage::new(acknowledging());
    let intake = stage.intake();
    let reactions = || stage.paper.reactions.all.lock().unwrap().clone();
    intake.arrive(stage.arrival("m1", "old")).await.unwrap();
    intake.process_all_waiting().await;
    let (turn, surface) = (stage.assistant.activity().remove(0).turn, stage.assistant.surface().unwrap());
    pass(1).await;
    let edited = Arrival { replaces: Some("m1".into()), ..stage.arrival("m1!", "new") };
    end(&*surface, &turn);
    intake.arrive(edited).await.unwrap();
    intake.process_all_waiting().await;
    assert_eq!(stage.assistant.texts(), ["old", "new"]);
    end(&*surface, &turn);
    pass(60).await;
    assert_eq!(reactions(), ["+7/m1"], "the new turn runs");
    done(&stage);
    pass(5).await;
    assert_eq!(reactions(), ["+7/m1", "-7/m1 r1"]);
}

#[tokio::test(start_paused = true)]
async fn a_reaction_that_an_outage_kept_is_removed_after_it() {
    let stage = Stage::new(acknowledging());
    let intake = stage.intake();
    intake.arrive(stage.arrival("m1", "hi")).await.unwrap();
    intake.process_all_waiting().await;
    pass(1).await;
    *stage.paper.reactions.outages.lock().unwrap() = 6;
    done(&stage);
    pass(60).await;
    let is_stored = async || !stage.records.list("telegram", "acknowledged:", 9).await.unwrap().is_empty();
    assert!(is_stored().await);
    let idle: Arc<CollectingAssistant> = Arc::default();
    let clear = intake.streams.acknowledgements.clear_left(&*idle);
    assert!(tokio::time::timeout(Duration::from_secs(60), clear).await.is_err());
    assert!(!is_stored().await);
}
