//! Calls and values in Python syntax: `[get_weather(city="Paris", days=2)]`, `{'key': True}`. Only what can occur in
//! a call is supported: names with keyword arguments, and literals.

use serde_json::{Map, Number, Value};

use crate::text_calls::call::{MAX_CALLS, TextCall};

/// The deepest nesting of values in a call.
const MAX_DEPTH: usize = 32;

/// Parses the calls at the start of a text, in brackets or a single one without, and returns their length.
pub(crate) fn calls(text: &str) -> Option<(Vec<TextCall>, usize)> {
    let mut reader = PythonReader { rest: text };
    let mut calls = Vec::new();
    if !reader.eat('[') {
        calls.push(reader.call()?);
        return Some((calls, text.len() - reader.rest.len()));
    }
    while !reader.eat(']') {
        if calls.len() == MAX_CALLS {
            return None;
        }
        calls.push(reader.call()?);
        if !reader.eat(',') {
            reader.eat(']').then_some(())?;
            break;
        }
    }
    (!calls.is_empty()).then_some((calls, text.len() - reader.rest.len()))
}

/// Parses the literal at the start of a text, and returns its length.
pub(crate) fn literal(text: &str) -> Option<(Value, usize)> {
    let mut reader = PythonReader { rest: text };
    let value = reader.value(0)?;
    Some((value, text.len() - reader.rest.len()))
}

/// Parses a text that is a single literal.
pub(crate) fn whole_literal(text: &str) -> Option<Value> {
    literal(text).filter(|(_, length)| *length == text.len()).map(|(value, _)| value)
}

struct PythonReader<'t> {
    rest: &'t str,
}

impl<'t> PythonReader<'t> {
    fn eat(&mut self, c: char) -> bool {
        self.rest = self.rest.trim_start();
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn name(&mut self) -> Option<&'t str> {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-')));
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        is_name.then_some(name)
    }

    /// Parses `name(key=value, …)`.
    fn call(&mut self) -> Option<TextCall> {
        self.rest = self.rest.trim_start();
        let start = self.rest;
        let name = self.name()?;
        self.eat('(').then_some(())?;
        let mut input = Map::new();
        while !self.eat(')') {
            let key = self.name()?;
            self.eat('=').then_some(())?;
            input.insert(key.to_owned(), self.value(0)?);
            if !self.eat(',') {
                self.eat(')').then_some(())?;
                break;
            }
        }
        let source = start[..start.len() - self.rest.len()].to_owned();
        Some(TextCall { name: name.to_owned(), input: Value::Object(input), source })
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.rest = self.rest.trim_start();
        match self.rest.chars().next()? {
            quote @ ('"' | '\'') => self.text(quote).map(Value::String),
            '[' => self.list(depth, ']'),
            '(' => self.list(depth, ')'),
            '{' => self.object(depth),
            c if c.is_ascii_digit() || c == '-' || c == '.' => self.number(),
            _ => match self.name()? {
                "True" | "true" => Some(Value::Bool(true)),
                "False" | "false" => Some(Value::Bool(false)),
                "None" | "null" => Some(Value::Null),
                _ => None,
            },
        }
    }

    fn text(&mut self, quote: char) -> Option<String> {
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1);
        while let Some((at, c)) = characters.next() {
            match c {
                c if c == quote => {
                    self.rest = &self.rest[at + c.len_utf8()..];
                    return Some(text);
                }
                '\\' => match characters.next()?.1 {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    'u' => {
                        let digits: String = characters.by_ref().take(4).map(|(_, digit)| digit).collect();
                        text.push(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)?);
                    }
                    '\n' => {}
                    c @ ('\\' | '\'' | '"' | '/') => text.push(c),
                    other => text.extend(['\\', other]),
                },
                c => text.push(c),
            }
        }
        None
    }

    fn list(&mut self, depth: usize, end: char) -> Option<Value> {
        self.rest = &self.rest[1..];
        let mut values = Vec::new();
        while !self.eat(end) {
            values.push(self.value(depth + 1)?);
            if !self.eat(',') {
                self.eat(end).then_some(())?;
                break;
            }
        }
        Some(Value::Array(values))
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.rest = &self.rest[1..];
        let mut fields = Map::new();
        while !self.eat('}') {
            let Value::String(key) = self.value(depth + 1)? else { return None };
            self.eat(':').then_some(())?;
            fields.insert(key, self.value(depth + 1)?);
            if !self.eat(',') {
                self.eat('}').then_some(())?;
                break;
            }
        }
        Some(Value::Object(fields))
    }

    fn number(&mut self) -> Option<Value> {
        let end =
            self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_')));
        let (digits, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        let digits = digits.replace('_', "");
        let whole = digits.parse::<i64>().ok().map(Value::from);
        whole.or_else(|| digits.parse::<f64>().ok().and_then(Number::from_f64).map(Value::Number))
    }
}
