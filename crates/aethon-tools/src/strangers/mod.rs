//! The parts of the workspace, and of projects elsewhere, that only turns begun by the owner may change, because they act
//! later.
//!
//! `shaping` names what shapes the assistant, `projects` finds what programs obey when a project is opened or entered, and
//! `parts` lists the rest of the workspace, for sandboxes that can only open and not close.

mod parts;
mod projects;
mod shaping;

pub(crate) use parts::{ChangeableParts, mounted_below, parts};
pub(crate) use projects::{DEPTH_IN_WORKSPACE, Projects, Root};
pub(crate) use shaping::shaping_places;
