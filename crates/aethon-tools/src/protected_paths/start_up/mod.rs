//! The table of start-up places: what a program runs or obeys the next time that it, a shell, the desktop or the machine
//! starts. Whoever writes there acts later, as the owner and outside every wall. Data only: a new place is one line, in
//! the list of its kind.
//!
//! They are closed for writing, whether they exist or not; reading is another matter. Places are relative to a home
//! directory, and a directory includes everything below it.

mod sessions;
mod work;

use sessions::{MAC, SERVICES, SESSIONS, SHELL_CACHES, SHELLS};
use work::{ASSISTANTS, EDITORS, LANGUAGES, PROGRAMS, TOOLS};

/// Every list of places.
pub(super) const PLACES: [&[&str]; 9] =
    [SHELLS, SESSIONS, SERVICES, EDITORS, LANGUAGES, TOOLS, ASSISTANTS, PROGRAMS, MAC];

/// The same with a `*` in the last name, which matches anything.
pub(super) const PATTERNS: &[&[&str]] = &[SHELL_CACHES];

/// Folders whose own files are programs that a shell finds, while the folders in them are not: stores of packages.
pub(super) const PROGRAM_FOLDERS: &[&[&str]] = &[&[".local/share/pnpm", "Library/pnpm"]];

/// What is a start-up place in any directory outside the workspace; `*` matches anything. They take effect when a folder
/// is opened or entered, without anybody running a command of its project.
pub(super) const ANYWHERE: &[&str] = &[
    ".envrc",
    ".direnv",
    ".devenv",
    "mise.toml",
    ".mise.toml",
    "mise.local.toml",
    ".mise.local.toml",
    ".mise",
    ".rtx.toml",
    ".obsidian/plugins",
    ".obsidian/community-plugins.json",
    ".logseq",
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

/// What is closed besides in any directory, that of the workspace included, to turns that the owner's words did not begin:
/// what git, editors, coding assistants and package managers obey. The owner's own turns commit and change settings. Build
/// files such as a `Makefile` are sources, which such a turn may change.
pub(super) const OF_PROJECTS: &[&str] = &[
    ".git",
    ".jj",
    ".hg",
    ".githooks",
    ".github/workflows",
    ".github/copilot-instructions.md",
    ".pre-commit-config.yaml",
    ".vscode",
    ".vs",
    ".fleet",
    ".theia",
    ".nova",
    ".trae",
    ".lapce",
    "*.sublime-project",
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".cargo/config",
    ".cargo/config.toml",
    ".npmrc",
    ".yarnrc.yml",
    ".pnp.cjs",
    ".venv",
    "venv",
    "bin/activate",
    "bin/activate.*",
];
