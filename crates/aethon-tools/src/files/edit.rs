//! `file_edit`: changes a part of a file, given the exact text to replace.
//!
//! The old text must occur exactly once, unless the call says that every occurrence is meant, or at which line it
//! begins. So a model that misremembers a file gets an error and does not damage the file. `replacement` computes the
//! change.

use std::path::Path;
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
use super::replacement::{Change, changed};
use super::workspace::Workspace;
use super::write::text_of;
use crate::changes::{ChangeJournal, Keeper};

/// Changes files.
pub(crate) struct FileEdit {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
    changes: Option<ChangeJournal>,
}

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    /// Path of the file. Relative paths start at the workspace.
    path: String,
    /// The text to replace, exactly as it stands in the file, with its indentation. It must occur once, unless replace_all or
    /// line says which is meant. With end_line it is the text of the first line only. Empty, with line, to insert.
    old: String,
    /// The text that takes its place. Empty to remove.
    new: String,
    /// Whether to replace every place where the old text occurs.
    replace_all: Option<bool>,
    /// The number of the line, from 1, at which the old text begins, or before which the new text is inserted.
    #[schemars(range(min = 1))]
    line: Option<usize>,
    /// The number of the last line that is replaced: all lines from line to it are, and old says what the first of them is.
    #[schemars(range(min = 1))]
    end_line: Option<usize>,
}

impl FileEdit {
    pub(crate) fn new(workspace: Arc<Workspace>, changes: Option<ChangeJournal>) -> Self {
        let spec = ToolSpec::of::<Arguments>(
            "file_edit",
            "Changes a part of a text file and shows the difference. The old text must be quoted exactly; read the file \
             first. It changes nothing when the old text is not found, or is found several times.",
        )
        .with_role("path", ArgumentRole::WritePath)
        .with_role("old", ArgumentRole::Text)
        .with_role("new", ArgumentRole::Text)
        .with_untrusted_output()
        .open_to(Trust::Guest)
        .with_timeout(Duration::from_secs(60));
        Self { spec, workspace, changes }
    }
}

#[async_trait]
impl Tool for FileEdit {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn call(&self, context: &ToolContext, input: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = self.spec.parse(input)?;
        let workspace = self.workspace.for_turn(context.trust());
        let change = move |keeper: Option<&Keeper>| edit(&workspace, &arguments, keeper);
        changing("changing the file", self.changes.as_ref(), context, change).await
    }

    async fn preview(&self, context: &ToolContext, input: &Value) -> Option<String> {
        let arguments: Arguments = self.spec.parse(input.clone()).ok()?;
        let workspace = self.workspace.for_turn(context.trust());
        blocking("looking at the file", move || Ok(difference(&workspace, &arguments))).await.ok().flatten()
    }
}

/// Returns the diff of the proposed change.
fn difference(workspace: &Workspace, arguments: &Arguments) -> Option<String> {
    let opened = workspace.open(&arguments.path).ok()?;
    let before = text_of(&opened, &arguments.path).ok()?;
    let (after, _) = changed(&before, &arguments.change()).ok()?;
    unified(&workspace.shown(&opened.path), &before, &after)
}

impl Arguments {
    fn change(&self) -> Change<'_> {
        Change {
            old: &self.old,
            new: &self.new,
            replace_all: self.replace_all.unwrap_or(false),
            line: self.line,
            end_line: self.end_line,
        }
    }
}

/// Returns whether models later read the file as instructions.
fn is_read_later(workspace: &Workspace, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    workspace.is_page(path) || [".sop.md", ".agent.md"].iter().any(|ending| name.ends_with(ending))
}

fn edit(
    workspace: &Workspace,
    arguments: &Arguments,
    keeper: Option<&Keeper>,
) -> Result<ToolOutput, ToolError> {
    let path = &arguments.path;
    // Check first, so that no folder is created for a file that does not exist.
    let opened = workspace.open(path)?;
    let note = workspace.alike_note(path, &opened.path, opened.is_alike);
    let real = opened.path.to_string_lossy().into_owned();
    if opened.is_alike && is_read_later(workspace, &opened.path) {
        // What is kept is checked by the name that the call gives.
        return Err(ToolError::failed(format!(
            "there is no file {path:?}; there is {:?}, which is edited under its own name only",
            workspace.shown(&opened.path)
        )));
    }
    let place = workspace.writable(if opened.is_alike { &real } else { path })?;
    let Some(existing) = &place.existing else {
        return Err(ToolError::failed(format!("there is no file {path:?}; make it with file_write")));
    };
    let before = text_of(existing, path)
        .map_err(|why| ToolError::failed(format!("{path:?} cannot be edited: it {why}")))?;
    let (after, places) = changed(&before, &arguments.change())
        .map_err(|why| ToolError::failed(format!("{path:?} was not changed: {why}")))?;
    let shown = workspace.shown(&place.path);
    let Some(diff) = unified(&shown, &before, &after) else {
        return Ok(ToolOutput::text(format!("{note}{shown} is unchanged: old and new text are the same"))
            .of_the_owner(true));
    };
    replace(workspace, &place, after.as_bytes(), keeper)
        .map_err(|error| ToolError::failed(format!("{path:?} was not changed: {error}")))?;
    let times = if places == 1 { String::new() } else { format!(" in {places} places") };
    Ok(ToolOutput::text(format!("{note}changed {shown}{times}:\n{diff}")))
}
