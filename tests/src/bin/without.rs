//! Runs a program as if on a kernel without some feature: `without landlock PROGRAM ARGUMENTS…`. A seccomp filter answers the
//! system calls of that feature as such a kernel would, for the program and all its child processes.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::os::unix::process::CommandExt;

    let mut arguments = std::env::args_os().skip(1);
    let what =
        arguments.next().and_then(|what| what.into_string().ok()).ok_or("what is it to be without?")?;
    let program = arguments.next().ok_or("and what is to run?")?;
    kernel::lose(&what)?;
    // Returns only on error.
    #[allow(clippy::disallowed_methods, reason = "this process becomes the program; none is started")]
    Err(std::process::Command::new(program).args(arguments).exec().into())
}

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod kernel {
    use std::collections::BTreeMap;

    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, apply_filter,
    };

    const ENOSYS: u32 = 38;
    const EPERM: u32 = 1;
    const EINVAL: u32 = 22;
    /// `PR_SET_SECCOMP`.
    const SET_SECCOMP: u64 = 22;

    /// The numbers of `unshare`, `mount`, `prctl` and `seccomp`; Landlock's are the same everywhere.
    #[cfg(target_arch = "x86_64")]
    const CALLS: [i64; 4] = [272, 165, 157, 317];
    #[cfg(not(target_arch = "x86_64"))]
    const CALLS: [i64; 4] = [97, 40, 167, 277];
    const LANDLOCK: i64 = 444;

    pub(super) fn lose(what: &str) -> Result<(), Box<dyn std::error::Error>> {
        let [unshare, mount, prctl, seccomp] = CALLS;
        match what {
            "landlock" => refuse(&[(LANDLOCK, None)], ENOSYS),
            "namespaces" => refuse(&[(unshare, None)], EPERM),
            "mounts" => refuse(&[(mount, None)], EPERM),
            // This is the last filter that can be installed.
            "seccomp" => refuse(&[(seccomp, None), (prctl, Some(SET_SECCOMP))], EINVAL),
            other => Err(format!("{other} is nothing that it could be without").into()),
        }
    }

    /// Makes these system calls fail, if their first argument matches.
    fn refuse(calls: &[(i64, Option<u64>)], errno: u32) -> Result<(), Box<dyn std::error::Error>> {
        let mut rules = BTreeMap::new();
        for (call, first) in calls {
            let with = |first: u64| -> Result<_, Box<dyn std::error::Error>> {
                let is = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, first)?;
                Ok(SeccompRule::new(vec![is])?)
            };
            rules.insert(*call, first.map(with).transpose()?.into_iter().collect());
        }
        let (allow, deny) = (SeccompAction::Allow, SeccompAction::Errno(errno));
        let filter = SeccompFilter::new(rules, allow, deny, std::env::consts::ARCH.try_into()?)?;
        Ok(apply_filter(&BpfProgram::try_from(filter)?)?)
    }
}
