//! The table of start-up places: what a program runs or obeys the next time that it, a shell, the desktop or the machine
//! starts. Whoever writes there acts later, as the owner and outside every wall. Data only: a new place is one line, in
//! the list of its kind.
//!
//! They are closed for writing, whether they exist or not; reading is another matter. Places are relative to a home
//! directory, and a directory includes everything below it.

mod sessions;
mod work;

use sessions::{MAC, SERVICES, SESSIONS, SHELLS};
use work::{ASSISTANTS, EDITORS, LANGUAGES, PROGRAMS, TOOLS};

/// Every list of places.
pub(super) const PLACES: [&[&str]; 9] =
    [SHELLS, SESSIONS, SERVICES, EDITORS, LANGUAGES, TOOLS, ASSISTANTS, PROGRAMS, MAC];

/// What is a start-up place in any directory outside the workspace; `*` matches anything. They take effect when a folder
/// is opened or entered, without anybody running a command of its project.
pub(super) const ANYWHERE: &[&str] = &[
    ".envrc",
    "mise.toml",
    ".mise.toml",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    ".vscode/launch.json",
    ".vscode/mcp.json",
    "*.code-workspace",
    ".idea",
    ".zed",
    ".helix",
    ".nvim.lua",
    ".nvimrc",
    ".exrc",
    ".vimrc",
    ".gvimrc",
    ".dir-locals.el",
    ".mcp.json",
    ".claude",
    ".cursor",
    ".gemini",
    ".codex",
    ".windsurf",
    ".opencode",
    ".roo",
    ".kiro",
    ".amazonq",
    ".cline",
    ".continue",
    ".autoenv.zsh",
    ".lvimrc",
    ".devcontainer",
    ".husky",
    ".gdbinit",
    ".lldbinit",
    "sitecustomize.py",
    "usercustomize.py",
    "site-packages/*.pth",
    "dist-packages/*.pth",
];
