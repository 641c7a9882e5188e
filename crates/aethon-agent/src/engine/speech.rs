//! What a model says in one response: put together from its events, and shown as it comes.
//!
//! Text that may turn out to be a tool call is held back until it is clear what it is.

use std::borrow::Cow;
use std::sync::Arc;

use aethon_core::ids::{TurnId, unique};
use aethon_core::message::{Block, Message, Role, ToolCall};
use aethon_core::model::{ModelEvent, StopReason, Usage};
use aethon_core::surface::{Surface, TurnEvent};
use aethon_core::tool::ToolSpec;
use aethon_core::untrusted;
use jiff::Timestamp;

use super::said_calls::{self, Belief};
use aethon_core::untrusted::Scrubber;

/// A response that is coming.
#[derive(Debug, Default)]
pub(super) struct Speech {
    blocks: Vec<Block>,
    thinking: bool,
    scrubber: Scrubber,
    /// Text that may become a call; `None` once it is known to be none.
    held: Option<String>,
    offered: Option<(Arc<[ToolSpec]>, Belief)>,
    has_output: bool,
    /// Tokens heard, about.
    heard: u64,
    end: Option<(StopReason, Usage, Option<String>)>,
    /// What the part that this one goes on from took.
    before: Usage,
}

impl Speech {
    /// One that may call these tools in its text.
    pub(super) fn offered(tools: Arc<[ToolSpec]>, belief: Belief) -> Self {
        Self { held: Some(String::new()), offered: Some((tools, belief)), ..Self::default() }
    }

    /// One that goes on where this message was cut off.
    pub(super) fn after(part: &Message) -> Self {
        Self { blocks: part.content.clone(), before: part.usage.unwrap_or_default(), ..Self::default() }
    }

    /// Takes the next event in, and shows it.
    pub(super) fn take(&mut self, event: ModelEvent, surface: &dyn Surface, turn: &TurnId) {
        match event {
            // Not something that is said; the listener tells it.
            ModelEvent::Model { .. } => {}
            ModelEvent::Text(text) => self.text(text, surface, turn),
            ModelEvent::Reasoning(text) => {
                self.let_go(surface, turn);
                self.has_output = true;
                self.heard += about(text.len());
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
                self.let_go(surface, turn);
                self.held = None;
                self.has_output = true;
                self.thinking = false;
                self.heard += about(call.name.len() + call.input.to_string().len()) + 10;
                let call = self.with_own_id(call);
                self.blocks.push(Block::ToolCall(call));
            }
            ModelEvent::Finished { stop, usage, model } => {
                let stop = if self.is_said_call() { StopReason::ToolUse } else { stop };
                self.flush(surface, turn);
                self.end = Some((stop, usage, model));
            }
        }
    }

    /// Shows what was held back; called when nothing more comes.
    pub(super) fn flush(&mut self, surface: &dyn Surface, turn: &TurnId) {
        if let Some(held) = self.held.take() {
            self.show(held, surface, turn);
        }
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

    /// The model that answered, as the service names it.
    pub(super) fn named(&self) -> Option<&str> {
        self.end.as_ref().and_then(|(.., named)| named.as_deref())
    }

    /// What it took, when it has ended.
    pub(super) fn usage(&self) -> Option<Usage> {
        self.end.as_ref().map(|(_, usage, _)| *usage)
    }

    /// Puts the cost to what it took.
    pub(super) fn set_usage(&mut self, usage: Usage) {
        if let Some((_, own, _)) = &mut self.end {
            *own = usage;
        }
    }

    /// About how many tokens came so far.
    pub(super) fn heard(&self) -> u64 {
        self.heard
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
        self.heard += about(text.len());
        let Some(held) = &mut self.held else { return self.show(text, surface, turn) };
        held.push_str(&text);
        let may_be_call =
            self.offered.as_ref().is_some_and(|(_, belief)| said_calls::may_become(held, *belief));
        if !may_be_call {
            let held = self.held.take().unwrap_or_default();
            self.show(held, surface, turn);
        }
    }

    /// What comes now is no text: what was held back is not the whole answer, so it is none but blanks or text.
    fn let_go(&mut self, surface: &dyn Surface, turn: &TurnId) {
        if self.held.as_ref().is_some_and(|held| !held.is_empty()) {
            let held = self.held.take().unwrap_or_default();
            self.show(held, surface, turn);
        }
    }

    fn show(&mut self, text: String, surface: &dyn Surface, turn: &TurnId) {
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

    /// Takes what was held back for calls, if it is that.
    fn is_said_call(&mut self) -> bool {
        let (Some(held), Some((tools, belief))) = (&self.held, &self.offered) else { return false };
        if !said_calls::only_thoughts(&self.blocks) {
            return false;
        }
        let Some(calls) = said_calls::recognise(held, tools, *belief) else { return false };
        self.blocks.extend(calls.into_iter().map(Block::ToolCall));
        self.held = None;
        self.has_output = true;
        true
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

/// The tokens of a piece; services send one or more at a time.
fn about(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4).max(1)
}
