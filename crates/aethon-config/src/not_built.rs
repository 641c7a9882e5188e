//! Keys that the schema accepts but this version does not implement: one table, and the resulting warnings.
//!
//! Keys of future features keep their place in the schema, so that a file written for a later version loads here. An owner who
//! sets one must not believe that it works. Implementing a feature means deleting its row, and nothing else.

use serde_json::Value;

use crate::layers::{Layers, Origin};
use crate::mask;
use crate::path::KeyPath;
use crate::problem::Warning;
use crate::schema::Config;

/// A key or section, and the existing alternative.
const NOT_BUILT: &[(&str, &str)] = &[(
    "security.require_approval",
    "the key is reserved; set approval.enabled and approval.requires_approval",
)];

/// Returns a warning for each unimplemented feature that the owner has switched on.
pub(crate) fn warnings(layers: &Layers, config: &Config) -> Vec<Warning> {
    let (set, default) = (mask::to_value(config), mask::to_value(&Config::default()));
    let warning = |(name, message): &(&str, &str)| {
        let key = KeyPath::of(name.split('.'));
        let is_set = layers.origin_of(&key).is_some_and(|origin| !matches!(origin, Origin::Default));
        (is_set && is_switched_on(key.find(&set), key.find(&default))).then(|| Warning {
            place: layers.place(&key),
            key: key.to_string(),
            message: format!("not available in this version: {message}"),
        })
    };
    NOT_BUILT.iter().filter_map(warning).collect()
}

/// Returns whether the owner switched it on: a section with a switch follows the switch; anything else is on if it differs
/// from its default.
fn is_switched_on(set: Option<&Value>, default: Option<&Value>) -> bool {
    match set.and_then(|set| set.get("enabled")) {
        Some(switch) => switch == &Value::Bool(true),
        None => set != default,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_schema::known_keys;

    #[test]
    fn every_row_is_a_key_of_the_schema() {
        let known: Vec<String> = known_keys().into_iter().map(|key| key.name).collect();
        for (pattern, _) in NOT_BUILT {
            let section = format!("{pattern}.");
            let is_known = known.iter().any(|key| key == pattern || key.starts_with(&section));
            assert!(is_known, "{pattern} is in no schema");
        }
    }
}
