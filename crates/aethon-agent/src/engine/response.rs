//! One response of a model: assembled from its events and shown as it arrives.

use std::borrow::Cow;

use aethon_core::ids::{TurnId, unique};
use aethon_core::message::{Block, Message, Opaque, Role, ToolCall, begins_like_picture};
use aethon_core::model::{ModelEvent, StopReason, Usage};
use aethon_core::surface::{Surface, ToolPhase, ToolState, TurnEvent};
use aethon_core::untrusted;
use aethon_core::web_search::{Source, WEB_SEARCH, WebSearch};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use aethon_core::untrusted::Scrubber;

/// How many bytes a turn's models may say over all its requests. That is far more than anybody reads, and keeps a model
/// that does not stop from taking everyone's memory.
pub(super) const MAX_SAID: usize = 8 << 20;

/// A text that grows beyond this gets room for the longest at once. Growing by doubling would copy megabytes and leave
/// holes behind, while reserved room takes no memory until it is written to.
const LONG: usize = 512 << 10;

/// How many pages are listed below an answer.
const MAX_SOURCES: usize = 20;

/// How many bytes of base64 the pictures of one response may take.
const MAX_PICTURES: usize = 24 << 20;

/// A response being received.
#[derive(Debug, Default)]
pub(super) struct ResponseBuffer {
    blocks: Vec<Block>,
    /// Since when the model has been thinking, while it does; the thought is then the last block.
    thinking: Option<Instant>,
    /// When the first text arrived.
    speaking: Option<Instant>,
    scrubber: Scrubber,
    has_emitted: bool,
    end: Option<(StopReason, Usage, Option<String>)>,
    /// How many bytes it has accepted.
    taken: usize,
    /// Whether more arrived than it may accept; the text is cut there.
    is_full: bool,
    /// The pages that it cites.
    cited: Vec<Source>,
    /// The usage of the part that this response continues.
    before: Usage,
}

impl ResponseBuffer {
    /// Creates a response that continues this cut-off message.
    pub(super) fn after(part: &Message) -> Self {
        Self { blocks: part.content.clone(), before: part.usage.unwrap_or_default(), ..Self::default() }
    }

    /// Accepts the next event and shows it. The response takes at most `room` bytes in all; the excess is dropped.
    pub(super) fn take(&mut self, event: ModelEvent, room: usize, (surface, turn): (&dyn Surface, &TurnId)) {
        let Some(event) = self.within(event, room) else { return };
        match event {
            ModelEvent::Text(text) => self.text(text, surface, turn),
            ModelEvent::Reasoning(text) => {
                self.has_emitted = true;
                match self.blocks.last_mut() {
                    Some(Block::Reasoning { text: thought, .. }) if self.thinking.is_some() => {
                        thought.push_str(&text);
                    }
                    _ => self.blocks.push(Block::Reasoning { text: text.clone(), opaque: None, ms: None }),
                }
                self.thinking.get_or_insert_with(Instant::now);
                surface.emit(turn, TurnEvent::Reasoning(text));
            }
            ModelEvent::ReasoningDone { text, opaque } => {
                let ms = self.end_thought(surface, turn);
                if ms.is_some() {
                    self.blocks.pop();
                }
                // What seemed to be a thought may turn out to be the answer, which follows.
                if !text.is_empty() || opaque.is_some() {
                    self.blocks.push(Block::Reasoning { text, opaque, ms });
                }
            }
            ModelEvent::Image { mime, data, opaque } => match picture(mime, &data, opaque) {
                Ok(picture) => {
                    self.has_emitted = true;
                    self.end_thought(surface, turn);
                    if let Block::Image { mime, data, .. } = &picture {
                        let event = TurnEvent::Image { mime: mime.clone(), data: data.clone() };
                        surface.emit(turn, event);
                    }
                    self.blocks.push(picture);
                }
                Err(sentence) => self.text(sentence, surface, turn),
            },
            ModelEvent::Search(search) => {
                self.has_emitted = true;
                self.flush(surface, turn);
                show_search(&search, surface, turn);
                self.blocks.push(Block::Search(search));
            }
            ModelEvent::Sources(sources) => self.cited = sources,
            ModelEvent::TextWasReasoning => self.turn_text_into_reasoning(surface, turn),
            ModelEvent::ToolCall(call) => {
                self.has_emitted = true;
                self.end_thought(surface, turn);
                let call = self.with_own_id(call);
                self.blocks.push(Block::ToolCall(call));
            }
            ModelEvent::Finished { stop, usage, model } => {
                self.flush(surface, turn);
                self.end = Some((stop, usage, model));
            }
        }
    }

