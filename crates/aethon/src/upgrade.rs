//! Upgrading a home whose database has an older format.
//!
//! The storage does it; this module decides who may, and informs the owner before and after. [`plan`] says what would happen and
//! changes nothing. Only the daemon's start and [`run`] upgrade, both with the lock of the home.

use std::fs;
use std::path::PathBuf;

use aethon_store::copy::{self, FORMAT, OldCopy};
use aethon_store::{Options, Store, Upgrade};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::finding::Finding;
use crate::home::Home;
use crate::wiring;

/// What each format brought, for owners. Every format behind the first released one has a row.
const CHANGES: &[(i64, &str)] = &[
    (6, "learned model facts survive restarts"),
    (7, "messages to messengers carry files"),
    (8, "interrupted model calls are booked at an estimate"),
    (9, "several programs may use the home at the same time"),
    (10, "text from outside is marked as such"),
    (11, "upkeep times survive restarts; `session.oneshot_keep` and `storage.max_mb` limit what is stored"),
    (12, "long-term memory"),
    (13, "an audit log of approvals, refusals, removals and changes"),
    (14, "scheduled jobs and SOPs"),
    (15, "telemetry, kept for `telemetry.keep_days`"),
    (16, "messengers and their state"),
    (17, "specialists and multi-turn work"),
    (18, "the write-ahead log is tied to its database; `session.oneshot_max_mb` limits one-shot sessions"),
    (19, "a conversation has its own model, effort, instructions, folder and marks"),
    (20, "a conversation knows what was read of it"),
    (21, "answers and questions have versions"),
    (22, "deleted conversations lie in a bin for a week"),
];

/// The plan of a home's upgrade.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// The database.
    pub database: PathBuf,
    /// Its format.
    pub from: i64,
    /// The format of this program.
    pub to: i64,
    /// Where the database is copied first.
    pub copy: PathBuf,
    /// How many bytes have to be free for that.
    pub needed: u64,
    /// How many bytes are free, if the file system tells.
    pub free: Option<u64>,
    /// What changes, one sentence each.
    pub changes: Vec<String>,
    /// Whether an aethon-server runs on the home, which has to be stopped first.
    pub is_served: bool,
}

/// An upgrade that was done.
#[derive(Debug, Clone, Serialize)]
pub struct Done {
    /// The plan.
    #[serde(flatten)]
    pub plan: Plan,
    /// The size of the copy in bytes.
    pub copied: u64,
}

impl Plan {
    /// Returns whether there is room for the copy.
    pub fn has_room(&self) -> bool {
        self.free.is_none_or(|free| free >= self.needed)
    }

    /// Describes the plan, one line for each fact.
    pub fn lines(&self) -> Vec<String> {
        let free = self.free.map_or_else(String::new, |free| format!(", and {} MiB are free", free >> 20));
        let needed = self.needed.div_ceil(1 << 20);
        let mut lines = vec![
            format!(
                "{} has format {}; this program needs format {}",
                self.database.display(),
                self.from,
                self.to
            ),
            format!("first it is copied to {}, which needs {needed} MiB{free}", self.copy.display()),
            "new default limits remove and refuse nothing until Aethon has warned for a week of uptime"
                .to_owned(),
        ];
        lines.extend(self.changes.iter().map(|change| format!("new: {change}")));
        lines
    }
}

/// Plans an upgrade; `None` if the database is current, or there is none. Refuses a database that this program must
/// not open. Not for a process that has the home open.
pub fn plan(home: &Home) -> Result<Option<Plan>> {
    let database = home.database();
    let found = copy::format(&database).map_err(wiring::store::refused)?;
    Ok(found.filter(|from| *from < FORMAT).map(|from| {
        let (copy, needed) = (copy::copy_name(&database, from), copy::space_for_upgrade(&database));
        let free = copy::free_space(home.path());
        let changes =
            CHANGES.iter().filter(|(format, _)| *format > from).map(|(_, change)| (*change).to_owned());
        let (changes, is_served) = (changes.collect(), home.has_daemon());
        Plan { database, from, to: FORMAT, copy, needed, free, changes, is_served }
    }))
}

/// Upgrades the database of a home; `None` if there was nothing to do. Refuses while another program uses the home. Blocks; takes
/// as long as copying the database.
pub fn run(home: &Home) -> Result<Option<Done>> {
    let Some(plan) = plan(home)? else { return Ok(None) };
    home.prepare()?;
    let _lock = home.lock()?;
    let mut options = Options::default();
    options.upgrade = Upgrade::Allow;
    // Closed by being dropped: nothing was written through it.
    drop(Store::open(&plan.database, options).map_err(wiring::store::refused)?);
    let copied = fs::metadata(&plan.copy).map_or(0, |metadata| metadata.len());
    Ok(Some(Done { plan, copied }))
}

