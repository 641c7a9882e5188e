//! The storage of the programs that tests start.
//!
//! Usually each home has its own SQLite file. With `AETHON_TESTS_STORAGE=postgres` each home has its own schema on the PostgreSQL
//! server of the tests instead, so that the same tests show that nobody notices the difference (`cargo xtask postgres`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use aethon_postgres::testkit;

/// The variable that chooses it, and its value.
const VARIABLE: (&str, &str) = ("AETHON_TESTS_STORAGE", "postgres");

/// Whether the data of a home is on a PostgreSQL server.
pub fn is_postgres() -> bool {
    std::env::var(VARIABLE.0).is_ok_and(|value| value == VARIABLE.1)
}

/// The address of this home's database, if it is not in the home.
pub(crate) fn url_of(home: &Path) -> Option<String> {
    static KNOWN: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());
    if !is_postgres() {
        return None;
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let url = known.entry(home.to_owned()).or_insert_with(|| {
        let digest = ring::digest::digest(&ring::digest::SHA256, home.as_os_str().as_encoded_bytes());
        let name: String = digest.as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        testkit::schema_blocking(&format!("home{name}"))
    });
    Some(url.clone())
}
