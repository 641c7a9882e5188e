//! Walls built with Landlock. Each is permanent for the calling thread and everything it starts.
//!
//! Each function either puts its wall fully in force or fails: a wall that stands only in part is not used.

use std::fmt::Display;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, NetPort, PathBeneath, RestrictionStatus,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::grants::Access as FileAccess;

/// The newest ABI whose file rights are handled. Later ABIs concern something else.
const FILES: ABI = ABI::V5;
/// How a place is opened that is granted.
const PLACE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Returns the abilities of the kernel: files (with moves between directories), ports, signals.
pub(super) fn abilities() -> (bool, bool, bool) {
    let files = strict().handle_access(AccessFs::Refer).and_then(Ruleset::create).is_ok();
    let ports = strict().handle_access(AccessNet::ConnectTcp).and_then(Ruleset::create).is_ok();
    let ports = files && ports && super::filter::is_known() && super::filter::is_accepted();
    (files, ports, scoped(strict()).and_then(Ruleset::create).is_ok())
}

/// Returns whether the kernel can close sockets in the file system.
pub(super) fn has_sockets() -> bool {
    strict().handle_access(AccessFs::ResolveUnix).and_then(Ruleset::create).is_ok()
}

/// Forbids signals to outside processes and connections to their abstract sockets.
pub(super) fn scope() -> io::Result<()> {
    let ruleset = scoped(strict()).and_then(with_moves).map_err(fault)?;
    in_force(may_move(ruleset)?.restrict_self().map_err(fault)?, RulesetStatus::FullyEnforced)
}

/// Creates a ruleset that does not concern files. Every ruleset forbids to move and link files between directories
/// unless it says otherwise; [`may_move`] makes it allow that, because builds do it all the time.
fn with_moves(ruleset: Ruleset) -> Result<RulesetCreated, landlock::RulesetError> {
    ruleset.handle_access(AccessFs::Refer)?.create()
}

fn may_move(created: RulesetCreated) -> io::Result<RulesetCreated> {
    grant(created, Path::new("/"), AccessFs::Refer)
}

/// Rules that allow only some files and directories with their contents; directories can be listed everywhere.
#[derive(Debug)]
pub(super) struct FileRules(RulesetCreated);

impl FileRules {
    /// Creates the rules. `sockets` are the paths below which sockets are open, if others are to be closed; `is_scoped`
    /// includes [`scope`].
    pub(super) fn new(
        granted: &[(PathBuf, FileAccess)],
        sockets: Option<&[PathBuf]>,
        is_scoped: bool,
    ) -> io::Result<Self> {
        let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(FILES)).map_err(fault)?;
        if sockets.is_some() {
            ruleset = ruleset.handle_access(AccessFs::ResolveUnix).map_err(fault)?;
        }
        if is_scoped {
            ruleset = scoped(ruleset.set_compatibility(CompatLevel::HardRequirement)).map_err(fault)?;
            ruleset = ruleset.set_compatibility(CompatLevel::BestEffort);
        }
        let mut created = ruleset.create().map_err(fault)?;
        created = grant(created, Path::new("/"), AccessFs::ReadDir)?;
        for (path, access) in granted {
            let rights = match access {
                FileAccess::Full => AccessFs::from_all(FILES),
                FileAccess::Read => AccessFs::from_read(FILES),
            };
            created = grant_opened(created, straight(path), rights)?;
        }
        for path in sockets.unwrap_or_default() {
            created = grant_opened(created, straight(path), AccessFs::ResolveUnix)?;
        }
        Ok(Self(created))
    }

    /// Returns the same rules once more: those that are enforced are used up.
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    /// Binds the calling thread and its children.
    pub(super) fn enforce(self) -> io::Result<()> {
        in_force(self.0.restrict_self().map_err(fault)?, RulesetStatus::PartiallyEnforced)
    }
}

