//! Tools that belong together, and what is missing of them here.

use std::fmt;
use std::sync::Arc;

use aethon_core::tool::Tool;

/// Tools that belong together.
#[derive(Clone)]
#[non_exhaustive]
pub struct ToolSet {
    /// A stable word for it, such as `files`.
    pub id: &'static str,
    /// What a person calls it.
    pub title: &'static str,
    /// The tools that are here, in their fixed order.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Those that are not, and why.
    pub absent: Vec<Absence>,
}

/// Tools that are not here.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Absence {
    /// Their names.
    pub tools: &'static [&'static str],
    /// A sentence for the owner: what is missing, and what would mend that.
    pub why: String,
    /// The key that switches them on, where it is the configuration that leaves them out, and not the machine.
    pub config_key: Option<&'static str>,
}

impl ToolSet {
    /// A set without tools.
    pub fn new(id: &'static str, title: &'static str) -> Self {
        Self { id, title, tools: Vec::new(), absent: Vec::new() }
    }

    /// With one more tool.
    #[must_use]
    pub fn with(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// With this tool, or without it under these names, because the machine lacks what it needs.
    #[must_use]
    pub fn with_or(self, tool: Result<impl Tool + 'static, String>, names: &'static [&'static str]) -> Self {
        match tool {
            Ok(tool) => self.with(tool),
            Err(why) => self.lacking(names, why),
        }
    }

    /// Without these, because the machine lacks something.
    #[must_use]
    pub fn lacking(mut self, tools: &'static [&'static str], why: impl Into<String>) -> Self {
        self.absent.push(Absence { tools, why: why.into(), config_key: None });
        self
    }

    /// Without these, because the configuration leaves them out.
    #[must_use]
    pub fn switched_off(
        mut self,
        tools: &'static [&'static str],
        why: impl Into<String>,
        key: &'static str,
    ) -> Self {
        self.absent.push(Absence { tools, why: why.into(), config_key: Some(key) });
        self
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.tools.iter().map(|tool| tool.spec().name.as_str()).collect();
        let mut shown = formatter.debug_struct("ToolSet");
        shown
            .field("id", &self.id)
            .field("tools", &names)
            .field("absent", &self.absent)
            .finish_non_exhaustive()
    }
}
