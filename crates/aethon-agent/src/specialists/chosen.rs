//! A subset of a source's tools: those whose names match a list.
//!
//! The subset keeps the version of its source, so a specialist sees tools come and go with the source.

use std::sync::{Arc, Mutex, PoisonError};

use aethon_core::tool::{Tool, ToolSnapshot, ToolSource};

use crate::hooks::fits;

/// What no specialist gets, whatever its list says: specialists call no other agents and make nothing that outlives
/// their task.
const NEVER: [&str; 7] = [
    "ask_*",
    "manage_specialists",
    "manage_tools",
    "tasks",
    "schedule_task",
    "remove_scheduled_job",
    "sop_step",
];

/// A subset of a source's tools.
pub struct ChosenTools {
    source: Arc<dyn ToolSource>,
    patterns: Vec<String>,
    /// The last selection, so that an unchanged source yields the same list.
    last: Mutex<Option<ToolSnapshot>>,
}

impl ChosenTools {
    /// Selects the tools whose names match one of these patterns, in which `*` stands for anything.
    pub fn new(source: Arc<dyn ToolSource>, patterns: Vec<String>) -> Self {
        Self { source, patterns, last: Mutex::default() }
    }

    fn is_chosen(&self, tool: &Arc<dyn Tool>) -> bool {
        let name = tool.spec().name.as_str();
        self.patterns.iter().any(|pattern| fits(name, pattern))
            && !NEVER.iter().any(|pattern| fits(name, pattern))
    }
}

impl ToolSource for ChosenTools {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn tools(&self) -> ToolSnapshot {
        let all = self.source.tools();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = last.as_ref().filter(|known| known.version == all.version) {
            return known.clone();
        }
        let tools = all.tools.iter().filter(|tool| self.is_chosen(tool)).cloned().collect();
        let chosen = ToolSnapshot { version: all.version, tools };
        *last = Some(chosen.clone());
        chosen
    }
}
