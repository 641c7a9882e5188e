//! Decodes the merged tree into the typed configuration: a serde deserializer that tracks its position.
//!
//! It earns its keep in three ways. The wanted type decides how text is read, so `AETHON_CHANNELS__WEBCHAT__PORT=80` is a
//! number and `AETHON_DASHBOARD__AUTH_TOKEN=80` a string. References are resolved only where a value is used. And a wrong
//! value is left out and the rest decoded again, so that all problems are reported at once; a configuration without problems
//! takes a single pass.

mod access;
mod fault;
mod scalar;

use std::cell::RefCell;

use aethon_core::secret::Secret;
use figment::value::Value;
use serde::de::value::StringDeserializer;
use serde::de::{Deserialize, Deserializer, IntoDeserializer, Visitor};

use self::access::{Entries, Items};
use self::fault::Fault;
use crate::arguments;
use crate::layers::{Layers, Origin, parse_value};
use crate::path::{KeyPath, Trail};
use crate::problem::Problem;
use crate::reference::References;
use crate::schema::Config;

/// The key under which the TOML parser passes on a date.
const DATE: &str = "$__toml_private_datetime";

/// The result of decoding, including all problems.
pub(crate) struct Decoded {
    /// The configuration without the wrong values.
    pub(crate) config: Config,
    /// All problems.
    pub(crate) problems: Vec<Problem>,
    /// The keys of the problems.
    pub(crate) faulty: Vec<KeyPath>,
    /// Unknown keys.
    pub(crate) unknown: Vec<KeyPath>,
}

/// Decodes the merged layers.
pub(crate) fn decode(layers: &Layers, references: References<'_>) -> Decoded {
    let mut problems = Vec::new();
    let mut faulty: Vec<KeyPath> = Vec::new();
    loop {
        let scope = Scope {
            layers,
            references,
            left_out: &faulty,
            unknown: RefCell::default(),
            embedded: RefCell::default(),
        };
        let root = Node { value: layers.merged(), trail: &Trail::Root, scope: &scope, is_secret: false };
        match Config::deserialize(root) {
            Ok(mut config) => {
                config.embedded = scope.embedded.into_inner();
                config.embedded.extend(arguments::secrets(&config));
                return Decoded { config, problems, unknown: scope.unknown.into_inner(), faulty };
            }
            Err(fault) => {
                let key = fault.key.unwrap_or_default();
                problems.push(Problem {
                    place: layers.place(&key),
                    key: key.shown(),
                    found: fault.found,
                    allowed: fault.allowed,
                });
                // Every pass leaves out one more key; without a new one the loop would never end.
                if key.is_root() || faulty.contains(&key) {
                    return Decoded { config: Config::default(), problems, unknown: Vec::new(), faulty };
                }
                faulty.push(key);
            }
        }
    }
}

/// The inputs and results of one pass.
struct Scope<'a> {
    layers: &'a Layers,
    references: References<'a>,
    left_out: &'a [KeyPath],
    unknown: RefCell<Vec<KeyPath>>,
    embedded: RefCell<Vec<Secret>>,
}

/// A value and its position.
#[derive(Clone, Copy)]
struct Node<'a> {
    value: &'a Value,
    trail: &'a Trail<'a>,
    scope: &'a Scope<'a>,
    is_secret: bool,
}

impl<'a> Node<'a> {
    /// The origin of the value. A value created while decoding has no tag and takes the origin of what it was created from.
    fn origin(&self) -> &'a Origin {
        self.scope.layers.origin(self.value.tag())
    }

    /// The text that a variable or `--set` gives for exactly this key.
    fn given_text(&self) -> Option<&'a str> {
        self.origin().text_at(self.trail.depth())
    }

    fn list<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Array(_, items) => visitor.visit_seq(Items::new(items, self)),
            Value::String(_, text) if self.given_text().is_some() => {
                let items: Vec<Value> =
                    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(Value::from).collect();
                visitor.visit_seq(Items::new(&items, self))
            }
            _ => Err(self.wrong("a list such as [\"a\", \"b\"]")),
        }
    }

    fn table<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Dict(_, entries) if !entries.contains_key(DATE) => {
                visitor.visit_map(Entries::new(entries, self))
            }
            _ => Err(self.wrong("a table")),
        }
    }

    fn anything<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
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
        .map_err(|fault: Fault| fault.or_at(&self))
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
        self.table(visitor)
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
        visitor.visit_enum(name).map_err(|_| self.wrong(&one_of))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        // serde calls this for a key that the struct does not have.
        self.scope.unknown.borrow_mut().push(self.trail.path());
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        char bytes byte_buf unit unit_struct tuple tuple_struct identifier i128 u128
    }
}
