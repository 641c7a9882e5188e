//! A model's response as a stream in which thoughts that were written as text are reasoning.

use std::collections::VecDeque;
use std::sync::Arc;

use aethon_core::message::{Block, Role};
use aethon_core::model::{ModelError, ModelEvent, ModelRequest, ModelStream, StopReason};
use futures_util::{StreamExt, stream};

use super::reading::is_continued;
use super::thoughts::{End, Piece, ThoughtHabit, Thoughts};
use crate::options::Provider;
use crate::service::Service;

/// Parts of tags. A person who names one may get an answer about them.
const TAG_WORDS: [&str; 3] = ["think>", "thinking>", "think]"];

/// Returns whether the model of this service may write its thoughts as text: the service is an owner's own server, or
/// the model is one that reasons.
pub(crate) fn may_think_in_text(service: &Service) -> bool {
    let is_own = service.endpoint.is_own && service.provider.has_compatible_servers();
    is_own || service.provider == Provider::Ollama || service.rules.reasons
}

/// Returns the stream with thoughts in its text as reasoning.
pub(crate) fn read_thoughts(
    events: ModelStream,
    request: &ModelRequest,
    habit: Arc<ThoughtHabit>,
) -> ModelStream {
    // The rest of an answer that was cut off has no beginning.
    if is_continued(request) {
        return events;
    }
    let thoughts = Thoughts::new(habit, !asks_about_tags(request));
    let adapter = Adapter { events, thoughts, ready: VecDeque::new() };
    Box::pin(stream::unfold(adapter, |mut adapter| async {
        adapter.next().await.map(|event| (event, adapter))
    }))
}

fn asks_about_tags(request: &ModelRequest) -> bool {
    let asked = request.messages.get(request.turn_start).filter(|message| message.role == Role::User);
    let mut blocks = asked.iter().flat_map(|message| &message.content);
    blocks.any(|block| match block {
        Block::Text { text, .. } => {
            let text = text.to_ascii_lowercase();
            TAG_WORDS.iter().any(|word| text.contains(word))
        }
        _ => false,
    })
}

type Event = Result<ModelEvent, ModelError>;

struct Adapter {
    events: ModelStream,
    thoughts: Thoughts,
    ready: VecDeque<Event>,
}

impl Adapter {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            match self.events.next().await {
                Some(event) => self.take(event),
                None => {
                    self.advance(|thoughts, pieces| thoughts.finish(End::Cut, pieces));
                    return self.ready.pop_front();
                }
            }
        }
    }

    fn take(&mut self, event: Event) {
        match &event {
            Ok(ModelEvent::Text(text)) => {
                self.advance(|thoughts, pieces| thoughts.push(text, pieces));
                return;
            }
            Ok(ModelEvent::Finished { stop, .. }) => {
                let end = if *stop == StopReason::End { End::Complete } else { End::Cut };
                self.advance(|thoughts, pieces| thoughts.finish(end, pieces));
            }
            Ok(ModelEvent::TextWasReasoning) => {}
            Ok(_) | Err(_) => self.advance(Thoughts::interrupt),
        }
        self.ready.push_back(event);
    }

    fn advance(&mut self, advance: impl FnOnce(&mut Thoughts, &mut Vec<Piece>)) {
        let mut pieces = Vec::new();
        advance(&mut self.thoughts, &mut pieces);
        self.ready.extend(pieces.into_iter().map(|piece| {
            Ok(match piece {
                Piece::Text(text) => ModelEvent::Text(text),
                Piece::Thought(text) => ModelEvent::Reasoning(text),
                Piece::ThoughtDone(text) => ModelEvent::ReasoningDone { text, opaque: None },
                Piece::WasThought => ModelEvent::TextWasReasoning,
            })
        }));
    }
}
