//! The tools of the assistant, and the guards between them and the machine.
//!
//! `set` lists which tools exist and contains the small ones. `conversation` searches the conversation, `files`
//! works on the files that [`Workspace`] lets through, `shell` runs commands and makes sure that everything they start
//! ends, `web` fetches, searches and calls services, and lets requests out only to public addresses and the hosts that
//! the owner has allowed. `messages` sends to channels, `desktop` reaches the person's desktop, `workflows` has the
//! tools of SOPs and scheduled jobs, `memory` and `pages` keep what should be known later, `outputs` keeps output too long
//! for the model, `changes` keeps what files were before tools changed them, `dynamic` has tools that are created while the program runs. `programs` starts programs that the
//! assistant talks to.
//! `documents` reads documents in children of this program.
//! `slots` shares out places between the owner and strangers.
//!
//! `strangers` knows what turns leave as it is that the owner's words did not begin.
//!
//! `confine` builds the walls around every child process, `protected_paths` and `sockets` list the places closed to it,
//! and `sandbox` and `docker` isolate commands from the rest of the machine.

mod changes;
mod confine;
mod conversation;
mod desktop;
mod docker;
mod documents;
mod dynamic;
mod files;
mod lsp;
mod memory;
mod messages;
mod options;
mod outputs;
mod pages;
mod programs;
mod protected_paths;
mod run_as;
mod sandbox;
mod sandbox_limits;
mod set;
mod shell;
mod slots;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "other systems have no walls that use it"))]
mod sockets;
mod stamp;
mod strangers;
mod verify;
mod web;
mod workflows;

pub use changes::ChangeJournal;
pub use confine::{Confinement, Protection, SocketProtection};
pub use docker::{DockerSandbox, PullPolicy, Trial};
pub use documents::{DocumentChildren, document_step};
pub use dynamic::DynamicTools;
pub use files::{ChangedFiles, Opened, PutBackNews, Workspace};
pub use lsp::{LanguageServer, LanguageServers, LspOptions};
pub use options::{DESKTOP_VARIABLES, DesktopOptions, Options, PlaceOptions, ShellOptions};
pub use outputs::KeptOutputs;
pub use programs::ConfinedPrograms;
pub use protected_paths::{OpenedPlaces, account_home, opened_places, place_variables};
pub use sandbox::{KernelSandbox, step};
pub use sandbox_limits::SandboxLimits;
pub use set::{Absence, Needs, ToolSet, sets, tools};
pub use shell::{CommandRegistry, CommandSlots, CommandsElsewhere, EndedCommands, MARK};
pub use sockets::{socket_kinds, socket_variables};
pub use verify::{VerifyEdits, VerifyOptions};
pub use web::{GitHubOptions, Names, SearchOptions, SearchService, WebOptions, outside};
pub use workflows::workflow_tools;
