//! Puts calls together from their pieces, which come in more forms than the documentation has.

use aethon_core::message::ToolCall;
use serde_json::Value;

use crate::stream::{CallIds, arguments, tool_name};

/// More calls than any real response has.
const MAX_CALLS: usize = 256;

/// The calls of one response.
#[derive(Default)]
pub(super) struct CallPieces(Vec<Call>);

struct Call {
    index: Option<i64>,
    id: Option<String>,
    name: String,
    arguments: String,
}

impl CallPieces {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a piece. Returns whether there is room for it.
    pub(super) fn add(&mut self, index: Option<i64>, id: Option<String>, name: String, piece: &str) -> bool {
        let place = self.place(index, id.as_deref(), &name, piece);
        if place == self.0.len() {
            if place == MAX_CALLS {
                return false;
            }
            self.0.push(Call { index, id: None, name: String::new(), arguments: String::new() });
        }
        if let Some(call) = self.0.get_mut(place) {
            call.id = call.id.take().or(id);
            call.add_name(name);
            call.add_arguments(piece);
        }
        true
    }

    /// Returns the index of the call that a piece belongs to: an open one, or a new one at the end.
    fn place(&self, index: Option<i64>, id: Option<&str>, name: &str, piece: &str) -> usize {
        let new = self.0.len();
        let open = match (index, id) {
            (Some(_), _) => self.0.iter().rposition(|call| call.index == index),
            (None, Some(id)) => self.0.iter().rposition(|call| call.id.as_deref() == Some(id)),
            (None, None) => new.checked_sub(1),
        };
        let Some(place) = open else { return new };
        let call = &self.0[place];
        let other_id = matches!((id, call.id.as_deref()), (Some(new), Some(old)) if new != old);
        // Without ids, a name with arguments after complete arguments begins the next call, unless all of it is repeated.
        let restarts = id.is_none()
            && !name.is_empty()
            && !call.name.is_empty()
            && !piece.is_empty()
            && !(call.name == name && (call.arguments == piece || call.has_placeholder()))
            && serde_json::from_str::<Value>(&call.arguments).is_ok();
        if other_id || restarts { new } else { place }
    }

    /// Returns the complete calls. One without a name is a fragment that cannot run.
    pub(super) fn finish(self, ids: &mut CallIds) -> Vec<ToolCall> {
        let mut calls: Vec<ToolCall> = Vec::with_capacity(self.0.len());
        for call in self.0.into_iter().filter(|call| !call.name.is_empty()) {
            let is_new = |id: &String| calls.iter().all(|other| other.id != *id);
            let id = call.id.filter(is_new).unwrap_or_else(|| ids.make());
            let (name, input) = (tool_name(&call.name), arguments(&call.arguments));
            calls.push(ToolCall { id, name, input, opaque: None });
        }
        calls
    }
}

impl Call {
    /// Adds a piece of the name: the next one, the whole so far, or the whole name once more.
    fn add_name(&mut self, piece: String) {
        if self.name.is_empty() || piece.len() > self.name.len() && piece.starts_with(&self.name) {
            self.name = piece;
        } else if self.name != piece && self.arguments.is_empty() {
            self.name.push_str(&piece);
        }
    }

    /// Adds a piece of the arguments. Some services send empty arguments first, and some the whole after the pieces.
    fn add_arguments(&mut self, piece: &str) {
        let is_whole = || serde_json::from_str::<serde_json::Map<String, Value>>(piece).is_ok();
        if piece.is_empty() {
            return;
        }
        if self.has_placeholder() || piece.len() > 2 && piece == self.arguments && is_whole() {
            self.arguments.clear();
        }
        self.arguments.push_str(piece);
    }

    fn has_placeholder(&self) -> bool {
        matches!(self.arguments.trim(), "{}" | "null" | "\"\"")
    }
}
