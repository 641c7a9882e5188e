//! All sets in order.

use std::sync::Arc;

use aethon_core::tool::Tool;

use super::inputs::{Needs, ToolInputs};
use super::tool_set::ToolSet;
use super::{basics, code, conversation, desktop, files, messages, remembering, shell, web};
use crate::options::Options;

/// Returns all sets. The order is fixed, so that the prefix of model requests stays the same.
pub fn sets(options: &Options, needs: &Needs) -> Vec<ToolSet> {
    let inputs = ToolInputs::new(options, needs);
    vec![
        basics::set(&inputs),
        conversation::set(&inputs),
        remembering::set(&inputs),
        files::set(&inputs),
        shell::set(&inputs),
        messages::set(&inputs),
        desktop::set(&inputs),
        web::set(&inputs),
        code::set(&inputs),
    ]
}

/// Returns the tools of all sets.
pub fn tools(sets: &[ToolSet]) -> Vec<Arc<dyn Tool>> {
    sets.iter().flat_map(|set| set.tools.iter().cloned()).collect()
}
