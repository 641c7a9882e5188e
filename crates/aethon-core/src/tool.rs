//! What a tool is: a name, a JSON Schema, the role of each argument, and a call.
//!
//! A tool says what its arguments *are* (a path to read, a command, a URL), so that guards judge roles and never list
//! tool names. Tools return values; only the engine writes to a session.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{SessionId, TurnId};
use crate::message::{ToolCall, ToolResult};
use crate::surface::Surface;

/// A capability that a model can call.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What it is called, takes and touches.
    fn spec(&self) -> &ToolSpec;

    /// Runs it. `input` is a JSON object that has been checked against the schema's required names. Dropping the future
    /// must end whatever it started.
    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError>;
}

/// All tools of one assistant, behind every guard.
#[async_trait]
pub trait Toolbox: Send + Sync {
    /// The tools in a fixed order, so that the prompt prefix stays the same from turn to turn.
    fn specs(&self) -> Arc<[ToolSpec]>;

    /// Runs one call under all hooks. Never errs: what goes wrong is the result that the model sees.
    async fn run(&self, context: &ToolContext, call: &ToolCall) -> ToolResult;
}

/// What a call knows about where it happens.
#[derive(Clone)]
pub struct ToolContext {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// Who watches the turn and may be asked.
    pub surface: Arc<dyn Surface>,
    /// Set when the call has got past everything that may hold it back, so that who ends it knows whether it may have had
    /// an effect.
    pub has_begun: Arc<AtomicBool>,
    /// The most characters of output that make sense here.
    pub max_output_chars: usize,
}

/// What a tool is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSpec {
    /// Its name, `[a-z0-9_]{1,64}`.
    pub name: String,
    /// What it does and when to use it, for the model.
    pub description: String,
    /// JSON Schema of its arguments, an object.
    pub parameters: Value,
    /// What guards must know of the arguments, by name.
    #[serde(skip)]
    pub roles: BTreeMap<String, ArgumentRole>,
    /// Whether its output comes from outside and is data, never instructions.
    #[serde(skip)]
    pub untrusted_output: bool,
    /// How long a call may take; `None` for the turn's own limit.
    #[serde(skip)]
    pub timeout: Option<Duration>,
}

/// What an argument is to a guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentRole {
    /// A path that is read.
    ReadPath,
    /// A path that is written.
    WritePath,
    /// A command for a shell.
    Command,
    /// An address that is fetched.
    Url,
    /// Text without a further meaning.
    Text,
}

/// What a tool returns.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolOutput {
    /// The text for the model.
    pub text: String,
}

impl ToolOutput {
    /// Output of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }
}

/// A call that failed: a sentence that lets the model do better, naming the thing and the remedy.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    message: String,
    denied: bool,
}

impl ToolError {
    /// It did not work.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { message: message.into(), denied: false }
    }

    /// A rule forbids it.
    pub fn denied(message: impl Into<String>) -> Self {
        Self { message: message.into(), denied: true }
    }

    /// Whether a rule forbade it.
    pub fn is_denied(&self) -> bool {
        self.denied
    }
}
