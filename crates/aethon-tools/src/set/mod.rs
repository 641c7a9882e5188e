//! Which tools exist, in the order in which models see them.
//!
//! Tools come in sets: what belongs together and stands or falls together. Each set is a file of this folder that makes its
//! tools of the [`Ground`] (what the options say, what the facade hands in, the one way to files) and says which of its
//! tools are absent here, and why. To add a set, write its file and add its line to [`sets`]; `docs/how-to` adds a tool.

mod basics;
mod conversation;
mod desktop;
mod files;
mod ground;
mod messages;
mod remembering;
mod shell;
mod tool_set;
mod web;

use std::sync::Arc;

use aethon_core::tool::Tool;

use self::ground::Ground;
pub use self::ground::Needs;
pub use self::tool_set::{Absence, ToolSet};
use crate::options::Options;

/// All sets. The order is fixed, so that the prefix of the requests stays the same.
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
    ]
}

/// The tools of all sets.
pub fn tools(sets: &[ToolSet]) -> Vec<Arc<dyn Tool>> {
    sets.iter().flat_map(|set| set.tools.iter().cloned()).collect()
}
