//! The tools of the assistant, and the guards that stand between them and the machine.
//!
//! `set` says which tools exist and has the small ones, `history` finds what was said, `files` reads files: only what [`Workspace`] lets through,
//! `shell` runs commands, and makes sure that everything they start ends. `confine` is the walls round whatever is started,
//! and `places` the list of what is closed. `web` fetches, searches and calls services, and lets nothing out but to public
//! addresses and the hosts that the owner has allowed.

mod confine;
mod files;
mod history;
mod options;
mod places;
mod set;
mod shell;
mod web;

pub use confine::{Confinement, Protection};
pub use files::{Opened, Workspace};
pub use options::{Options, ShellOptions};
pub use set::tools;
pub use web::{GitHubOptions, Names, SearchOptions, SearchService, WebOptions};
