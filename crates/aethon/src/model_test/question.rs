//! One timed request to a model, and its answer.

use std::sync::Arc;
use std::time::Duration;

use aethon_agent::{CallError, Meter, ModelCall, Models, Work};
use aethon_core::clock::Clock;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::ledger::WorkKind;
use aethon_core::message::{Block, Message, Role, ToolCall};
use aethon_core::model::{
    ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, StopReason, Usage,
};
use aethon_core::tool::ToolSpec;
use tokio::time::{Instant, timeout};

use crate::error::{Error, Result};

/// The time limit for each step.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

/// The upper bound of tokens in the longest request, the one with the picture.
const MAX_QUESTION: u64 = 2_000;

/// How much of an answer is read; a model that ignores its token limit is stopped here.
const MAX_CHARS: u64 = 64 * 1024;

/// The answer of a model.
#[derive(Debug, Clone)]
pub(super) struct ModelAnswer {
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) stop: StopReason,
    pub(super) usage: Option<Usage>,
    /// The number of text pieces.
    pub(super) pieces: u64,
    /// The number of characters in the text and in visible thoughts.
    pub(super) seen_chars: u64,
    /// When the first of them arrived.
    pub(super) first_piece: Option<Duration>,
    pub(super) took: Duration,
}

/// Sends requests to one model and adds up their cost.
pub(super) struct Questions {
    models: Models,
    meter: Meter,
    clock: Arc<dyn Clock>,
    session: SessionId,
    pub(super) asked: u32,
    pub(super) uncounted: u32,
    pub(super) usage: Usage,
}

impl Questions {
    pub(super) fn new(provider: Arc<dyn ModelProvider>, meter: Meter, clock: Arc<dyn Clock>) -> Result<Self> {
        let session = SessionId::of("test", "model").map_err(|error| Error::failed(error.to_string()))?;
        let (models, usage) = (Models::one(provider), Usage::default());
        Ok(Self { models, meter, clock, session, asked: 0, uncounted: 0, usage })
    }

    /// Sends one request without retrying, so that intermittent failures show.
    pub(super) async fn ask(
        &mut self,
        content: Vec<Block>,
        tools: Vec<ToolSpec>,
    ) -> std::result::Result<ModelAnswer, CallError> {
        let question = Arc::new(Message::new(Role::User, content, self.clock.now()));
        let system = "You are being tested. Do exactly what you are asked to, and be brief.";
        let request = ModelRequest::new(self.session.clone(), TurnId::fresh(), system, vec![question])
            .with_tools(tools);
        let mut call = ModelCall::new(self.meter.clone(), Work::new(WorkKind::Test, MAX_QUESTION));
        let answer = timeout(TIMEOUT, read(&mut call, &self.models, request)).await.unwrap_or_else(|_| {
            call.give_up();
            Err(CallError::Model(ModelError::new(ModelErrorKind::Timeout, no_answer())))
        });
        let settled = call.settle().await;
        if matches!(answer, Err(CallError::Money(_))) && settled.model.is_none() {
            return answer;
        }
        self.asked += 1;
        self.uncounted += u32::from(!matches!(&answer, Ok(ModelAnswer { usage: Some(_), .. })));
        self.usage += settled.usage;
        self.usage += settled.failed;
        answer
    }
}

pub(super) fn no_answer() -> String {
    format!("there was no whole answer within {} s", TIMEOUT.as_secs())
}

async fn read(
    call: &mut ModelCall,
    models: &Models,
    request: ModelRequest,
) -> std::result::Result<ModelAnswer, CallError> {
    let start = Instant::now();
    call.start(models, request).await?;
    let mut answer = ModelAnswer {
        text: String::new(),
        calls: Vec::new(),
        stop: StopReason::Length,
        usage: None,
        pieces: 0,
        seen_chars: 0,
        first_piece: None,
        took: Duration::ZERO,
    };
    while answer.usage.is_none() && answer.seen_chars <= MAX_CHARS {
        match call.next().await? {
            ModelEvent::Text(piece) => {
                answer.see(&piece, start);
                answer.pieces += 1;
                answer.text.push_str(&piece);
            }
            ModelEvent::Reasoning(piece) => answer.see(&piece, start),
            ModelEvent::ToolCall(call) => answer.calls.push(call),
            ModelEvent::Finished { stop, usage, .. } => {
                answer.stop = stop;
                answer.usage = Some(usage);
            }
            ModelEvent::TextWasReasoning => answer.text.clear(),
            ModelEvent::ReasoningDone { .. }
            | ModelEvent::Image { .. }
            | ModelEvent::Search(_)
            | ModelEvent::Sources(_) => {}
        }
    }
    answer.took = start.elapsed();
    // An answer cut off by the remaining daily budget says nothing about the model.
    call.budget_cut_reason().await.map_or(Ok(answer), |failure| Err(CallError::Money(failure)))
}

impl ModelAnswer {
    fn see(&mut self, piece: &str, start: Instant) {
        self.seen_chars += piece.chars().count() as u64;
        self.first_piece.get_or_insert_with(|| start.elapsed());
    }
}
