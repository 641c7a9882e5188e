//! The tools that work on files.

use super::inputs::ToolInputs;
use super::tool_set::ToolSet;
use crate::files::{FileEdit, FileList, FileRead, FileSearch, FileWrite};

pub(super) fn set(inputs: &ToolInputs<'_>) -> ToolSet {
    let workspace = || inputs.workspace.clone();
    ToolSet::new("files", "Files")
        .with(FileRead::new(workspace(), inputs.needs.outputs.clone(), inputs.needs.documents.clone()))
        .with(FileList::new(workspace()))
        .with(FileSearch::new(workspace()))
        .with(FileWrite::new(workspace(), inputs.needs.changes.clone()))
        .with(FileEdit::new(workspace(), inputs.needs.changes.clone()))
}
