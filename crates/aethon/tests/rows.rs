//! Moving all rows between the file and a PostgreSQL server.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::collections::HashMap;
use std::path::Path;

use aethon::config::Sources;
use aethon::rows::{Copied, Place, Request, copy};
use aethon_core::storage::rows::{Begun, Cell, Row, RowStorage, Table};
use aethon_postgres::{ServerRows, testkit};
use aethon_store::rows::FileRows;
use tempfile::TempDir;

/// Two rows for a table of unknown meaning. Its types are found out by what it refuses.
async fn fill(rows: &FileRows, table: &Table) {
    let mut kinds: HashMap<String, &str> = HashMap::new();
    for _ in 0..2 * table.columns.len() + 1 {
        let row = |number: i64| -> Row {
            let cell = |column: &String| match kinds.get(column) {
                Some(&"INTEGER") => Cell::Integer(number),
                Some(&"REAL") => Cell::Real(number as f64 + 0.1),
                Some(&"BLOB") => Cell::Bytes(vec![0, 255, 39, 92, number as u8]),
                _ => Cell::Text(format!("{column} {number}: it's \"a\\b\"\n\t\u{1f980} caf\u{e9}")),
            };
            table.columns.iter().map(cell).collect()
        };
        let Err(error) = rows.add(table, vec![row(0), row(1)]).await else { return };
        let said = format!("{error:?} {error}");
        match said.split_once(" value in ").and_then(|(_, rest)| rest.split_once(" column ")) {
            Some((kind, column)) => {
                let column: String =
                    column.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '.')).collect();
                let kind =
                    ["INTEGER", "REAL", "BLOB"].into_iter().find(|known| kind.ends_with(known)).unwrap();
                kinds.insert(column.rsplit('.').next().unwrap().to_owned(), kind);
            }
            None => drop(kinds.insert(table.columns[table.key[0]].clone(), "INTEGER")),
        }
    }
    panic!("{}: no rows fit", table.name);
}

/// A database file that has two rows in every table.
async fn full(path: &Path) -> Vec<Table> {
    let rows = FileRows::create(path).unwrap();
    let tables = rows.tables().await.unwrap();
    assert_eq!(rows.begin(1).await.unwrap(), Begun::Anew);
    for table in &tables {
        fill(&rows, table).await;
    }
    rows.finish(vec![("messages".to_owned(), 700), ("sessions".to_owned(), 9)]).await.unwrap();
    tables
}

fn place(text: &str) -> Place {
    let sources = Sources {
        home: "/".into(),
        file: None,
        environment: Vec::new(),
        sets: Vec::new(),
        program: Vec::new(),
    };
    Place::parse(text, &sources).unwrap()
}

async fn copied(from: &str, to: &str) -> Result<Copied, String> {
    let request = Request { from: place(from), to: place(to), verify: true };
    copy(&request, &mut |_: &str, _, _| {}).await.map_err(|error| error.to_string())
}

