//! Measures the time that the engine adds to the provider's own time, and how it grows with the history:
//! `cargo run --release -p aethon-agent --example turn_cost`.
//!
//! A turn is one question and one answer of a model that takes no time, with the storage in memory, six tools and a price.
//! The time is measured from submitting a message to receiving its reply, and the memory is the growth of the
//! resident memory while turns run. `folding` is the same on a window that is always nearly full, summaries of the
//! model included.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for a person that measures")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_agent::prompt::{Prompt, PromptOptions};
use aethon_agent::{Agent, Engine, Meter, Models, Options, Prices, Services};
use aethon_core::assistant::ask;
use aethon_core::clock::{Clock, SystemClock};
use aethon_core::event::EventBus;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::ledger::Price;
use aethon_core::message::{Block, Inbound, Message, Role};
use aethon_core::model::{
    Capabilities, ModelError, ModelEvent, ModelProvider, ModelRequest, ModelStream, Readiness, StopReason,
    Usage,
};
use aethon_core::session::{TurnPhase, TurnRecord};
use aethon_core::surface::Unattended;
use aethon_core::testkit::{MemoryLedger, MemoryStore};
use aethon_core::tool::{FixedTools, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_core::usage::Budget;
use async_trait::async_trait;
use serde_json::{Value, json};

const QUESTION: &str =
    "What is the weather like in the mountains today, and should I take an umbrella with me?";
const ANSWER: &str = "It is **sunny**, with some clouds in the afternoon. You will not need an umbrella, but take a hat and \
                      enough water; the hut at the lake is closed until Thursday.";
const TURNS: usize = 400;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!("{:>10} {:>8} {:>10} {:>10} {:>12}", "history", "window", "p50", "p99", "KiB a turn");
    for history in [0, 100, 1_000, 2_000, 5_000] {
        row(history, 1_000_000).await;
    }
    // Small windows: something is folded again and again.
    for history in [100, 5_000] {
        row(history, 16_000).await;
    }
}

async fn row(history: usize, context_window: u64) {
    let (store, session) = (Arc::new(MemoryStore::default()), SessionId::parse("webchat:a").unwrap());
    fill(&store, &session, history);
    let engine = engine(&store, context_window);
    let mut times = Vec::with_capacity(TURNS);
    let mut before = 0;
    for turn in 0..TURNS {
        if turn == TURNS / 4 {
            // The first turns read the history and fill the caches.
            times.clear();
            before = resident();
        }
        let begun = Instant::now();
        ask(&engine, Inbound::say(session.clone(), QUESTION), Arc::new(Unattended)).await.unwrap();
        times.push(begun.elapsed());
    }
    let grown = resident().saturating_sub(before);
    times.sort();
    let at = |share: usize| micros(times[times.len() * share / 100]);
    println!("{history:>10} {context_window:>8} {:>10} {:>10} {:>12}", at(50), at(99), grown / times.len());
}

fn micros(time: Duration) -> String {
    format!("{} us", time.as_micros())
}

/// KiB that the process holds.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

/// Stores a history. It belongs to one turn, because the storage in memory looks through all turns that it has, and what
/// that takes is not the engine's.
fn fill(store: &MemoryStore, session: &SessionId, messages: usize) {
    let said = |role, text: &str| Message::new(role, vec![Block::text(text)], SystemClock.now());
    let both = || [said(Role::User, QUESTION), said(Role::Assistant, ANSWER)];
    let inbound = Inbound::say(session.clone(), QUESTION);
    let record =
        TurnRecord::new(TurnId::fresh(), inbound, TurnPhase::Done, SystemClock.now()).with_attempts(1);
    store.leave_behind(record, (0..messages / 2).flat_map(|_| both()).collect());
}

fn engine(store: &Arc<MemoryStore>, context_window: u64) -> Engine {
    let (clock, bus): (Arc<dyn Clock>, _) = (Arc::new(SystemClock), EventBus::default());
    let tools: Vec<Arc<dyn Tool>> = (0..6).map(|number| Arc::new(Nothing::new(number)) as _).collect();
    let prompt = PromptOptions { name: "Aethon".into(), workspace: std::env::temp_dir(), persona: None };
    let price = Price::new(1.0, 5.0);
    let ledger = Arc::new(MemoryLedger::new(clock.clone()));
    let prices: Prices = Arc::new(move |_, _, _| Some(price));
    let models = Models::one(Arc::new(Instantly::new(context_window)));
    let agent = Agent::main(models, Arc::new(Prompt::new(prompt)))
        .with_tools(vec![Arc::new(FixedTools::new("test", tools))]);
    let meter = Meter::new(ledger, prices, Budget::default(), clock.clone(), bus);
    let services = Services::new(store.clone(), store.clone(), store.clone(), meter, clock);
    Engine::new(agent, services, Options::default())
}

/// A model that answers at once.
struct Instantly(Arc<Capabilities>);

impl Instantly {
    fn new(context_window: u64) -> Self {
        Self(Arc::new(
            Capabilities::new("instant", "instant")
                .with_sizes(context_window, 1_000)
                .with_abilities(false, true),
        ))
    }
}

#[async_trait]
impl ModelProvider for Instantly {
    fn capabilities(&self) -> Arc<Capabilities> {
        self.0.clone()
    }

    fn readiness(&self) -> Readiness {
        Readiness::Ready
    }

    async fn stream(&self, _request: ModelRequest) -> Result<ModelStream, ModelError> {
        let usage = Usage { output_tokens: 40, ..Usage::default() };
        let end = ModelEvent::Finished { stop: StopReason::End, usage, model: None };
        let words = ANSWER.split_inclusive(' ').map(|word| Ok(ModelEvent::Text(word.to_owned())));
        Ok(Box::pin(futures_util::stream::iter(words.chain([Ok(end)]))))
    }

    async fn probe(&self) -> Result<String, ModelError> {
        Ok("instant".into())
    }
}

struct Nothing(ToolSpec);

impl Nothing {
    fn new(number: usize) -> Self {
        let properties =
            json!({"path": {"type": "string", "description": "The path of the file, in the workspace."}});
        let description = "Does nothing, and says so in as many words as a usual description has.";
        let parameters = json!({"type": "object", "properties": properties, "required": ["path"]});
        Self(ToolSpec::new(format!("tool_{number}"), description, parameters))
    }
}

#[async_trait]
impl Tool for Nothing {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn call(&self, _context: &ToolContext, _input: Value) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::default())
    }
}
