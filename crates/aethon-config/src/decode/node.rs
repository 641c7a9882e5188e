//! A value of the merged tree as a serde deserializer that knows its key.

use std::cell::RefCell;
use std::vec;

use aethon_core::secret::Secret;
use figment::value::{Dict, Value};
use serde::de::value::{StrDeserializer, StringDeserializer};
use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use super::fault::{self, Fault};
use crate::hint::nearest_word;
use crate::layers::{Layers, Origin, parse_value};
use crate::path::{KeyPath, Step};
use crate::reference::References;

/// The key under which the TOML parser passes on a date.
pub(super) const DATE: &str = "$__toml_private_datetime";

/// The inputs and results of one pass.
pub(super) struct Scope<'a> {
    pub(super) layers: &'a Layers,
    pub(super) references: References<'a>,
    pub(super) left_out: &'a [KeyPath],
    pub(super) unknown: RefCell<Vec<KeyPath>>,
    pub(super) embedded: RefCell<Vec<Secret>>,
}

/// A value and its position.
#[derive(Clone)]
pub(super) struct Node<'a> {
    pub(super) value: &'a Value,
    pub(super) key: KeyPath,
    pub(super) scope: &'a Scope<'a>,
    pub(super) is_secret: bool,
}

impl<'a> Node<'a> {
    /// The value at this step below.
    fn child(&self, step: Step, value: &'a Value) -> Self {
        Node { value, key: self.key.join(step), scope: self.scope, is_secret: self.is_secret }
    }

    /// Decodes it, and adds the key and the value found to a fault of a visitor, which knows neither.
    fn decode<'de, S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Fault> {
        seed.deserialize(self.clone()).map_err(|fault| self.located(fault))
    }

    fn located(&self, fault: Fault) -> Fault {
        if fault.key.is_some() { fault } else { self.wrong(&fault.allowed) }
    }

    /// The origin of the value. A value created while decoding has no tag, and takes the origin of its source.
    fn origin(&self) -> &'a Origin {
        self.scope.layers.origin(self.value.tag())
    }

    /// The text that a variable or `--set` gives for exactly this key.
    pub(super) fn given_text(&self) -> Option<&'a str> {
        self.origin().text_at(self.key.steps().len())
    }

    fn list<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Array(_, items) => visitor.visit_seq(Children::items(items, &self)),
            Value::String(_, text) if self.given_text().is_some() => {
                let items: Vec<Value> =
                    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(Value::from).collect();
                visitor.visit_seq(Children::items(&items, &self))
            }
            _ => Err(self.wrong("a list such as [\"a\", \"b\"]")),
        }
    }

    fn table<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Dict(_, entries) if !entries.contains_key(DATE) => {
                visitor.visit_map(Children::entries(entries, &self))
            }
            _ => Err(self.wrong("a table")),
        }
    }

    fn anything<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let node = self.clone();
        match self.value {
            Value::Bool(_, value) => visitor.visit_bool(*value),
            Value::Num(..) => match (self.integer_value(), self.value.to_f64()) {
                (Some(number), _) => match i64::try_from(number) {
                    Ok(number) => visitor.visit_i64(number),
                    Err(_) => Err(self.wrong("a number that is not that large")),
                },
                (None, Some(number)) => visitor.visit_f64(number),
                (None, None) => Err(self.wrong("a number")),
            },
            Value::Array(..) => self.list(visitor),
            Value::Dict(_, entries) if !entries.contains_key(DATE) => self.table(visitor),
            Value::Empty(..) => visitor.visit_unit(),
            Value::String(_, text) => match self.given_text().and_then(|_| parse_value(text)) {
                // The key accepts any type, so the variable is parsed like a `--set`.
                Some(value @ (Value::Bool(..) | Value::Num(..))) => {
                    Node { value: &value, ..self }.anything(visitor)
                }
                _ => visitor.visit_string(self.string()?),
            },
            Value::Char(..) | Value::Dict(..) => visitor.visit_string(self.string()?),
        }
        .map_err(|fault: Fault| node.located(fault))
    }
}

/// Generates the methods for whole numbers, which differ only in their range.
macro_rules! whole_numbers {
    ($($method:ident $visit:ident $kind:ty;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            visitor.$visit(self.whole_number::<$kind>(<$kind>::MIN.into(), <$kind>::MAX.into())?)
        }
    )*};
}

impl<'de> Deserializer<'de> for Node<'_> {
    type Error = Fault;

    whole_numbers! {
        deserialize_u8 visit_u8 u8;
        deserialize_u16 visit_u16 u16;
        deserialize_u32 visit_u32 u32;
        deserialize_u64 visit_u64 u64;
        deserialize_i8 visit_i8 i8;
        deserialize_i16 visit_i16 i16;
        deserialize_i32 visit_i32 i32;
        deserialize_i64 visit_i64 i64;
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.anything(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_bool(self.truth()?)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_f64(self.number()?)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_f64(self.number()?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_string(self.string()?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_string(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.given_text() {
            // An empty variable leaves an optional key unset.
            Some(text) if text.trim().is_empty() => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(Node { is_secret: self.is_secret || name == Secret::NAME, ..self })
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.list(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Array(..) => {
                Err(self.wrong(&format!("a table for each, with a name of its own: [{}.NAME]", self.key)))
            }
            _ => self.table(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.table(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let one_of = fault::one_of(variants);
        let text = self.string().map_err(|fault| fault.with_allowed_type(&one_of))?;
        let name: StringDeserializer<Fault> = text.into_deserializer();
        visitor.visit_enum(name).map_err(|_: Fault| {
            // The text as it stands there, never what a reference in it stands for.
            let given = if let Value::String(_, given) = self.value { given.as_str() } else { "" };
            let nearest = nearest_word(given, variants).map(|word| format!("; the nearest is {word}"));
            self.wrong(&format!("{one_of}{}", nearest.unwrap_or_default()))
        })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        // serde calls this for a key that the struct does not have.
        self.scope.unknown.borrow_mut().push(self.key.clone());
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        char bytes byte_buf unit unit_struct tuple tuple_struct identifier i128 u128
    }
}

/// The values of a table or list, without those found wrong in an earlier pass.
struct Children<'a> {
    rest: vec::IntoIter<Node<'a>>,
    current: Option<Node<'a>>,
}

impl<'a> Children<'a> {
    fn entries(entries: &'a Dict, parent: &Node<'a>) -> Self {
        Self::new(entries.iter().map(|(key, value)| parent.child(Step::Key(key.clone()), value)))
    }

    fn items(items: &'a [Value], parent: &Node<'a>) -> Self {
        let steps = items.iter().enumerate();
        Self::new(steps.map(|(index, value)| parent.child(Step::Index(index), value)))
    }

    fn new(children: impl Iterator<Item = Node<'a>>) -> Self {
        let is_right = |child: &Node<'_>| !child.scope.left_out.contains(&child.key);
        Self { rest: children.filter(is_right).collect::<Vec<_>>().into_iter(), current: None }
    }
}

impl<'de> MapAccess<'de> for Children<'_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        self.current = self.rest.next();
        let Some(Step::Key(name)) = self.current.as_ref().and_then(|child| child.key.steps().last()) else {
            return Ok(None);
        };
        let name: StrDeserializer<'_, Fault> = name.as_str().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let child = self.current.take().ok_or_else(|| de::Error::custom("a value after its key"))?;
        child.decode(seed)
    }
}

impl<'de> SeqAccess<'de> for Children<'_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        self.rest.next().map(|child| child.decode(seed)).transpose()
    }
}
