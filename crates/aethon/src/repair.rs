//! `doctor --repair`: mends a damaged database, and keeps the damaged file.

use std::path::PathBuf;

use aethon_store::repair::{Repair, Salvaged};
use jiff::Timestamp;
use serde::Serialize;

use crate::backup::{DatabaseExchange, in_use};
use crate::error::{Error, Result};
use crate::home::Home;

/// The result of a repair.
#[derive(Debug, Clone, Serialize)]
pub struct Repaired {
    /// One sentence for people.
    pub message: String,
    /// The losses, one sentence per table.
    pub lost: Vec<String>,
    /// Where the damaged file is now, if it was replaced.
    pub moved_to: Option<PathBuf>,
}

/// Mends the database of a home that is not in use. Blocks; takes as long as the database is large.
pub fn repair(home: &Home, now: Timestamp) -> Result<Repaired> {
    let database = home.database();
    let outcome = |message: String| Repaired { message, lost: Vec::new(), moved_to: None };
    if !database.exists() {
        return Ok(outcome("there is no database to repair".to_owned()));
    }
    let _lock = in_use(home)?;
    let exchange = DatabaseExchange::new(&database, "damaged", now);
    let target = exchange.new_file();
    let repaired = aethon_store::repair::repair(&database, &target).map_err(|error| {
        // The incomplete file is of no use.
        let _ = std::fs::remove_file(&target);
        Error::refused(format!("the database could not be repaired: {error}")).because(error)
    })?;
    Ok(match repaired {
        Repair::Intact => outcome("the database is intact; nothing was changed".to_owned()),
        Repair::Rebuilt(faults) => outcome(format!(
            "the database indexes were damaged and have been rebuilt; nothing is lost ({})",
            faults.join("; ")
        )),
        Repair::Salvaged(Salvaged { file, kept, lost }) => {
            let moved_to = exchange.run(&file)?;
            let message = match lost.is_empty() {
                true => {
                    format!("the database was damaged; all of its {kept} rows were saved into a new file")
                }
                false => format!(
                    "the database was damaged; {kept} rows were saved into a new file, and some are lost"
                ),
            };
            Repaired { message, lost, moved_to: Some(moved_to) }
        }
    })
}
