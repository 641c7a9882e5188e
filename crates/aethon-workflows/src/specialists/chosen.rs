//! A subset of a source's tools: those whose names match a list.
//!
//! The subset keeps the version of its source, so a specialist sees tools come and go with the source.

use std::sync::{Arc, Mutex, PoisonError};

use aethon_core::tool::{Tool, ToolSnapshot, ToolSource};

use aethon_core::async_trait::async_trait;
use aethon_core::tool::fits;

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
    /// Selects the tools whose names match one of these patterns, in which `*` matches anything.
    pub fn new(source: Arc<dyn ToolSource>, patterns: Vec<String>) -> Self {
        Self { source, patterns, last: Mutex::default() }
    }

    fn is_chosen(&self, tool: &Arc<dyn Tool>) -> bool {
        let name = tool.spec().name.as_str();
        self.patterns.iter().any(|pattern| fits(name, pattern))
            && !NEVER.iter().any(|pattern| fits(name, pattern))
    }
}

#[async_trait]
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

    fn starting(&self) -> Vec<String> {
        let mut starting = self.source.starting();
        starting.retain(|server| {
            let begin = format!("{server}__");
            let concerns =
                |pattern: &String| pattern.starts_with(&begin) || fits(&format!("{begin}x"), pattern);
            self.patterns.iter().any(concerns)
        });
        starting
    }

    async fn ready(&self) {
        if !self.starting().is_empty() {
            self.source.ready().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::tool::{FixedTools, ToolContext, ToolError, ToolOutput, ToolSpec};
    use async_trait::async_trait;
    use serde_json::{Value, json};

    use super::*;

    struct Named(ToolSpec);

    #[async_trait]
    impl Tool for Named {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        async fn call(&self, _context: &ToolContext, _input: Value) -> Result<ToolOutput, ToolError> {
            Err(ToolError::failed("never called"))
        }
    }

    #[test]
    fn specialists_get_no_tools_that_delegate_or_outlive_their_task() {
        let names = [
            "file_read",
            "file_write",
            "ask_coder",
            "manage_specialists",
            "manage_tools",
            "tasks",
            "web_fetch",
        ];
        let tool = |name: &str| Arc::new(Named(ToolSpec::new(name, "", json!({})))) as Arc<dyn Tool>;
        let source = Arc::new(FixedTools::new("all", names.map(tool).to_vec()));
        let chosen = |patterns: &[&str]| -> Vec<String> {
            let patterns = patterns.iter().map(|one| (*one).to_owned()).collect();
            let tools = ChosenTools::new(source.clone(), patterns).tools().tools;
            tools.iter().map(|tool| tool.spec().name.clone()).collect()
        };
        assert_eq!(chosen(&["*"]), ["file_read", "file_write", "web_fetch"]);
        assert_eq!(chosen(&["file_*"]), ["file_read", "file_write"]);
    }
}
