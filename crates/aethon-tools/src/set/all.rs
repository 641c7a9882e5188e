//! All sets in order.

use std::sync::Arc;

use aethon_core::tool::Tool;

use super::ground::{Ground, Needs};
use super::tool_set::ToolSet;
use super::{basics, code, conversation, desktop, files, messages, remembering, shell, web};
use crate::options::Options;

/// Returns all sets. The order is fixed, so that the prefix of model requests stays the same.
pub fn sets(options: &Options, needs: &Needs) -> Vec<ToolSet> {
    let ground = Ground::new(options, needs);
    vec![
        basics::set(&ground),
        conversation::set(&ground),
        remembering::set(&ground),
        files::set(&ground),
        shell::set(&ground),
        messages::set(&ground),
        desktop::set(&ground),
        web::set(&ground),
        code::set(&ground),
    ]
}

/// Returns the tools of all sets.
pub fn tools(sets: &[ToolSet]) -> Vec<Arc<dyn Tool>> {
    sets.iter().flat_map(|set| set.tools.iter().cloned()).collect()
}
