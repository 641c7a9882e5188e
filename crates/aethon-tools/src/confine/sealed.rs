//! The tightest walls, for a process of our own that only computes: it opens no file, reaches no other process and no
//! network, and starts nothing. Landlock closes the files, and a filter lets only those system calls pass that memory,
//! the clock, and reading and writing what is open need.

use landlock::{ABI, Access, AccessFs, Ruleset, RulesetAttr, Scope};
use seccompiler::sock_filter;

use super::filter::{ALLOW, IS, argument, for_architecture, give, load, refuse, unless};

const EPERM: u32 = 1;

/// read, write, close, fstat, poll, lseek, mmap, mprotect, munmap, brk, rt_sigaction, rt_sigprocmask, rt_sigreturn, readv,
/// writev, sched_yield, mremap, madvise, nanosleep, getpid, exit, gettid, futex, sched_getaffinity, restart_syscall,
/// clock_gettime, clock_nanosleep, exit_group, sigaltstack, getrandom.
#[cfg(target_arch = "x86_64")]
const OPEN: &[u32] = &[
    0, 1, 3, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 19, 20, 24, 25, 28, 35, 39, 60, 186, 202, 204, 219, 228,
    230, 231, 131, 318,
];
/// tgkill, by which a process aborts itself.
#[cfg(target_arch = "x86_64")]
const SIGNAL: u32 = 234;
#[cfg(target_arch = "x86_64")]
const MACHINE: u32 = 0xc000_003e;

/// The same calls; `ppoll` stands for `poll`.
#[cfg(target_arch = "aarch64")]
const OPEN: &[u32] = &[
    63, 64, 57, 80, 73, 62, 222, 226, 215, 214, 134, 135, 139, 65, 66, 124, 216, 233, 101, 172, 93, 178, 98,
    123, 128, 113, 115, 94, 132, 278,
];
#[cfg(target_arch = "aarch64")]
const SIGNAL: u32 = 131;
#[cfg(target_arch = "aarch64")]
const MACHINE: u32 = 0xc000_00b7;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const OPEN: &[u32] = &[];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const SIGNAL: u32 = 0;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MACHINE: u32 = 0;

/// Closes all files to this process, and other processes to its signals, as far as the kernel can. Opens a file itself, so
/// that it comes before a limit on them.
pub(crate) fn close_files() {
    let files = Ruleset::default().handle_access(AccessFs::from_all(ABI::V5));
    let rules = files.and_then(|rules| rules.scope(Scope::from_all(ABI::V6))).and_then(Ruleset::create);
    // Without Landlock the filter still lets nothing be opened.
    let _ = rules.and_then(landlock::RulesetCreated::restrict_self);
}

/// Leaves this process only those system calls that computing needs, if the kernel can.
pub(crate) fn filter_calls() {
    if !OPEN.is_empty() {
        let _ = seccompiler::apply_filter(&program(std::process::id()));
    }
}

/// `own` is the number of this process, the only one that it may signal.
fn program(own: u32) -> Vec<sock_filter> {
    let mut program = for_architecture(MACHINE, EPERM);
    for number in OPEN {
        program.extend([unless(IS, *number, 1), give(ALLOW)]);
    }
    program.extend([
        unless(IS, SIGNAL, 4),
        load(argument(0)),
        unless(IS, own, 1),
        give(ALLOW),
        refuse(EPERM),
        refuse(EPERM),
    ]);
    program
}

#[cfg(test)]
mod tests {
    use super::super::filter::{X32, verdict_of};
    use super::*;

    #[test]
    fn process_may_signal_only_itself() {
        let verdict = |process: u32| verdict_of(&program(7), MACHINE, SIGNAL, [process, 7, 6, 0]);
        assert_eq!(verdict(7), ALLOW);
        for other in [0, 1, 8, u32::MAX] {
            assert_eq!(verdict(other), refuse(EPERM).k, "{other}");
        }
    }

    #[test]
    fn sealed_process_keeps_only_harmless_system_calls() {
        let verdict = |machine: u32, number: u32| verdict_of(&program(7), machine, number, [0; 4]);
        for number in OPEN {
            assert_eq!(verdict(MACHINE, *number), ALLOW, "{number}");
            assert_eq!(verdict(7, *number), refuse(EPERM).k, "{number}");
        }
        // Among them open, socket, clone, execve, ptrace, kill, prctl, io_uring and the new calls to open files.
        for number in [2, 41, 56, 57, 59, 61, 62, 101, 157, 257, 298, 317, 321, 425, 435, 437] {
            if !OPEN.contains(&number) {
                assert_eq!(verdict(MACHINE, number), refuse(EPERM).k, "{number}");
            }
        }
        if cfg!(target_arch = "x86_64") {
            assert_eq!(verdict(MACHINE, X32), refuse(EPERM).k);
            assert!([2, 41, 56, 59, 257, 435].iter().all(|number| !OPEN.contains(number)));
        }
    }
}
