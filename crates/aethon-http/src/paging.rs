//! Pages of lists that come whole and newest first from where they are kept: logs, the audit trail, past runs.
//!
//! Those lists are bounded, grow at their beginning and are cut at their end. A page begins behind the row that the page
//! before ended with, not at an offset, so new rows shift nothing. A row is found again by its key; if it is gone, the next
//! page begins with what is older.

use serde::Serialize;

use crate::error::Problem;

/// More rows than any of these lists keeps.
const ALL: usize = 1_000_000;

/// What tells a row from the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowKey {
    /// Falls from row to row: a time, or a number that rises with each row.
    pub(crate) number: i64,
    /// Distinguishes rows of the same number.
    pub(crate) name: String,
}

/// A page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page<Row> {
    /// Its rows.
    pub(crate) rows: Vec<Row>,
    /// Where the next page begins, if there is one.
    pub(crate) next_cursor: Option<String>,
}

/// Where a page begins.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    key: RowKey,
    /// Which of the rows with this key it is, counted from the newest. Two log records may well be the same.
    occurrence: usize,
}

impl RowKey {
    /// The key of a row that happened at a time and has this name.
    pub(crate) fn at(time: jiff::Timestamp, name: impl Into<String>) -> Self {
        Self { number: time.as_millisecond(), name: name.into() }
    }

    /// The key of a row that happened at a time and has no name: its content stands for one.
    pub(crate) fn of_content(time: jiff::Timestamp, row: &impl Serialize) -> Self {
        let content = serde_json::to_string(row).unwrap_or_default();
        Self::at(time, aethon_core::version::Version::of([&*content]).as_str())
    }
}

impl Cursor {
    /// Parses what a listing gave out.
    pub(crate) fn parse(cursor: Option<&str>) -> Result<Option<Self>, Problem> {
        let Some(text) = cursor else { return Ok(None) };
        let parsed = || {
            let (number, rest) = text.split_once('.')?;
            let (occurrence, name) = rest.split_once('.')?;
            let key = RowKey { number: number.parse().ok()?, name: name.to_owned() };
            Some(Self { key, occurrence: occurrence.parse().ok()? })
        };
        let invalid = || Problem::invalid("cursor", "is not one that this listing gave out");
        parsed().map(Some).ok_or_else(invalid)
    }
}

/// Returns how many rows are needed for a page of this many: one more than it has, or all, to find the place.
pub(crate) fn needed(cursor: Option<&Cursor>, limit: usize) -> usize {
    if cursor.is_some() { ALL } else { limit + 1 }
}

/// Cuts the page behind the cursor out of all rows.
pub(crate) fn page<Row>(
    mut rows: Vec<Row>,
    key: impl Fn(&Row) -> RowKey,
    cursor: Option<Cursor>,
    limit: usize,
) -> Page<Row> {
    let start = cursor.map_or(0, |cursor| place(&rows, &key, &cursor));
    let end = start.saturating_add(limit);
    let next_cursor = (end < rows.len()).then(|| {
        let last = key(&rows[end - 1]);
        let occurrence = rows[..end].iter().filter(|row| key(row) == last).count();
        format!("{}.{occurrence}.{}", last.number, last.name)
    });
    rows.truncate(end);
    Page { rows: rows.split_off(start), next_cursor }
}

/// Returns the index behind the row that a cursor names.
fn place<Row>(rows: &[Row], key: &impl Fn(&Row) -> RowKey, cursor: &Cursor) -> usize {
    let mut same = rows.iter().enumerate().filter(|(_, row)| key(row) == cursor.key);
    let found = same.nth(cursor.occurrence.saturating_sub(1)).map(|(at, _)| at + 1);
    let older = || rows.iter().position(|row| key(row).number < cursor.key.number);
    found.or_else(older).unwrap_or(rows.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(row: &(i64, &str)) -> RowKey {
        RowKey { number: row.0, name: row.1.to_owned() }
    }

    fn cut<'r>(rows: &[(i64, &'r str)], cursor: Option<&str>, limit: usize) -> (String, Option<String>) {
        let cursor = Cursor::parse(cursor).unwrap();
        let page = page(rows.to_vec(), key, cursor, limit);
        (page.rows.iter().map(|row: &(i64, &'r str)| row.1).collect(), page.next_cursor)
    }

    #[test]
    fn pages_follow_each_other_while_rows_come_and_go() {
        let mut rows = vec![(9, "a"), (9, "b"), (9, "b"), (7, "c"), (5, "d"), (4, "e")];
        let (first, next) = cut(&rows, None, 2);
        assert_eq!(first, "ab");
        // A new row, and rows of the same content.
        rows.insert(0, (9, "new"));
        let (second, next) = cut(&rows, next.as_deref(), 2);
        assert_eq!(second, "bc");
        // The row that the page ended with is gone.
        rows.retain(|row| row.1 != "c");
        let (third, end) = cut(&rows, next.as_deref(), 2);
        assert_eq!((third.as_str(), end), ("de", None));
        rows.truncate(3);
        assert_eq!(cut(&rows, next.as_deref(), 2), (String::new(), None));
        assert_eq!(cut(&rows, None, 9).1, None);
        assert_eq!(cut(&[], None, 9), (String::new(), None));
    }

    #[test]
    fn a_cursor_of_something_else_is_refused() {
        for cursor in ["", "x", "7", "7.1", "7.x.name", "x.1.name", ".."] {
            assert!(Cursor::parse(Some(cursor)).is_err(), "{cursor:?}");
        }
    }
}
