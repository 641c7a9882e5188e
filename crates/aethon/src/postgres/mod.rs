//! The storage on a PostgreSQL server: opened, examined for `doctor`, and read row by row.
//!
//! The feature `postgres` builds it in. Without it an address of a server is refused, by a module with the same interface.

#[cfg_attr(not(feature = "postgres"), path = "left_out.rs")]
mod built_in;
mod terms;

pub(crate) use self::built_in::{ServerRows, check, storage};
pub(crate) use self::terms::{CLOCK_FIX, Checked, instance_name};
