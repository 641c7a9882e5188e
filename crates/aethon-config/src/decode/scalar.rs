//! Reads one value as the type wanted, and describes it if that fails.

use aethon_core::secret::Secret;
use figment::value::Value;

use super::fault::Fault;
use super::node::{DATE, Node};
use crate::echo;
use crate::limits;
use crate::origins;

impl Node<'_> {
    /// Reads the value as a string and resolves its references.
    pub(super) fn string(&self) -> Result<String, Fault> {
        let text = match (self.value, self.given_text()) {
            (Value::String(_, text), _) => text.as_str(),
            // `--set dashboard.auth_token=12345`: TOML reads a number, the key wants the text.
            (_, Some(text)) => text,
            (Value::Dict(_, entries), None) => match entries.get(DATE).and_then(Value::as_str) {
                Some(date) => date,
                None => {
                    return Err(Fault::wrong_kind(&self.key, self.kind().to_owned(), "a string in quotes"));
                }
            },
            _ => return Err(Fault::wrong_kind(&self.key, self.kind().to_owned(), "a string in quotes")),
        };
        let expanded = self.scope.references.expand(text);
        let expanded = expanded.map_err(|broken| Fault::wrong(&self.key, broken.found, &broken.allowed))?;
        if self.is_secret && expanded.is_referenced && expanded.text.trim().is_empty() {
            return Err(Fault::wrong(
                &self.key,
                format!("{}, which resolves to nothing", echo::quoted(text)),
                "a reference with a value, so that protection is never turned off by accident; \
                 to turn it off, leave the key out or set it to \"\"",
            ));
        }
        if !self.is_secret && expanded.is_referenced && self.is_header() {
            // Variables count as well: people keep a header out of the file for a reason.
            self.scope.embedded.borrow_mut().push(Secret::new(expanded.text.as_ref()));
        } else if !self.is_secret {
            self.scope.embedded.borrow_mut().extend(expanded.credentials);
        }
        Ok(expanded.text.into_owned())
    }

    /// Whether it is the value of one of a model's headers.
    fn is_header(&self) -> bool {
        let keys: Vec<&str> = self.key.keys().collect();
        matches!(keys.as_slice(), ["model", .., "headers", _])
    }

    /// The text from which to parse a number or boolean, if a variable, `--set` or a reference supplied one.
    fn text(&self) -> Result<Option<String>, Fault> {
        match self.value {
            Value::String(_, text) if self.given_text().is_some() || text.contains("${") => {
                self.string().map(|text| Some(text.trim().to_owned()))
            }
            _ => Ok(None),
        }
    }

    /// Reads the value as a boolean.
    pub(super) fn truth(&self) -> Result<bool, Fault> {
        if let Value::Bool(_, value) = self.value {
            return Ok(*value);
        }
        let text = match self.given_text() {
            Some(text) if !matches!(self.value, Value::String(..)) => Some(text.to_owned()),
            _ => self.text()?,
        };
        match text.unwrap_or_default().to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(true),
            "false" | "0" | "no" | "off" => Ok(false),
            _ => Err(self.wrong("true or false")),
        }
    }

    /// Reads the value as a whole number.
    pub(super) fn whole_number<T: TryFrom<i128>>(&self, least: i128, most: i128) -> Result<T, Fault> {
        let number = match self.integer_value() {
            Some(number) => Some(number),
            None => self.text()?.and_then(|text| text.parse().ok()),
        };
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            let allowed = limits::range(&self.key.to_string())
                .map_or_else(|| whole_range(least, most), |range| format!("a whole number {range}"));
            self.wrong(&allowed)
        })
    }

    /// Reads the value as a finite number.
    pub(super) fn number(&self) -> Result<f64, Fault> {
        let number = match self.value.to_f64().or(self.integer_value().map(|number| number as f64)) {
            Some(number) => Some(number),
            None => self.text()?.and_then(|text| text.parse().ok()),
        };
        number.filter(|number| number.is_finite()).ok_or_else(|| {
            let allowed = limits::range(&self.key.to_string())
                .map_or_else(|| "a number".to_owned(), |range| format!("a number {range}"));
            self.wrong(&allowed)
        })
    }

    /// The value, if it is a whole number already.
    pub(super) fn integer_value(&self) -> Option<i128> {
        self.value.to_i128().or_else(|| self.value.to_u128().and_then(|number| i128::try_from(number).ok()))
    }

    /// Creates a fault for this value, with the values allowed instead.
    pub(super) fn wrong(&self, allowed: &str) -> Fault {
        Fault::wrong(&self.key, self.described(allowed), allowed)
    }

    /// Describes the value for a message. Never shows the result of a reference, nor a possible secret.
    pub(super) fn described(&self, allowed: &str) -> String {
        if self.is_secret {
            return self.kind().to_owned();
        }
        match self.value {
            // A table of secrets is no secret itself, but what stands in its place may be one.
            Value::String(..) if origins::known(&self.key) == Some(true) => self.kind().to_owned(),
            Value::String(_, text) => echo::described(text, allowed),
            Value::Bool(_, value) => value.to_string(),
            Value::Num(..) => match (self.integer_value(), self.value.to_f64()) {
                (Some(number), _) => number.to_string(),
                (None, Some(number)) => number.to_string(),
                (None, None) => self.kind().to_owned(),
            },
            _ => self.kind().to_owned(),
        }
    }

    fn kind(&self) -> &'static str {
        match self.value {
            Value::String(..) | Value::Char(..) => "a string",
            Value::Bool(..) => "a truth value",
            Value::Num(..) if self.integer_value().is_some() => "a whole number",
            Value::Num(..) => "a number",
            Value::Dict(_, entries) if entries.contains_key(DATE) => "a date",
            Value::Dict(..) => "a table",
            Value::Array(..) => "a list",
            Value::Empty(..) => "nothing",
        }
    }
}

fn whole_range(least: i128, most: i128) -> String {
    // The upper bound of a wide type tells the reader nothing.
    if most > i128::from(u32::MAX) {
        format!("a whole number of at least {least}")
    } else {
        format!("a whole number from {least} to {most}")
    }
}
