//! A tool: a name, the schema of its arguments, the role of each argument, and a call.
//!
//! A tool declares what its arguments *are* (a path to read, a command, a URL), so that guards decide by role and never
//! by tool name. Tools return values; only the engine writes to a session.

mod arguments;
mod call;
mod choice;
mod context;
mod contract;
mod left_out;
mod output;
mod output_store;
mod pattern;
mod question;
mod result;
mod source;
mod spec;

pub use call::ToolCall;
pub use choice::{RefusedTool, by_importance, choose, digested_name, is_plain_name, server_of};
pub use context::{Questions, ToolContext};
pub use contract::{START_WAIT, Tool, Toolbox};
pub use left_out::{find_left_out, left_out};
pub use output::{OutputBlock, OutputOrigin, ToolError, ToolOutput};
pub use output_store::OutputStore;
pub use pattern::fits;
pub use question::{AnswerCheck, Question, QuestionAnswer};
pub use result::ToolResult;
pub use source::{FixedTools, ToolSnapshot, ToolSource};
pub use spec::{ArgumentRole, DEFAULT_TIMEOUT, Effect, ToolSpec};
