//! A storage as a file of lines, which backups of a server hold as `storage.jsonl`.
//!
//! Each line is JSON: first what the tables are, then the rows of each table behind a line with its name, and at the end the
//! counters with the number of rows, by which a file that was cut off is known. Bytes are an object with Base64.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};

use aethon_core::error::{Error as CoreError, Result as CoreResult};
use aethon_core::storage::rows::{Batch, Batches, Begun, Cell, Extent, Gathering, Row, RowStorage, Table};
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::error::{Error, Result};

/// The format of these files.
const FORMAT: u32 = 1;

/// The longest line, in bytes.
const MAX_LINE: u64 = 1 << 30;

/// How many batches wait to be taken.
const QUEUED: usize = 4;

/// The first line.
#[derive(Serialize, Deserialize)]
struct Head {
    aethon_storage: u32,
    version: String,
    tables: Vec<Described>,
}

/// A table as the first line has it.
#[derive(Serialize, Deserialize)]
struct Described {
    name: String,
    columns: Vec<String>,
    key: Vec<usize>,
    #[serde(default)]
    parents: Vec<String>,
}

/// The last line.
#[derive(Serialize, Deserialize)]
struct Tail {
    counters: BTreeMap<String, i64>,
    rows: u64,
}

/// Writes all rows of a storage to a new file, which gets its name when it is complete.
pub(super) async fn create(
    rows: &dyn RowStorage,
    path: &Path,
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        return Err(Error::refused(format!("{} is there already: move it away first", path.display())));
    }
    let failed = |error: std::io::Error| {
        Error::failed(format!("{} cannot be written: {error}", path.display())).because(error)
    };
    let mut partial = path.as_os_str().to_owned();
    partial.push(".copying");
    let partial = PathBuf::from(partial);
    let file =
        aethon_config::private_file::open(&partial, File::options().write(true).create(true).truncate(true));
    let mut file = BufWriter::new(file.map_err(failed)?);
    write(rows, &mut file, &mut |done| {
        progress(done);
        true
    })
    .await?;
    let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
    file.sync_all().and_then(|()| fs::rename(&partial, path)).map_err(failed)
}

/// Writes all rows of a storage as they are at one moment. `progress` gets the number of rows, and ends it by returning `false`.
pub(crate) async fn write(
    rows: &dyn RowStorage,
    sink: &mut (dyn Write + Send),
    progress: &mut (dyn FnMut(u64) -> bool + Send),
) -> Result<()> {
    let failed =
        |error: std::io::Error| Error::failed(format!("the rows cannot be written: {error}")).because(error);
    let tables = rows.tables().await?.into_iter().map(|table| {
        let Table { name, columns, key, parents } = table;
        Described { name, columns, key, parents }
    });
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let head = Head { aethon_storage: FORMAT, version, tables: tables.collect() };
    line(sink, &json!(head)).map_err(failed)?;
    let (mut batches, mut current, mut done) = (rows.read(HashMap::new()).await?, None, 0);
    while let Some(batch) = batches.recv().await {
        let Batch { table, rows } = batch?;
        if current.as_ref() != Some(&table) {
            line(sink, &json!({ "table": table })).map_err(failed)?;
            current = Some(table);
        }
        for row in &rows {
            line(sink, &Value::Array(row.iter().map(as_json).collect())).map_err(failed)?;
        }
        done += rows.len() as u64;
        if !progress(done) {
            return Err(Error::failed("it was stopped"));
        }
    }
    let tail = Tail { counters: rows.counters().await?.into_iter().collect(), rows: done };
    line(sink, &json!(tail)).and_then(|()| sink.flush()).map_err(failed)
}

fn line(sink: &mut (dyn Write + Send), value: &Value) -> std::io::Result<()> {
    serde_json::to_writer(&mut *sink, value)?;
    sink.write_all(b"\n")
}

fn as_json(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Integer(number) => (*number).into(),
        Cell::Real(number) => serde_json::Number::from_f64(*number)
            .map_or_else(|| json!({ "real": number.to_string() }), Value::Number),
        Cell::Text(text) => text.as_str().into(),
        Cell::Bytes(bytes) => json!({ "base64": STANDARD.encode(bytes) }),
    }
}

