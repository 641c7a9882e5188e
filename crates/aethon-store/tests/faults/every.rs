//! Every operation of the script fails once, in each way.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use tempfile::TempDir;

use crate::disk::{self, Fault, Operation};
use crate::script::{self, Known};
use crate::vfs;

/// The ordinary tests leave most operations out: one in so many fails, others each time the script changes.
const STRIDE: u64 = 7;

/// There is one disk for all tests of this process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// A database that was made and closed.
fn template() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    block_on(async { script::open(&folder.path().join("aethon.db")).unwrap().close().await });
    folder
}

fn copy_of(template: &Path) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(template).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    folder
}

/// One run with one fault; returns the counts.
fn run_one(template: Option<&Path>, plan: Option<(Operation, u64, Fault)>) -> BTreeMap<Operation, u64> {
    let what = format!("{plan:?}");
    let folder = template.map_or_else(|| tempfile::tempdir().unwrap(), copy_of);
    let path = folder.path().join("aethon.db");
    let mut known = Known::default();
    disk::plug_in(folder.path(), plan);
    block_on(async {
        // A start may fail; the next one must not, once the power is back.
        for _ in 0..2 {
            if let Ok(store) = script::open(&path) {
                script::run(&store, &mut known).await;
                store.close().await;
                break;
            }
        }
    });
    let (counts, _) = disk::unplug();
    let connection = rusqlite::Connection::open(&path).unwrap();
    let sound: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(sound, "ok", "{what}");
    drop(connection);
    block_on(async {
        let store = script::open(&path).unwrap_or_else(|error| panic!("{what}: it does not open: {error}"));
        script::check(&store, &known, &what).await;
        store.close().await;
    });
    counts
}

/// Every `stride`-th operation fails, in each way.
fn run_all(stride: u64, is_new: bool) -> usize {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    vfs::install();
    let template = (!is_new).then(template);
    let template = template.as_ref().map(TempDir::path);
    let counts = run_one(template, None);
    println!("operations of a run: {counts:?}");
    let mut runs = 0;
    for operation in Operation::ALL {
        for number in 1..=counts.get(&operation).copied().unwrap_or_default() {
            if !(number + operation as u64).is_multiple_of(stride) {
                continue;
            }
            let mut faults = vec![Fault::Once, Fault::PowerLoss(number)];
            if operation == Operation::Write {
                faults.extend([Fault::Torn, Fault::PowerLoss(number ^ 0xaeae_aeae)]);
            }
            for fault in faults {
                run_one(template, Some((operation, number, fault)));
                runs += 1;
            }
        }
    }
    runs
}

#[test]
fn acknowledged_writes_survive_a_disk_failure_at_any_moment() {
    assert!(run_all(STRIDE, false) > 20);
}

#[test]
fn an_incomplete_new_database_is_created_again() {
    assert!(run_all(STRIDE * 5, true) > 5);
}

/// `cargo xtask io-faults` runs this.
#[test]
#[ignore = "a chore that runs for minutes: cargo xtask io-faults"]
fn every_operation_fails_once() {
    let (old, new) = (run_all(1, false), run_all(1, true));
    println!("{old} runs with a fault each on a database, {new} more while one was made");
}
