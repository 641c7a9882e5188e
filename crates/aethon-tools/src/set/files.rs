//! The tools that work on files.

use super::ground::Ground;
use super::tool_set::ToolSet;
use crate::files::{FileEdit, FileList, FileRead, FileSearch, FileWrite};

pub(super) fn set(ground: &Ground<'_>) -> ToolSet {
    let workspace = || ground.workspace.clone();
    ToolSet::new("files", "Files")
        .with(FileRead::new(workspace(), ground.needs.outputs.clone()))
        .with(FileList::new(workspace()))
        .with(FileSearch::new(workspace()))
        .with(FileWrite::new(workspace()))
        .with(FileEdit::new(workspace()))
}
