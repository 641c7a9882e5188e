//! An engine with a scripted model, an in-memory storage and a clock that tests move.

use std::sync::Arc;

use aethon_agent::prompt::Prompt;
use aethon_agent::{
    Agent, Engine, Hooks, Meter, Models, OpenApprovals, Options, Roster, Services, SpecialistSource,
};
use aethon_core::agents::AgentBoard;
use aethon_core::approval::PendingApprovals;
use aethon_core::assistant::{Assistant as _, Submitted};
use aethon_core::event::EventBus;
use aethon_core::hook::Hook;
use aethon_core::ids::{AgentName, SessionId};
use aethon_core::ledger::Price;
use aethon_core::message::{Block, Inbound, Message, Reply, Role};
use aethon_core::model::{ModelRequest, StopReason};
use aethon_core::surface::Surface;
use aethon_core::testkit::{
    CollectingSurface, Gate, ManualClock, MemoryLedger, MemoryStore, ScriptedModel, Step,
};
use aethon_core::tool::{FixedTools, Tool};
use aethon_core::usage::Budget;
use jiff::Timestamp;

/// The engine and its services.
pub struct TestEngine {
    pub store: Arc<MemoryStore>,
    pub model: Arc<ScriptedModel>,
    pub ledger: Arc<MemoryLedger>,
    pub clock: Arc<ManualClock>,
    pub approvals: PendingApprovals,
    pub engine: Engine,
}

/// The parts of an engine that a test chooses.
#[derive(Default)]
pub struct Setup {
    pub tools: Vec<Arc<dyn Tool>>,
    pub hooks: Vec<Arc<dyn Hook>>,
    pub store: Option<Arc<MemoryStore>>,
    pub clock: Option<Arc<ManualClock>>,
    pub board: Option<AgentBoard>,
    pub price: Option<Price>,
    pub budget: Budget,
    /// The agents that the main one asks by tools.
    pub specialists: Vec<Agent>,
}

struct FixedRoster(Vec<Agent>);

impl SpecialistSource for FixedRoster {
    fn roster(&self) -> Roster {
        Roster { version: 1, agents: self.0.clone().into() }
    }
}

impl TestEngine {
    pub fn new(responses: impl IntoIterator<Item = Vec<Step>>, setup: Setup) -> Self {
        let model = Arc::new(ScriptedModel::new(responses));
        let store = setup.store.unwrap_or_else(|| Arc::new(MemoryStore::at(now())));
        let clock = setup.clock.unwrap_or_else(|| Arc::new(ManualClock::at(now())));
        let ledger = Arc::new(MemoryLedger::new(clock.clone()));
        let (approvals, price) = (PendingApprovals::default(), setup.price);
        let meter = Meter::new(
            ledger.clone(),
            Arc::new(move |_: &str, _: &str, _| price),
            setup.budget,
            clock.clone(),
            EventBus::default(),
        );
        let agent = Agent::main(Models::one(model.clone()), Arc::new(Prompt::fixed("You are Aethon.")))
            .with_tools(vec![Arc::new(FixedTools::new("test", setup.tools))]);
        let mut services = Services::new(store.clone(), store.clone(), store.clone(), meter, clock.clone());
        services.hooks = Hooks::new(setup.hooks);
        services.open_approvals = OpenApprovals::new(approvals.clone(), store.clone());
        services.board = setup.board.unwrap_or_default();
        // Summaries made in the background would take answers from the scripts.
        let options = Options::default().with(|options| options.compaction.ahead = false);
        let roster = Arc::new(FixedRoster(setup.specialists));
        let engine = Engine::with_specialists(agent, roster, services, options);
        Self { store, model, ledger, clock, approvals, engine }
    }

    pub async fn ask(&self, session: &SessionId, text: &str) -> Arc<Reply> {
        let inbound = Inbound::say(session.clone(), text);
        self.submit(inbound, quiet()).await.reply.wait().await.unwrap()
    }

    pub async fn submit(&self, inbound: Inbound, surface: Arc<dyn Surface>) -> Submitted {
        self.engine.submit(inbound, surface).await.unwrap()
    }

    /// Returns a transcript, a line for each message.
    pub fn transcript(&self, session: &SessionId) -> Vec<String> {
        self.store.transcript(session).iter().map(line).collect()
    }

    pub fn requests(&self) -> Vec<ModelRequest> {
        self.model.requests()
    }
}

fn line(message: &Message) -> String {
    let blocks = message.content.iter().map(|block| match block {
        Block::Text { text, .. } => text.clone(),
        Block::ToolCall(call) => format!("call {}", call.name),
        Block::ToolResult(result) => format!("result {}", result.output),
        other => format!("{other:?}"),
    });
    let who = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
        Role::System => "system",
    };
    format!("{who}: {}", blocks.collect::<Vec<_>>().join(" | "))
}

pub fn now() -> Timestamp {
    "2026-02-03T04:05:06Z".parse().unwrap()
}

pub fn session(name: &str) -> SessionId {
    SessionId::of("webchat", name).unwrap()
}

pub fn quiet() -> Arc<CollectingSurface> {
    Arc::new(CollectingSurface::default())
}

pub fn says(text: &str) -> Vec<Step> {
    vec![Step::say(text), Step::finish(StopReason::End)]
}

pub fn says_behind(gate: &Gate, text: &str) -> Vec<Step> {
    [Step::Wait(gate.clone())].into_iter().chain(says(text)).collect()
}

pub fn specialist(name: &str, model: Arc<ScriptedModel>, tools: Vec<Arc<dyn Tool>>) -> Agent {
    let prompt = Prompt::fixed(format!("You are the {name}."));
    Agent::new(AgentName::parse(name).unwrap(), Models::one(model), Arc::new(prompt))
        .with_role("Does it")
        .with_tools(vec![Arc::new(FixedTools::new("own", tools))])
}
