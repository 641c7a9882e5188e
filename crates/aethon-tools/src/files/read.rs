//! `file_read`: a text file, or a piece of it.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::tool::{ArgumentRole, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::lines::{NoPiece, read_piece};
use super::workspace::Workspace;

/// Room for the line that says how to go on.
const NOTE: usize = 200;

/// Reads text files.
pub(crate) struct FileRead {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

#[derive(Deserialize)]
struct Arguments {
    path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

impl FileRead {
    pub(crate) fn new(workspace: Arc<Workspace>) -> Self {
        let spec = ToolSpec {
            name: "file_read".into(),
            description: "Reads a text file. Relative paths are in the workspace. A long file comes in pieces; the end of \
                          each piece says how to read on."
                .into(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "path of the file"},
                    "offset": {"type": "integer", "minimum": 1, "description": "first line, from 1; the first when absent"},
                    "limit": {"type": "integer", "minimum": 1, "description": "number of lines; as many as fit when absent"}
                },
                "required": ["path"],
                "additionalProperties": false
            }),
            roles: [("path".to_owned(), ArgumentRole::ReadPath)].into(),
            untrusted_output: false,
            timeout: Some(Duration::from_secs(30)),
        };
        Self { spec, workspace }
    }
}

#[async_trait]
impl Tool for FileRead {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = serde_json::from_value(input)
            .map_err(|error| ToolError::failed(format!("the arguments of `file_read` are wrong: {error}")))?;
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
    let mut text = piece.text;
    if text.is_empty() {
        text.push_str("[the file is empty]");
    }
    if let Some(next) = piece.next {
        let of = opened.length;
        text.push_str(&format!("[the file goes on ({of} bytes in all): read on with offset {next}]\n"));
    }
    Ok(ToolOutput::text(text))
}
