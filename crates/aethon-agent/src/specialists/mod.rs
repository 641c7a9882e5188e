//! Specialists: agents that the main one asks for a part of its work.
//!
//! `definition` says what one is, `builtin` has the five that come with the program, `file` reads those that the owner (or the
//! assistant, when it is allowed to) keeps in a folder, and `folder` looks at that. `crew` makes agents of all of them.
//! `chosen` gives each the tools that it may have. How one is asked is the engine's business (`engine::delegation`): it
//! works in turns of its own, with the same hooks, approvals, budget and recording as every turn.

mod builtin;
mod chosen;
mod crew;
mod definition;
mod file;
mod folder;
mod manage;

pub use builtin::built_in;
pub use chosen::ChosenTools;
pub use crew::{Crew, Recipe, Roster, SpecialistSource};
pub use definition::Definition;
pub use folder::SpecialistFolder;
pub use manage::ManageSpecialists;
