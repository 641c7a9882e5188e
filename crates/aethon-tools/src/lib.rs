//! The tools of the assistant, and the guards that stand between them and the machine.
//!
//! `set` says which tools exist and has the small ones, `conversation` looks into what was said, `files` works on files: only
//! those that [`Workspace`] lets through, `shell` runs commands, and makes sure that everything they start ends, `messages`
//! sends to channels, `desktop` reaches the person's desktop, `workflows` are the tools of SOPs and timed jobs. `memory` and `pages` keep what is to be known later, `outputs`
//! what was too long to be told, `programs` starts those that the assistant talks to. `confine` is the walls round whatever is
//! started, and `places` the list of what is closed. `web` fetches, searches and calls services, and lets nothing out but to
//! public addresses and the hosts that the owner has allowed. `sandbox` and `docker` keep commands from the rest of the machine, and
//! `dynamic` is tools that are made while the program runs.

mod confine;
mod conversation;
mod desktop;
mod docker;
mod dynamic;
mod files;
mod lsp;
mod memory;
mod messages;
mod options;
mod outputs;
mod pages;
mod pdf;
mod places;
mod programs;
mod sandbox;
mod sandbox_limits;
mod set;
mod shell;
mod verify;
mod web;
mod workflows;

pub use confine::{Confinement, Protection};
pub use docker::DockerSandbox;
pub use dynamic::DynamicTools;
pub use files::{Opened, Workspace};
pub use lsp::{LanguageServer, LanguageServers, LspOptions};
pub use options::{DESKTOP_VARIABLES, DesktopOptions, Options, ShellOptions};
pub use outputs::KeptOutputs;
pub use programs::ConfinedPrograms;
pub use sandbox::{KernelSandbox, step};
pub use sandbox_limits::SandboxLimits;
pub use set::{Absence, Needs, ToolSet, sets, tools};
pub use shell::{CommandSlots, MARK};
pub use verify::{VerifyEdits, VerifyOptions};
pub use web::{GitHubOptions, Names, SearchOptions, SearchService, WebOptions};
pub use workflows::workflow_tools;
