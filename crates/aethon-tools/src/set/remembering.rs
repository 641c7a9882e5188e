//! The tools by which the assistant keeps something for later conversations: the memory, and the workspace pages that
//! it writes for its later self.

use std::sync::Arc;

use super::ground::Ground;
use super::tool_set::ToolSet;
use crate::memory::ManageMemory;
use crate::pages::{Pages, RecordLearning, UpdateContext};

pub(super) fn set(ground: &Ground<'_>) -> ToolSet {
    let pages = Arc::new(Pages::new(ground.workspace.clone()));
    let set = ToolSet::new("remembering", "What is kept for later conversations");
    let set = match &ground.needs.memory {
        Some(memory) => set.with(ManageMemory::new(memory.clone())),
        None => set.switched_off(&["manage_memory"], "Long-term memory is switched off.", "memory.enabled"),
    };
    set.with(UpdateContext::new(pages.clone())).with(RecordLearning::new(pages, ground.needs.clock.clone()))
}
