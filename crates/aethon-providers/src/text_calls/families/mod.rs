//! The formats of calls. `table` has a row for each family with special tokens, `bodies` parses what stands between the
//! tokens, `python` reads Python syntax; `plain` is for calls without tokens, `harmony` for a format that puts text and
//! thoughts between tokens as well.

pub(super) mod bodies;
pub(super) mod harmony;
pub(super) mod plain;
pub(super) mod python;
pub(super) mod table;
