//! The tools that currently exist: those of all sources, merged again only when a source reports a change.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use aethon_core::tool::{Tool, ToolSnapshot, ToolSource, ToolSpec};

/// The sources, and the tools they offered when they were last read.
pub(super) struct ToolTables {
    sources: Vec<Arc<dyn ToolSource>>,
    current: RwLock<Arc<ToolTable>>,
}

/// The tools at one moment.
#[derive(Default)]
pub(super) struct ToolTable {
    /// The versions of the sources, in their order; empty before the first read.
    versions: Vec<u64>,
    by_name: HashMap<String, Arc<dyn Tool>>,
    /// In the order of the sources, and of the tools within each: models see the same list as long as nothing changes.
    pub(super) specs: Arc<[ToolSpec]>,
}

impl ToolTables {
    pub(super) fn new(sources: Vec<Arc<dyn ToolSource>>) -> Self {
        let tables = Self { sources, current: RwLock::default() };
        // Warnings about tools that are left out belong to the start of the program.
        tables.current();
        tables
    }

    /// Returns the servers in their first start.
    pub(super) fn starting(&self) -> Vec<String> {
        self.sources.iter().flat_map(|source| source.starting()).collect()
    }

    /// Waits until there are none.
    pub(super) async fn ready(&self) {
        for source in &self.sources {
            source.ready().await;
        }
    }

    /// Returns the current tools.
    pub(super) fn current(&self) -> Arc<ToolTable> {
        let snapshots: Vec<ToolSnapshot> = self.sources.iter().map(|source| source.tools()).collect();
        let known = self.current.read().unwrap_or_else(PoisonError::into_inner).clone();
        if known.is_of(&snapshots) {
            return known;
        }
        let table = Arc::new(ToolTable::of(&self.sources, &snapshots));
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = table.clone();
        table
    }
}

impl ToolTable {
    fn of(sources: &[Arc<dyn ToolSource>], snapshots: &[ToolSnapshot]) -> Self {
        let mut by_name: HashMap<String, Arc<dyn Tool>> = HashMap::new();
        let mut specs = Vec::new();
        for (source, snapshot) in sources.iter().zip(snapshots) {
            for tool in snapshot.tools.iter() {
                let spec = tool.spec();
                if by_name.contains_key(&spec.name) {
                    let (source, tool) = (source.name(), &spec.name);
                    tracing::warn!(source, tool, "a second tool of this name is left out");
                    continue;
                }
                by_name.insert(spec.name.clone(), tool.clone());
                specs.push(spec.clone());
            }
        }
        let versions = snapshots.iter().map(|snapshot| snapshot.version).collect();
        Self { versions, by_name, specs: specs.into() }
    }

    fn is_of(&self, snapshots: &[ToolSnapshot]) -> bool {
        self.versions.len() == snapshots.len()
            && self.versions.iter().zip(snapshots).all(|(known, now)| *known == now.version)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.by_name.get(name)
    }

    /// Returns the names of all tools, for a model that asked for one that does not exist.
    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use aethon_core::tool::{FixedTools, ToolContext, ToolError, ToolOutput};
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
            Ok(ToolOutput::default())
        }
    }

    fn tools(names: &[&str], description: &str) -> Arc<[Arc<dyn Tool>]> {
        let tool =
            |name: &&str| Arc::new(Named(ToolSpec::new(*name, description, json!({})))) as Arc<dyn Tool>;
        names.iter().map(tool).collect()
    }

    /// A source whose tools change at run time.
    struct Changing(Mutex<ToolSnapshot>);

    impl ToolSource for Changing {
        fn name(&self) -> &str {
            "changing"
        }

        fn tools(&self) -> ToolSnapshot {
            self.0.lock().unwrap().clone()
        }
    }

    fn shown(table: &ToolTable) -> Vec<String> {
        table.specs.iter().map(|spec| format!("{} {}", spec.name, spec.description)).collect()
    }

    #[test]
    fn tools_keep_the_source_order_and_the_first_of_a_name_wins() {
        let first = FixedTools::new("first", tools(&["b", "a"], "1"));
        let second = FixedTools::new("second", tools(&["a", "c"], "2"));
        let tables = ToolTables::new(vec![Arc::new(first), Arc::new(second)]);
        let table = tables.current();
        assert_eq!(shown(&table), ["b 1", "a 1", "c 2"]);
        assert_eq!(table.get("a").unwrap().spec().description, "1");
        assert_eq!(table.names(), "b, a, c");
    }

    #[test]
    fn the_list_is_the_same_one_until_a_source_changes() {
        let changing = Arc::new(Changing(Mutex::new(ToolSnapshot { version: 1, tools: tools(&["a"], "1") })));
        let fixed = FixedTools::new("fixed", tools(&["z"], "0"));
        let tables = ToolTables::new(vec![changing.clone(), Arc::new(fixed)]);
        let before = tables.current();
        assert!(Arc::ptr_eq(&before.specs, &tables.current().specs), "nothing was put together anew");
        *changing.0.lock().unwrap() = ToolSnapshot { version: 2, tools: tools(&["a", "b"], "1") };
        assert_eq!(shown(&tables.current()), ["a 1", "b 1", "z 0"]);
        assert_eq!(shown(&before), ["a 1", "z 0"], "whoever has the list keeps it");
    }
}
