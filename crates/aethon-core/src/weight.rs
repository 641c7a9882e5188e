//! How much memory values take, for everything that is kept and bounded.
//!
//! A text's length says little about that: a list that grew has room for more, a JSON object reserves whole nodes, and an
//! allocator rounds up. So the weight of a value is the sum of the allocations that it owns, each as the allocator makes
//! it. [`CacheSizes`] collects the weights of caches, for `/metrics`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use crate::message::{Block, Message, Opaque, ToolCall, ToolResult};
use crate::tool::OutputBlock;
use crate::web_search::{Source, WebSearch};

/// The counters in front of the value in an `Arc`.
const COUNTERS: usize = 2 * size_of::<usize>();

/// How many fields one node of a JSON object has room for.
const FIELDS_IN_NODE: usize = 11;

/// How many fields a node has on average once there are several: a full node is split in halves.
const FIELDS_ON_AVERAGE: usize = 7;

/// A value that knows the size of the allocations it owns.
pub trait Weight {
    /// Returns the bytes on the heap that it owns; the value itself is not among them.
    fn heap(&self) -> usize;
}

/// Returns the bytes that an allocator takes for a request of this size: it has four sizes between two powers of two.
pub fn allocation(bytes: usize) -> usize {
    match bytes {
        0 => 0,
        1..=8 => 8,
        9..=128 => bytes.next_multiple_of(16),
        _ => bytes.next_multiple_of(bytes.next_power_of_two() / 8),
    }
}

/// Returns the bytes of a shared text (`Arc<str>`).
pub fn shared_text(text: &str) -> usize {
    allocation(COUNTERS + text.len())
}

/// Returns the bytes of a value that is shared (`Arc`), with what it owns.
pub fn shared<T: Weight>(value: &T) -> usize {
    allocation(COUNTERS + size_of::<T>()) + value.heap()
}

/// Returns the bytes of a list's own allocation, room for further items included.
pub fn list<T>(capacity: usize) -> usize {
    allocation(capacity * size_of::<T>())
}

impl Weight for String {
    fn heap(&self) -> usize {
        allocation(self.capacity())
    }
}

impl<T: Weight> Weight for Option<T> {
    fn heap(&self) -> usize {
        self.as_ref().map_or(0, Weight::heap)
    }
}

impl<T: Weight> Weight for Vec<T> {
    fn heap(&self) -> usize {
        list::<T>(self.capacity()) + self.iter().map(Weight::heap).sum::<usize>()
    }
}

impl Weight for Map<String, Value> {
    fn heap(&self) -> usize {
        // A node has its fields, its parent, its place there and its length.
        let node = FIELDS_IN_NODE * (size_of::<String>() + size_of::<Value>()) + 2 * size_of::<usize>();
        let nodes = match self.len() {
            0 => 0,
            1..=FIELDS_IN_NODE => 1,
            fields => fields.div_ceil(FIELDS_ON_AVERAGE),
        };
        let own = self.iter().map(|(name, value)| name.heap() + value.heap()).sum::<usize>();
        nodes * allocation(node) + own
    }
}

impl Weight for Value {
    fn heap(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) => 0,
            Self::String(text) => text.heap(),
            Self::Array(items) => items.heap(),
            Self::Object(fields) => fields.heap(),
        }
    }
}

impl Weight for Opaque {
    fn heap(&self) -> usize {
        self.dialect.heap() + self.data.heap()
    }
}

impl Weight for Source {
    fn heap(&self) -> usize {
        self.url.heap() + self.title.heap()
    }
}

impl Weight for WebSearch {
    fn heap(&self) -> usize {
        self.query.heap() + self.sources.heap() + self.opaque.heap()
    }
}

impl Weight for ToolCall {
    fn heap(&self) -> usize {
        self.id.heap() + self.name.heap() + self.input.heap() + self.opaque.heap()
    }
}

impl Weight for OutputBlock {
    fn heap(&self) -> usize {
        match self {
            Self::Text { text } => text.heap(),
            Self::Image { mime, data } => mime.heap() + data.heap(),
            Self::File { name, mime, text } => name.heap() + mime.heap() + text.heap(),
        }
    }
}

