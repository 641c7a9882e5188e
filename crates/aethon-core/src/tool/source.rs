//! Sources of tools. The guarded toolbox asks its sources before every turn, so tools may come and go at run time;
//! while a source reports no change, the list that models see stays byte-identical.

use std::sync::Arc;

use async_trait::async_trait;

use super::contract::Tool;

/// A source of tools: the built-in set, a tool server, a list that changes at run time.
#[async_trait]
pub trait ToolSource: Send + Sync {
    /// Returns its name, for logs.
    fn name(&self) -> &str;

    /// Returns its current tools, in a fixed order. Called before every turn, so it must be cheap, without I/O.
    fn tools(&self) -> ToolSnapshot;

    /// Returns the names of servers that are in their first start, so that their tools are not there yet. One that has
    /// failed is not starting.
    fn starting(&self) -> Vec<String> {
        Vec::new()
    }

    /// Waits until no server is in its first start. The caller bounds the wait.
    async fn ready(&self) {}
}

/// The tools of a source at one moment.
#[derive(Clone, Default)]
pub struct ToolSnapshot {
    /// Changes whenever the tools do, and only then.
    pub version: u64,
    /// The tools.
    pub tools: Arc<[Arc<dyn Tool>]>,
}

/// A fixed set of tools.
pub struct FixedTools {
    name: String,
    tools: Arc<[Arc<dyn Tool>]>,
}

impl FixedTools {
    /// A source of these tools, in this order.
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
