//! An engine with everything round it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aethon_agent::hooks::{ApprovalRule, OutputCap};
use aethon_agent::prompt::{Prompt, PromptOptions};
use aethon_agent::{
    Agent, Audit, Engine, Hooks, Learned, Meter, Models, OpenApprovals, Options, Prices, Services,
    SpecialistSource,
};
use aethon_core::agents::AgentBoard;
use aethon_core::approval::PendingApprovals;
use aethon_core::assistant::{Assistant, Submitted};
use aethon_core::document::DocumentReader;
use aethon_core::event::EventBus;
use aethon_core::hook::Hook;
use aethon_core::ids::SessionId;
use aethon_core::ledger::Price;
use aethon_core::message::{Block, Dedupe, Inbound, Message, Reply, Role};
use aethon_core::model::{ModelProvider, ModelRequest, ProviderSearch, StopReason};
use aethon_core::storage::StorageHealth;
use aethon_core::surface::{Surface, TurnEvent};
use aethon_core::testkit::{
    Aside, CollectingSurface, Gate, ManualClock, MemoryLedger, MemoryStore, ScriptedModel, Step,
};
use aethon_core::tool::{FixedTools, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_core::usage::Budget;
use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Barrier;

pub struct House {
    pub store: Arc<MemoryStore>,
    pub model: Arc<ScriptedModel>,
    pub ledger: Arc<MemoryLedger>,
    #[allow(dead_code, reason = "not every test moves the time")]
    pub clock: Arc<ManualClock>,
    pub approvals: PendingApprovals,
    pub bus: EventBus,
    pub health: StorageHealth,
    pub engine: Engine,
}

/// The parts that a harness is built with.
#[derive(Default)]
pub struct Plan {
    pub options: Options,
    pub tools: Vec<Arc<dyn Tool>>,
    pub hooks: Vec<Arc<dyn Hook>>,
    pub store: Option<Arc<MemoryStore>>,
    pub ledger: Option<Arc<MemoryLedger>>,
    pub price: Option<Price>,
    pub budget: Budget,
    /// Prices by model, instead of one price for all.
    pub prices: Option<Prices>,
    pub fallbacks: Vec<Arc<ScriptedModel>>,
    /// Models instead of the scripted one and its fallbacks.
    pub models: Option<Models>,
    pub model_name: Option<&'static str>,
    pub aside: Option<Aside>,
    pub workspace: Option<PathBuf>,
    pub context_window: Option<u64>,
    pub ask_for: Vec<String>,
    pub small: Option<Arc<ScriptedModel>>,
    pub learned: Learned,
    /// Agents beside the main one.
    pub agents: Vec<Agent>,
    /// Agents that the main one asks by tools.
    pub specialists: Option<Arc<dyn SpecialistSource>>,
    pub board: Option<AgentBoard>,
    pub clock: Option<Arc<ManualClock>>,
    pub web_search: ProviderSearch,
    pub documents: Option<Arc<dyn DocumentReader>>,
    /// Whether summaries are made in the background too. Off, because they would take their answers from the scripts.
    pub ahead: bool,
}

pub fn now() -> Timestamp {
    "2026-02-03T04:05:06Z".parse().unwrap()
}

impl House {
    pub fn new(responses: impl IntoIterator<Item = Vec<Step>>) -> Self {
        Self::with(responses, Plan::default())
    }

    pub fn with(responses: impl IntoIterator<Item = Vec<Step>>, plan: Plan) -> Self {
        let mut model = ScriptedModel::new(responses);
        if let Some(tokens) = plan.context_window {
            model = model.with_context_window(tokens);
        }
        if let Some(name) = plan.model_name {
            model = model.with_name(name);
        }
        model = model.with_web_search(plan.web_search);
        if let Some(aside) = plan.aside {
            model = model.with_aside(aside);
        }
        let model = Arc::new(model);
        let store = plan.store.unwrap_or_else(|| Arc::new(MemoryStore::at(now())));
        let clock = plan.clock.unwrap_or_else(|| Arc::new(ManualClock::at(now())));
        let health = StorageHealth::default();
        let (approvals, bus) = (PendingApprovals::default(), EventBus::default());
        let mut hooks = plan.hooks;
        let rule = ApprovalRule { enabled: !plan.ask_for.is_empty(), requires_approval: plan.ask_for };
        hooks.push(Arc::new(rule));
        hooks.push(Arc::new(OutputCap::default()));
        let ledger = plan.ledger.unwrap_or_else(|| Arc::new(MemoryLedger::new(clock.clone())));
        let workspace = plan.workspace.unwrap_or_else(|| "/nonexistent".into());
        let prompt = PromptOptions { name: "Aethon".into(), workspace, persona: None };
        let price = plan.price;
        let prices = plan.prices.unwrap_or_else(|| Arc::new(move |_, _, _| price));
        let meter = Meter::new(ledger.clone(), prices, plan.budget, clock.clone(), bus.clone());
        let fallbacks = plan.fallbacks.into_iter().map(|model| model as Arc<dyn ModelProvider>);
        let models = plan.models.unwrap_or_else(|| Models::with_fallbacks(model.clone(), fallbacks));
        let agent = Agent::main(models, Arc::new(Prompt::new(prompt)))
            .with_small(plan.small.clone().map(|small| Models::one(small)))
            .with_tools(vec![Arc::new(FixedTools::new("test", plan.tools))]);
        let mut services = Services::new(store.clone(), store.clone(), store.clone(), meter, clock.clone());
        services.learned = plan.learned;
        services.hooks = Hooks::new(hooks);
        services.open_approvals = OpenApprovals::new(approvals.clone(), store.clone());
        services.audit = Audit(store.clone());
        services.bus = bus.clone();
        services.health = health.clone();
        let options = plan.options.with(|options| options.compaction.ahead = plan.ahead);
        services.documents = plan.documents.unwrap_or(services.documents);
        services.board = plan.board.unwrap_or_default();
        let engine = match plan.specialists {
            Some(source) => Engine::with_specialists(agent, source, services, options),
            None => Engine::with_agents(agent, plan.agents, services, options),
        };
        Self { store, model, ledger, clock, approvals, bus, health, engine }
    }

    pub async fn submit(&self, inbound: Inbound, surface: Arc<dyn Surface>) -> Submitted {
        self.engine.submit(inbound, surface).await.unwrap()
    }

    pub async fn say(&self, session: &SessionId, text: &str) -> Submitted {
        self.submit(Inbound::say(session.clone(), text), quiet()).await
    }

    pub async fn ask(&self, session: &SessionId, text: &str) -> Arc<Reply> {
        self.say(session, text).await.reply.wait().await.unwrap()
    }

    /// Returns the requests of turns, without those for summaries.
    pub fn asked(&self) -> Vec<ModelRequest> {
        self.model.requests().into_iter().filter(|request| !is_for_summary(request)).collect()
    }

    /// Returns the content of a transcript, as words.
    pub fn transcript(&self, session: &SessionId) -> Vec<String> {
        self.store.transcript(session).iter().map(describe).collect()
    }

    /// Checks that every call has its result, in the transcript and in every request.
    pub fn assert_well_formed(&self, session: &SessionId) {
        let transcript = self.store.transcript(session);
        assert_pairs(&transcript.iter().collect::<Vec<_>>());
        for request in self.model.requests() {
            assert_pairs(&request.messages.iter().map(|message| &**message).collect::<Vec<_>>());
        }
    }
}

pub fn is_for_summary(request: &ModelRequest) -> bool {
    request.system.starts_with("You write summaries")
}

fn assert_pairs(messages: &[&Message]) {
    for (place, message) in messages.iter().enumerate() {
        let calls: Vec<_> = message.tool_calls().map(|call| call.id.clone()).collect();
        if !calls.is_empty() {
            let next = messages.get(place + 1).expect("a call is not the end");
            let results: Vec<_> = next.content.iter().filter_map(result_of).collect();
            assert_eq!(calls, results, "at {place}");
        }
        if message.role == Role::Tool {
            assert!(
                place > 0 && messages[place - 1].tool_calls().next().is_some(),
                "a result without its call"
            );
        }
    }
}

fn result_of(block: &Block) -> Option<String> {
    if let Block::ToolResult(result) = block { Some(result.call.clone()) } else { None }
}

pub fn describe(message: &Message) -> String {
    let blocks = message.content.iter().map(|block| match block {
        Block::Text { text, .. } => text.clone(),
        Block::ToolCall(call) => format!("call {}", call.name),
        Block::ToolResult(result) => format!("result {}", result.output),
        Block::Notice { code, .. } => format!("({code})"),
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

pub fn session(name: &str) -> SessionId {
    SessionId::of("webchat", name).unwrap()
}

pub fn quiet() -> Arc<CollectingSurface> {
    Arc::new(CollectingSurface::default())
}

pub fn with_id(session: &SessionId, text: &str, id: &str) -> Inbound {
    let dedupe = Dedupe { id: id.into(), fingerprint: None, valid_for: None };
    Inbound::say(session.clone(), text).with_dedupe(dedupe)
}

pub fn says(text: &str) -> Vec<Step> {
    vec![Step::say(text), Step::finish(StopReason::End)]
}

/// Returns the steps of a model that says this text once the gate is open.
pub fn says_behind(gate: &Gate, text: &str) -> Vec<Step> {
    [Step::Wait(gate.clone())].into_iter().chain(says(text)).collect()
}

/// Creates a harness in which `one` is being answered and `two` and `three` wait; the answer stands at the gate.
pub async fn three() -> (House, SessionId, Gate, [Submitted; 3]) {
    let gate = Gate::default();
    let harness = House::new([says_behind(&gate, "first"), says("second"), says("third")]);
    let session = session("a");
    let one = harness.say(&session, "one").await;
    gate.reached().await;
    let two = harness.say(&session, "two").await;
    let three = harness.say(&session, "three").await;
    (harness, session, gate, [one, two, three])
}

/// The transcript of the harness with [`three`] messages, when all are answered.
pub const THREE: [&str; 6] =
    ["user: one", "assistant: first", "user: two", "assistant: second", "user: three", "assistant: third"];

pub fn calls(names: &[&str]) -> Vec<Step> {
    let calls = names.iter().enumerate().map(|(n, name)| Step::call(&format!("c{n}"), name, json!({})));
    calls.chain([Step::finish(StopReason::ToolUse)]).collect()
}

/// Returns the events as words: deltas, tool states, the end.
pub fn shown(surface: &CollectingSurface) -> Vec<String> {
    surface.events().into_iter().filter_map(|(_, event)| word(event)).collect()
}

fn word(event: TurnEvent) -> Option<String> {
    Some(match event {
        TurnEvent::Started => "started".into(),
        TurnEvent::Text(text) => format!("text {text}"),
        TurnEvent::TextWithdrawn => "withdrawn".into(),
        TurnEvent::Reasoning(text) => format!("thought {text}"),
        TurnEvent::ReasoningDone { .. } => "thought".into(),
        TurnEvent::Tool(state) => format!("{} {}", state.name, state.phase.as_str()),
        TurnEvent::Approval(request) => format!("asked {}", request.tool),
        TurnEvent::ApprovalDone { resolution, .. } => {
            format!("settled {:?} {:?}", resolution.decision, resolution.reason)
        }
        TurnEvent::Done(reply) => format!("done {}", reply.end.as_str()),
        TurnEvent::Folded { messages, .. } => format!("folded {messages}"),
        TurnEvent::Notice { code, .. } => format!("notice {code}"),
        _ => return None,
    })
}

/// A tool whose behaviour the test chooses.
pub struct TestTool {
    spec: ToolSpec,
    what: What,
    pub runs: AtomicUsize,
}

pub enum What {
    Say(&'static str),
    /// Returns its arguments.
    Repeat,
    /// Says how often it was called.
    Count,
    Fail,
    Panic,
    Hang,
    /// Returns a picture besides.
    Draw,
    /// Takes a second.
    Sleep,
    /// Waits until so many calls are here.
    Meet(Arc<Barrier>),
}

impl TestTool {
    pub fn new(name: &str, what: What) -> Arc<Self> {
        Self::of(ToolSpec::new(name, "a tool", json!({"type": "object"})), what)
    }

    /// Creates a tool that only reads.
    pub fn reading(name: &str, what: What) -> Arc<Self> {
        Self::of(ToolSpec::new(name, "a tool", json!({"type": "object"})).reading_only(), what)
    }

    pub fn of(spec: ToolSpec, what: What) -> Arc<Self> {
        Arc::new(Self { spec, what, runs: AtomicUsize::new(0) })
    }

    pub fn ran(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Tool for TestTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, _context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let runs = self.runs.fetch_add(1, Ordering::SeqCst) + 1;
        match &self.what {
            What::Say(text) => Ok(ToolOutput::text(*text)),
            What::Repeat => Ok(ToolOutput::text(input.to_string())),
            What::Count => Ok(ToolOutput::text(runs.to_string())),
            What::Draw => Ok(ToolOutput::text("drawn").with_image("image/png", "iVBORw0KGgo=")),
            What::Fail => Err(ToolError::failed("it is broken")),
            What::Panic => panic!("a fault"),
            What::Hang => std::future::pending().await,
            What::Sleep => {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok(ToolOutput::text(runs.to_string()))
            }
            What::Meet(others) => {
                others.wait().await;
                Ok(ToolOutput::text("met"))
            }
        }
    }
}
