//! Names of properties: those that are sent, for those of the tool, and back.

use std::collections::BTreeMap;

use aethon_core::tool::digested_name;
use serde_json::{Map, Value};

/// Maximum length of a property's name.
const MAX_NAME: usize = 64;

/// Returns whether every service accepts this name of a property.
pub(super) fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(plain)
}

/// The names of the properties of one place in the arguments.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct NameMap {
    /// The name that is sent, by the tool's own.
    sent: BTreeMap<String, String>,
    /// What is below the properties, by the tool's own names.
    fields: BTreeMap<String, NameMap>,
    /// What is below the items of an array.
    items: Option<Box<NameMap>>,
    /// What is below properties with names that the schema does not have.
    others: Option<Box<NameMap>>,
}

/// The direction of a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// To the service.
    Out,
    /// Back to the tool.
    Back,
}

impl NameMap {
    /// Returns whether every name is sent as it is.
    pub(super) fn is_plain(&self) -> bool {
        self.sent.is_empty()
            && self.fields.values().all(NameMap::is_plain)
            && self.items.iter().chain(&self.others).all(|below| below.is_plain())
    }

    /// Returns the name to send for a property.
    pub(super) fn name(&mut self, name: &str) -> String {
        if is_plain(name) {
            return name.to_owned();
        }
        self.sent.entry(name.to_owned()).or_insert_with(|| digested_name(name, MAX_NAME)).clone()
    }

    /// Returns the map below a property.
    pub(super) fn below(&mut self, name: &str) -> &mut NameMap {
        self.fields.entry(name.to_owned()).or_default()
    }

    /// Returns the map below the items.
    pub(super) fn items(&mut self) -> &mut NameMap {
        self.items.get_or_insert_default()
    }

    /// Returns the map below other properties.
    pub(super) fn others(&mut self) -> &mut NameMap {
        self.others.get_or_insert_default()
    }

    /// Converts the names in arguments.
    pub(super) fn convert(&self, value: &Value, direction: Direction) -> Value {
        match value {
            Value::Array(values) => match &self.items {
                Some(below) => values.iter().map(|value| below.convert(value, direction)).collect(),
                None => value.clone(),
            },
            Value::Object(fields) => Value::Object(self.object(fields, direction)),
            Value::String(text) if direction == Direction::Back && !self.is_plain() => self.text(text),
            other => other.clone(),
        }
    }

    /// Converts a text that is a document: models write the arguments of a place as text now and then.
    fn text(&self, text: &str) -> Value {
        match serde_json::from_str(text) {
            Ok(document @ (Value::Object(_) | Value::Array(_))) => {
                self.convert(&document, Direction::Back).to_string().into()
            }
            _ => text.into(),
        }
    }

    fn object(&self, fields: &Map<String, Value>, direction: Direction) -> Map<String, Value> {
        let convert = |(name, value): (&String, &Value)| {
            let own = match direction {
                Direction::Out => name,
                Direction::Back => self.own_name(name),
            };
            let below = self.fields.get(own).or(self.others.as_deref());
            let value = below.map_or_else(|| value.clone(), |below| below.convert(value, direction));
            let name = match direction {
                Direction::Out => self.sent.get(own).unwrap_or(own),
                Direction::Back => own,
            };
            (name.clone(), value)
        };
        fields.iter().map(convert).collect()
    }

    fn own_name<'n>(&'n self, sent: &'n String) -> &'n String {
        self.sent.iter().find(|(_, known)| *known == sent).map_or(sent, |(own, _)| own)
    }
}
