//! What stands round a program: its ledger, a model, tools, a messenger and those who watch. Each fails as the seed says,
//! and never once the world is calm.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::channel::{Channel, Delivery, DeliveryError};
use aethon_core::error::Result;
use aethon_core::ids::TurnId;
use aethon_core::ledger::{Claim, DaySpend, Ledger, LedgerEntry, Reserved, UsageRow};
use aethon_core::message::{Block, Message, Role, ToolCall};
use aethon_core::model::{
    Capabilities, ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, ModelStream,
    Readiness, StopReason, Usage,
};
use aethon_core::session::{TurnLookup, TurnPhase};
use aethon_core::surface::{Surface, TurnEvent};
use aethon_core::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use async_trait::async_trait;
use futures_util::{FutureExt, stream};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::history::Arrived;
use crate::mutants::Mutant;
use crate::world::{Life, World};

/// The books of all programs, as one of them sees them.
pub struct FaultyLedger {
    pub world: Arc<World>,
    pub life: Arc<Life>,
}

impl FaultyLedger {
    async fn around<T>(&self, what: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.world.step(&self.life, what).await;
        self.world.storage_fails(what != "today")?;
        let done = work.await;
        self.world.step(&self.life, what).await;
        done
    }
}

#[async_trait]
impl Ledger for FaultyLedger {
    async fn reserve(&self, provider: &str, model: &str, claim: Claim) -> Result<Option<Reserved>> {
        let reserve = async {
            let reserved = self.world.ledger.reserve(provider, model, claim).await?;
            if let Some(reserved) = &reserved {
                self.world.reserved(reserved.id, &self.life);
            }
            Ok(reserved)
        };
        self.around("reserve", reserve).await
    }

    async fn grow(&self, reservation: i64, claim: Claim) -> Result<Option<Reserved>> {
        self.around("grow", self.world.ledger.grow(reservation, claim)).await
    }

    async fn note(&self, reservation: i64, estimate_usd: f64) -> Result<()> {
        self.around("note", self.world.ledger.note(reservation, estimate_usd)).await
    }

    async fn settle(&self, reservation: Option<i64>, entry: LedgerEntry) -> Result<()> {
        let is_forgotten = self.world.mutant == Some(Mutant::ForgetsSettlement);
        let settle = async {
            let settled = reservation.filter(|_| !is_forgotten);
            self.world.ledger.settle(settled, entry).await?;
            settled.into_iter().for_each(|id| self.world.given_back(id));
            Ok(())
        };
        self.around("settle", settle).await
    }

    async fn today(&self) -> Result<DaySpend> {
        self.around("today", self.world.ledger.today()).await
    }

    async fn report(&self, days: u32) -> Result<Vec<UsageRow>> {
        self.around("report", self.world.ledger.report(days)).await
    }
}

/// A model that says something, calls tools, fails, breaks off, or falls silent.
pub struct FaultyModel {
    pub world: Arc<World>,
    pub life: Arc<Life>,
}

/// The next action.
enum Next {
    Send(ModelEvent),
    Pause(Duration),
    Fail(ModelError),
    Hang,
}

impl FaultyModel {
    fn error(&self) -> ModelError {
        use ModelErrorKind::{InvalidRequest, Network, Overloaded, RateLimit, Timeout};
        let kinds = [Overloaded, Network, RateLimit, Timeout, InvalidRequest];
        let kind = kinds[self.world.below(kinds.len())];
        let wait = (kind == RateLimit).then_some(Duration::from_secs(2));
        ModelError::new(kind, "the model fails, because the seed says so").with_retry_after(wait)
    }

    fn script(&self, request: &ModelRequest) -> VecDeque<Next> {
        let (world, mut script) = (&self.world, VecDeque::new());
        let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
        let stop = if !request.tools.is_empty() && world.happens(350) {
            for _ in 0..=world.below(2) {
                let name = ["look", "change"][world.below(2)];
                let call = ToolCall {
                    id: format!("c{}", world.count()),
                    name: name.into(),
                    input: json!({"number": world.count()}),
                    opaque: None,
                };
                script.push_back(Next::Send(ModelEvent::ToolCall(call)));
            }
            StopReason::ToolUse
        } else {
            for word in ["well, ", "this is ", "the answer"] {
                script.push_back(Next::Send(ModelEvent::Text(word.into())));
                if world.happens(100) {
                    script.push_back(Next::Pause(Duration::from_millis(300)));
                }
            }
            StopReason::End
        };
        script.push_back(Next::Send(ModelEvent::Finished { stop, usage, model: None }));
        if world.happens(world.odds.model / 2) {
            let place = world.below(script.len());
            script.truncate(place);
            script.push_back(if world.below(4) == 0 { Next::Hang } else { Next::Fail(self.error()) });
        }
        script
    }
}

#[async_trait]
impl ModelProvider for FaultyModel {
    fn capabilities(&self) -> Arc<Capabilities> {
        let capabilities = Capabilities::new("sim", "sim-1").with_sizes(100_000, 1_000);
        Arc::new(capabilities.with_abilities(true, true))
    }