/// Allows to read everything but to write only in these places; forbids signals to the outside.
pub(super) fn sandbox(writable: &[PathBuf]) -> io::Result<()> {
    let ruleset = Ruleset::default().handle_access(AccessFs::from_all(FILES)).map_err(fault)?;
    let mut created = scoped(ruleset).map_err(fault)?.create().map_err(fault)?;
    created = grant(created, Path::new("/"), AccessFs::from_read(FILES))?;
    for path in writable {
        created = grant(created, path, AccessFs::from_all(FILES))?;
    }
    in_force(created.restrict_self().map_err(fault)?, RulesetStatus::PartiallyEnforced)
}

/// Adds a grant. A path that no longer exists needs none.
fn grant(
    ruleset: RulesetCreated,
    path: &Path,
    rights: impl Into<landlock::BitFlags<AccessFs>>,
) -> io::Result<RulesetCreated> {
    grant_opened(ruleset, rustix::fs::open(path, PLACE, Mode::empty()), rights)
}

/// Opens a real path. A command that runs already may swap a folder on the way for a link, which is not followed.
fn straight(path: &Path) -> rustix::io::Result<OwnedFd> {
    match rustix::fs::openat2(CWD, path, PLACE, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // Some containers forbid this call and say that there is none.
        Err(Errno::NOSYS) => rustix::fs::open(path, PLACE, Mode::empty()),
        opened => opened,
    }
}

fn grant_opened(
    ruleset: RulesetCreated,
    opened: rustix::io::Result<OwnedFd>,
    rights: impl Into<landlock::BitFlags<AccessFs>>,
) -> io::Result<RulesetCreated> {
    let Ok(file) = opened else { return Ok(ruleset) };
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
    let rights = rights.into();
    let rights = match kind {
        FileType::Directory => rights,
        FileType::Symlink => return Ok(ruleset),
        _ => rights & (AccessFs::from_file(FILES) | AccessFs::ResolveUnix),
    };
    ruleset.add_rule(PathBeneath::new(file, rights)).map_err(fault)
}

/// Rulesets that close ports. The kernel takes a list of open ports, so closing one means allowing the 65,535 others;
/// the ruleset is built once and kept.
#[derive(Debug, Default)]
pub(super) struct Ports(Mutex<Option<(Vec<u16>, RulesetCreated)>>);

impl Ports {
    /// Forbids TCP connections to these ports and listening on them, on any address. A browser that tries `[::1]` first
    /// would take a page that a command serves there for the assistant's.
    pub(super) fn close(&self, ports: &[u16]) -> io::Result<()> {
        let ruleset = {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            match &*kept {
                Some((closed, ruleset)) if closed == ports => ruleset.try_clone()?,
                _ => {
                    let ruleset = all_but(ports)?;
                    kept.insert((ports.to_vec(), ruleset)).1.try_clone()?
                }
            }
        };
        in_force(ruleset.restrict_self().map_err(fault)?, RulesetStatus::FullyEnforced)
    }
}

fn all_but(closed: &[u16]) -> io::Result<RulesetCreated> {
    let both = AccessNet::ConnectTcp | AccessNet::BindTcp;
    let ruleset = strict().handle_access(both).and_then(with_moves).map_err(fault)?;
    let ruleset = may_move(ruleset)?;
    let open = (0..=u16::MAX).filter(|port| !closed.contains(port));
    ruleset.add_rules(open.map(|port| Ok(NetPort::new(port, both)))).map_err(fault::<landlock::RulesetError>)
}

fn strict() -> Ruleset {
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement)
}

fn scoped(ruleset: Ruleset) -> Result<Ruleset, landlock::RulesetError> {
    ruleset.scope(Scope::Signal)?.scope(Scope::AbstractUnixSocket)
}

fn in_force(status: RestrictionStatus, least: RulesetStatus) -> io::Result<()> {
    let stands = status.ruleset == RulesetStatus::FullyEnforced || status.ruleset == least;
    if stands { Ok(()) } else { Err(io::Error::other("the kernel did not put up the wall that it has")) }
}

fn fault<E: Display>(error: E) -> io::Error {
    io::Error::other(format!("the kernel refused to put up a wall round it: {error}"))
}
