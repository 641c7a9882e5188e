//! The context that hooks add to a turn for the model.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aethon_agent::prompt::Prompt;
use aethon_agent::{Agent, Models};
use aethon_core::hook::{AddedContext, Hook, TurnContext};
use aethon_core::ids::{AgentName, TurnId};
use aethon_core::ledger::WorkKind;
use aethon_core::message::{Block, Failure, Inbound, Message, Role};
use aethon_core::model::{ModelError, ModelErrorKind, Usage};
use aethon_core::session::{TurnPhase, TurnRecord};
use aethon_core::surface::TurnEvent;
use aethon_core::testkit::{ScriptedModel, Step};
use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::harness::{House, Plan, TestTool, What, calls, now, quiet, says, session, with_id};

/// Remembers something else every time.
#[derive(Default)]
struct Recall(AtomicUsize);

#[async_trait]
impl Hook for Recall {
    fn name(&self) -> &'static str {
        "recall"
    }

    async fn before_turn(
        &self,
        _turn: &TurnContext,
        inbound: &Inbound,
    ) -> Result<Vec<AddedContext>, Failure> {
        let times = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        let text = format!("fact {times} about {}", inbound.text);
        Ok(if inbound.text == "nothing" { Vec::new() } else { vec![AddedContext::new("memory", text)] })
    }
}

fn contexts(messages: &[Arc<Message>]) -> Vec<String> {
    let blocks = messages.iter().flat_map(|message| &message.content);
    let shown = blocks.filter_map(|block| match block {
        Block::Context { source, text, boundary } => Some(format!("{source}: {text} {boundary}")),
        _ => None,
    });
    shown.collect()
}

#[tokio::test]
async fn recalled_context_follows_the_message_and_stays_the_same() {
    let tools = vec![TestTool::new("t", What::Say("x")) as _];
    let plan = Plan { tools, hooks: vec![Arc::new(Recall::default())], ..Plan::default() };
    let harness = House::with([calls(&["t"]), says("one"), says("two"), says("three")], plan);
    for text in ["cats", "dogs", "nothing"] {
        harness.ask(&session("a"), text).await;
    }
    let requests = harness.model.requests();
    let roles: Vec<_> = requests[0].messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::System]);
    let seen: Vec<_> = requests.iter().map(|request| contexts(&request.messages)).collect();
    assert_eq!(seen.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 2, 2]);
    assert!(seen[0][0].starts_with("memory: fact 1 about cats "), "{}", seen[0][0]);
    assert_eq!(seen[3][..1], seen[0][..], "byte for byte, the boundary too");
    assert_eq!(seen[3], seen[2]);
    let words: Vec<_> = harness.store.transcript(&session("a")).iter().map(Message::text).collect();
    assert_eq!(words, ["cats", "", "", "", "one", "dogs", "", "two", "nothing", "three"]);
}

#[tokio::test]
async fn resumed_turn_keeps_its_recalled_context() {
    let plan = Plan { hooks: vec![Arc::new(Recall::default())], ..Plan::default() };
    let harness = House::with([says("found it")], plan);
    let (session, turn) = (session("a"), TurnId::fresh());
    let own = |role, block| {
        let mut message = Message::new(role, vec![block], now());
        message.turn = Some(turn.clone());
        message
    };
    let record =
        TurnRecord::new(turn.clone(), with_id(&session, "question", "m1"), TurnPhase::Running, now())
            .with_attempts(1);
    let context = Block::context("memory", "what was known then");
    let messages = vec![own(Role::User, Block::text("question")), own(Role::System, context)];
    harness.store.leave_behind(record, messages);
    let surface = quiet();
    let shown = surface.clone();
    assert_eq!(harness.engine.recover(move |_| shown.clone()).await.unwrap(), 1);
    surface.saw(|event| matches!(event, TurnEvent::Done(_))).await;
    let requests = harness.model.requests();
    assert_eq!((requests[0].turn_start, requests[0].messages.len()), (0, 2));
    assert!(contexts(&requests[0].messages)[0].starts_with("memory: what was known then"));
}

/// Writes down how each model call went, and whose it was.
struct Notes(mpsc::UnboundedSender<String>);

#[async_trait]
impl Hook for Notes {
    fn name(&self) -> &'static str {
        "notes"
    }

    async fn after_model(&self, turn: &TurnContext, outcome: Result<&Message, &Failure>, _usage: &Usage) {
        let line = match outcome {
            Ok(message) => format!("{} {} said {}", turn.agent, turn.kind.as_str(), message.text()),
            Err(failure) => format!("{} {} failed: {}", turn.agent, turn.kind.as_str(), failure.code),
        };
        self.0.send(line).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn hooks_see_failures_and_the_agent() {
    let (sender, mut notes) = mpsc::unbounded_channel();
    let error = ModelError::new(ModelErrorKind::Overloaded, "too busy");
    let name = AgentName::parse("scout").unwrap();
    let model = ScriptedModel::new([vec![Step::Fail(error)], says("hi")]);
    let prompt = Arc::new(Prompt::fixed("You scout."));
    let scout = Agent::new(name.clone(), Models::one(Arc::new(model)), prompt);
    let plan = Plan { hooks: vec![Arc::new(Notes(sender))], agents: vec![scout], ..Plan::default() };
    let harness = House::with([], plan);
    let inbound = Inbound::say(session("a"), "go").for_agent(name).of_kind(WorkKind::Scheduled);
    harness.submit(inbound, quiet()).await.reply.wait().await.unwrap();
    assert_eq!(notes.recv().await.unwrap(), "scout scheduled failed: overloaded");
    assert_eq!(notes.recv().await.unwrap(), "scout scheduled said hi");
}
