//! Which tools exist, in the order in which models see them.
//!
//! Tools come in sets: what belongs together and stands or falls together. Each set is a file of this folder that makes its
//! tools of the [`Ground`](ground::Ground) (what the options say, what the facade hands in, the one way to files) and says which of its
//! tools are absent here, and why. To add a set, write its file and add its line to [`sets`] (`all`); `docs/how-to` adds a tool.

mod all;
mod basics;
mod code;
mod conversation;
mod desktop;
mod files;
mod ground;
mod messages;
mod remembering;
mod shell;
mod tool_set;
mod web;

pub use self::all::{sets, tools};
pub use self::ground::Needs;
pub use self::tool_set::{Absence, ToolSet};
