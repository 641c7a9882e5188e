//! The texts of errors: the problem and its remedy.
//!
//! This is the only place that chooses them, by the cause. The server and the terminal print both as one sentence; `doctor`
//! shows the remedy apart.

use std::fmt;
use std::path::Path;

use rusqlite::ErrorCode;

use super::obstacle::Obstacle;
use super::reason::{FailedMigration, NoSpaceForCopy, Reason};

/// The remedy for a damaged database.
const MEND: &str = "stop aethon, and mend it with `aethon-cli doctor --repair`, or restore a backup with `aethon-cli restore`";

/// The text of an error.
pub(super) struct Words {
    /// The problem, in lower case.
    pub(super) problem: String,
    /// The remedy, if there is one.
    pub(super) remedy: Option<String>,
}

impl Words {
    fn new(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { problem: problem.into(), remedy: Some(remedy.into()) }
    }

    fn without_remedy(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), remedy: None }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Words { problem, remedy } = self.words();
        f.write_str(&problem)?;
        remedy.map_or(Ok(()), |remedy| write!(f, ": {remedy}"))
    }
}

impl std::error::Error for Reason {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { source, .. } | Self::Thread(source) => Some(source),
            Self::InUse(cause)
            | Self::DiskFull(cause)
            | Self::Damaged(cause)
            | Self::Disk(cause)
            | Self::Failed(cause) => Some(cause),
            Self::Migration(failed) => Some(&failed.source),
            Self::Refused(refusal) => std::error::Error::source(refusal),
            _ => None,
        }
    }
}

impl Reason {
    pub(super) fn words(&self) -> Words {
        match self {
            Self::Older { .. } | Self::Held { .. } | Self::NoSpaceForCopy(_) | Self::CopyFailed { .. } => {
                self.about_an_upgrade()
            }
            Self::Newer { .. } | Self::ForeignLog { .. } | Self::Foreign { .. } | Self::Moved { .. } => {
                self.about_the_file()
            }
            Self::Unwritable { path, obstacle } => unwritable(path, obstacle),
            Self::File { what, path, source } => {
                Words::without_remedy(format!("{what} {}: {source}", path.display()))
            }
            Self::Migration(failed) => migration(failed),
            Self::InUse(_) => {
                Words::new("the database is in use by another program", "try again in a moment")
            }
            Self::DiskFull(_) => {
                Words::new("the disk is full, so nothing more can be stored", "free some space")
            }
            Self::AtCapacity { bytes } => Words::new(
                format!(
                    "the database has reached its largest size ({} MiB, `storage.max_mb`), so this cannot be stored",
                    bytes >> 20
                ),
                "remove conversations, or raise the limit",
            ),
            Self::Damaged(_) => Words::new("the database is damaged", MEND),
            Self::Disk(_) => Words::new(
                "the disk or its file system fails, so nothing can be stored",
                "look after it; the log has the cause",
            ),
            Self::Failed(_) => Words::without_remedy("the database could not do this"),
            Self::Thread(_) => Words::without_remedy("the storage could not start a thread"),
            Self::Panicked => Words::without_remedy("a job of the storage panicked; it was rolled back"),
            Self::Closed => Words::without_remedy("the storage is closed"),
            Self::Refused(refusal) => Words::without_remedy(refusal.to_string()),
        }
    }

    /// The words for a file of an older version, which is not upgraded, or not now.
    fn about_an_upgrade(&self) -> Words {
        match self {
            Self::Older { path, found, known } => Words::new(
                format!(
                    "{} has database format {found}, and this program needs format {known}",
                    path.display()
                ),
                "stop every aethon program of this home, and run `aethon-cli upgrade`, or start the new aethon-server, which \
                 does the same. The database is copied first; until then nothing is changed",
            ),
            Self::Held { path } => Words::new(
                format!(
                    "{} is not brought to the new format while another program has it open",
                    path.display()
                ),
                "end it first, such as a chat in a terminal, or an editor that runs aethon-mcp. Nothing was changed",
            ),
            Self::NoSpaceForCopy(lack) => {
                let NoSpaceForCopy { path, from, to, needed, free } = &**lack;
                Words::new(
                    format!(
                        "bringing {} from format {from} to {to} copies it first and needs {} MiB there, but only {} MiB are \
                         free",
                        path.display(),
                        needed.div_ceil(1 << 20),
                        free >> 20
                    ),
                    "free some space, and start again. Nothing was changed",
                )
            }
            Self::CopyFailed { path, problem, remedy } => Words {
                problem: format!(
                    "the copy {} could not be made, so the database was not changed: {}",
                    path.display(),
                    problem
                ),
                remedy: remedy.clone(),
            },
            _ => Words::without_remedy("the database could not do this"),
        }
    }

