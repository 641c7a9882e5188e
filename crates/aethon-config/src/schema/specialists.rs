//! `[agent.specialists]`: the specialists to which the main agent delegates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The specialists, to which the main agent delegates parts of its work.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Specialists {
    /// Writes and changes code.
    pub coder: Specialist,
    /// Researches questions.
    pub researcher: Specialist,
    /// Analyses data.
    pub analyst: Specialist,
    /// Makes plans.
    pub planner: Specialist,
    /// Answers quick questions about files and projects.
    pub scout: Specialist,
}

/// A specialist.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Specialist {
    /// Whether the main agent can delegate to it.
    pub enabled: bool,
    /// Its model, of the same provider and host. Empty: the models of `[model]`.
    pub model: String,
    /// The tools that it may use, by name; `*` matches any part of one. Empty: its default tools.
    pub tools: Vec<String>,
}

impl Default for Specialist {
    fn default() -> Self {
        Self { enabled: true, model: String::new(), tools: Vec::new() }
    }
}

impl Specialists {
    /// The one of this name.
    pub fn get(&self, name: &str) -> Option<&Specialist> {
        match name {
            "coder" => Some(&self.coder),
            "researcher" => Some(&self.researcher),
            "analyst" => Some(&self.analyst),
            "planner" => Some(&self.planner),
            "scout" => Some(&self.scout),
            _ => None,
        }
    }
}
