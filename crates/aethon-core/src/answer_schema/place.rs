//! Places in schemas and values, and the places that references name.

use std::fmt;

use serde_json::Value;

/// How deep schemas may be nested, and how many references may follow each other.
pub(super) const MAX_DEPTH: usize = 32;

/// A place in a schema or a value, as a JSON Pointer.
#[derive(Debug, Clone)]
pub(super) struct Place(String);

impl Place {
    /// The whole.
    pub(super) fn root() -> Self {
        Self(String::new())
    }

    /// A part of it.
    pub(super) fn at(&self, step: impl fmt::Display) -> Self {
        let step = step.to_string().replace('~', "~0").replace('/', "~1");
        Self(format!("{}/{step}", self.0))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { f.write_str("the top level") } else { write!(f, "`{}`", self.0) }
    }
}

/// Returns the part of the schema that a reference means.
pub(super) fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    root.pointer(reference.strip_prefix('#')?)
}