fn cell(value: Value) -> Option<Cell> {
    Some(match value {
        Value::Null => Cell::Null,
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Cell::Integer(whole),
            None => Cell::Real(number.as_f64()?),
        },
        Value::String(text) => Cell::Text(text),
        Value::Object(fields) => match (fields.get("base64"), fields.get("real")) {
            (Some(Value::String(text)), _) => Cell::Bytes(STANDARD.decode(text).ok()?),
            (_, Some(Value::String(text))) => Cell::Real(text.parse().ok()?),
            _ => return None,
        },
        Value::Bool(_) | Value::Array(_) => return None,
    })
}

/// A file of lines as a storage, to read from. All of it is checked when it is opened.
pub(crate) struct LineRows {
    path: PathBuf,
    tables: Vec<Table>,
    extents: HashMap<String, Extent>,
    counters: Vec<(String, i64)>,
}

impl LineRows {
    /// Opens a file and reads it to its end. Blocks.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let refused = |what: &str| Error::refused(format!("{} cannot be read: {what}", path.display()));
        let mut extents: HashMap<String, Extent> = HashMap::new();
        let mut lines = Lines::open(path).map_err(|error| refused(&error))?;
        let tables = lines.tables.clone();
        let mut rows = 0;
        loop {
            match lines.next().map_err(|error| refused(&error))? {
                Line::Row(table, row) => {
                    let extent = extents.entry(tables[table].name.clone()).or_default();
                    (extent.rows, extent.last) = (extent.rows + 1, Some(tables[table].key_of(&row)));
                    rows += 1;
                }
                Line::End(tail) if tail.rows == rows => {
                    let counters = tail.counters.into_iter().collect();
                    return Ok(Self { path: path.to_owned(), tables, extents, counters });
                }
                Line::End(_) => return Err(refused("rows are missing")),
            }
        }
    }

    fn only_read<T>() -> CoreResult<T> {
        Err(CoreError::invalid("a file of lines is written as a whole"))
    }
}

#[async_trait]
impl RowStorage for LineRows {
    async fn tables(&self) -> CoreResult<Vec<Table>> {
        Ok(self.tables.clone())
    }

    async fn extent(&self, table: &Table) -> CoreResult<Extent> {
        Ok(self.extents.get(&table.name).cloned().unwrap_or_default())
    }

    async fn read(&self, behind: HashMap<String, Row>) -> CoreResult<Batches> {
        let (send, batches) = mpsc::channel(QUEUED);
        let path = self.path.clone();
        let read = move || {
            if let Err(error) = send_all(&path, &behind, &send) {
                // Who no longer listens has seen an error already.
                drop(send.blocking_send(Err(CoreError::unavailable(error))));
            }
        };
        let thread = std::thread::Builder::new().name("aethon-lines".to_owned());
        thread
            .spawn(read)
            .map_err(|error| CoreError::unavailable("no thread can be started").because(error))?;
        Ok(batches)
    }

    async fn counters(&self) -> CoreResult<Vec<(String, i64)>> {
        Ok(self.counters.clone())
    }

    async fn begin(&self, _: i64) -> CoreResult<Begun> {
        Self::only_read()
    }

    async fn add(&self, _: &Table, _: Vec<Row>) -> CoreResult<()> {
        Self::only_read()
    }

    async fn finish(&self, _: Vec<(String, i64)>) -> CoreResult<()> {
        Self::only_read()
    }
}

/// Sends the rows behind these keys. The rows of a table stand in the order of their keys.
fn send_all(
    path: &Path,
    behind: &HashMap<String, Row>,
    send: &mpsc::Sender<CoreResult<Batch>>,
) -> Result<(), String> {
    let mut lines = Lines::open(path)?;
    let tables = lines.tables.clone();
    let mut waits: Vec<Option<&Row>> = tables.iter().map(|table| behind.get(&table.name)).collect();
    let (mut current, mut gathering) = (None, Gathering::of(""));
    let pass_on = |batch: Batch| send.blocking_send(Ok(batch)).map_err(|_| "it was stopped".to_owned());
    loop {
        match lines.next()? {
            Line::Row(table, row) => {
                if current != Some(table) {
                    let before = std::mem::replace(&mut gathering, Gathering::of(&tables[table].name));
                    before.rest().map_or(Ok(()), pass_on)?;
                    current = Some(table);
                }
                match waits[table] {
                    // The last one that is there already.
                    Some(last) if *last == tables[table].key_of(&row) => waits[table] = None,
                    Some(_) => {}
                    None => gathering.add(row).map_or(Ok(()), pass_on)?,
                }
            }
            Line::End(_) => return gathering.rest().map_or(Ok(()), pass_on),
        }
    }
}

enum Line {
    Row(usize, Row),
    End(Tail),
}

