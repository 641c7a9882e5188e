//! Homes of released formats: an upgrade keeps every row.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use aethon_store::{Options, Store, Upgrade, copy};
use flate2::read::GzDecoder;
use rusqlite::Connection;
use rusqlite::types::Value;

/// Tables whose rows are the program's own notes, and change with every start.
const NOTES: [&str; 3] = ["log_link", "marks", "search_mark"];

/// A table: its columns, and its rows in some fixed order.
type Tables = BTreeMap<String, (Vec<String>, Vec<String>)>;

fn homes() -> Vec<(i64, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/homes");
    let format = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.to_owned();
        let format = name.strip_prefix("format")?.strip_suffix(".db.gz")?.parse().ok()?;
        Some((format, path))
    };
    fs::read_dir(folder).unwrap().filter_map(|entry| format(entry.unwrap().path())).collect()
}

/// The rows of all tables, or of the same columns of the tables that were there before.
fn rows(path: &Path, before: Option<&Tables>) -> Tables {
    let database = Connection::open(path).unwrap();
    let list = |query: &str| -> Vec<String> {
        let mut query = database.prepare(query).unwrap();
        query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    // The shadow tables of an index say nothing about stored rows.
    let names = match before {
        Some(before) => before.keys().cloned().collect(),
        None => list(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%'",
        ),
    };
    let table = |name: String| {
        let columns = match before {
            Some(before) => before[&name].0.clone(),
            None => list(&format!("SELECT name FROM pragma_table_info('{name}')")),
        };
        let mut query = database.prepare(&format!("SELECT {} FROM {name}", columns.join(", "))).unwrap();
        let row = |row: &rusqlite::Row<'_>| {
            let values: Vec<Value> = (0..columns.len()).map(|column| row.get_unwrap(column)).collect();
            Ok(format!("{values:?}"))
        };
        let mut rows: Vec<String> = query.query_map([], row).unwrap().map(Result::unwrap).collect();
        rows.sort();
        (name, (columns, rows))
    };
    names.into_iter().filter(|name| !NOTES.contains(&name.as_str())).map(table).collect()
}

#[tokio::test]
async fn every_row_of_every_released_format_is_kept() {
    let homes = homes();
    assert!(homes.len() >= 2, "{homes:?}");
    for (format, packed) in homes {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("aethon.db");
        let mut database = Vec::new();
        GzDecoder::new(File::open(packed).unwrap()).read_to_end(&mut database).unwrap();
        fs::write(&path, database).unwrap();
        assert_eq!(copy::format(&path).unwrap(), Some(format));
        let before = rows(&path, None);
        assert!(before["messages"].1.len() >= 6 && before["sessions"].1.len() >= 3, "{before:?}");
        let store = Store::open(&path, Options::default().with(|options| options.upgrade = Upgrade::Allow));
        let store = store.unwrap();
        assert_eq!(store.check().await.unwrap().problems, Vec::<String>::new());
        store.close().await;
        assert_eq!(rows(&path, Some(&before)), before, "format {format}");
        let kept = copy::of_upgrades(&path).pop().unwrap();
        assert_eq!(rows(&kept.path, None), before, "the copy of format {format}");
    }
}
