//! What the tools may reach, as values. The facade fills them from the configuration.

use std::path::PathBuf;

/// The reach of the tools.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The workspace directory; relative paths are in it.
    pub workspace: PathBuf,
    /// The person's home directory, under which files may be read when they are not confined to the workspace.
    pub user_home: Option<PathBuf>,
    /// `security.workspace_only`: whether file tools are confined to the workspace.
    pub workspace_only: bool,
    /// The assistant's own files and directories that no tool may open: configuration, database, credentials, `run`,
    /// `recordings`. A file stands for its siblings with a longer name too (`aethon.db-wal`, `config.toml.bak`).
    pub own: Vec<PathBuf>,
}
