//! Copies all rows from one storage to another.
//!
//! The rows of each table are added in the order of their keys, so a copy that was interrupted goes on behind the last one that
//! is there. A source that has changed since then is copied anew; whatever went on is compared at the end, asked for or not.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use aethon_core::storage::rows::{Begun, Extent, Row, RowStorage, Table};
use serde::Serialize;

use super::compare::compare;
use super::lines;
use super::place::{Opened, Place};
use crate::error::{Error, Result};

/// What to copy.
pub struct Request {
    /// Where the rows are.
    pub from: Place,
    /// Where they go. There must be nothing yet.
    pub to: Place,
    /// Whether to compare both row by row at the end.
    pub verify: bool,
}

/// The rows of one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableCopied {
    /// Its name.
    pub name: String,
    /// How many rows it has, on both sides.
    pub rows: u64,
}

/// A copy that is complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Copied {
    /// Every table.
    pub tables: Vec<TableCopied>,
    /// All rows.
    pub rows: u64,
    /// Whether it went on with a copy that was interrupted.
    pub resumed: bool,
    /// Whether both were compared row by row.
    pub verified: bool,
}

/// What is being done, how many rows are done, and how many there are.
pub type Progress<'p> = dyn FnMut(&str, u64, u64) + Send + 'p;

/// Copies. To be called within a runtime; blocks its thread at times.
pub async fn copy(request: &Request, progress: &mut Progress<'_>) -> Result<Copied> {
    let source = request.from.source().await?;
    source.refuse_unfinished().await?;
    let extents = extents(&*source.rows).await?;
    let copied = match &request.to {
        Place::Lines(path) => {
            let total = extents.iter().map(|(_, extent)| extent.rows).sum();
            lines::create(&*source.rows, path, &mut |done| progress("copying", done, total)).await?;
            if request.verify {
                let written = lines::LineRows::open(path)?;
                compare(&*source.rows, &written, &mut |done| progress("comparing", done, total)).await?;
            }
            copied(&extents, false, request.verify)
        }
        place => into(&source, &extents, (&place.target().await?, request.verify), progress).await?,
    };
    source.refuse_users().await.map_err(|error| {
        Error::failed(format!(
            "{error}. The copy is complete, but may lack what was stored meanwhile: copy again"
        ))
    })?;
    Ok(copied)
}

/// How much of every table there is.
async fn extents(rows: &dyn RowStorage) -> Result<Vec<(Table, Extent)>> {
    let mut extents = Vec::new();
    for table in rows.tables().await? {
        let extent = rows.extent(&table).await?;
        extents.push((table, extent));
    }
    Ok(extents)
}

fn copied(extents: &[(Table, Extent)], resumed: bool, verified: bool) -> Copied {
    let tables: Vec<TableCopied> = extents
        .iter()
        .map(|(table, extent)| TableCopied { name: table.name.clone(), rows: extent.rows })
        .collect();
    Copied { rows: tables.iter().map(|table| table.rows).sum(), tables, resumed, verified }
}

async fn into(
    source: &Opened,
    extents: &[(Table, Extent)],
    (target, verify): (&Opened, bool),
    progress: &mut Progress<'_>,
) -> Result<Copied> {
    let total: u64 = extents.iter().map(|(_, extent)| extent.rows).sum();
    let counters = source.rows.counters().await?;
    same_tables(source, target, extents).await?;
    let begun = target.rows.begin(fingerprint(&source.words, extents, &counters)).await;
    let resumed = begun.map_err(|error| Error::refused(error.to_string()).because(error))? == Begun::Resumed;
    let mut behind: HashMap<String, Row> = HashMap::new();
    let mut done = 0;
    if resumed {
        for (table, _) in extents {
            let there = target.rows.extent(table).await?;
            done += there.rows;
            behind.extend(there.last.map(|last| (table.name.clone(), last)));
        }
    }
    let mut batches = source.rows.read(behind).await?;
    while let Some(batch) = batches.recv().await {
        let batch = batch?;
        let table = extents.iter().map(|(table, _)| table).find(|table| table.name == batch.table);
        let table =
            table.ok_or_else(|| Error::failed(format!("rows of an unknown table {} came", batch.table)))?;
        done += batch.rows.len() as u64;
        target.rows.add(table, batch.rows).await?;
        progress("copying", done, total);
    }
    for (table, extent) in extents {
        let there = target.rows.extent(table).await?.rows;
        if there != extent.rows {
            return Err(Error::failed(format!(
                "the table {} has {} rows in {} and {there} in the copy: something used one of the two meanwhile; copy again",
                table.name, extent.rows, source.words
            )));
        }
    }
    let verified = verify || resumed;
    if verified {
        compare(&*source.rows, &*target.rows, &mut |done| progress("comparing", done, total)).await?;
    }
    target.rows.finish(counters).await?;
    Ok(copied(extents, resumed, verified))
}

/// Refuses storages whose tables differ.
async fn same_tables(source: &Opened, target: &Opened, extents: &[(Table, Extent)]) -> Result<()> {
    let theirs = target.rows.tables().await?;
    let shape = |table: &Table| (table.name.clone(), table.columns.clone());
    let differs = |one: &mut dyn Iterator<Item = &Table>, other: &[(String, Vec<String>)]| {
        one.map(shape).find(|shape| !other.contains(shape)).map(|(name, _)| name)
    };
    let ours: Vec<_> = extents.iter().map(|(table, _)| shape(table)).collect();
    let known: Vec<_> = theirs.iter().map(shape).collect();
    let different = differs(&mut extents.iter().map(|(table, _)| table), &known)
        .or_else(|| differs(&mut theirs.iter(), &ours));
    match different {
        None => Ok(()),
        Some(table) => Err(Error::refused(format!(
            "the table {table} is not the same in {} and {}: bring the older one to this version first",
            source.words, target.words
        ))),
    }
}

/// A number by which a source is known again, unless it has changed.
fn fingerprint(words: &str, extents: &[(Table, Extent)], counters: &[(String, i64)]) -> i64 {
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    counters.hash(&mut hasher);
    for (table, extent) in extents {
        (&table.name, extent.rows, format!("{:?}", extent.last)).hash(&mut hasher);
    }
    hasher.finish().cast_signed()
}
