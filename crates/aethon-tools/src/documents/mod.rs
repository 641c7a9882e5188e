//! Reads documents in children of this program.
//!
//! A document may be made to break its reader, so each is read by this very program, started again as a *step* like those
//! of the kernel sandbox (decision 0184): `child` starts it, feeds it and ends it with the turn; `step` is what runs in
//! it, behind `walls` that leave it nothing but its memory and its two pipes; `answer` is how it answers.

mod answer;
mod child;
mod step;
mod walls;

pub use child::DocumentChildren;
pub use step::document_step;

/// First argument of a step.
const STEP: &str = "__document";
/// Address space of a child, in bytes.
const MEMORY: u64 = 512 << 20;
/// Processor time of a child, in seconds.
const PROCESSOR: u64 = 15;
