//! The connections to the server: how they are made and kept, what runs on them, and which format the database has.
//!
//! This module knows nothing of the content; work comes in as closures over [`Sql`].

mod address;
mod migrate;
mod pool;
mod row;
mod sql;
mod tables;
mod tls;
mod transaction;
mod value;

pub(crate) use address::Address;
pub(crate) use migrate::{VERSION, prepare};
pub(crate) use pool::{Connection, Pool};
pub(crate) use row::Row;
pub(crate) use sql::Sql;
pub(crate) use tables::{Described, as_json, describe, quoted, value as cell_value};
pub(crate) use transaction::{Durability, begin_reading, end_reading, forget_tokens, read, write};
pub(crate) use value::{ToValue, Value, params};
