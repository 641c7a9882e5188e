//! Builds the tools: their access, their services, and the sources through which the engine finds them.

use std::sync::Arc;

use aethon_core::feature::{Feature, FeatureSource, FeatureState};
use aethon_core::file_changes::FileHistory;
use aethon_core::memory::Memory;
use aethon_core::program::Programs;
use aethon_core::storage::Storage;
use aethon_core::tool::{FixedTools, ToolSource};
use aethon_mcp::client::Servers;
use aethon_tools::{ChangeJournal, CommandRegistry, ConfinedPrograms, KeptOutputs, Needs, ToolSet};

use super::channels::Deliveries;
use super::tool_options;
use super::workflows::WorkflowParts;
use crate::prepared::Prepared;

/// The tool sources.
pub(crate) struct Tools {
    /// The built-in tools.
    pub(crate) sets: Arc<[ToolSet]>,
    /// The MCP servers.
    pub(crate) servers: Arc<Servers>,
    /// The tools created at run time.
    dynamic: Option<Arc<dyn ToolSource>>,
    /// Starts programs for the owner.
    pub(crate) programs: Arc<dyn Programs>,
    /// The files that they have changed.
    pub(crate) files: Arc<dyn FileHistory>,
    /// The commands in the background.
    pub(crate) commands: CommandRegistry,
}

impl Tools {
    /// Builds the tools of this configuration.
    pub(crate) fn of(
        prepared: &Prepared,
        storage: &Storage,
        deliveries: &Deliveries,
        files: Arc<dyn FileHistory>,
        memory: Option<Arc<dyn Memory>>,
    ) -> Self {
        let redactor = prepared.shared.redactor.clone();
        let commands = CommandRegistry::new(prepared.clock(), redactor, storage.audit.clone());
        let mut needs = needs(prepared, storage, deliveries);
        needs.memory = memory;
        needs.background = Some(commands.clone());
        let sets: Arc<[ToolSet]> = aethon_tools::sets(&tool_options::options(prepared), &needs).into();
        let own = aethon_tools::tools(&sets).into_iter().chain(prepared.source.parts.tools.iter().cloned());
        let taken = own.map(|tool| tool.spec().name.clone()).collect();
        let dynamic = super::sandbox::dynamic(prepared, storage, &tool_options::options(prepared), taken);
        let programs =
            Arc::new(ConfinedPrograms::new(&tool_options::options(prepared), &prepared.flags.locale));
        let servers = Arc::new(super::mcp::servers(prepared));
        Self { sets, servers, dynamic, programs, files, commands }
    }

    /// All sources for the engine. If two tools have the same name, the built-in one wins.
    pub(crate) fn sources(&self, prepared: &Prepared, workflows: &WorkflowParts) -> Vec<Arc<dyn ToolSource>> {
        let fixed = [
            ("built-in", aethon_tools::tools(&self.sets)),
            ("workflows", workflows.tools(prepared)),
            ("embedder", prepared.source.parts.tools.clone()),
        ];
        let fixed = fixed.into_iter().map(|(name, tools)| Arc::new(FixedTools::new(name, tools)) as _);
        fixed.chain(self.dynamic.clone()).chain([self.servers.source()]).collect()
    }
}

/// What the built-in tools need from the rest of the program, besides memory and commands.
fn needs(prepared: &Prepared, storage: &Storage, deliveries: &Deliveries) -> Needs {
    let mut needs = Needs::new(prepared.clock(), storage.history.clone(), storage.transcripts.clone());
    needs.redactor = prepared.shared.redactor.clone();
    needs.outputs = Some(outputs(prepared, storage));
    needs.changes = Some(changes(prepared, storage));
    needs.lsp = prepared.shared.lsp.clone();
    needs.documents = crate::documents::reader(&prepared.flags);
    needs.courier = Some(deliveries.courier(storage.outbox.clone()));
    needs
}

/// One row for each tool set, with the tools available and those that are not, and why.
pub(crate) fn features(sets: Arc<[ToolSet]>) -> impl FeatureSource {
    move || sets.iter().map(feature).collect::<Vec<_>>()
}

fn feature(set: &ToolSet) -> Feature {
    let names: Vec<&str> = set.tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    let absent = set.absent.iter().map(|absence| format!("no {}: {}", absence.tools.join(", "), absence.why));
    let key = set.absent.iter().find_map(|absence| absence.config_key);
    let state = match (names.is_empty(), key) {
        (false, _) => FeatureState::On,
        (true, Some(_)) => FeatureState::Off,
        (true, None) => FeatureState::Unavailable,
    };
    let there = (!names.is_empty()).then(|| names.join(", "));
    let detail = there.into_iter().chain(absent).collect::<Vec<_>>().join("; ");
    let (id, title) = (format!("tools_{}", set.id), format!("Tools: {}", set.title));
    Feature::new((&id, &title), state, detail, key.unwrap_or_default())
}

/// The journal of what files were before tools changed them.
pub(crate) fn changes(prepared: &Prepared, storage: &Storage) -> ChangeJournal {
    let copies = crate::file_copies::copies(&prepared.config, storage, prepared.clock(), "changes");
    ChangeJournal::new(prepared.home.changes(), prepared.clock()).with_copies(copies)
}

/// The store for output too long for a model.
pub(crate) fn outputs(prepared: &Prepared, storage: &Storage) -> KeptOutputs {
    let copies = crate::file_copies::copies(&prepared.config, storage, prepared.clock(), "outputs");
    KeptOutputs::new(prepared.home.outputs(), prepared.clock()).with_copies(copies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configured_socket_kinds_match_the_confinement() {
        let mut config = aethon_config::Config::default();
        config.security.allowed_sockets = aethon_tools::socket_kinds().map(str::to_owned).collect();
        assert_eq!(config.security.allowed_sockets.len(), 8);
        let text = format!("security.allowed_sockets={:?}", config.security.allowed_sockets);
        let sources = aethon_config::Sources { sets: vec![text], ..Default::default() };
        assert!(aethon_config::load(&sources).is_ok());
    }

    #[test]
    fn absent_tools_are_listed_with_the_reason() {
        let set = ToolSet::new("desktop", "The desktop");
        let bare = feature(&set.clone().lacking(&["open", "notify"], "there is no desktop"));
        assert_eq!((bare.id.as_str(), bare.state), ("tools_desktop", FeatureState::Unavailable));
        assert_eq!(bare.detail, "no open, notify: there is no desktop");
        let off = feature(&set.switched_off(&["open"], "it is off", "tools.open"));
        assert_eq!((off.config_key.as_str(), off.state), ("tools.open", FeatureState::Off));
    }
}
