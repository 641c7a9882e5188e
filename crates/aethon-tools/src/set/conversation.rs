//! The tools that look into their own conversation.

use super::ground::Ground;
use super::tool_set::ToolSet;
use crate::conversation::{ManageMessages, SearchHistory};

pub(super) fn set(ground: &Ground<'_>) -> ToolSet {
    ToolSet::new("conversation", "The conversation itself")
        .with(SearchHistory::new(ground.needs.history.clone()))
        .with(ManageMessages::new(ground.needs.transcripts.clone()))
}
