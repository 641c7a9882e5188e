//! Results of reading a text: calls, and the text and thoughts around them.

use serde_json::Value;

/// More calls than any real response has; further ones are dropped.
pub(super) const MAX_CALLS: usize = 64;

/// The most text that is held back. The excess of a longer call is dropped, so that it counts as broken.
pub(super) const MAX_LEN: usize = 256 * 1024;

/// One call, as written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TextCall {
    pub(super) name: String,
    /// An object. For a broken call, the text that should have been one, which the toolbox answers with an error.
    pub(super) input: Value,
    /// The text that names the tool and its arguments, for recognising quotations.
    pub(super) source: String,
}

impl TextCall {
    /// Creates a call whose arguments cannot be read.
    pub(super) fn broken(name: &str, source: &str) -> Self {
        let input = Value::String(source.to_owned());
        Self { name: name.to_owned(), input, source: source.to_owned() }
    }
}

/// Output of a model, once its kind is clear.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Output {
    Text(String),
    Thought(String),
    Call(TextCall),
}
