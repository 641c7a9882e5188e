//! Facts about models, found by provider, model id and address.
//!
//! [`facts`] is what dialects consult. The built-in table is data: `cargo xtask catalog` generates `data/models.json`
//! from LiteLLM's table (`generate`), and `built_in` looks up its rows. `own` is the owner's `models.json`, in
//! LiteLLM's terms (`litellm`), which overrides it; [`Catalog`] combines the two. `name` and `vendor` know the many
//! ids of one model, and whose price applies where. A service's report about its own model overrides all of this,
//! in `crate::learned`.

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
pub use facts::{EffortWord, Efforts, ModelFacts, PromptCaching, ServiceFacts, TierFactors};
pub use generate::built_in_catalog;
pub(crate) use litellm::Entry as LiteLlmEntry;
pub use own::{MAX_BYTES, MAX_TABLE_BYTES, trim_models};
