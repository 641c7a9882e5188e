//! The walls between the assistant and what it starts.
//!
//! Whoever starts a child for a model, a tool today, an MCP server or a channel later, starts it through a
//! [`Confinement`]. Where the kernel can, the child and everything that it starts reach neither the assistant's files
//! (its workspace aside) nor its port, its memory or its process, and cannot leave the walls again. `walls` is how a
//! child gets inside; `support` knows what the kernel can and says what it cannot; `grants` and `mounts` find what stays
//! open; `landlock`, `filter` and `powers` talk to the kernel. What runs as another user, and how a whole machine is kept
//! from a command, is the sandbox's affair.

#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod grants;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod powers;
mod support;
mod walls;

#[cfg(target_os = "linux")]
pub(crate) use kernel::{ALONE, hand_over, step, trial};
pub use support::Protection;
pub use walls::Confinement;
