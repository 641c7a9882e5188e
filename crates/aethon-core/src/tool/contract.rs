//! The two traits: one tool, as its author sees it, and all tools, as the engine sees them.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use super::context::ToolContext;
use super::output::{ToolError, ToolOutput};
use super::result::ToolResult;
use super::spec::ToolSpec;
use crate::message::ToolCall;
use crate::turn::TurnContext;

/// How long work that begins right after the program's start waits for servers of tools that are starting, too.
pub const START_WAIT: Duration = Duration::from_secs(10);

/// A capability that a model can call.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Returns its description.
    fn spec(&self) -> &ToolSpec;

    /// Returns why a person must be asked before a call with this input, whatever the configuration says about the tool
    /// as a whole; `None` if the call may just run. Decided on the input that will be used.
    fn asks_first(&self, _input: &Value) -> Option<String> {
        None
    }

    /// Runs the tool. `input` is a JSON object with everything that the schema requires; [`ToolSpec::parse`] turns it
    /// into a type. Dropping the future must end whatever it started.
    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError>;

    /// Returns the changes of a call as a diff (`-` and `+` lines), for the person who approves it. It
    /// changes nothing itself, and is `None` if the arguments say it all or the tool cannot tell.
    async fn preview(&self, _context: &ToolContext, _input: &Value) -> Option<String> {
        None
    }
}

/// All tools of one assistant, behind every guard.
#[async_trait]
pub trait Toolbox: Send + Sync {
    /// Returns the tools in a fixed order, so that the prompt prefix stays the same from turn to turn.
    fn specs(&self) -> Arc<[ToolSpec]>;

    /// Returns those that a turn may call, in the same order: what its model is offered.
    fn specs_for(&self, _turn: &TurnContext) -> Arc<[ToolSpec]> {
        self.specs()
    }

    /// Returns the names of the servers that are in their first start, so that their tools are not there yet.
    fn starting(&self) -> Vec<String> {
        Vec::new()
    }

    /// Waits until no server is in its first start, but no longer than [`START_WAIT`].
    async fn ready(&self) {}

    /// Runs one call subject to all hooks. Never fails: errors become the result that the model sees.
    async fn run(&self, context: &ToolContext, call: &ToolCall) -> ToolResult;
}
