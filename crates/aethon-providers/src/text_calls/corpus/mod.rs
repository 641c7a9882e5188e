//! The corpus: responses as models give them. `calls` has those that are calls, `talk` those that only look like it,
//! `cases` defines a case, and `tests` checks them all.

mod calls;
mod cases;
mod talk;
mod tests;

pub(super) use tests::{read, tools};
