//! Replaces the content of a file, and keeps what it was before.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aethon_core::tool::{ToolContext, ToolError};

use super::background::blocking;
use super::workspace::Workspace;
use super::writable::Writable;
use crate::changes::{ChangeJournal, Keeper, RecordName};

/// Replaces the content atomically. What the file was is kept first, so that it is there however the program ends. If it cannot be
/// kept, the file is changed all the same: somebody asked for it, and taking it back leaves it alone then. Blocks.
pub(super) fn replace(
    workspace: &Workspace,
    place: &Writable,
    content: &[u8],
    keeper: Option<&Keeper>,
) -> io::Result<()> {
    let kept = keeper.and_then(|keeper| Some((keeper, keep(workspace, place, content, keeper)?)));
    let replaced = place.replace(content);
    if replaced.is_err()
        && let Some((keeper, record)) = kept
    {
        keeper.forget(record);
    }
    replaced
}

fn keep(workspace: &Workspace, place: &Writable, content: &[u8], keeper: &Keeper) -> Option<RecordName> {
    // A path that is no text cannot be kept in a record.
    let path = workspace.stored_path(&place.path)?;
    let kept = place.content().and_then(|before| keeper.keep(path, place.present_mode()?, &before, content));
    kept.unwrap_or_else(|error| {
        tracing::warn!(%error, "what a file was before a change cannot be kept");
        None
    })
}

/// Runs a call that changes files on the blocking pool, with the keeper of its changes, and tells other instances what was kept.
pub(super) async fn changing<T: Send + 'static>(
    what: &str,
    changes: Option<&ChangeJournal>,
    context: &ToolContext,
    change: impl FnOnce(Option<&Keeper>) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let keeper = changes.and_then(|changes| Keeper::of(changes, context)).map(Arc::new);
    let kept = keeper.clone();
    let changed = blocking(what, move || change(kept.as_deref())).await;
    if let Some(keeper) = keeper {
        keeper.share().await;
    }
    changed
}

impl Workspace {
    /// Returns how a real path is kept: relative to the workspace if it is there, because the home may be moved.
    fn stored_path(&self, real: &Path) -> Option<String> {
        real.strip_prefix(self.real_root()).unwrap_or(real).to_str().map(str::to_owned)
    }

    /// Returns the real path that was kept so.
    pub(super) fn path_of_stored(&self, stored: &str) -> PathBuf {
        self.real_root().join(stored)
    }
}
