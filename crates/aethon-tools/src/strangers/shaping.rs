//! Where in the workspace lies what shapes the assistant in later turns.

use std::path::{Path, PathBuf};

use aethon_core::shaping::{FOLDERS, PAGES};

/// Returns the paths of all of that in a workspace, whether it exists or not.
pub(crate) fn shaping_places(workspace: &Path) -> Vec<PathBuf> {
    PAGES.iter().chain(&FOLDERS).map(|name| workspace.join(name)).collect()
}
