//! The tools that need no other part of the program, in the order in which models see them. Those of SOPs, jobs, work and
//! specialists come from their own crates, and those of MCP servers from outside.
//!
//! Tools come in sets that belong together. Each set is a file in this folder that creates its tools from the
//! [`ToolInputs`](inputs::ToolInputs) (the options, the facade's parts, the only way to files) and says which of
//! its tools are absent here, and why. To add a set, write its file and add a line to [`sets`] (`all`); `docs/how-to`
//! shows how to add a tool.

mod all;
mod basics;
mod code;
mod conversation;
mod desktop;
mod files;
mod inputs;
mod messages;
mod remembering;
mod shell;
mod tool_set;
mod web;

pub use self::all::{sets, tools};
pub use self::inputs::Needs;
pub use self::tool_set::{Absence, ToolSet};
