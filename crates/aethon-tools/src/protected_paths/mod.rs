//! Places that are closed to tools and commands: credentials for reading and writing, start-up places
//! for writing.
//!
//! `lists` are the places; `homes` says below which directories they count, and `variables` where people move them;
//! `paths` combines them, and `projects` knows what acts later by its name in any folder. The lists are used twice: by the
//! guard of the file tools, and by the kernel walls around commands.

mod homes;
mod lists;
mod names;
mod paths;
mod projects;
mod report;
mod rule;
mod sets;
mod variables;

#[cfg(test)]
mod tests;

pub use homes::account_home;
pub(crate) use homes::{USUAL_HOMES, homes_of, is_assistants_home};
pub(crate) use names::{folded, is_like, is_within};
pub(crate) use paths::{ProtectedPaths, resolved};
pub use report::{OpenedPlaces, opened_places};
pub use variables::place_variables;
