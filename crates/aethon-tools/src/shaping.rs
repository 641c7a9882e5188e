//! What in the workspace shapes the assistant in later turns. Turns that the owner's own words did not begin change none of it,
//! by file tools or by commands.

/// The pages, which go along with the prompt.
pub(crate) const PAGES: [&str; 4] = ["SOUL.md", "TOOLS.md", "CONTEXT.md", "LEARNINGS.md"];

/// The folders: procedures, specialists, skills.
pub(crate) const FOLDERS: [&str; 3] = ["sops", "agents", "skills"];
