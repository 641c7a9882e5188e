//! The tools for code intelligence.

use super::inputs::ToolInputs;
use super::tool_set::ToolSet;
use crate::files::RepoMap;
use crate::lsp::Lsp;

pub(super) fn set(inputs: &ToolInputs<'_>) -> ToolSet {
    let set = ToolSet::new("code", "Code");
    let set = match &inputs.needs.lsp {
        Some(servers) => set.with(Lsp::new(servers.clone())),
        None => set.switched_off(
            &["lsp"],
            "Language servers are switched off, or may not run: not in docker, and not without a sandbox while commands need your word.",
            "lsp.enabled",
        ),
    };
    match inputs.options.map_chars {
        0 => set.switched_off(&["repo_map"], "The repository map is switched off.", "repo_map.enabled"),
        most => set.with(RepoMap::new(inputs.workspace.clone(), most)),
    }
}
