//! Prompts that a person keeps, to write them into the message box by their name.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::version::{Expected, Version};
use crate::words::{is_slash_name, parsed_text};

/// The name of a saved prompt: 1 to 64 lower-case letters, digits and `-`, so that it can be typed after a slash.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(inline, extend("minLength" = 1, "maxLength" = 64, "pattern" = "^[a-z0-9-]+$"))]
pub struct PromptName(Arc<str>);

/// The text is not a valid name of a prompt.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the name of the prompt is not valid: use 1 to 64 lower-case letters, digits and hyphens")]
pub struct InvalidPromptName;

impl PromptName {
    /// Validates a name.
    ///
    /// # Errors
    ///
    /// It has other characters, or too many.
    pub fn parse(name: &str) -> Result<Self, InvalidPromptName> {
        if is_slash_name(name) { Ok(Self(name.into())) } else { Err(InvalidPromptName) }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

parsed_text!(shown PromptName, InvalidPromptName);

/// A prompt that a person keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SavedPrompt {
    /// Its name.
    pub name: PromptName,
    /// What it writes.
    pub content: String,
}

impl SavedPrompt {
    /// Returns its version.
    pub fn version(&self) -> Version {
        Version::of([self.content.as_str()])
    }
}

/// The saved prompts as they currently are.
#[async_trait]
pub trait SavedPrompts: Send + Sync {
    /// Returns all of them, by name.
    async fn prompts(&self) -> Result<Vec<SavedPrompt>>;

    /// Returns the one with this name.
    async fn prompt(&self, name: &PromptName) -> Result<Option<SavedPrompt>>;

    /// Writes one, if it is as expected.
    ///
    /// # Errors
    ///
    /// The text is empty or too long, or it was changed elsewhere.
    async fn save(&self, name: &PromptName, content: &str, expected: Expected) -> Result<SavedPrompt>;

    /// Removes one, if it is as expected; returns whether there was one.
    async fn remove(&self, name: &PromptName, expected: Expected) -> Result<bool>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_can_be_typed_after_a_slash() {
        let check =
            |name: &str, is_valid: bool| assert_eq!(PromptName::parse(name).is_ok(), is_valid, "{name:?}");
        check("daily-2", true);
        check(&"a".repeat(64), true);
        check("", false);
        check("Daily", false);
        check("a b", false);
        check("../soul", false);
        check(&"a".repeat(65), false);
    }
}
