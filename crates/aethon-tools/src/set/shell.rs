//! The tool that runs commands.

use super::inputs::ToolInputs;
use super::tool_set::ToolSet;
use crate::shell::Shell;

pub(super) fn set(inputs: &ToolInputs<'_>) -> ToolSet {
    ToolSet::new("shell", "Commands").with(Shell::new(
        inputs.options,
        inputs.workspace.clone(),
        inputs.needs.redactor.clone(),
    ))
}
