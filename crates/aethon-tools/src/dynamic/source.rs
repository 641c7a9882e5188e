//! Offers the tools that were created at runtime to the engine.

use std::path::PathBuf;
use std::sync::Arc;

use aethon_core::audit::AuditLog;
use aethon_core::clock::Clock;
use aethon_core::live::Live;
use aethon_core::sandbox::Sandbox;
use aethon_core::tool::{Tool, ToolSnapshot, ToolSource};
use aethon_guard::redact::Redactor;

use super::manage::ManageTools;
use super::program::Executor;
use super::store::ToolStore;
use crate::options::Options;
use crate::shell::Runner;

/// The tools created at runtime, and the tool that creates them.
pub struct DynamicTools {
    store: Arc<ToolStore>,
    manage: Arc<dyn Tool>,
}

impl DynamicTools {
    /// Opens this folder, which is created when the first tool is added. `reserved` are the names of other tools.
    pub fn open(
        folder: PathBuf,
        options: &Options,
        reserved: Vec<String>,
        audit: Arc<dyn AuditLog>,
        clock: Arc<dyn Clock>,
        redactor: Live<Redactor>,
    ) -> Self {
        // They never run directly on the machine, whatever applies to commands.
        let mut options = options.clone();
        if options.shell.sandbox == Sandbox::None {
            options.shell.sandbox = Sandbox::Kernel;
        }
        let executor = Executor {
            runner: Arc::new(Runner::new(&options, redactor)),
            workspace: options.workspace.clone(),
        };
        let effect = executor.runner.effect();
        let store = Arc::new(ToolStore::open(folder, executor, reserved, audit, clock));
        Self { manage: Arc::new(ManageTools::new(store.clone(), effect)), store }
    }
}

impl ToolSource for DynamicTools {
    fn name(&self) -> &str {
        "runtime_tools"
    }

    fn tools(&self) -> ToolSnapshot {
        let (version, own) = self.store.tools();
        ToolSnapshot { version, tools: [self.manage.clone()].into_iter().chain(own).collect() }
    }
}
