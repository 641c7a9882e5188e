//! A seccomp filter against system calls that nothing in the sandbox needs and that reach deep into the kernel or would
//! nest namespaces: they fail with `EPERM`. System calls of a foreign architecture do not exist at all (`ENOSYS`). Sockets
//! exist for local programs and the internet only; others, such as those to the host of a virtual machine, know no network
//! namespace.

use std::io;

use seccompiler::sock_filter;

use super::super::filter::{
    ALLOW, ENOSYS, HAS_BIT, IS, argument, for_architecture, give, load, refuse, unless,
};

const EPERM: u32 = 1;
const EAFNOSUPPORT: u32 = 97;
/// The address families that commands may use: unix, IPv4, IPv6, and netlink, by which programs list interfaces.
const FAMILIES: [u32; 4] = [1, 2, 10, 16];
const NEW_USER_NAMESPACE: u32 = 0x1000_0000;
/// Its flags are in memory, where a filter cannot look; with `ENOSYS`, programs fall back to the older call.
const CLONE3: u32 = 435;

/// The same numbers on every architecture: io_uring and the new mount API. Landlock is not among them.
const COMMON: [u32; 10] = [425, 426, 427, 428, 429, 430, 431, 432, 433, 442];

/// unshare, setns, mount, umount2, pivot_root, add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd, kexec_load,
/// init_module, finit_module, delete_module, open_by_handle_at, swapon, swapoff, acct, ptrace.
#[cfg(target_arch = "x86_64")]
const OWN: &[u32] =
    &[272, 308, 165, 166, 155, 248, 249, 250, 321, 298, 323, 246, 175, 313, 176, 304, 167, 168, 163, 101];
#[cfg(target_arch = "x86_64")]
const MACHINE: (u32, u32) = (0xc000_003e, 56);
#[cfg(target_arch = "x86_64")]
const SOCKET: u32 = 41;

#[cfg(target_arch = "aarch64")]
const OWN: &[u32] =
    &[97, 268, 40, 39, 41, 217, 218, 219, 280, 241, 282, 104, 105, 273, 106, 265, 224, 225, 89, 117];
#[cfg(target_arch = "aarch64")]
const MACHINE: (u32, u32) = (0xc000_00b7, 220);
#[cfg(target_arch = "aarch64")]
const SOCKET: u32 = 198;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const OWN: &[u32] = &[];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MACHINE: (u32, u32) = (0, 0);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const SOCKET: u32 = 0;

/// Applies the filter to this process and its children.
pub(super) fn apply() -> io::Result<()> {
    if OWN.is_empty() {
        return Err(io::Error::other("the numbers of this machine's system calls are not known"));
    }
    seccompiler::apply_filter(&program())
        .map_err(|error| io::Error::other(format!("the kernel refused a filter of system calls: {error}")))
}

fn program() -> Vec<sock_filter> {
    let (architecture, clone) = MACHINE;
    let mut program = for_architecture(architecture, ENOSYS);
    for number in OWN.iter().chain(&COMMON) {
        program.extend([unless(IS, *number, 1), refuse(EPERM)]);
    }
    program.extend([unless(IS, CLONE3, 1), refuse(ENOSYS)]);
    program.extend([unless(IS, SOCKET, 2 * FAMILIES.len() + 2), load(argument(0))]);
    for family in FAMILIES {
        program.extend([unless(IS, family, 1), give(ALLOW)]);
    }
    program.push(refuse(EAFNOSUPPORT));
    program.extend([
        unless(IS, clone, 4),
        load(argument(0)),
        unless(HAS_BIT, NEW_USER_NAMESPACE, 1),
        refuse(EPERM),
        give(ALLOW),
    ]);
    program.push(give(ALLOW));
    program
}

#[cfg(test)]
mod tests {
    use super::super::super::filter::verdict_of;
    use super::*;

    #[test]
    fn deep_calls_are_refused_and_usual_ones_are_not() {
        let (machine, clone) = MACHINE;
        let check = |architecture: u32, number: u32, first: u32, expected: sock_filter| {
            let verdict = verdict_of(&program(), architecture, number, [first, 0, 0, 0]);
            assert_eq!(verdict, expected.k, "{number} {first:#x}");
        };
        for number in OWN.iter().chain(&COMMON) {
            check(machine, *number, 0, refuse(EPERM));
        }
        check(machine, CLONE3, 0, refuse(ENOSYS));
        check(machine, clone, NEW_USER_NAMESPACE | 0x11, refuse(EPERM));
        check(machine, clone, 0x11, give(ALLOW));
        for family in FAMILIES {
            check(machine, SOCKET, family, give(ALLOW));
        }
        // Packets, SMC, Bluetooth, the kernel's ciphers, and the host of a virtual machine.
        for family in [17, 43, 31, 38, 40] {
            check(machine, SOCKET, family, refuse(EAFNOSUPPORT));
        }
        for number in [0, 1, 2, 3, 444, 445, 446] {
            check(machine, number, 0, give(ALLOW));
        }
        check(7, 1, 0, refuse(ENOSYS));
    }
}
