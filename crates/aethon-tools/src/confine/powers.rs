//! What root keeps inside the walls. Landlock holds for root as well, but some of root's powers go round it: reading the
//! memory of processes for measurements, opening files by number, raw sockets, devices, modules of the kernel.
//!
//! What stays is what a usual container leaves to root, without raw sockets and device nodes, so that installing packages
//! works. Root still writes to disks and kernel settings that its machine shows as files; only another user is kept away
//! from those.

use std::io;

use rustix::thread::{CapabilitySet, capability_is_in_bounding_set, remove_capability_from_bounding_set};

/// What goes.
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

/// Takes them from whatever the calling thread starts.
pub(super) fn drop_from_children() -> io::Result<()> {
    for power in DROPPED {
        // A kernel that does not know it does not give it either.
        if capability_is_in_bounding_set(power).unwrap_or(false) {
            remove_capability_from_bounding_set(power)?;
        }
    }
    Ok(())
}
