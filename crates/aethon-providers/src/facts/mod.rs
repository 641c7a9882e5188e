//! What is known of models: their sizes, abilities and list prices, by provider and the beginning of their names.
//!
//! `table` is the data and nothing else; change it when a vendor changes something. Nothing here is a promise of a
//! vendor, so the owner's `model.context_window` and `budget.pricing` come first wherever these facts are used, and a
//! model that is not in the table gets cautious sizes and no price.

mod lookup;
mod table;

pub(crate) use lookup::{Facts, of, tells_thoughts};
pub use lookup::{is_known, prices};