    /// Returns the part of the event that there is room for.
    fn within(&mut self, mut event: ModelEvent, room: usize) -> Option<ModelEvent> {
        let left = room.saturating_sub(self.taken);
        let size = match &mut event {
            ModelEvent::Text(text) | ModelEvent::Reasoning(text) => {
                if text.len() > left {
                    self.is_full = true;
                    text.truncate(text.floor_char_boundary(left));
                }
                text.len()
            }
            // It repeats the text that arrived in pieces.
            ModelEvent::ReasoningDone { text, .. } if self.thinking.is_some() => {
                text.len().saturating_sub(left)
            }
            ModelEvent::ReasoningDone { text, .. } => text.len(),
            // Pictures have room of their own, so that a few of them do not end an answer.
            ModelEvent::Image { data, .. } => return self.has_room_for(data.len()).then_some(event),
            ModelEvent::Search(search) => {
                let opaque = search.opaque.as_ref().map_or(0, |opaque| json_length(&opaque.data));
                opaque + search.query.len() + search.sources.iter().map(length).sum::<usize>()
            }
            ModelEvent::Sources(sources) => sources.iter().map(length).sum(),
            ModelEvent::ToolCall(call) => call.name.len() + json_length(&call.input),
            ModelEvent::TextWasReasoning | ModelEvent::Finished { .. } => 0,
        };
        self.is_full |= size > left;
        self.taken += size.min(left);
        (size <= left).then_some(event)
    }

    fn has_room_for(&self, picture: usize) -> bool {
        let sizes = self.blocks.iter().map(|block| match block {
            Block::Image { data, .. } => data.len(),
            _ => 0,
        });
        sizes.sum::<usize>() + picture <= MAX_PICTURES
    }

    /// Returns how many bytes it has accepted.
    pub(super) fn taken(&self) -> usize {
        self.taken
    }

    /// Returns whether more arrived than it may accept.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Shows the text that was held back. Called when nothing more will arrive.
    pub(super) fn flush(&mut self, surface: &dyn Surface, turn: &TurnId) {
        self.end_thought(surface, turn);
        let rest = self.scrubber.finish();
        if !rest.is_empty() {
            surface.emit(turn, TurnEvent::Text(rest));
        }
    }

    /// Returns whether any text was shown or any tool was called; if so, the request is not repeated.
    pub(super) fn has_emitted(&self) -> bool {
        self.has_emitted
    }

    /// Returns how the response ended, if it has.
    pub(super) fn end(&self) -> Option<StopReason> {
        self.end.as_ref().map(|(stop, ..)| *stop)
    }

    /// Returns the usage of the response, once it has ended.
    pub(super) fn usage(&self) -> Option<Usage> {
        self.end.as_ref().map(|(_, usage, _)| *usage)
    }

    /// Records the usage, cost and model as they were booked.
    pub(super) fn set_booked(&mut self, usage: Usage, model: Option<String>) {
        if let Some((_, own, named)) = &mut self.end {
            *own = usage;
            *named = model;
        }
    }

