//! `file_write`: writes a whole file atomically. Creates missing folders; shows the change to an existing file as a
//! diff.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::tool::{ArgumentRole, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use aethon_core::turn::Trust;
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::background::blocking;
use super::diff::unified;
use super::kept_write::{changing, replace};
use super::workspace::{Opened, Workspace};
use super::writable::Writable;
use crate::changes::{ChangeJournal, Keeper};

/// Maximum size of a file.
const MAX_LEN: usize = 32 << 20;
/// How many files beside a new one a result names.
const NAMED: usize = 5;

/// Writes files.
pub(crate) struct FileWrite {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
    changes: Option<ChangeJournal>,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Path of the file. Relative paths start at the workspace.
    path: String,
    /// The whole content of the file, or the text to add to it with append.
    content: String,
    /// Whether to add the content at the end of the file instead of replacing it. Leave it out to replace.
    append: Option<bool>,
}

impl FileWrite {
    pub(crate) fn new(workspace: Arc<Workspace>, changes: Option<ChangeJournal>) -> Self {
        let spec = ToolSpec::of::<Arguments>(
            "file_write",
            "Writes a text file and makes the folders that are missing. It replaces what was there, and shows the \
             difference; to change a part of a file use file_edit.",
        )
        .with_role("path", ArgumentRole::WritePath)
        .with_role("content", ArgumentRole::Text)
        .with_untrusted_output()
        .open_to(Trust::Guest)
        .with_timeout(Duration::from_secs(60));
        Self { spec, workspace, changes }
    }
}

#[async_trait]
impl Tool for FileWrite {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = self.spec.parse(input)?;
        let workspace = self.workspace.for_turn(context.trust());
        let change = move |keeper: Option<&Keeper>| write(&workspace, arguments, keeper);
        changing("writing the file", self.changes.as_ref(), context, change).await
    }

    async fn preview(&self, context: &ToolContext, input: &Value) -> Option<String> {
        let Arguments { path, content, append } = self.spec.parse(input.clone()).ok()?;
        let workspace = self.workspace.for_turn(context.trust());
        let look = move || Ok(difference(&workspace, &path, &content, append.unwrap_or(false)));
        blocking("looking at the file", look).await.ok().flatten()
    }
}

/// Returns the diff that a write to an existing file would cause.
fn difference(workspace: &Workspace, path: &str, content: &str, append: bool) -> Option<String> {
    // Writing makes the file that was named, also beside one that looks alike.
    let opened = workspace.open(path).ok().filter(|opened| !opened.is_alike)?;
    let before = text_of(&opened, path).ok()?;
    let shown = workspace.shown(&opened.path);
    if append {
        unified(&shown, &before, &format!("{before}{content}"))
    } else {
        unified(&shown, &before, content)
    }
}

fn write(
    workspace: &Workspace,
    arguments: Arguments,
    keeper: Option<&Keeper>,
) -> Result<ToolOutput, ToolError> {
    let Arguments { path, content, append } = arguments;
    if content.len() > MAX_LEN {
        return Err(ToolError::failed(format!(
            "`content` is longer than {MAX_LEN} bytes; write it in parts with append"
        )));
    }
    let alike = workspace.names_like(&path);
    let place = workspace.writable(&path)?;
    let before = before(&place, &path);
    let content = match (append, &before) {
        (Some(true), Some(Ok(before))) => format!("{before}{content}"),
        (Some(true), Some(Err(why))) => {
            return Err(ToolError::failed(format!("{path:?} cannot be added to: {why}")));
        }
        _ => content,
    };
    replace(workspace, &place, content.as_bytes(), keeper)
        .map_err(|error| ToolError::failed(format!("{path:?} was not written: {error}")))?;
    let shown = workspace.shown(&place.path);
    let size = format!("{} lines, {} bytes", content.lines().count(), content.len());
    Ok(match before {
        None => ToolOutput::text(format!("made {shown} ({size}){}", beside(&alike)))
            .of_the_owner(alike.is_empty()),
        Some(Ok(before)) => match unified(&shown, &before, &content) {
            Some(diff) => ToolOutput::text(format!("replaced {shown} ({size}):\n{diff}")),
            None => ToolOutput::text(format!("{shown} had this content already")).of_the_owner(true),
        },
        Some(Err(why)) => ToolOutput::text(format!("replaced {shown} ({size}); its previous content {why}"))
            .of_the_owner(true),
    })
}

/// Says which files beside a new one have a name that looks like its own.
fn beside(names: &[String]) -> String {
    let listed: Vec<String> = names.iter().take(NAMED).map(|name| format!("{name:?}")).collect();
    match listed.is_empty() {
        true => String::new(),
        false => {
            format!("; it is another file than {} beside it, whose name looks the same", listed.join(", "))
        }
    }
}

/// Returns the current text, or why it cannot be shown.
fn before(place: &Writable, path: &str) -> Option<Result<String, String>> {
    place.existing.as_ref().map(|opened| text_of(opened, path))
}

/// Returns the whole text of an open file, if its size permits.
pub(super) fn text_of(opened: &Opened, path: &str) -> Result<String, String> {
    if opened.length > MAX_LEN as u64 {
        return Err(format!("is longer than {MAX_LEN} bytes"));
    }
    let mut bytes = Vec::new();
    let limit = MAX_LEN as u64 + 1;
    (&opened.file).take(limit).read_to_end(&mut bytes).map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() > MAX_LEN {
        return Err(format!("{path:?} grows while it is read"));
    }
    String::from_utf8(bytes).map_err(|_| "is no UTF-8 text".to_owned())
}
