//! The tool that runs commands.

use super::ground::Ground;
use super::tool_set::ToolSet;
use crate::shell::Shell;

pub(super) fn set(ground: &Ground<'_>) -> ToolSet {
    ToolSet::new("shell", "Commands").with(Shell::new(
        ground.options,
        ground.workspace.clone(),
        ground.needs.redactor.clone(),
    ))
}