/// The lines of a storage, without the counters at the end: a server counts in more tables.
async fn lines(from: &str, folder: &TempDir) -> (Vec<String>, String) {
    let file = folder.path().join(format!("{}.jsonl", aethon_core::ids::unique()));
    copied(from, file.to_str().unwrap()).await.unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let tail = lines.pop().unwrap();
    (lines, tail)
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_to_a_server_and_back_is_identical_in_every_table() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let tables = full(Path::new(&at("one.db"))).await;
    let url = testkit::database().await;
    let there = copied(&at("one.db"), &url).await.unwrap();
    assert_eq!((there.rows, there.resumed, there.verified), (2 * tables.len() as u64, false, true));
    assert!(tables.len() > 20 && there.tables.iter().all(|table| table.rows == 2), "{there:?}");
    let back = copied(&url, &at("two.db")).await.unwrap();
    assert_eq!(back.tables, there.tables);
    let (one, one_counters) = lines(&at("one.db"), &folder).await;
    let (server, server_counters) = lines(&url, &folder).await;
    let (two, two_counters) = lines(&at("two.db"), &folder).await;
    assert_eq!(one, two);
    assert_eq!(one[1..], server[1..]);
    assert_eq!(one_counters, two_counters);
    // A number that was given is never given again, on either side.
    for counters in [&one_counters, &server_counters] {
        assert!(counters.contains("\"messages\":700") && counters.contains("\"sessions\":9"), "{counters}");
    }
    // The lines themselves are a storage, too.
    let file = at("three.jsonl");
    copied(&url, &file).await.unwrap();
    copied(&file, &at("three.db")).await.unwrap();
    assert_eq!(lines(&at("three.db"), &folder).await, (one, one_counters));
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_copy_goes_on_and_a_changed_source_begins_anew() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    full(Path::new(&at("one.db"))).await;
    let url = testkit::database().await;
    // It is cut off: by a row that the server has already under the same key, and that is then gone.
    let target = ServerRows::open(&url).await.unwrap();
    let source = FileRows::open(Path::new(&at("one.db"))).unwrap();
    let mut batches = source.read(HashMap::new()).await.unwrap();
    let tables = source.tables().await.unwrap();
    let half = tables.len() / 2;
    assert_eq!(target.begin(7).await.unwrap(), Begun::Anew);
    assert_eq!(target.begin(7).await.unwrap(), Begun::Resumed);
    for table in &tables[..half] {
        let mut batch = batches.recv().await.unwrap().unwrap();
        assert_eq!(batch.table, table.name);
        batch.rows.truncate(1);
        target.add(table, batch.rows).await.unwrap();
    }
    drop(batches);
    // No program takes the part for the whole.
    let refused = aethon_postgres::Store::open(&url, aethon_postgres::Options::default()).await;
    let refused = refused.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.contains("begun and not finished"), "{refused}");
    assert!(copied(&url, &at("part.db")).await.unwrap_err().contains("part of a copy"));
    // The number stands for another source: what is there goes, and the copy is complete.
    let anew = copied(&at("one.db"), &url).await.unwrap();
    assert!(!anew.resumed && anew.rows == 2 * tables.len() as u64, "{anew:?}");
    let again = copied(&at("one.db"), &url).await.unwrap_err();
    assert!(again.contains("is not empty"), "{again}");

    // The same for a file, which goes on behind the last row of each table.
    let partial = FileRows::create(Path::new(&at("three.db"))).unwrap();
    drop(partial);
    let lines_of = lines(&url, &folder).await;
    let broken = at("broken.jsonl");
    std::fs::write(&broken, format!("{}\n", lines_of.0.join("\n"))).unwrap();
    assert!(copied(&broken, &at("three.db")).await.unwrap_err().contains("ends before its last line"));
    copied(&url, &at("three.db")).await.unwrap();
    assert!(!Path::new(&at("three.db.copying")).exists());
    assert!(copied(&url, &at("three.db")).await.unwrap_err().contains("is there already"));
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_that_was_cut_off_in_the_middle_is_completed_by_the_same_command() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    full(Path::new(&at("one.db"))).await;
    let url = testkit::database().await;
    let request = Request { from: place(&at("one.db")), to: place(&url), verify: false };
    // It is dropped at its third step, as if the program had been killed.
    let mut steps = 0;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let mut stop = Some(stop);
    let mut report = |_: &str, _, _| {
        steps += 1;
        if steps == 3 {
            drop(stop.take());
        }
    };
    tokio::select! {
        biased;
        _ = stopped => {}
        done = copy(&request, &mut report) => drop(done),
    }
    let resumed = copy(&request, &mut |_: &str, _, _| {}).await;
    let resumed = resumed.unwrap_or_else(|error| panic!("{error}"));
    assert!(resumed.resumed && resumed.verified, "{resumed:?}");
    let (one, _) = lines(&at("one.db"), &folder).await;
    let (server, _) = lines(&url, &folder).await;
    assert_eq!(one[1..], server[1..]);
}

#[tokio::test(flavor = "multi_thread")]
async fn database_that_a_program_uses_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let url = testkit::database().await;
    let daemon = aethon_postgres::Options::default().with(|options| {
        options.mode = aethon_postgres::OpenMode::Daemon;
        options.instance = "kitchen".to_owned();
    });
    let store = aethon_postgres::Store::open(&url, daemon).await.unwrap();
    let refused = copied(&url, &at("x.db")).await.unwrap_err();
    assert!(refused.contains("kitchen") && refused.contains("stop every aethon-server"), "{refused}");
    store.close().await;
    copied(&url, &at("x.db")).await.unwrap();
}