    fn readiness(&self) -> Readiness {
        Readiness::Ready
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        self.world.step(&self.life, "ask").await;
        let seen: Vec<&Message> = request.messages.iter().map(|message| &**message).collect();
        if let Some(fault) = unpaired(&seen) {
            self.world.violated(format!("a model was sent {fault}"));
        }
        if self.world.happens(self.world.odds.model) {
            return Err(self.error());
        }
        let (script, world, life) = (self.script(&request), self.world.clone(), self.life.clone());
        let hear = move |mut script: VecDeque<Next>| {
            let (world, life) = (world.clone(), life.clone());
            async move {
                loop {
                    world.step(&life, "hear").await;
                    match script.pop_front()? {
                        Next::Send(event) => return Some((Ok(event), script)),
                        Next::Pause(pause) => sleep(pause).await,
                        Next::Fail(error) => return Some((Err(error), VecDeque::new())),
                        Next::Hang => pending().await,
                    }
                }
            }
        };
        Ok(Box::pin(stream::unfold(script, hear)))
    }

    async fn probe(&self) -> Result<String, ModelError> {
        Ok("sim".into())
    }
}

/// Describes the first call without exactly one result after it, if there is one.
pub fn unpaired(messages: &[&Message]) -> Option<String> {
    let results = |message: &&Message| -> Vec<String> {
        let result = |block: &Block| match block {
            Block::ToolResult(result) => Some(result.call.clone()),
            _ => None,
        };
        message.content.iter().filter_map(result).collect()
    };
    for (place, message) in messages.iter().enumerate() {
        let calls: Vec<String> = message.tool_calls().map(|call| call.id.clone()).collect();
        if !calls.is_empty() && messages.get(place + 1).map(results).as_ref() != Some(&calls) {
            return Some(format!("calls without results: {calls:?}"));
        }
        let follows_calls = place > 0 && messages[place - 1].tool_calls().next().is_some();
        if message.role == Role::Tool && !follows_calls {
            return Some("results without calls".into());
        }
    }
    None
}

/// A tool that takes its time, fails, or never comes back.
pub struct FaultyTool {
    spec: ToolSpec,
    world: Arc<World>,
    life: Arc<Life>,
}

impl FaultyTool {
    /// One that only reads, and one that changes something.
    pub fn both(world: &Arc<World>, life: &Arc<Life>) -> Vec<Arc<dyn Tool>> {
        let spec = |name: &str| ToolSpec::new(name, "a tool", json!({"type": "object"}));
        let specs = [spec("look").reading_only(), spec("change")];
        let tool = |spec| Self { spec, world: world.clone(), life: life.clone() };
        specs.into_iter().map(|spec| Arc::new(tool(spec)) as Arc<dyn Tool>).collect()
    }
}

#[async_trait]
impl Tool for FaultyTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, _context: &ToolContext, _input: Value) -> Result<ToolOutput, ToolError> {
        self.world.step(&self.life, &self.spec.name).await;
        if self.world.happens(self.world.odds.tool) {
            return Err(ToolError::failed("it fails, because the seed says so"));
        }
        if self.world.happens(self.world.odds.tool / 8) {
            pending::<()>().await;
        }
        self.world.step(&self.life, &self.spec.name).await;
        Ok(ToolOutput::text(format!("result {}", self.world.count())))
    }
}

/// A messenger.
pub struct FaultyChannel {
    pub world: Arc<World>,
    pub life: Arc<Life>,
}

#[async_trait]
impl Channel for FaultyChannel {
    fn name(&self) -> &str {
        "pigeon"
    }

    async fn send(&self, delivery: &Delivery) -> Result<(), DeliveryError> {
        self.world.step(&self.life, "send").await;
        if self.world.happens(self.world.odds.channel) {
            return Err(DeliveryError::passing("it fails, because the seed says so"));
        }
        let (id, turn) = (delivery.id, delivery.turn.clone());
        let arrived = Arrived { id, turn, recipient: delivery.content.recipient.clone() };
        self.world.history(|history| history.arrived.push(arrived));
        self.world.step(&self.life, "sent").await;
        Ok(())
    }
}

/// A watcher of a turn, which checks the invariants that must hold when its end is shown.
pub struct Watcher {
    pub world: Arc<World>,
    pub life: Arc<Life>,
    pub number: u64,
    /// When its message was handed in.
    pub since: u64,
}

impl Surface for Watcher {
    fn emit(&self, turn: &TurnId, event: TurnEvent) {
        let TurnEvent::Done(reply) = event else { return };
        if self.life.is_dead() {
            return;
        }
        self.world.note(|| format!("{} shows the end of {turn}", self.life.number));
        // The storage in memory never waits.
        let stored = self.world.store.turn(turn).now_or_never().and_then(Result::ok).flatten();
        let is_done = stored.as_ref().is_some_and(|record| record.phase == TurnPhase::Done);
        let (is_gone, times) = self.world.history(|history| {
            let shown = history.shown.entry(self.number).or_default();
            *shown += 1;
            let shown = *shown;
            (history.may_be_cleared_since(&reply.session, self.since), shown)
        });
        let was_removed = is_gone && stored.is_none();
        if !is_done && !was_removed {
            self.world.violated(format!("the end of {turn} was shown before it was stored"));
        }
        if times > 1 {
            self.world.violated(format!("the end of {turn} was shown {times} times"));
        }
    }

    fn is_attended(&self) -> bool {
        false
    }
}