/// Lists the copies that upgrades left in a home, oldest format first.
pub fn copies(home: &Home) -> Vec<OldCopy> {
    copy::of_upgrades(&home.database())
}

/// Removes the copies that upgrades left in a home. Refuses unless the database has the format of this program and is intact:
/// otherwise the copies may be all that is left. Blocks; reads all of the database. Not for a process that has the home open.
pub fn remove_copies(home: &Home) -> Result<Vec<OldCopy>> {
    if let Some(obstacle) = obstacle_to_removal(home)? {
        return Err(Error::refused(format!("the copies stay: {} {obstacle}", home.database().display())));
    }
    let copies = copies(home);
    for copy in &copies {
        fs::remove_file(&copy.path).map_err(|error| {
            Error::failed(format!("{} could not be removed: {error}", copy.path.display())).because(error)
        })?;
    }
    Ok(copies)
}

/// Why the database cannot take the place of the copies.
fn obstacle_to_removal(home: &Home) -> Result<Option<String>> {
    let (database, refused) = (home.database(), wiring::store::refused);
    Ok(match copy::format(&database).map_err(refused)? {
        None => Some(
            "does not exist, or nothing is in it; `aethon-cli restore FILE --replace` brings a copy back"
                .into(),
        ),
        Some(FORMAT) => {
            let problems = copy::verify(&database).map_err(refused)?.problems;
            let damage = "is damaged, `aethon-cli doctor --repair` repairs it";
            (!problems.is_empty()).then(|| format!("{damage} ({})", problems.join("; ")))
        }
        Some(older) => Some(format!("still has format {older}, and is to be upgraded first")),
    })
}

/// What `doctor` says of the format: an upgrade that is due.
pub(crate) fn finding(home: &Home) -> Result<Option<Finding>> {
    Ok(plan(home)?.map(|plan| {
        let message = plan.lines().join("; ");
        if plan.is_served {
            let fix = "stop the aethon-server of the older version; then start the new one, or run `aethon-cli upgrade`";
            return Finding::warning("database", message, fix);
        }
        match plan.has_room() {
            true => Finding::warning("database", message, "run `aethon-cli upgrade`, or start aethon-server"),
            false => Finding::broken("database", message, "free some space, then run `aethon-cli upgrade`"),
        }
    }))
}

/// What `doctor` says of the copies that upgrades left.
pub(crate) fn copies_finding(home: &Home) -> Option<Finding> {
    copies_sentence(home).map(|sentence| Finding::note("database", sentence))
}

/// Names the copies that upgrades left, and when they may go.
pub(crate) fn copies_sentence(home: &Home) -> Option<String> {
    let copies = copies(home);
    let size: u64 = copies.iter().map(|copy| copy.size).sum();
    let names: Vec<String> = copies.iter().map(|copy| copy.path.display().to_string()).collect();
    (!copies.is_empty()).then(|| {
        format!(
            "upgrades left {} ({} KiB), from which `aethon-cli restore FILE --replace` goes back; once you will not, `aethon-cli \
             upgrade --remove-copies` removes them",
            names.join(", "),
            size.div_ceil(1024)
        )
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;

    /// A home with an intact database and the copy that an upgrade left.
    async fn upgraded() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        Store::open(&home.database(), Options::default()).unwrap().close().await;
        fs::write(folder.path().join("aethon.db.bak-v17"), "all that is left").unwrap();
        (folder, home)
    }

    #[tokio::test]
    async fn copies_stay_unless_an_intact_database_takes_their_place() {
        type Harm = fn(&std::path::Path);
        let harms: [(Harm, &str); 4] = [
            (|database| fs::remove_file(database).unwrap(), "does not exist"),
            (|database| fs::write(database, "").unwrap(), "nothing is in it"),
            (|database| fs::write(database, "x".repeat(4096)).unwrap(), "aethon.db"),
            (
                |database| {
                    let file = fs::File::options().write(true).open(database).unwrap();
                    // The first page, which names the format, stays.
                    file.write_all_at(&[0xA5; 4096], 2 * 4096).unwrap();
                },
                "damaged",
            ),
        ];
        for (harm, words) in harms {
            let (_folder, home) = upgraded().await;
            harm(&home.database());
            let refusal = remove_copies(&home).unwrap_err();
            assert!(refusal.is_refusal() && refusal.to_string().contains(words), "{words}: {refusal}");
            assert_eq!(copies(&home).len(), 1, "{words}");
        }
        let (_folder, home) = upgraded().await;
        assert_eq!(remove_copies(&home).unwrap().len(), 1);
        assert!(copies(&home).is_empty());
        Store::open(&home.database(), Options::default()).unwrap().close().await;
    }

    #[test]
    fn every_format_since_the_first_release_has_a_description() {
        let formats: Vec<i64> = CHANGES.iter().map(|(format, _)| *format).collect();
        assert_eq!(formats, (6..=FORMAT).collect::<Vec<_>>());
    }
}
