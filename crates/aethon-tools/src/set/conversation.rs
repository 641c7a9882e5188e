//! The tools that look into their own conversation.

use super::inputs::ToolInputs;
use super::tool_set::ToolSet;
use crate::conversation::{ManageMessages, SearchHistory};

pub(super) fn set(inputs: &ToolInputs<'_>) -> ToolSet {
    ToolSet::new("conversation", "The conversation itself")
        .with(SearchHistory::new(inputs.needs.history.clone()))
        .with(ManageMessages::new(inputs.needs.transcripts.clone()))
}
