//! A seccomp filter for what Landlock does not see: some ways to a TCP port, and limits on another process.
//!
//! Landlock checks `connect` on TCP sockets. But an MPTCP or SMC socket falls back to plain TCP if the server does not
//! support it, `MSG_FASTOPEN` connects while it sends, and `io_uring` does both without a system call of its own.
//! Programs know that each of these may be missing, and cope. `prlimit` with a process id could limit the processor time
//! of the assistant, which the kernel would then kill; a command may still set its own limits. The
//! keys that the kernel keeps for the owner (passwords of network drives, tickets, keys of encrypted folders) belong to no
//! file, so commands get none of them. System calls of another
//! architecture are filtered by their own numbers.

use std::io;
use std::sync::OnceLock;

use seccompiler::sock_filter;

// BPF instructions.
const LOAD: u16 = 0x20;
pub(super) const IS: u16 = 0x15;
pub(super) const IS_AT_LEAST: u16 = 0x35;
pub(super) const HAS_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

pub(super) const ALLOW: u32 = 0x7fff_0000;
const REFUSE: u32 = 0x0005_0000;
pub(super) const ENOSYS: u32 = 38;
const EPERM: u32 = 1;
const EPROTONOSUPPORT: u32 = 93;
const EOPNOTSUPP: u32 = 95;
const EAFNOSUPPORT: u32 = 97;

const IPPROTO_MPTCP: u32 = 262;
const AF_SMC: u32 = 43;
const AF_UNIX: u32 = 1;
const EACCES: u32 = 13;
const MSG_FASTOPEN: u32 = 0x2000_0000;
const IO_URING_SETUP: u32 = 425;
/// System call numbers from here on belong to the x32 ABI.
pub(super) const X32: u32 = 0x4000_0000;

