//! SOPs: reading them (`parse`), which there are (`catalog`, `builtin`), what a message says to one (`input`), what the model
//! is told (`brief`), and running them (`door`, `record`).
//!
//! A SOP is run by ordinary turns. Its text goes along with the message as a file, so there is nothing in the engine that
//! knows of SOPs, and hooks, approvals, budget and recovery hold as for every other turn. The model says by the tool
//! `sop_step` which step it begins and ends; that is written down, and the answer to the tool is the text of the step.

mod brief;
mod builtin;
mod catalog;
mod door;
mod input;
mod parse;
mod record;

pub use catalog::{SopFolder, check_file};
pub use door::{SopDoor, Sops};
pub use input::{SopInput, read_input};
pub use parse::{MOST_BYTES, parse};
