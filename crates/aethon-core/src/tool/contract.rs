//! The two traits: one tool, as whoever writes it sees it, and all tools, as the engine sees them.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::context::ToolContext;
use super::output::{ToolError, ToolOutput};
use super::result::ToolResult;
use super::spec::ToolSpec;
use crate::message::ToolCall;

/// A capability that a model can call.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What it is called, takes and touches.
    fn spec(&self) -> &ToolSpec;

    /// Why a person must be asked before a call with this input, whatever the configuration says about the tool as a whole;
    /// `None` for a call that may just run. Judged on the input that will be used.
    fn asks_first(&self, _input: &Value) -> Option<String> {
        None
    }

    /// Runs it. `input` is a JSON object that has everything that the schema requires; [`ToolSpec::parse`] makes a type of
    /// it. Dropping the future must end whatever it started.
    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError>;

    /// What a call would change, as a diff (`-` and `+` lines), for the person who is asked before it runs. It changes
    /// nothing itself, and is `None` where the arguments say it all, or where it cannot tell.
    async fn preview(&self, _context: &ToolContext, _input: &Value) -> Option<String> {
        None
    }
}

/// All tools of one assistant, behind every guard.
#[async_trait]
pub trait Toolbox: Send + Sync {
    /// The tools in a fixed order, so that the prompt prefix stays the same from turn to turn.
    fn specs(&self) -> Arc<[ToolSpec]>;

    /// Runs one call under all hooks. Never errs: what goes wrong is the result that the model sees.
    async fn run(&self, context: &ToolContext, call: &ToolCall) -> ToolResult;
}
