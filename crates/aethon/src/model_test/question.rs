//! One question to a model, and what came back, with the times.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::clock::Clock;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Block, Message, Role, ToolCall};
use aethon_core::model::{
    ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, StopReason, Usage,
};
use aethon_core::tool::ToolSpec;
use futures_util::StreamExt;
use tokio::time::{Instant, timeout};

use crate::error::{Error, Result};

/// More than this of an answer is not read; a model that ignores its limit is stopped.
const MOST_CHARS: u64 = 64 * 1024;

/// What a model answered.
#[derive(Debug, Clone)]
pub(super) struct ModelAnswer {
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) stop: StopReason,
    pub(super) usage: Option<Usage>,
    /// The pieces of text.
    pub(super) pieces: u64,
    /// The characters of text and of thoughts that were shown.
    pub(super) seen_chars: u64,
    /// When the first of them came.
    pub(super) first_piece: Option<Duration>,
    pub(super) took: Duration,
}

/// Asks one model, and counts what that takes.
pub(super) struct Questions {
    provider: Arc<dyn ModelProvider>,
    clock: Arc<dyn Clock>,
    session: SessionId,
    patience: Duration,
    pub(super) asked: u32,
    pub(super) uncounted: u32,
    pub(super) usage: Usage,
}

impl Questions {
    pub(super) fn new(
        provider: Arc<dyn ModelProvider>,
        clock: Arc<dyn Clock>,
        patience: Duration,
    ) -> Result<Self> {
        let session = SessionId::of("test", "model").map_err(|error| Error::failed(error.to_string()))?;
        Ok(Self { provider, clock, session, patience, asked: 0, uncounted: 0, usage: Usage::default() })
    }

    /// Asks once; nothing is repeated, so that what fails now and then is seen.
    pub(super) async fn ask(
        &mut self,
        content: Vec<Block>,
        tools: Vec<ToolSpec>,
    ) -> std::result::Result<ModelAnswer, ModelError> {
        let question = Arc::new(Message::new(Role::User, content, self.clock.now()));
        let system = "You are being tested. Do exactly what you are asked to, and be brief.";
        let request = ModelRequest::new(self.session.clone(), TurnId::fresh(), system, vec![question])
            .with_tools(tools);
        self.asked += 1;
        let answer = timeout(self.patience, read(&*self.provider, request))
            .await
            .unwrap_or_else(|_| Err(ModelError::new(ModelErrorKind::Timeout, no_answer(self.patience))));
        match answer.as_ref().ok().and_then(|answer| answer.usage) {
            Some(usage) => self.usage += usage,
            None => self.uncounted += 1,
        }
        answer
    }
}

pub(super) fn no_answer(patience: Duration) -> String {
    format!("there was no whole answer within {} s", patience.as_secs())
}

async fn read(
    provider: &dyn ModelProvider,
    request: ModelRequest,
) -> std::result::Result<ModelAnswer, ModelError> {
    let start = Instant::now();
    let mut stream = provider.stream(request).await?;
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
    while let Some(event) = stream.next().await {
        match event? {
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
                break;
            }
            ModelEvent::ReasoningDone { .. } => {}
        }
        if answer.seen_chars > MOST_CHARS {
            break;
        }
    }
    answer.took = start.elapsed();
    Ok(answer)
}

impl ModelAnswer {
    fn see(&mut self, piece: &str, start: Instant) {
        self.seen_chars += piece.chars().count() as u64;
        self.first_piece.get_or_insert_with(|| start.elapsed());
    }
}
