//! The tools by which the assistant keeps something for later conversations: the memory, and the workspace pages that
//! it writes for its later self.

use std::sync::Arc;

use super::inputs::ToolInputs;
use super::tool_set::ToolSet;
use crate::memory::ManageMemory;
use crate::pages::{Pages, RecordLearning, UpdateContext};

pub(super) fn set(inputs: &ToolInputs<'_>) -> ToolSet {
    let pages = Arc::new(Pages::new(inputs.workspace.clone()));
    let set = ToolSet::new("remembering", "What is kept for later conversations");
    let set = match &inputs.needs.memory {
        Some(memory) => set.with(ManageMemory::new(memory.clone())),
        None => set.switched_off(&["manage_memory"], "Long-term memory is switched off.", "memory.enabled"),
    };
    set.with(UpdateContext::new(pages.clone())).with(RecordLearning::new(pages, inputs.needs.clock.clone()))
}
