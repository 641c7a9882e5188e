//! The configuration of the assistant: from layers of text to one typed, validated value.
//!
//! The layers, where later ones win: built-in defaults, `config.toml`, environment (`AETHON_DASHBOARD__AUTH_TOKEN`), `--set`.
//! [`load()`] merges them with figment, resolves references such as `${credential:NAME}`, decodes the result into [`Config`]
//! and checks what types cannot express. It reports all problems at once, each with its file and line, variable or flag, the
//! key, the value found and the values allowed. An unknown key is a warning that suggests the closest known one, or a problem where
//! ignoring it may leave something unprotected.
//!
//! Secrets are a type, so [`dump`], which others may see, needs no list of them. [`schema()`] describes every key for editors
//! and pages, and [`set_in_file`] changes one while keeping the comments. Only the facade and the programs see the whole
//! [`Config`]; each leaf gets its own small options.

mod addressed_keys;
mod arguments;
mod batch;
mod changes;
mod decode;
mod draft;
mod echo;
mod edit;
#[cfg(test)]
mod fuzz;
mod guard;
mod header_values;
mod held;
mod hint;
mod json_schema;
mod layers;
mod limits;
mod load;
mod mask;
mod merge;
mod not_built;
mod origins;
mod path;
mod problem;
mod reference;
mod remark;
mod secrets;
mod secrets_in_file;
mod sources;
mod starter;
mod typed;
mod unknown;
mod validate;

pub mod credentials;
pub mod private_file;
pub mod schema;

pub use crate::batch::{EditFault, Edited, difference, edit};
pub use crate::changes::changed_keys;
pub use crate::draft::{Draft, Resumed, Saved};
pub use crate::echo::shown;
pub use crate::edit::{NewKeys, file_text, get, set_in_file, unset_in_file};
pub use crate::held::HeldFile;
pub use crate::hint::nearest_word;
pub use crate::json_schema::{KnownKey, NAME, known_keys, schema};
pub use crate::load::{LimitsSet, Loaded, load};
pub use crate::mask::{MASKED_NAMES, dump};
pub use crate::origins::{SecretKeys, origins, schema_of};
pub use crate::problem::{Error, Problem, Warning};
pub use crate::schema::Config;
pub use crate::secrets_in_file::secrets_in_file;
pub use crate::sources::Sources;
pub use crate::starter::{Caution, Starter, starter};
pub use crate::typed::{setting, settings};
