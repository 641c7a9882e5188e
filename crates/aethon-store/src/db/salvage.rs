//! Copies what can be read of a damaged database into a new one.
//!
//! Tables are read in the order of their keys. Where a page cannot be read, the search continues behind it: in growing steps, and
//! then back in halves to the first row that can be read again. A row that the new database does not accept was damaged too.

use rusqlite::types::Value;
use rusqlite::{Connection, Statement, params_from_iter};

use crate::error::Error;

/// Maximum number of gaps that are searched for in one table.
const MAX_GAPS: usize = 20_000;

/// Tables that are rebuilt: their content follows from others, or belongs to the file.
const MADE_ANEW: [&str; 3] = ["log_link", "search_mark", "memory_stems"];

/// What became of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TableSalvage {
    pub(crate) table: String,
    /// Rows in the new database.
    pub(crate) kept: u64,
    /// What could not be read, as ranges of keys or in words.
    pub(crate) gaps: Vec<String>,
}

/// Copies all tables.
pub(crate) fn salvage(damaged: &Connection, new: &Connection) -> Result<Vec<TableSalvage>, Error> {
    new.execute_batch("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE")?;
    let mut tables = Vec::new();
    for (table, has_rowid) in tables_of(new)? {
        let salvage = Table::of(new, &table)?.copy(damaged, new, has_rowid)?;
        tables.push(salvage);
    }
    keep_counters(damaged, new);
    tables.extend(remove_orphans(new)?);
    new.execute_batch("COMMIT; PRAGMA foreign_keys = ON")?;
    Ok(tables)
}

/// The tables of the schema with their names, and whether they have row ids.
fn tables_of(new: &Connection) -> Result<Vec<(String, bool)>, Error> {
    let mut query = new.prepare(
        "SELECT name, wr = 0 FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'
        ORDER BY name",
    )?;
    let all = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let all: Vec<(String, bool)> = all.collect::<Result<_, _>>()?;
    Ok(all.into_iter().filter(|(name, _)| !MADE_ANEW.contains(&name.as_str())).collect())
}

struct Table {
    name: String,
    columns: String,
    insert: String,
    width: usize,
    /// The columns of its key, for tables without row ids.
    key: Vec<String>,
}

