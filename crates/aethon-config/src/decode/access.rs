//! Walks into tables and lists, leaving out values found wrong in an earlier pass.

use figment::value::{Dict, Value};
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess};

use super::Node;
use super::fault::Fault;
use crate::path::Trail;

/// The entries of a table.
pub(super) struct Entries<'a> {
    rest: std::collections::btree_map::Iter<'a, String, Value>,
    current: Option<(&'a String, &'a Value)>,
    parent: Node<'a>,
}

impl<'a> Entries<'a> {
    pub(super) fn new(entries: &'a Dict, parent: Node<'a>) -> Self {
        Self { rest: entries.iter(), current: None, parent }
    }
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        for (key, value) in self.rest.by_ref() {
            if is_left_out(&self.parent, &Trail::Key(self.parent.trail, key)) {
                continue;
            }
            self.current = Some((key, value));
            let key: StrDeserializer<'_, Fault> = key.as_str().into_deserializer();
            return seed.deserialize(key).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let Some((key, value)) = self.current.take() else {
            return Err(serde::de::Error::custom("a value after its key"));
        };
        child(seed, self.parent, value, &Trail::Key(self.parent.trail, key))
    }
}

/// The items of a list.
pub(super) struct Items<'a> {
    rest: std::iter::Enumerate<std::slice::Iter<'a, Value>>,
    parent: Node<'a>,
}

impl<'a> Items<'a> {
    pub(super) fn new(items: &'a [Value], parent: Node<'a>) -> Self {
        Self { rest: items.iter().enumerate(), parent }
    }
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        for (index, value) in self.rest.by_ref() {
            let trail = Trail::Index(self.parent.trail, index);
            if !is_left_out(&self.parent, &trail) {
                return child(seed, self.parent, value, &trail).map(Some);
            }
        }
        Ok(None)
    }
}

fn child<'de, S: DeserializeSeed<'de>>(
    seed: S,
    parent: Node<'_>,
    value: &Value,
    trail: &Trail<'_>,
) -> Result<S::Value, Fault> {
    let node = Node { value, trail, scope: parent.scope, is_secret: parent.is_secret };
    seed.deserialize(node).map_err(|fault| fault.or_at(&node))
}

fn is_left_out(parent: &Node<'_>, trail: &Trail<'_>) -> bool {
    !parent.scope.left_out.is_empty() && parent.scope.left_out.contains(&trail.path())
}