/// Offsets of the fields of `seccomp_data`; arguments mean the low half, which comes first on little-endian machines.
pub(super) const NUMBER: u32 = 0;
pub(super) const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// System call numbers of an architecture.
struct Calls {
    architecture: u32,
    socket: u32,
    sendto: u32,
    sendmsg: u32,
    sendmmsg: u32,
    prlimit64: u32,
    /// `add_key`, `request_key` and `keyctl`.
    keys: [u32; 3],
    /// The multiplexed call for all socket operations, whose arguments a filter cannot see.
    socketcall: Option<u32>,
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURES: &[Calls] = &[
    Calls {
        architecture: 0xc000_003e,
        socket: 41,
        sendto: 44,
        sendmsg: 46,
        sendmmsg: 307,
        prlimit64: 302,
        keys: [248, 249, 250],
        socketcall: None,
    },
    Calls {
        architecture: 0x4000_0003,
        socket: 359,
        sendto: 369,
        sendmsg: 370,
        sendmmsg: 345,
        prlimit64: 340,
        keys: [286, 287, 288],
        socketcall: Some(102),
    },
];

#[cfg(target_arch = "aarch64")]
const ARCHITECTURES: &[Calls] = &[
    Calls {
        architecture: 0xc000_00b7,
        socket: 198,
        sendto: 206,
        sendmsg: 211,
        sendmmsg: 269,
        prlimit64: 261,
        keys: [217, 218, 219],
        socketcall: None,
    },
    Calls {
        architecture: 0x4000_0028,
        socket: 281,
        sendto: 290,
        sendmsg: 296,
        sendmmsg: 374,
        prlimit64: 369,
        keys: [309, 310, 311],
        socketcall: Some(102),
    },
];

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURES: &[Calls] = &[];

/// Returns whether the system call numbers of this machine are known.
pub(super) fn is_known() -> bool {
    !ARCHITECTURES.is_empty()
}

/// Returns whether the kernel accepts filters at all. A filter stays with its thread, so a thread tries one and ends.
pub(super) fn is_accepted() -> bool {
    static ACCEPTED: OnceLock<bool> = OnceLock::new();
    *ACCEPTED.get_or_init(|| std::thread::spawn(|| apply().is_ok()).join().unwrap_or(false))
}

/// Applies the filter to the calling thread and its children.
pub(super) fn apply() -> io::Result<()> {
    put_in_force(&program())
}

/// Forbids local sockets to the calling thread and its children, apart from pairs, which lead nowhere else.
pub(super) fn forbid_local_sockets() -> io::Result<()> {
    put_in_force(&without_local_sockets())
}

/// Forbids the kernel's keys to the calling thread and its children, where `apply` has no use.
pub(super) fn forbid_keys() -> io::Result<()> {
    put_in_force(&without_keys())
}

fn put_in_force(program: &[sock_filter]) -> io::Result<()> {
    seccompiler::apply_filter(program)
        .map_err(|error| io::Error::other(format!("the kernel refused a filter of system calls: {error}")))
}

fn without_local_sockets() -> Vec<sock_filter> {
    let mut program = vec![load(ARCHITECTURE)];
    for calls in ARCHITECTURES {
        let mut block = vec![load(NUMBER)];
        for call in [Some(IO_URING_SETUP), calls.socketcall].into_iter().flatten() {
            block.extend([unless(IS, call, 1), refuse(ENOSYS)]);
        }
        block.extend([
            unless(IS, calls.socket, 3),
            load(argument(0)),
            unless(IS, AF_UNIX, 1),
            refuse(EACCES),
            give(ALLOW),
        ]);
        program.push(unless(IS, calls.architecture, block.len()));
        program.extend(block);
    }
    program.push(refuse(ENOSYS));
    program
}

fn without_keys() -> Vec<sock_filter> {
    let mut program = vec![load(ARCHITECTURE)];
    for calls in ARCHITECTURES {
        let mut block = vec![load(NUMBER)];
        for call in calls.keys {
            block.extend([unless(IS, call, 1), refuse(EPERM)]);
        }
        block.push(give(ALLOW));
        program.push(unless(IS, calls.architecture, block.len()));
        program.extend(block);
    }
    program.push(refuse(ENOSYS));
    program
}

fn program() -> Vec<sock_filter> {
    let mut program = vec![load(ARCHITECTURE)];
    for calls in ARCHITECTURES {
        let block = block(calls);
        program.push(unless(IS, calls.architecture, block.len()));
        program.extend(block);
    }
    program.push(refuse(ENOSYS));
    program
}

/// Begins a program for one architecture: calls of any other one are refused with this error, and then the number of the call
/// is loaded.
pub(super) fn for_architecture(architecture: u32, errno: u32) -> Vec<sock_filter> {
    // The one comparison that skips an instruction where it holds.
    let skip_refusal = sock_filter { jt: 1, jf: 0, ..unless(IS, architecture, 0) };
    let mut program = vec![load(ARCHITECTURE), skip_refusal, refuse(errno), load(NUMBER)];
    if cfg!(target_arch = "x86_64") {
        program.extend([unless(IS_AT_LEAST, X32, 1), refuse(errno)]);
    }
    program
}

/// Builds the block for one architecture; every path through it ends in a return.
fn block(calls: &Calls) -> Vec<sock_filter> {
    let mut block = vec![load(NUMBER)];
    if calls.architecture == 0xc000_003e {
        block.extend([unless(IS_AT_LEAST, X32, 1), refuse(ENOSYS)]);
    }
    for call in [Some(IO_URING_SETUP), calls.socketcall].into_iter().flatten() {
        block.extend([unless(IS, call, 1), refuse(ENOSYS)]);
    }
    for call in calls.keys {
        block.extend([unless(IS, call, 1), refuse(EPERM)]);
    }
    block.extend([
        unless(IS, calls.socket, 7),
        load(argument(2)),
        unless(IS, IPPROTO_MPTCP, 1),
        refuse(EPROTONOSUPPORT),
        load(argument(0)),
        unless(IS, AF_SMC, 1),
        refuse(EAFNOSUPPORT),
        give(ALLOW),
    ]);
    for (call, flags) in [(calls.sendto, 3), (calls.sendmsg, 2), (calls.sendmmsg, 3)] {
        block.extend([
            unless(IS, call, 4),
            load(argument(flags)),
            unless(HAS_BIT, MSG_FASTOPEN, 1),
            refuse(EOPNOTSUPP),
            give(ALLOW),
        ]);
    }
    block.extend([
        unless(IS, calls.prlimit64, 4),
        load(argument(0)),
        unless(IS, 0, 1),
        give(ALLOW),
        refuse(EPERM),
        give(ALLOW),
    ]);
    block
}

pub(super) fn argument(index: u32) -> u32 {
    ARGUMENTS + 8 * index
}

pub(super) fn load(offset: u32) -> sock_filter {
    sock_filter { code: LOAD, jt: 0, jf: 0, k: offset }
}

/// Skips this many instructions unless the loaded value passes the test.
pub(super) fn unless(test: u16, value: u32, skip: usize) -> sock_filter {
    sock_filter { code: test, jt: 0, jf: u8::try_from(skip).unwrap_or(u8::MAX), k: value }
}

pub(super) fn refuse(errno: u32) -> sock_filter {
    give(REFUSE | errno)
}

pub(super) fn give(verdict: u32) -> sock_filter {
    sock_filter { code: RETURN, jt: 0, jf: 0, k: verdict }
}

/// Interprets a program as the kernel would, for a call with these arguments.
#[cfg(test)]
pub(super) fn verdict_of(
    program: &[sock_filter],
    architecture: u32,
    number: u32,
    arguments: [u32; 4],
) -> u32 {
    let (mut at, mut value) = (0, 0);
    loop {
        let step = &program[at];
        at += 1;
        let passes = match step.code {
            RETURN => return step.k,
            LOAD => {
                value = match step.k {
                    NUMBER => number,
                    ARCHITECTURE => architecture,
                    offset => arguments[((offset - ARGUMENTS) / 8) as usize],
                };
                continue;
            }
            IS => value == step.k,
            IS_AT_LEAST => value >= step.k,
            HAS_BIT => value & step.k != 0,
            _ => return u32::MAX,
        };
        at += usize::from(if passes { step.jt } else { step.jf });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(architecture: u32, number: u32, arguments: [u32; 4]) -> u32 {
        verdict_of(&program(), architecture, number, arguments)
    }

    #[test]
    fn local_sockets_can_be_forbidden_and_others_stay() {
        for calls in ARCHITECTURES {
            let program = without_local_sockets();
            let check = |number: u32, first: u32, expected: u32| {
                let verdict = verdict_of(&program, calls.architecture, number, [first, 1, 0, 0]);
                assert_eq!(verdict, expected, "{number} {first}");
            };
            check(calls.socket, AF_UNIX, REFUSE | EACCES);
            check(calls.socket, 2, ALLOW);
            check(calls.sendto, AF_UNIX, ALLOW);
            check(IO_URING_SETUP, 0, REFUSE | ENOSYS);
        }
    }

    #[test]
    fn detours_around_the_port_rule_are_closed() {
        for calls in ARCHITECTURES {
            let check = |number: u32, arguments: [u32; 4], expected: u32| {
                assert_eq!(
                    verdict(calls.architecture, number, arguments),
                    expected,
                    "{number} {arguments:?}"
                );
            };
            check(calls.socket, [2, 1, 0, 0], ALLOW);
            check(calls.socket, [2, 1, 6, 0], ALLOW);
            check(calls.socket, [1, 1, 0, 0], ALLOW);
            check(calls.socket, [2, 1, IPPROTO_MPTCP, 0], REFUSE | EPROTONOSUPPORT);
            check(calls.socket, [AF_SMC, 1, 0, 0], REFUSE | EAFNOSUPPORT);
            check(calls.sendto, [3, 0, 0, 0x4000], ALLOW);
            check(calls.sendto, [3, 0, 0, MSG_FASTOPEN | 0x4000], REFUSE | EOPNOTSUPP);
            check(calls.sendmsg, [3, 0, MSG_FASTOPEN, 0], REFUSE | EOPNOTSUPP);
            check(calls.sendmmsg, [3, 0, 0, MSG_FASTOPEN], REFUSE | EOPNOTSUPP);
            check(calls.sendmsg, [3, 0, 0, MSG_FASTOPEN], ALLOW);
            check(calls.prlimit64, [0, 0, 0, 0], ALLOW);
            check(calls.prlimit64, [4711, 0, 0, 0], REFUSE | EPERM);
            check(IO_URING_SETUP, [0; 4], REFUSE | ENOSYS);
            calls.keys.iter().for_each(|call| check(*call, [0; 4], REFUSE | EPERM));
            let of_keys = |call: u32| verdict_of(&without_keys(), calls.architecture, call, [0; 4]);
            assert_eq!((of_keys(calls.keys[0]), of_keys(calls.socket)), (REFUSE | EPERM, ALLOW));
            check(1, [0; 4], ALLOW);
        }
        assert_eq!(verdict(7, 1, [0; 4]), REFUSE | ENOSYS, "an architecture that nobody knows");
    }
}
