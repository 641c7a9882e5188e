//! How many rows a list shows.

use clap::builder::{RangedU64ValueParser, TypedValueParser};

/// A number of things of which there is at least one.
pub(super) fn count() -> impl TypedValueParser<Value = usize> {
    RangedU64ValueParser::<usize>::new().range(1..)
}
