//! The corpus: responses as models give them. `calls` has those that are calls, `talk` those that only look like it,
//! and `cases` defines a case and checks them all.

mod calls;
mod cases;
mod talk;

pub(super) use cases::{read, tools};
