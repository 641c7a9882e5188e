//! Drops capabilities of root inside the walls. Landlock applies to root as well, but some capabilities bypass it:
//! reading the memory of processes for profiling, opening files by handle, raw sockets, devices, kernel modules.
//!
//! The rest is as in a usual container for root, without raw sockets and device nodes, so that installing
//! packages works. Root can still write to disks and kernel settings that appear as files; only running as another user
//! prevents that.

use std::io;

use rustix::thread::{CapabilitySet, capability_is_in_bounding_set, remove_capability_from_bounding_set};

/// The capabilities to drop.
const DROPPED: [CapabilitySet; 14] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::PERFMON,
    CapabilitySet::BPF,
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::CHECKPOINT_RESTORE,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::SYS_BOOT,
    CapabilitySet::SYS_TTY_CONFIG,
    CapabilitySet::DAC_READ_SEARCH,
    CapabilitySet::MKNOD,
    CapabilitySet::NET_RAW,
    CapabilitySet::NET_ADMIN,
    CapabilitySet::MAC_ADMIN,
];

/// Drops them for everything that the calling thread starts.
pub(super) fn drop_from_children() -> io::Result<()> {
    for capability in DROPPED {
        // A kernel that does not know a capability does not grant it either.
        if capability_is_in_bounding_set(capability).unwrap_or(false) {
            remove_capability_from_bounding_set(capability)?;
        }
    }
    Ok(())
}