impl Table {
    fn of(new: &Connection, name: &str) -> Result<Self, Error> {
        let mut query = new.prepare("SELECT name, pk FROM pragma_table_info(?1)")?;
        let columns = query.query_map([name], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let columns: Vec<(String, i64)> = columns.collect::<Result<_, _>>()?;
        let mut key: Vec<&(String, i64)> = columns.iter().filter(|(_, place)| *place > 0).collect();
        key.sort_by_key(|(_, place)| *place);
        let key = key.into_iter().map(|(name, _)| name.clone()).collect();
        let names = columns.iter().map(|(name, _)| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
        let places = vec!["?"; columns.len()].join(", ");
        let insert = format!("INSERT OR IGNORE INTO \"{name}\" ({names}) VALUES ({places})");
        Ok(Self { name: name.to_owned(), columns: names, insert, width: columns.len(), key })
    }

    fn copy(&self, damaged: &Connection, new: &Connection, has_rowid: bool) -> Result<TableSalvage, Error> {
        let mut insert = new.prepare(&self.insert)?;
        let mut salvage = TableSalvage { table: self.name.clone(), ..TableSalvage::default() };
        match has_rowid {
            true => self.by_rowid(damaged, &mut insert, &mut salvage),
            false => self.by_key(damaged, &mut insert, &mut salvage),
        }
        Ok(salvage)
    }

    fn by_rowid(&self, damaged: &Connection, insert: &mut Statement<'_>, salvage: &mut TableSalvage) {
        let (name, columns) = (&self.name, &self.columns);
        let read =
            format!("SELECT rowid, {columns} FROM \"{name}\" NOT INDEXED WHERE rowid > ?1 ORDER BY rowid");
        let mut last = i64::MIN;
        for _ in 0..MAX_GAPS {
            let read_to_end = self.rows(damaged, (&read, &[last.into()]), |rowid, values| {
                last = rowid.unwrap_or(last);
                Self::insert(insert, values, salvage);
            });
            if read_to_end {
                return;
            }
            let from = last.saturating_add(1);
            let Some(next) = self.next_readable(damaged, last.max(0)) else {
                salvage.gaps.push(format!("from {} on", from.max(1)));
                return;
            };
            salvage.gaps.push(format!("{} to {next}", from.max(1)));
            last = next;
        }
    }

    /// Returns the smallest key behind which a row can be read, searching behind `last`.
    fn next_readable(&self, damaged: &Connection, last: i64) -> Option<i64> {
        let (name, columns) = (&self.name, &self.columns);
        let one =
            format!("SELECT {columns} FROM \"{name}\" NOT INDEXED WHERE rowid > ?1 ORDER BY rowid LIMIT 1");
        let has_row = |after: i64| {
            let mut found = false;
            let whole = self.rows(damaged, (&one, &[after.into()]), |_, _| found = true);
            whole && found
        };
        let mut step = 1_i64;
        let mut bad = last;
        loop {
            let candidate = last.checked_add(step)?;
            if has_row(candidate) {
                let mut good = candidate;
                while good - bad > 1 {
                    let middle = bad + (good - bad) / 2;
                    if has_row(middle) { good = middle } else { bad = middle }
                }
                return Some(good);
            }
            bad = candidate;
            step = step.checked_mul(2)?;
        }
    }

    /// Tables without row ids are small: read from both ends, to where they are damaged.
    fn by_key(&self, damaged: &Connection, insert: &mut Statement<'_>, salvage: &mut TableSalvage) {
        let (name, columns) = (&self.name, &self.columns);
        for direction in ["ASC", "DESC"] {
            let order =
                self.key.iter().map(|key| format!("\"{key}\" {direction}")).collect::<Vec<_>>().join(", ");
            let read = format!("SELECT 0, {columns} FROM \"{name}\" ORDER BY {order}");
            if self.rows(damaged, (&read, &[]), |_, values| Self::insert(insert, values, salvage)) {
                return;
            }
        }
        salvage.gaps.push("rows in the middle".to_owned());
    }

    /// Reads rows until the end or the first that cannot be read. Returns whether it came to the end.
    fn rows(
        &self,
        damaged: &Connection,
        (statement, parameters): (&str, &[Value]),
        mut each: impl FnMut(Option<i64>, Vec<Value>),
    ) -> bool {
        let mut read = || -> rusqlite::Result<()> {
            let mut query = damaged.prepare(statement)?;
            let has_rowid = query.column_count() > self.width;
            let first = usize::from(has_rowid);
            let mut rows = query.query(params_from_iter(parameters))?;
            while let Some(row) = rows.next()? {
                let rowid = if has_rowid { row.get::<_, Option<i64>>(0)? } else { None };
                let values: Vec<Value> =
                    (first..first + self.width).map(|at| row.get(at)).collect::<Result<_, _>>()?;
                each(rowid, values);
            }
            Ok(())
        };
        read().is_ok()
    }

    fn insert(insert: &mut Statement<'_>, values: Vec<Value>, salvage: &mut TableSalvage) {
        match insert.execute(params_from_iter(values)) {
            Ok(rows) => salvage.kept += rows as u64,
            // The rest of the table is not worse for it.
            Err(error) => salvage.gaps.push(format!("a row that is damaged ({error})")),
        }
    }
}

/// Ids that were given out are not given out again, even if their rows are lost.
fn keep_counters(damaged: &Connection, new: &Connection) {
    let read = || -> rusqlite::Result<Vec<(String, i64)>> {
        let mut query = damaged.prepare("SELECT name, seq FROM sqlite_sequence")?;
        query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    };
    for (name, counter) in read().unwrap_or_default() {
        let change = "UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1";
        if let Err(error) = new.execute(change, (&name, counter)) {
            tracing::debug!(%error, name, "a counter of ids was not kept");
        }
    }
}

/// Removes rows whose owner is lost: nothing could show them.
fn remove_orphans(new: &Connection) -> Result<Vec<TableSalvage>, Error> {
    let mut removed: Vec<TableSalvage> = Vec::new();
    loop {
        let orphans: Vec<(String, Option<i64>)> = new
            .prepare("SELECT \"table\", rowid FROM pragma_foreign_key_check")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        let mut count = 0;
        for (table, rowid) in orphans {
            let Some(rowid) = rowid else { continue };
            count += new.execute(&format!("DELETE FROM \"{table}\" WHERE rowid = ?1"), [rowid])?;
            match removed.iter_mut().find(|one| one.table == table) {
                Some(_) => {}
                None => {
                    let gaps = vec!["rows that belonged to lost ones".to_owned()];
                    removed.push(TableSalvage { table, kept: 0, gaps });
                }
            }
        }
        if count == 0 {
            return Ok(removed);
        }
    }
}
