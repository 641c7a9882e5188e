//! What a model says in one response: put together from its events, and shown as it comes.

use std::borrow::Cow;

use aethon_core::ids::{TurnId, unique};
use aethon_core::message::{Block, Message, Role, ToolCall};
use aethon_core::model::{ModelEvent, StopReason, Usage};
use aethon_core::surface::{Surface, TurnEvent};
use aethon_core::untrusted;
use jiff::Timestamp;

use super::scrub::Scrubber;

/// A response that is coming.
#[derive(Debug, Default)]
pub(super) struct Speech {
    blocks: Vec<Block>,
    thinking: bool,
    scrubber: Scrubber,
    has_output: bool,
    end: Option<(StopReason, Usage, Option<String>)>,
}

impl Speech {
    /// Takes the next event in, and shows it.
    pub(super) fn take(&mut self, event: ModelEvent, surface: &dyn Surface, turn: &TurnId) {
        match event {
            // Not something that is said; the listener tells it.
            ModelEvent::Model { .. } => {}
            ModelEvent::Text(text) => self.text(text, surface, turn),
            ModelEvent::Reasoning(text) => {
                self.has_output = true;
                match self.blocks.last_mut() {
                    Some(Block::Reasoning { text: thought, .. }) if self.thinking => thought.push_str(&text),
                    _ => self.blocks.push(Block::Reasoning { text: text.clone(), opaque: None }),
                }
                self.thinking = true;
                surface.emit(turn, TurnEvent::Reasoning(text));
            }
            ModelEvent::ReasoningDone { text, opaque } => {
                if std::mem::take(&mut self.thinking) {
                    self.blocks.pop();
                }
                self.blocks.push(Block::Reasoning { text, opaque });
            }
            ModelEvent::ToolCall(call) => {
                self.has_output = true;
                self.thinking = false;
                let call = self.with_own_id(call);
                self.blocks.push(Block::ToolCall(call));
            }
            ModelEvent::Finished { stop, usage, model } => {
                self.flush(surface, turn);
                self.end = Some((stop, usage, model));
            }
        }
    }

    /// Shows what was held back; called when nothing more comes.
    pub(super) fn flush(&mut self, surface: &dyn Surface, turn: &TurnId) {
        let rest = self.scrubber.finish();
        if !rest.is_empty() {
            surface.emit(turn, TurnEvent::Text(rest));
        }
    }

    /// Whether anything was shown, or a tool was asked for: then the request is not sent again.
    pub(super) fn has_output(&self) -> bool {
        self.has_output
    }

    /// How it ended, when it has.
    pub(super) fn end(&self) -> Option<StopReason> {
        self.end.as_ref().map(|(stop, ..)| *stop)
    }

    /// What it took.
    pub(super) fn usage(&self) -> Usage {
        self.end.as_ref().map(|(_, usage, _)| *usage).unwrap_or_default()
    }

    /// The message that it comes to. Of a response that was broken off, calls are left out: they will not run.
    pub(super) fn into_message(self, turn: &TurnId, model: &str, now: Timestamp) -> Message {
        let complete = self.end.is_some();
        let (usage, named) = self.end.map_or((None, None), |(_, usage, named)| (Some(usage), named));
        let blocks = self.blocks.into_iter().filter_map(|block| match block {
            Block::Text { text, untrusted } => match untrusted::scrub(&text) {
                Cow::Borrowed(_) => Some(Block::Text { text, untrusted }),
                Cow::Owned(scrubbed) if scrubbed.trim().is_empty() => None,
                Cow::Owned(scrubbed) => Some(Block::Text { text: scrubbed, untrusted }),
            },
            Block::ToolCall(_) if !complete => None,
            other => Some(other),
        });
        let mut message = Message::new(Role::Assistant, blocks.collect(), now);
        message.turn = Some(turn.clone());
        message.model = Some(named.unwrap_or_else(|| model.to_owned()));
        message.usage = usage;
        message
    }

    fn text(&mut self, text: String, surface: &dyn Surface, turn: &TurnId) {
        if text.is_empty() {
            return;
        }
        self.has_output = true;
        self.thinking = false;
        match self.blocks.last_mut() {
            Some(Block::Text { text: said, .. }) => said.push_str(&text),
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

    /// Calls of one response have ids of their own, whatever the model (a small local one, say) made of them.
    fn with_own_id(&self, mut call: ToolCall) -> ToolCall {
        let taken =
            self.blocks.iter().any(|block| matches!(block, Block::ToolCall(other) if other.id == call.id));
        if taken || call.id.is_empty() {
            call.id = format!("call_{}", unique());
        }
        call
    }
}
