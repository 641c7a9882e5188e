//! What in the workspace, and in projects elsewhere, turns change nothing of that the owner's own words did not begin, because
//! it acts later.
//!
//! `shaping` names what shapes the assistant, `projects` finds what programs obey when a project is opened or entered, and
//! `parts` says what is left of the workspace, for sandboxes that can only open and not close.

mod parts;
mod projects;
mod shaping;

pub(crate) use parts::{ChangeableParts, mounted_below, parts};
pub(crate) use projects::{DEPTH_IN_WORKSPACE, Projects, Root};
pub(crate) use shaping::shaping_places;
