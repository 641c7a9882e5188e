//! SOPs: parsing them (`parse`), which ones exist (`catalog`, `builtin`), their input in a message (`input`), the
//! instructions for the model (`brief`), and running them: `router` recognises calls, `claim` completes or undoes what
//! they change, `schemas` reads the schemas of steps, `runs` and `open_runs` are the runs, `record` keeps them up to date.
//!
//! A SOP is run by ordinary turns. Its text accompanies the message as a file, so nothing in the engine knows about
//! SOPs, and hooks, approvals, budget and recovery apply as for every other turn. The model uses the tool `sop_step` to
//! say which step it begins and ends; that is recorded, and the tool returns the text of the step.

mod brief;
mod builtin;
mod catalog;
mod claim;
mod history;
mod input;
mod open_runs;
mod parse;
mod parts;
mod record;
mod router;
mod runs;
mod schemas;

pub use catalog::{SopFolder, check_file, files_of};
pub use history::SopHistory;
pub use input::{SopInput, read_input};
pub use parse::{MAX_BYTES, Reading, parse};
pub use parts::SopParts;
pub use router::SopRouter;
pub use runs::Sops;