/// A file that is read line by line. What is wrong with it is said with the number of the line.
struct Lines {
    content: BufReader<File>,
    tables: Vec<Table>,
    current: Option<usize>,
    number: u64,
}

impl Lines {
    fn open(path: &Path) -> Result<Self, String> {
        let content = BufReader::new(File::open(path).map_err(|error| error.to_string())?);
        let mut lines = Self { content, tables: Vec::new(), current: None, number: 0 };
        let head: Head = serde_json::from_value(lines.value()?)
            .map_err(|_| "it is no file of rows as `storage copy` and backups write it".to_owned())?;
        if head.aethon_storage != FORMAT {
            return Err(format!(
                "it has format {}, and this version of aethon knows {FORMAT}",
                head.aethon_storage
            ));
        }
        for Described { name, columns, key, parents } in head.tables {
            if key.is_empty() || key.iter().any(|column| *column >= columns.len()) {
                return Err(format!("the table {name} has no key"));
            }
            lines.tables.push(Table { name, columns, key, parents });
        }
        Ok(lines)
    }

    fn next(&mut self) -> Result<Line, String> {
        loop {
            let value = self.value()?;
            let wrong = |number: u64| format!("line {number} is no row");
            match value {
                Value::Array(cells) => {
                    let row: Option<Row> = cells.into_iter().map(cell).collect();
                    let current = self.current.ok_or_else(|| wrong(self.number))?;
                    let row = row.filter(|row| row.len() == self.tables[current].columns.len());
                    return Ok(Line::Row(current, row.ok_or_else(|| wrong(self.number))?));
                }
                Value::Object(ref fields) if fields.contains_key("table") => {
                    let name = fields.get("table").and_then(Value::as_str).unwrap_or_default();
                    let found = self.tables.iter().position(|table| table.name == name);
                    self.current = Some(found.ok_or_else(|| wrong(self.number))?);
                }
                value => {
                    let tail = serde_json::from_value(value).map_err(|_| wrong(self.number))?;
                    return Ok(Line::End(tail));
                }
            }
        }
    }

    fn value(&mut self) -> Result<Value, String> {
        self.number += 1;
        let mut line = Vec::new();
        let read = (&mut self.content).take(MAX_LINE).read_until(b'\n', &mut line);
        if read.map_err(|error| error.to_string())? == 0 {
            return Err("it ends before its last line".to_owned());
        }
        serde_json::from_slice(&line).map_err(|_| format!("line {} is not JSON", self.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_comes_back() {
        let all = [
            Cell::Null,
            Cell::Integer(i64::MIN),
            Cell::Real(1.0),
            Cell::Real(0.1 + 0.2),
            Cell::Real(f64::INFINITY),
            Cell::Text("a\n\"\u{0}\u{fffd}".to_owned()),
            Cell::Bytes(vec![0, 255, 10]),
        ];
        for one in all {
            let text = as_json(&one).to_string();
            assert_eq!(cell(serde_json::from_str(&text).unwrap()), Some(one), "{text}");
        }
    }

    #[test]
    fn a_file_that_is_cut_off_or_foreign_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.jsonl");
        let head = r#"{"aethon_storage":1,"version":"0","tables":[{"name":"t","columns":["a"],"key":[0]}]}"#;
        let check = |content: &str, expected: &str| {
            fs::write(&path, content).unwrap();
            let said =
                LineRows::open(&path).err().map_or_else(|| "fine".to_owned(), |error| error.to_string());
            assert!(said.contains(expected), "{content}: {said}");
        };
        check(&format!("{head}\n{{\"table\":\"t\"}}\n[1]\n{{\"counters\":{{}},\"rows\":1}}\n"), "fine");
        check(
            &format!("{head}\n{{\"table\":\"t\"}}\n[1]\n{{\"counters\":{{}},\"rows\":2}}\n"),
            "rows are missing",
        );
        check(&format!("{head}\n{{\"table\":\"t\"}}\n[1]\n"), "ends before its last line");
        check(&format!("{head}\n[1]\n"), "line 2 is no row");
        check(&format!("{head}\n{{\"table\":\"t\"}}\n[1,2]\n"), "line 3 is no row");
        check(&format!("{head}\n{{\"table\":\"u\"}}\n"), "line 2 is no row");
        check(&head.replace("\"key\":[0]", "\"key\":[1]"), "has no key");
        check(&head.replace("1,", "2,"), "format 2");
        check("{}\n", "no file of rows");
        check("x", "not JSON");
        check("", "ends before");
    }
}