    /// Returns whether the model has called tools.
    pub(super) fn has_calls(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::ToolCall(_)))
    }

    /// Returns the pages behind the answer: those that it cites, else those that were found for it.
    pub(super) fn sources(&self) -> Vec<Source> {
        let found = self.blocks.iter().filter_map(|block| match block {
            Block::Search(search) => Some(&search.sources),
            _ => None,
        });
        let all: Vec<&Source> = match self.cited.is_empty() {
            true => found.flatten().collect(),
            false => self.cited.iter().collect(),
        };
        let mut sources: Vec<Source> = Vec::new();
        for source in all {
            if sources.len() < MAX_SOURCES && !sources.iter().any(|known| known.url == source.url) {
                sources.push(source.clone());
            }
        }
        sources
    }

    /// Returns whether the model ended it without saying anything.
    pub(super) fn is_empty(&self) -> bool {
        let is_at_end = matches!(self.end(), Some(StopReason::End | StopReason::ToolUse));
        is_at_end && !self.has_emitted && self.blocks.is_empty()
    }

    /// Converts the response into a message. If the response broke off, its calls are left out, because they will not
    /// run.
    pub(super) fn into_message(self, turn: &TurnId, model: &str, now: Timestamp) -> Message {
        let complete = self.end.is_some();
        let (usage, named) = self.end.map_or((None, None), |(_, usage, named)| (Some(usage), named));
        let blocks = self.blocks.into_iter().filter_map(|block| match block {
            Block::Text { mut text, untrusted } => match untrusted::scrub(&text) {
                Cow::Borrowed(_) => {
                    text.shrink_to_fit();
                    Some(Block::Text { text, untrusted })
                }
                Cow::Owned(scrubbed) if scrubbed.trim().is_empty() => None,
                Cow::Owned(scrubbed) => Some(Block::Text { text: scrubbed, untrusted }),
            },
            Block::ToolCall(_) if !complete => None,
            other => Some(other),
        });
        let mut message = Message::new(Role::Assistant, blocks.collect(), now);
        message.turn = Some(turn.clone());
        message.model = Some(named.unwrap_or_else(|| model.to_owned()));
        message.usage = usage.map(|usage| {
            let mut sum = self.before;
            sum += usage;
            sum
        });
        message
    }

    fn text(&mut self, text: String, surface: &dyn Surface, turn: &TurnId) {
        if text.is_empty() {
            return;
        }
        self.has_emitted = true;
        self.end_thought(surface, turn);
        self.speaking.get_or_insert_with(Instant::now);
        // A thought in between parts no word, unless the service wants the order back.
        let is_loose = |block: &Block| matches!(block, Block::Reasoning { opaque: None, .. });
        let place = self.blocks.iter().rposition(|block| !is_loose(block));
        match place.and_then(|place| self.blocks.get_mut(place)) {
            Some(Block::Text { text: said, .. }) => {
                if said.len() + text.len() > LONG && said.capacity() < MAX_SAID {
                    said.reserve_exact(MAX_SAID.saturating_sub(said.len()));
                }
                said.push_str(&text);
            }
            _ => self.blocks.push(Block::text(text.clone())),
        }
        let scrubbed = match self.scrubber.pass(&text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(scrubbed) => Some(scrubbed),
        };
        let shown = scrubbed.unwrap_or(text);
        if !shown.is_empty() {
            surface.emit(turn, TurnEvent::Text(shown));
        }
    }

    /// The text was shown as it came, so those who show it take it back.
    fn turn_text_into_reasoning(&mut self, surface: &dyn Surface, turn: &TurnId) {
        self.scrubber = Scrubber::default();
        self.end_thought(surface, turn);
        let ms = self.speaking.take().map_or(0, milliseconds);
        surface.emit(turn, TurnEvent::TextWithdrawn);
        for block in &mut self.blocks {
            if let Block::Text { text, .. } = block {
                let text = std::mem::take(text);
                surface.emit(turn, TurnEvent::Reasoning(text.clone()));
                surface.emit(turn, TurnEvent::ReasoningDone { ms });
                *block = Block::Reasoning { text, opaque: None, ms: Some(ms) };
            }
        }
    }

    /// Ends the thought, if the model is thinking, and returns how long it took.
    fn end_thought(&mut self, surface: &dyn Surface, turn: &TurnId) -> Option<u64> {
        let took = milliseconds(self.thinking.take()?);
        if let Some(Block::Reasoning { ms, .. }) = self.blocks.last_mut() {
            *ms = Some(took);
        }
        surface.emit(turn, TurnEvent::ReasoningDone { ms: took });
        Some(took)
    }

    /// Gives a call an id that is unique within the response, whatever the model (say, a small local one) sent.
    fn with_own_id(&self, mut call: ToolCall) -> ToolCall {
        let taken =
            self.blocks.iter().any(|block| matches!(block, Block::ToolCall(other) if other.id == call.id));
        if taken || call.id.is_empty() {
            call.id = format!("call_{}", unique());
        }
        call
    }
}

