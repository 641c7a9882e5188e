//! The tools that run commands, and look after those in the background.

use super::inputs::ToolInputs;
use super::tool_set::ToolSet;
use crate::shell::{BackgroundTool, CommandRegistry, Shell};

pub(super) fn set(inputs: &ToolInputs<'_>) -> ToolSet {
    let (options, needs) = (inputs.options, inputs.needs);
    let alone = || CommandRegistry::alone(needs.clock.clone(), needs.redactor.clone());
    let background = needs.background.clone().unwrap_or_else(alone);
    let redactor = needs.redactor.clone();
    ToolSet::new("shell", "Commands")
        .with(Shell::new(options, inputs.workspace.clone(), redactor, background.clone()))
        .with(BackgroundTool::new(background, options.shell.max_timeout))
}
