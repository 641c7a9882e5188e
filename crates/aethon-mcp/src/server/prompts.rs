//! Prompts: templates that a person picks in their MCP client and fills in. The assistant's SOPs are offered as
//! prompts.

use async_trait::async_trait;

/// A prompt in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// Its arguments.
    pub arguments: Vec<PromptArgument>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// Its meaning.
    pub description: String,
    /// Whether it is mandatory.
    pub required: bool,
}

/// A source of prompts.
#[async_trait]
pub trait Prompts: Send + Sync {
    /// Returns the current prompts.
    async fn list(&self) -> Vec<Prompt>;

    /// Returns the text of a prompt with its arguments filled in. The error is a sentence for the person: the prompt
    /// does not exist, or an argument is missing.
    async fn fill(&self, name: &str, arguments: &[(String, String)]) -> Result<String, String>;

    /// Returns values for an argument that begin as a person has begun to write it, best first. The error is a sentence: the
    /// prompt or the argument does not exist.
    async fn complete(&self, name: &str, argument: &str, begun: &str) -> Result<Vec<String>, String>;
}