fn milliseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Shows a search like a call of a tool: both are looking something up.
fn show_search(search: &WebSearch, surface: &dyn Surface, turn: &TurnId) {
    let found: Vec<String> =
        search.sources.iter().map(|source| format!("{}\n{}", source.title, source.url)).collect();
    let begun = ToolState {
        call: format!("search_{}", unique()),
        name: WEB_SEARCH.into(),
        phase: ToolPhase::Running,
        input: Some(json!({ "query": search.query })),
        output: None,
        blocks: Vec::new(),
        milliseconds: None,
    };
    let ended =
        ToolState { phase: ToolPhase::Ok, input: None, output: Some(found.join("\n\n")), ..begun.clone() };
    surface.emit(turn, TurnEvent::Tool(begun));
    surface.emit(turn, TurnEvent::Tool(ended));
}

fn length(source: &Source) -> usize {
    source.url.len() + source.title.len()
}

/// Returns the block of a picture that a model made, or the words that stand for it if it is none. Some services write
/// base64 in the URL-safe alphabet or without padding; every reader of a stored picture expects the standard form.
fn picture(mime: String, data: &str, opaque: Option<Opaque>) -> Result<Block, String> {
    let standard: String = data.trim_end_matches('=').replace('-', "+").replace('_', "/");
    let bytes = STANDARD_NO_PAD.decode(standard).unwrap_or_default();
    match begins_like_picture(&mime, &bytes) {
        true => Ok(Block::Image { mime, data: STANDARD.encode(bytes), opaque }),
        false => {
            let mime: String = mime.chars().filter(|c| !c.is_control()).take(50).collect();
            Err(format!("[A picture ({mime}) came here, which cannot be shown.]"))
        }
    }
}

/// Returns the approximate length of a value as JSON.
fn json_length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| json_length(item) + 1).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + 3 + json_length(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::surface::Unattended;

    use super::*;

    #[test]
    fn pictures_of_a_model_are_kept_if_they_are_pictures() {
        let check = |mime: &str, data: &str, expected: Block| {
            let (surface, turn) = (Unattended, TurnId::fresh());
            let mut response = ResponseBuffer::default();
            let event = ModelEvent::Image { mime: mime.into(), data: data.into(), opaque: None };
            response.take(event, 100, (&surface, &turn));
            assert!(response.has_emitted(), "{data}");
            assert_eq!(response.into_message(&turn, "m", Timestamp::UNIX_EPOCH).content, [expected]);
        };
        check("image/png", "iVBORw0KGgo_-g==", Block::image("image/png", "iVBORw0KGgo/+g=="));
        check("image/png", "iVBORw0KGgo", Block::image("image/png", "iVBORw0KGgo="));
        let words = "[A picture (image/png) came here, which cannot be shown.]";
        check("image/png", "PGh0bWw+", Block::text(words));
    }

    #[test]
    fn output_beyond_the_byte_limit_is_left_out() {
        let (surface, turn) = (Unattended, TurnId::fresh());
        let mut response = ResponseBuffer::default();
        for _ in 0..3 {
            response.take(ModelEvent::Text("fünf ".into()), 20, (&surface, &turn));
        }
        assert!(!response.is_full());
        response.take(ModelEvent::Text("üü".into()), 20, (&surface, &turn));
        assert!(response.is_full());
        let input = serde_json::json!({"text": "x".repeat(30)});
        let call = ToolCall { id: "1".into(), name: "t".into(), input, opaque: None };
        response.take(ModelEvent::ToolCall(call), 20, (&surface, &turn));
        assert!(!response.has_calls() && response.taken() <= 20);
        let message = response.into_message(&turn, "m", Timestamp::UNIX_EPOCH);
        assert_eq!(message.text(), "fünf fünf fünf ü");
    }
}
