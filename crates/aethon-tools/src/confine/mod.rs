//! The walls between the assistant and its child processes.
//!
//! Everything that starts a child for a model (tools and MCP servers) does so through a [`Confinement`]. If the kernel
//! supports it, the child and all its descendants reach neither the assistant's files (except the workspace) nor its
//! port, its memory or its process, and cannot leave the walls again. `walls` is how a child gets inside; `support`
//! knows the abilities of the kernel and describes the missing ones; `places` says which places are closed now, for
//! which `scan` looks for keys by their names, `mounts` for other paths, and `grants` computes what stays open;
//! `landlock`, `filter`, `cover` and `capabilities` talk to the kernel. `sealed` shuts in a process of our own that only
//! computes. Running as another user, and isolating a
//! command from the whole machine, is left to the sandbox (`kernel`).

#[cfg(target_os = "linux")]
mod capabilities;
#[cfg(target_os = "linux")]
mod cover;
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
mod places;
#[cfg(target_os = "linux")]
mod scan;
#[cfg(target_os = "linux")]
mod sealed;
mod support;
mod walls;

#[cfg(target_os = "linux")]
pub(crate) use kernel::{ALONE, ControlGroups, hand_over, step, trial};
#[cfg(target_os = "linux")]
pub(crate) use mounts::mounted_below;
#[cfg(target_os = "linux")]
pub(crate) use sealed::{close_files, filter_calls};
pub use support::{Protection, SocketProtection};
pub use walls::Confinement;
