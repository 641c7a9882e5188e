//! Where tools come from. The guarded toolbox asks its sources before every turn, so tools may come and go while the
//! program runs; while a source says that nothing changed, the list that models see stays the same byte for byte.

use std::sync::Arc;

use super::contract::Tool;

/// Where tools come from: the built-in set, a server of tools, a list that changes while the program runs.
pub trait ToolSource: Send + Sync {
    /// Its name, for logs.
    fn name(&self) -> &str;

    /// The tools that it has now, in its own fixed order. Called before every turn, so it must be cheap and ask nobody.
    fn tools(&self) -> ToolSnapshot;
}

/// The tools of a source at one moment.
#[derive(Clone, Default)]
pub struct ToolSnapshot {
    /// Changes whenever the tools do, and at no other time.
    pub version: u64,
    /// The tools.
    pub tools: Arc<[Arc<dyn Tool>]>,
}

/// Tools that are known from the start and stay the same.
pub struct FixedTools {
    name: String,
    tools: Arc<[Arc<dyn Tool>]>,
}

impl FixedTools {
    /// These, in this order.
    pub fn new(name: impl Into<String>, tools: impl Into<Arc<[Arc<dyn Tool>]>>) -> Self {
        Self { name: name.into(), tools: tools.into() }
    }
}

impl ToolSource for FixedTools {
    fn name(&self) -> &str {
        &self.name
    }

    fn tools(&self) -> ToolSnapshot {
        ToolSnapshot { version: 0, tools: self.tools.clone() }
    }
}
