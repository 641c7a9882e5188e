//! Tools that were made while the program runs, as the engine finds them.

use std::path::PathBuf;
use std::sync::Arc;

use aethon_core::audit::AuditLog;
use aethon_core::clock::Clock;
use aethon_core::live::Live;
use aethon_core::redact::Redactor;
use aethon_core::sandbox::Sandbox;
use aethon_core::tool::{Tool, ToolSnapshot, ToolSource};

use super::manage::ManageTools;
use super::program::Place;
use super::shelf::Shelf;
use crate::options::Options;
use crate::shell::Runner;

/// The tools that were made while the program runs, and the tool that makes them.
pub struct DynamicTools {
    shelf: Arc<Shelf>,
    manage: Arc<dyn Tool>,
}

impl DynamicTools {
    /// Those in this folder, which is made when the first one is added. `reserved` are the names of other tools.
    pub fn open(
        folder: PathBuf,
        options: &Options,
        reserved: Vec<String>,
        (audit, clock, redactor): (Arc<dyn AuditLog>, Arc<dyn Clock>, Live<Redactor>),
    ) -> Self {
        // They never run on the machine itself, whatever holds for commands.
        let mut options = options.clone();
        if options.shell.sandbox == Sandbox::None {
            options.shell.sandbox = Sandbox::Kernel;
        }
        let place =
            Place { runner: Arc::new(Runner::new(&options, redactor)), workspace: options.workspace.clone() };
        let shelf = Arc::new(Shelf::open(folder, place, reserved, (audit, clock)));
        Self { manage: Arc::new(ManageTools::new(shelf.clone())), shelf }
    }
}

impl ToolSource for DynamicTools {
    fn name(&self) -> &str {
        "runtime_tools"
    }

    fn tools(&self) -> ToolSnapshot {
        let (version, own) = self.shelf.tools();
        ToolSnapshot { version, tools: [self.manage.clone()].into_iter().chain(own).collect() }
    }
}
