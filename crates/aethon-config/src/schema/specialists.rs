//! `[agent.specialists]`: the agents to which the main one delegates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The agents that the main one asks for a part of its work.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Specialists {
    /// Writes and changes code.
    pub coder: Specialist,
    /// Finds things out.
    pub researcher: Specialist,
    /// Works through data.
    pub analyst: Specialist,
    /// Makes plans.
    pub planner: Specialist,
    /// Takes a quick look.
    pub scout: Specialist,
}

/// A specialist.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Specialist {
    /// Whether it can be asked.
    pub enabled: bool,
    /// The model that it asks, of the same provider and host. Empty: the models of `[model]`.
    pub model: String,
    /// The tools that it may use, by name; a `*` stands for any part of one. Empty: its usual ones.
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
