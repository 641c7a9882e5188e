//! An assistant that does what its messages tell it to, one turn of a session after the other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aethon_core::approval::{ApprovalRequest, Decision, PendingApprovals, Resolution, ResolutionReason};
use aethon_core::assistant::{ActiveTurn, Assistant, PendingReply, Posting, Submitted};
use aethon_core::clock::{Clock, SystemClock};
use aethon_core::error::{Error, Result};
use aethon_core::event::{Event, EventBus};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Failure, Inbound, Reply, TurnEnd};
use aethon_core::model::{ModelErrorKind, Usage};
use aethon_core::session::Clear;
use aethon_core::surface::{Surface, ToolPhase, ToolState, TurnEvent};
use async_trait::async_trait;
use serde_json::json;
use tokio::sync::{Notify, watch};

/// The assistant.
pub(crate) struct Script {
    pub(crate) bus: EventBus,
    pub(crate) desk: PendingApprovals,
    state: Mutex<ScriptState>,
    /// Lets `!gate` turns go on, one for each notification.
    pub(crate) gate: Arc<Notify>,
}

#[derive(Default)]
struct ScriptState {
    known: HashMap<String, (TurnId, PendingReply)>,
    lanes: HashMap<SessionId, Arc<tokio::sync::Mutex<()>>>,
    waiting: HashMap<SessionId, usize>,
    stops: HashMap<TurnId, watch::Sender<bool>>,
    pub(crate) inbound: Vec<Inbound>,
    posts: HashMap<String, String>,
}

impl Script {
    pub(crate) fn new(bus: EventBus, desk: PendingApprovals) -> Arc<Self> {
        Arc::new(Self { bus, desk, state: Mutex::default(), gate: Arc::new(Notify::new()) })
    }

    /// Returns the messages submitted so far.
    pub(crate) fn inbound(&self) -> Vec<Inbound> {
        self.state.lock().unwrap().inbound.clone()
    }

    /// Returns the text posted under this key.
    pub(crate) fn posted(&self, key: &str) -> Option<String> {
        self.state.lock().unwrap().posts.get(key).cloned()
    }
}

/// A turn on its way.
struct Turn {
    id: TurnId,
    inbound: Inbound,
    surface: Arc<dyn Surface>,
    desk: PendingApprovals,
    gate: Arc<Notify>,
    stop: watch::Receiver<bool>,
    said: String,
}

impl Turn {
    fn emit(&self, event: TurnEvent) {
        self.surface.emit(&self.id, event);
    }

    fn say(&mut self, text: &str) {
        self.said.push_str(text);
        self.emit(TurnEvent::Text(text.to_owned()));
    }

    fn tool(&self, phase: ToolPhase) {
        let is_start = phase == ToolPhase::Running;
        self.emit(TurnEvent::Tool(ToolState {
            call: "c1".into(),
            name: "file_read".into(),
            phase,
            input: is_start.then(|| json!({"path": "a.txt"})),
            output: (!is_start).then(|| "contents".into()),
            blocks: Vec::new(),
            milliseconds: (!is_start).then_some(3),
        }));
    }

    async fn ask(&mut self) {
        let now = SystemClock.now();
        let request = ApprovalRequest {
            id: format!("ask-{}", self.id),
            tool: "shell".into(),
            input: json!({"command": "ls"}),
            summary: "run ls".into(),
            preview: None,
            reason: String::new(),
            session_scope: String::new(),
            session_id: self.inbound.session.clone(),
            turn: self.id.clone(),
            created_at: now,
            expires_at: now,
        };
        self.emit(TurnEvent::Approval(request.clone()));
        let mut ticket = self.desk.open(request.clone());
        let decision =
            if self.surface.is_attended() { ticket.answer().await.answer.decision } else { Decision::Deny };
        let resolution = Resolution { decision, reason: ResolutionReason::User };
        self.emit(TurnEvent::ApprovalDone { id: request.id, resolution, edited: None });
        self.say(if decision == Decision::Approve { "approved" } else { "denied" });
    }