    /// The words for a file that is not the one that belongs there.
    fn about_the_file(&self) -> Words {
        match self {
            Self::Newer { path, found, known } => {
                let path = path.display();
                Words::new(
                    format!(
                        "{path} has format {found}, and this version of aethon knows formats up to {known}"
                    ),
                    format!(
                        "start the newer aethon that wrote it, or let its `aethon-cli restore {path}.bak-v{known} --replace` \
                         put the copy back that it left"
                    ),
                )
            }
            Self::ForeignLog { path } => {
                let path = path.display();
                Words::new(
                    format!("{path}-wal does not belong to the database beside it"),
                    format!(
                        "it holds changes to another copy of {path}, and together they would be damaged. If you put a copy of \
                         the database back, move {path}-wal and {path}-shm away and start again; otherwise put the database \
                         back that belongs to the log. `aethon-cli restore FILE --replace` puts a backup or a copy back and \
                         keeps all of this aside"
                    ),
                )
            }
            Self::Moved { what, path } => Words::new(
                format!("{} was {what} while aethon ran, so nothing more is stored", path.display()),
                "put it back, or restart aethon to go on with what is there now",
            ),
            Self::Foreign { path } => Words::new(
                format!("{} is not a database of aethon", path.display()),
                "move it away, or choose another home",
            ),
            _ => Words::without_remedy("the database could not do this"),
        }
    }
}

/// The words for a file that cannot be opened for writing.
fn unwritable(path: &Path, obstacle: &Obstacle) -> Words {
    let shown = path.display();
    match obstacle {
        Obstacle::Full => Words::new(
            format!("the disk of {shown} is full, so nothing more can be stored"),
            "free some space",
        ),
        Obstacle::ReadOnly => Words::new(
            format!("the file system of {shown} is read-only, so nothing can be stored"),
            "mount it for writing, or choose another home",
        ),
        Obstacle::NotPermitted(reason) => Words::new(
            format!("the database {shown} cannot be written ({reason})"),
            "let the user that runs aethon write this file and its folder, or choose another home",
        ),
        Obstacle::Other(reason) => Words::new(
            format!("the database {shown} cannot be written ({reason})"),
            "look at this file, its folder and its disk, or choose another home",
        ),
    }
}

fn migration(failed: &FailedMigration) -> Words {
    let FailedMigration { path, from, to, step, copy, source } = failed;
    let copied = copy
        .as_ref()
        .map(|copy| format!(" (the copy from before is {})", copy.display()))
        .unwrap_or_default();
    let shown = path.display();
    let failure = match from {
        0 => format!("the database {shown} could not be created"),
        _ => {
            format!(
                "bringing {shown} from format {from} to {to} failed at step {step}, and nothing of it was changed"
            )
        }
    };
    let remedy = match source.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "the disk is full: free some space and start again".to_owned(),
        _ => format!("{source}; mend that and start again"),
    };
    Words::new(failure, remedy + &copied)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_migration_that_fails_names_what_failed_and_the_remedy() {
        let check = |from: i64, code: i32, problem: &str, remedy: &str| {
            let source = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None);
            let path = Path::new("aethon.db").to_owned();
            let words = migration(&FailedMigration { path, from, to: 21, step: 4, copy: None, source });
            assert_eq!(words.problem, problem);
            assert!(words.remedy.as_deref().unwrap().contains(remedy), "{:?}", words.remedy);
        };
        let full = rusqlite::ffi::SQLITE_FULL;
        let created = "the database aethon.db could not be created";
        check(0, full, created, "the disk is full: free some space and start again");
        check(0, rusqlite::ffi::SQLITE_READONLY, created, "mend that and start again");
        let brought =
            "bringing aethon.db from format 3 to 21 failed at step 4, and nothing of it was changed";
        check(3, full, brought, "the disk is full");
    }
}
