//! Decodes the merged tree into the typed configuration: a serde deserializer that tracks its position.
//!
//! It earns its keep in three ways. The wanted type decides how text is read, so `AETHON_CHANNELS__WEBCHAT__PORT=80` is a
//! number and `AETHON_DASHBOARD__AUTH_TOKEN=80` a string. References are resolved only where a value is used. And a wrong
//! value is left out and the rest decoded again, so that all problems are reported at once; a configuration without problems
//! takes a single pass.

mod fault;
mod node;
mod scalar;

use std::cell::RefCell;

use serde::Deserialize;

use self::node::{Node, Scope};
use crate::arguments;
use crate::header_values;
use crate::layers::Layers;
use crate::path::KeyPath;
use crate::problem::Problem;
use crate::reference::References;
use crate::schema::Config;

/// The result of decoding, including all problems.
pub(crate) struct Decoded {
    /// The configuration without the wrong values.
    pub(crate) config: Config,
    /// All problems.
    pub(crate) problems: Vec<Problem>,
    /// The keys of the problems.
    pub(crate) faulty: Vec<KeyPath>,
    /// Unknown keys.
    pub(crate) unknown: Vec<KeyPath>,
}

/// Decodes the merged layers.
pub(crate) fn decode(layers: &Layers, references: References<'_>) -> Decoded {
    let mut problems = Vec::new();
    let mut faulty: Vec<KeyPath> = Vec::new();
    loop {
        let scope = Scope {
            layers,
            references,
            left_out: &faulty,
            unknown: RefCell::default(),
            embedded: RefCell::default(),
        };
        let root = Node { value: layers.merged(), key: KeyPath::default(), scope: &scope, is_secret: false };
        match Config::deserialize(root) {
            Ok(mut config) => {
                config.embedded = scope.embedded.into_inner();
                config.embedded.extend(arguments::secrets(&config));
                config.embedded.extend(header_values::secrets(&config));
                return Decoded { config, problems, unknown: scope.unknown.into_inner(), faulty };
            }
            Err(fault) => {
                let key = fault.key.unwrap_or_default();
                problems.push(Problem {
                    place: layers.place(&key),
                    key: key.shown(),
                    found: fault.found,
                    allowed: fault.allowed,
                });
                // Every pass leaves out one more key; without a new one the loop would never end.
                if key.is_root() || faulty.contains(&key) {
                    return Decoded { config: Config::default(), problems, unknown: Vec::new(), faulty };
                }
                faulty.push(key);
            }
        }
    }
}
