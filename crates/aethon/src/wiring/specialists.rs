//! Builds the specialists, to which the main agent delegates, from `[agent.specialists]` and the workspace's `agents/`.

use std::sync::Arc;

use aethon_agent::Agent;
use aethon_agent::prompt::{Prompt, PromptOptions};
use aethon_config::Config;
use aethon_core::shaping;
use aethon_core::tool::ToolSource;
use aethon_workflows::specialists::{ChosenTools, Definition, SpecialistFolder, built_in};

use super::model::AgentModels;
use super::specialist_roster::{Recipe, SpecialistRoster};
use crate::prepared::Prepared;

/// The enabled built-in specialists with the owner's settings.
pub(crate) fn enabled(config: &Config) -> impl Iterator<Item = Definition> {
    built_in().into_iter().filter_map(|definition| {
        let Some(own) = config.agent.specialists.get(definition.name.as_str()) else {
            return Some(definition);
        };
        if !own.enabled {
            return None;
        }
        let tools = if own.tools.is_empty() { definition.tools } else { own.tools.clone() };
        let model = Some(own.model.trim().to_owned()).filter(|model| !model.is_empty());
        Some(Definition { tools, model, ..definition })
    })
}

/// The folder of specialists created at run time, if enabled.
pub(crate) fn folder(prepared: &Prepared) -> Option<Arc<SpecialistFolder>> {
    let reserved = built_in().into_iter().map(|definition| definition.name).collect();
    let folder = prepared.home.workspace().join(shaping::AGENTS);
    prepared.config.agent.dynamic_specialists.then(|| Arc::new(SpecialistFolder::new(folder, reserved)))
}

/// All specialists with their models, prompts and selection of the main agent's tools.
pub(crate) fn crew(
    prepared: &Prepared,
    models: &AgentModels,
    tools: &[Arc<dyn ToolSource>],
    folder: Option<Arc<SpecialistFolder>>,
) -> Arc<SpecialistRoster> {
    let fixed: Vec<Definition> = enabled(&prepared.config).collect();
    let usual = (models.models.clone(), models.small.clone());
    let tools = tools.to_vec();
    let by_name = super::model::by_name(prepared);
    let workspace = prepared.home.workspace();
    let recipe: Recipe = Arc::new(move |definition| {
        let prompt = Prompt::new(PromptOptions {
            name: definition.name.to_string(),
            workspace: workspace.clone(),
            persona: Some(definition.prompt.as_str().into()),
        });
        let own = definition.model.as_deref().and_then(&by_name);
        let follows = own.is_none();
        let chosen = |source: &Arc<dyn ToolSource>| {
            Arc::new(ChosenTools::new(source.clone(), definition.tools.clone())) as Arc<dyn ToolSource>
        };
        Agent::new(definition.name.clone(), own.unwrap_or_else(|| usual.0.clone()), Arc::new(prompt))
            .with_role(definition.role.as_str())
            .with_small(usual.1.clone())
            .following_main(follows)
            .with_tools(tools.iter().map(chosen).collect())
    });
    Arc::new(SpecialistRoster::new(fixed, folder, recipe))
}
