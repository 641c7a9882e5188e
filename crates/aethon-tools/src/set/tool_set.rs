//! A set of tools, and which of them are missing here.

use std::fmt;
use std::sync::Arc;

use aethon_core::tool::Tool;

/// Tools that belong together.
#[derive(Clone)]
#[non_exhaustive]
pub struct ToolSet {
    /// A stable id, such as `files`.
    pub id: &'static str,
    /// A title for people.
    pub title: &'static str,
    /// The available tools in their fixed order.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The unavailable ones, and why.
    pub absent: Vec<Absence>,
}

/// Tools that are not available.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Absence {
    /// Their names.
    pub tools: &'static [&'static str],
    /// A sentence for the owner: the missing part, and the remedy.
    pub why: String,
    /// The key that enables them, if the configuration and not the machine is the reason.
    pub config_key: Option<&'static str>,
}

impl ToolSet {
    /// Creates an empty set.
    pub fn new(id: &'static str, title: &'static str) -> Self {
        Self { id, title, tools: Vec::new(), absent: Vec::new() }
    }

    /// Adds a tool.
    #[must_use]
    pub fn with(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds a tool, or marks these names as absent because the machine lacks a requirement.
    #[must_use]
    pub fn with_or(self, tool: Result<impl Tool + 'static, String>, names: &'static [&'static str]) -> Self {
        match tool {
            Ok(tool) => self.with(tool),
            Err(why) => self.lacking(names, why),
        }
    }

    /// Marks tools as absent because the machine lacks something.
    #[must_use]
    pub fn lacking(mut self, tools: &'static [&'static str], why: impl Into<String>) -> Self {
        self.absent.push(Absence { tools, why: why.into(), config_key: None });
        self
    }

    /// Marks tools as absent because the configuration disables them.
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
