//! A SOP as it was parsed: its parameters and steps, and the text they come from.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer_schema::AnswerSchema;
use crate::version::Version;
use crate::words::{is_slash_name, parsed_text};

/// The name of a SOP: 1 to 64 lower-case letters, digits and `-`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(inline, extend("minLength" = 1, "maxLength" = 64, "pattern" = "^[a-z0-9-]+$"))]
pub struct SopName(Arc<str>);

/// The text is not a valid SOP name.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the SOP name {0:?} is not valid: use 1 to 64 lower-case letters, digits and hyphens")]
pub struct InvalidSopName(String);

impl SopName {
    /// Validates a name.
    pub fn parse(name: &str) -> Result<Self, InvalidSopName> {
        if is_slash_name(name) {
            Ok(Self(name.into()))
        } else {
            Err(InvalidSopName(name.chars().take(80).collect()))
        }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

parsed_text!(shown SopName, InvalidSopName);

/// A parsed SOP.
#[derive(Debug, Clone, PartialEq)]
pub struct Sop {
    /// Its name.
    pub name: SopName,
    /// Its title.
    pub title: String,
    /// The first paragraph of its overview.
    pub description: String,
    /// Its parameters.
    pub parameters: Vec<SopParameter>,
    /// Its steps, in order.
    pub steps: Vec<SopStep>,
    /// Its origin.
    pub origin: SopOrigin,
    /// The whole source text.
    pub content: Arc<str>,
}

impl Sop {
    /// Returns its version.
    pub fn version(&self) -> Version {
        Version::of([&*self.content])
    }

    /// Returns the model that works on it, from a line `**Model:** NAME` before its steps: a name under `[model.named]`,
    /// or an id.
    pub fn model(&self) -> Option<&str> {
        let is_steps = |line: &str| {
            let word = line.trim().trim_matches(['#', ' ', ':', '*']);
            word.eq_ignore_ascii_case("steps") && !line.starts_with(['-', '*', '+'])
        };
        let head = self.content.lines().take_while(|line| !is_steps(line));
        let named = head.filter_map(|line| line.trim().strip_prefix("**Model:**")).map(|name| name.trim());
        named.map(|name| name.trim_matches('`')).find(|name| !name.is_empty())
    }

    /// Returns the parameter with this name.
    pub fn parameter(&self, name: &str) -> Option<&SopParameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }
}

/// A parameter of a SOP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SopParameter {
    /// Its name.
    pub name: String,
    /// Whether the SOP cannot be run without it.
    pub required: bool,
    /// Its default value.
    pub default: Option<String>,
    /// Its meaning.
    pub description: String,
}

/// A step of a SOP.
#[derive(Debug, Clone, PartialEq)]
pub struct SopStep {
    /// Its title.
    pub title: String,
    /// The instructions, including constraints, as written.
    pub text: String,
    /// The JSON Schema that its outcome has to fit.
    pub schema: Option<StepSchema>,
}

/// The JSON Schema that a step names.
#[derive(Debug, Clone, PartialEq)]
pub struct StepSchema {
    /// The file, relative to the folder of SOPs.
    pub file: String,
    /// The line of the SOP that names it.
    pub line: usize,
    /// The schema, or why it cannot be used.
    pub content: Result<Arc<AnswerSchema>, String>,
}

/// The origin of a SOP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SopOrigin {
    /// Part of the program.
    BuiltIn,
    /// A file in the workspace.
    File(PathBuf),
}
