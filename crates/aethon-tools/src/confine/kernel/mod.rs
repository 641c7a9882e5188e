//! The sandbox of the kernel: namespaces, Landlock, a filter of system calls and limits, without a daemon.
//!
//! It is put round a command by this very program, started once more as a *step* (decision 0056): making namespaces takes a
//! process of one thread that lets go of its old surroundings, which the service cannot. The *outer* step makes the
//! namespaces and covers what must not be seen; the *inner* one, the first process of the new pid namespace, puts up the walls
//! that hold for whatever runs, and starts the command. When the inner step ends, for whatever reason, the kernel ends
//! everything that the command started.
//!
//! `plan` is what the steps are told; `hand_over` gives the workspace to the user that commands run as where the service is root.

mod filter;
mod hand_over;
mod inner;
mod outer;
mod plan;
mod step;
mod trial;

pub(crate) use hand_over::hand_over;
pub(crate) use plan::{Plan, nobody};
pub(crate) use step::step;
pub(crate) use trial::trial;

/// The first argument of a step.
const STEP: &str = "__sandbox";
const OUTER: &str = "outer";
const INNER: &str = "inner";
/// Keeps the allocator of the service from starting a thread of its own: a step must have one thread, or the kernel refuses to
/// make namespaces.
pub(crate) const ALONE: (&str, &str) = ("_RJEM_MALLOC_CONF", "background_thread:false");
