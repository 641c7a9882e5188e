//! The kernel sandbox: namespaces, Landlock, a seccomp filter and resource limits, without a daemon.
//!
//! This very program puts it around a command, started again as a *step* (decision 0056): creating namespaces requires
//! a single-threaded process that gives up its old surroundings, which the service cannot be. The *outer* step creates
//! the namespaces and covers what must not be seen. The *inner* step, the first process of the new pid namespace, puts
//! up the walls and starts the command. When the inner step ends, for whatever reason, the kernel kills everything that
//! the command started.
//!
//! `groups` limits the memory of all processes of a command together, where the system lets it. `plan` is the input of
//! the steps; `hand_over` gives the workspace to the user that commands run as if the service is
//! root.

mod filter;
mod groups;
mod hand_over;
mod inner;
mod outer;
mod plan;
mod step;
mod trial;

pub(crate) use groups::ControlGroups;
pub(crate) use hand_over::hand_over;
pub(crate) use plan::{Plan, nobody};
pub(crate) use step::step;
pub(crate) use trial::trial;

/// First argument of a step.
const STEP: &str = "__sandbox";
const OUTER: &str = "outer";
const INNER: &str = "inner";
/// Keeps the allocator from starting a thread of its own: a step must be single-threaded, or the kernel refuses to
/// create namespaces.
pub(crate) const ALONE: (&str, &str) = ("_RJEM_MALLOC_CONF", "background_thread:false");