    async fn line(&mut self, line: &str) -> Option<Failure> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "!gate" => self.gate.notified().await,
            "!sleep" => tokio::time::sleep(Duration::from_millis(rest.parse().unwrap())).await,
            "!tool" => {
                self.tool(ToolPhase::Running);
                self.tool(ToolPhase::Ok);
                self.said.clear();
            }
            "!ask" => self.ask().await,
            "!think" => self.emit(TurnEvent::Reasoning(rest.into())),
            "!thought" => self.emit(TurnEvent::ReasoningDone { ms: rest.parse().unwrap() }),
            "!model" => self.emit(TurnEvent::Model { model: "other".into(), reason: "busy".into() }),
            "!notice" => {
                self.emit(TurnEvent::Notice { code: "budget_warning".into(), message: "much".into() })
            }
            "!fail" => {
                let message = "The key is wrong. Set model.api_key.".to_owned();
                return Some(Failure::new(ModelErrorKind::Auth, message));
            }
            "!many" => {
                for number in 0..rest.parse().unwrap() {
                    self.say(&format!("{number} "));
                    if number % 64 == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            }
            "!big" => self.say(&"x".repeat(rest.parse().unwrap())),
            "!silent" => {}
            _ => {
                for word in line.split_inclusive(' ') {
                    self.say(word);
                }
            }
        }
        None
    }

    async fn run(mut self) -> Reply {
        self.emit(TurnEvent::Started);
        let text = self.inbound.text.clone();
        let mut stop = self.stop.clone();
        let mut failure = None;
        let mut is_stopped = false;
        for line in text.lines() {
            tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => { is_stopped = true; break; }
                failed = self.line(line) => failure = failed,
            }
        }
        let usage =
            Usage { input_tokens: 5, output_tokens: 7, cached_tokens: 2, cost_usd: 0.25, ..Usage::default() };
        self.emit(TurnEvent::Usage(usage));
        if let Some(failure) = &failure {
            self.said.push_str(&failure.message);
        }
        let end = match (&failure, is_stopped) {
            (Some(_), _) => TurnEnd::Error,
            (None, true) => TurnEnd::Stopped,
            (None, false) => TurnEnd::End,
        };
        let reply = Reply {
            turn: self.id.clone(),
            session: self.inbound.session.clone(),
            text: self.said.clone(),
            end,
            model: "script".into(),
            usage,
            failure,
        };
        self.emit(TurnEvent::Done(reply.clone().into()));
        reply
    }
}

#[async_trait]
impl Assistant for Script {
    async fn submit(&self, inbound: Inbound, surface: Arc<dyn Surface>) -> Result<Submitted> {
        match inbound.text.as_str() {
            "!full" => return Err(Error::full("too many messages wait; try again in a moment")),
            "!panic" => panic!("as asked"),
            _ => {}
        }
        let id = TurnId::fresh();
        let (sender, reply) = PendingReply::pair();
        let (stop_sender, stop) = watch::channel(false);
        let (lane, queued) = {
            let mut state = self.state.lock().unwrap();
            if let Some(dedupe) = &inbound.dedupe {
                if let Some((turn, reply)) = state.known.get(&dedupe.id) {
                    return Ok(Submitted {
                        turn: turn.clone(),
                        queued: 0,
                        is_new: false,
                        reply: reply.clone(),
                    });
                }
                state.known.insert(dedupe.id.clone(), (id.clone(), reply.clone()));
            }
            state.inbound.push(inbound.clone());
            state.stops.insert(id.clone(), stop_sender);
            let waiting = state.waiting.entry(inbound.session.clone()).or_default();
            let queued = *waiting;
            *waiting += 1;
            (Arc::clone(state.lanes.entry(inbound.session.clone()).or_default()), queued)
        };
        let (bus, desk, gate) = (self.bus.clone(), self.desk.clone(), Arc::clone(&self.gate));
        let session = inbound.session.clone();
        bus.publish(|| Event::TurnStarted { session: session.clone(), turn: id.clone() });
        let turn = Turn { id: id.clone(), inbound, surface, desk, gate, stop, said: String::new() };
        tokio::spawn(async move {
            let lane = lane.lock_owned().await;
            let reply = turn.run().await;
            drop(lane);
            let (turn, end) = (reply.turn.clone(), reply.end);
            bus.publish(|| Event::TurnEnded { session, turn, end });
            sender.send_replace(Some(Arc::new(reply)));
        });
        // The turn may well be over before its message is acknowledged.
        tokio::task::yield_now().await;
        Ok(Submitted { turn: id, queued, is_new: true, reply })
    }

    async fn stop(&self, _session: &SessionId, turn: Option<&TurnId>) -> usize {
        let state = self.state.lock().unwrap();
        let mut stopped = 0;
        for (_, stop) in state.stops.iter().filter(|(id, _)| turn.is_none_or(|turn| turn == *id)) {
            stop.send_replace(true);
            stopped += 1;
        }
        stopped
    }

    fn activity(&self) -> Vec<ActiveTurn> {
        Vec::new()
    }

    fn is_busy(&self, _session: &SessionId) -> bool {
        false
    }

    async fn clear(&self, _session: &SessionId, _how: Clear) -> Result<bool> {
        Ok(true)
    }

    async fn post(&self, _session: &SessionId, key: &str, posting: &Posting) -> Result<bool> {
        Ok(self.state.lock().unwrap().posts.insert(key.into(), posting.text.clone()).is_none())
    }
}
