//! Specialists: agents to which the main agent delegates parts of its work.
//!
//! `definition` defines a specialist, `builtin` contains the five built-in ones, `file` parses those that the
//! owner (or the assistant, if allowed) keeps in a folder, and `folder` reads that folder. `chosen` gives each the tools
//! that it may have. The facade makes agents of the definitions. How a specialist is asked is up to the engine
//! (`engine::delegation`): it works in turns of its own, subject to the same hooks, approvals, budget and recording as
//! every turn.

mod builtin;
mod chosen;
mod definition;
mod file;
mod folder;
mod manage;

pub use builtin::built_in;
pub use chosen::ChosenTools;
pub use definition::Definition;
pub use folder::SpecialistFolder;
pub use manage::ManageSpecialists;
