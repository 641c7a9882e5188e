//! Values that lists are sorted by, as they are bound to statements.

use aethon_core::order::SortValue;
use rusqlite::types::Value;

/// Returns a value as it is bound.
pub(crate) fn bound(value: SortValue) -> Value {
    match value {
        SortValue::Number(number) => Value::Integer(number),
        SortValue::Text(text) => Value::Text(text),
    }
}
