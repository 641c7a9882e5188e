//! What is known of models, found by provider, model id and address.
//!
//! [`facts`] is what a dialect asks. The built-in table is data: `cargo xtask catalog` makes `data/models.json` from the table
//! of LiteLLM (`generate`), and `built_in` looks rows up in it. `own` is the owner's `models.json`, in LiteLLM's words
//! (`litellm`), and stands above it; [`Catalog`] joins the two. `name` and `vendor` know the many ids of one model, and whose
//! price holds where. What a service says of its own model stands above all this, in `crate::learned`.

mod built_in;
#[expect(clippy::module_inception, reason = "the type stands in the file of its name")]
mod catalog;
mod facts;
mod generate;
mod line;
mod litellm;
mod name;
mod own;
mod query;
#[cfg(test)]
mod tests;
mod vendor;

pub use catalog::{Catalog, CatalogModel};
pub use facts::{EffortWord, Efforts, ModelFacts, PromptCaching};
pub use generate::built_in_catalog;
pub(crate) use litellm::Entry as LiteLlmEntry;
pub use own::{MOST_BYTES, MOST_TABLE_BYTES, trim_models};
