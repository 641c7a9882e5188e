//! What in the workspace shapes the assistant in later turns. Turns that the owner's own words did not begin change none of it,
//! by file tools or by commands.

use std::path::{Path, PathBuf};

/// The pages, which go along with the prompt.
pub(crate) const PAGES: [&str; 4] = ["SOUL.md", "TOOLS.md", "CONTEXT.md", "LEARNINGS.md"];

/// The folders: procedures, specialists, skills.
const FOLDERS: [&str; 3] = ["sops", "agents", "skills"];

/// Returns the paths of all of that in a workspace, whether it exists or not.
pub(crate) fn shaping_places(workspace: &Path) -> Vec<PathBuf> {
    PAGES.iter().chain(&FOLDERS).map(|name| workspace.join(name)).collect()
}