impl Weight for ToolResult {
    fn heap(&self) -> usize {
        let marks = self.untrusted.heap() + self.recalled.heap() + self.note.heap();
        let texts = self.call.heap() + self.name.heap() + self.output.heap();
        texts + marks + self.blocks.heap() + self.edited.heap()
    }
}

impl Weight for Block {
    fn heap(&self) -> usize {
        match self {
            Self::Text { text, untrusted } => text.heap() + untrusted.heap(),
            Self::Image { mime, data, opaque } => mime.heap() + data.heap() + opaque.heap(),
            Self::File { name, mime, text, untrusted } => {
                name.heap() + mime.heap() + text.heap() + untrusted.heap()
            }
            Self::Context { source, text, boundary } => source.heap() + text.heap() + boundary.heap(),
            Self::Reasoning { text, opaque, .. } => text.heap() + opaque.heap(),
            Self::Search(search) => search.heap(),
            Self::ToolCall(call) => call.heap(),
            Self::ToolResult(result) => result.heap(),
            Self::Notice { code, text } => code.heap() + text.heap(),
            Self::Folded { from, to, summary, .. } => from.heap() + to.heap() + summary.heap(),
        }
    }
}

impl Weight for Message {
    fn heap(&self) -> usize {
        let turn = self.turn.as_ref().map_or(0, |turn| shared_text(turn.as_str()));
        self.content.heap() + turn + self.model.heap()
    }
}

/// Measures one cache; `None` once it is gone.
type Measure = Box<dyn Fn() -> Option<usize> + Send + Sync>;

/// The caches in memory and their sizes. Cheap to clone; clones share everything.
#[derive(Clone, Default)]
pub struct CacheSizes(Arc<Mutex<Vec<(&'static str, Measure)>>>);

impl CacheSizes {
    /// Adds a cache under this name. Caches of one name are added up; one that returns `None` is gone.
    pub fn add(&self, name: &'static str, measure: impl Fn() -> Option<usize> + Send + Sync + 'static) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((name, Box::new(measure)));
    }

    /// Returns the bytes that each cache takes now.
    pub fn measured(&self) -> BTreeMap<&'static str, usize> {
        let mut sizes = BTreeMap::new();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|(name, measure)| {
            let bytes = measure();
            *sizes.entry(*name).or_default() += bytes.unwrap_or(0);
            bytes.is_some()
        });
        sizes
    }
}

impl fmt::Debug for CacheSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheSizes").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn allocations_are_rounded_to_the_next_size() {
        let sizes =
            [(0, 0), (1, 8), (9, 16), (100, 112), (129, 160), (257, 320), (4097, 5120), (65_536, 65_536)];
        for (bytes, taken) in sizes {
            assert_eq!(allocation(bytes), taken, "{bytes}");
        }
    }

    #[test]
    fn room_that_is_reserved_counts() {
        let mut text = String::with_capacity(1000);
        text.push('a');
        assert_eq!(text.heap(), 1024);
        let mut blocks = Vec::with_capacity(4);
        blocks.push(Block::text("hello"));
        assert_eq!(blocks.heap(), allocation(4 * size_of::<Block>()) + 8);
        assert!(json!({"a": 1}).heap() > 600, "an object has a whole node");
    }

    #[test]
    fn caches_are_added_up_and_forgotten_when_they_are_gone() {
        let sizes = CacheSizes::default();
        let one = Arc::new(String::with_capacity(64));
        let weak = Arc::downgrade(&one);
        sizes.add("texts", move || weak.upgrade().map(|text| text.heap()));
        sizes.add("texts", || Some(10));
        assert_eq!(sizes.measured(), BTreeMap::from([("texts", 74)]));
        drop(one);
        assert_eq!(sizes.measured(), BTreeMap::from([("texts", 10)]));
        assert_eq!(sizes.0.lock().unwrap().len(), 1);
    }
}
