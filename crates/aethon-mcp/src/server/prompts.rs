//! Prompts: texts that a person picks in their MCP client, with blanks to fill in. The assistant's SOPs are offered so.

use async_trait::async_trait;

/// A prompt in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its blanks.
    pub arguments: Vec<PromptArgument>,
}

/// A blank of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// What belongs there.
    pub description: String,
    /// Whether it has to be filled in.
    pub required: bool,
}

/// Where prompts come from.
#[async_trait]
pub trait Prompts: Send + Sync {
    /// Those that there are now.
    async fn list(&self) -> Vec<Prompt>;

    /// The text of one with its blanks filled in. The error is a sentence for the person: there is no such prompt, or a
    /// blank is missing.
    async fn fill(&self, name: &str, arguments: &[(String, String)]) -> Result<String, String>;
}
