//! Reads columns whose content may be damaged.
//!
//! One row that a bad disk or a hand has spoilt must not make the rest of its conversation unreadable. So text is read
//! whatever its bytes are, and the reader of a row decides what stands in the place of what makes no sense.

use std::borrow::Cow;

use rusqlite::types::ValueRef;
use rusqlite::{Result, Row};

/// Returns the text of a column; bytes that are no text are replaced.
pub(crate) fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<Cow<'r, str>> {
    Ok(text_or_null(row, column)?.unwrap_or_default())
}

/// Returns the text of a column that may be null; bytes that are no text are replaced.
pub(crate) fn text_or_null<'r>(row: &'r Row<'_>, column: usize) -> Result<Option<Cow<'r, str>>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => None,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes)),
        ValueRef::Integer(number) => Some(number.to_string().into()),
        ValueRef::Real(number) => Some(number.to_string().into()),
    })
}
