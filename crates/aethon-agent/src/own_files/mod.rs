//! How the program's own files in the workspace are read while turns and requests wait: `bounded` limits how long, and
//! `reported` has each fault logged once. What is opened is up to `aethon_files`.

mod bounded;
mod reported;

pub(crate) use bounded::BoundedReads;
pub(crate) use reported::Reported;
