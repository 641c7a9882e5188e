//! `file_read`: a text file, or a piece of it. What a file says is data, wherever it lies: the workspace holds what commands
//! downloaded as well. Only the pages that the owner writes for the assistant are the owner's word.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::tool::{ArgumentRole, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::lines::{NoPiece, read_piece};
use super::workspace::Workspace;

/// Room for the line that says how to go on.
const NOTE: usize = 200;

/// Reads text files.
pub(crate) struct FileRead {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Path of the file.
    path: String,
    /// Number of the first line to read, counted from 1. Leave it out to start at the beginning.
    #[schemars(range(min = 1))]
    offset: Option<usize>,
    /// How many lines to read. Leave it out to read as many as fit.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

impl FileRead {
    pub(crate) fn new(workspace: Arc<Workspace>) -> Self {
        let spec = ToolSpec::of::<Arguments>(
            "file_read",
            "Reads a text file. Relative paths start at the workspace. A long file comes in pieces; the end of each \
             piece says how to read on.",
        )
        .with_role("path", ArgumentRole::ReadPath)
        .reading_only()
        .with_untrusted_output()
        .with_timeout(Duration::from_secs(30));
        Self { spec, workspace }
    }
}

#[async_trait]
impl Tool for FileRead {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = self.spec.parse(input)?;
        let chars = context.max_output_chars.saturating_sub(NOTE).max(NOTE);
        let workspace = self.workspace.clone();
        let read = tokio::task::spawn_blocking(move || read(&workspace, &arguments, chars));
        read.await
            .map_err(|_| ToolError::failed("reading the file failed because of a fault in the program"))?
    }
}

fn read(workspace: &Workspace, arguments: &Arguments, chars: usize) -> Result<ToolOutput, ToolError> {
    let opened = workspace.open(&arguments.path)?;
    let first = arguments.offset.unwrap_or(1).max(1);
    let lines = arguments.limit.unwrap_or(usize::MAX).max(1);
    let path = &arguments.path;
    let piece = read_piece(opened.file, first, lines, chars).map_err(|why| {
        ToolError::failed(match why {
            NoPiece::BeyondTheEnd(lines) => format!("{path:?} has only {lines} lines"),
            NoPiece::TooFar => format!("line {first} of {path:?} is too far into the file"),
            NoPiece::NotText => format!("{path:?} is not a UTF-8 text file ({} bytes)", opened.length),
            NoPiece::Unreadable(error) => format!("{path:?} cannot be read: {error}"),
        })
    })?;
    let is_owners = workspace.is_page(&opened.path);
    let mut text = piece.text;
    if text.is_empty() {
        text.push_str("[the file is empty]");
    }
    if let Some(next) = piece.next {
        let of = opened.length;
        text.push_str(&format!("[the file goes on ({of} bytes in all): read on with offset {next}]\n"));
    }
    Ok(ToolOutput::text(text).of_the_owner(is_owners))
}
