//! Builds the report of changes to the model's instructions: pages, SOPs, specialists in files, and the tool descriptions of
//! MCP servers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use aethon_agent::changes::{Changes, Sources};
use aethon_agent::prompt::Prompt;
use aethon_core::instructions::{Instructions, Observations, Observed, Origin};
use aethon_core::tool::Tool;
use aethon_mcp::client::Servers;
use aethon_workflows::digest;

use super::tools::Tools;
use super::workflows::WorkflowParts;
use crate::home::Home;

/// Reports changes of instructions to the owner.
pub(crate) fn changes(home: &Home, prompt: Arc<Prompt>, others: Vec<Arc<dyn Instructions>>) -> Arc<Changes> {
    let (workspace, kept_in) = (home.workspace(), home.run());
    Arc::new(Changes::new(Sources { workspace, kept_in, prompt, others }))
}

/// Everything besides the pages.
pub(crate) fn instructions(workflows: &WorkflowParts, tools: &Tools) -> Vec<Arc<dyn Instructions>> {
    let words: Arc<dyn Instructions> = Arc::new(ServerWords::new(tools.servers.clone()));
    workflows.instructions.iter().cloned().chain([words]).collect()
}

/// The tool descriptions of the connected MCP servers.
struct ServerWords {
    servers: Arc<Servers>,
    last: Mutex<Option<(u64, Arc<Observations>)>>,
}

impl ServerWords {
    fn new(servers: Arc<Servers>) -> Self {
        Self { servers, last: Mutex::new(None) }
    }
}

impl Instructions for ServerWords {
    fn observe(&self) -> Arc<Observations> {
        let (version, servers) = self.servers.tools_by_server();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, observed)) = last.as_ref().filter(|(of, _)| *of == version) {
            return observed.clone();
        }
        let entry = |(name, tools): (String, Vec<Arc<dyn Tool>>)| {
            (format!("mcp/{name}"), Observed::Text(words(&tools)))
        };
        let entries: BTreeMap<_, _> = servers.into_iter().map(entry).collect();
        let observed = Arc::new(Observations { origin: Origin::Servers, entries });
        *last = Some((version, observed.clone()));
        observed
    }
}

/// A digest of the descriptions of these tools, in whatever order the server lists them.
fn words(tools: &[Arc<dyn Tool>]) -> String {
    let word = |tool: &Arc<dyn Tool>| {
        let spec = tool.spec();
        format!("{}\n{}\n{}\n{:?}\n", spec.name, spec.description, spec.parameters, spec.effects)
    };
    let mut all: Vec<String> = tools.iter().map(word).collect();
    all.sort();
    digest(all.concat().as_bytes())
}
