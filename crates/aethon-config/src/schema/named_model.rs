//! `[model.named.NAME]`: models that a conversation or a message chooses by name.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::model::{Fallback, Model};

/// A named model. Keys that its table leaves out are those of `[model]`; but the key and the address of a service go to
/// no other service.
#[derive(Clone, Debug, Default)]
pub struct NamedModel {
    /// The model, complete in itself once the configuration is loaded.
    pub model: Model,
    /// The keys in its table.
    set: BTreeSet<String>,
}

/// The keys that belong to a service. A table that names another provider does not inherit them.
const OF_SERVICE: [&str; 8] =
    ["host", "allow_http", "api", "api_version", "region", "model_id", "extra", "service_tier"];

/// The keys that authorise. A table that names another provider or another address does not inherit them.
const OF_ACCOUNT: [&str; 4] = ["api_key", "headers", "organization", "project"];

/// The keys that belong to a model. A table that names another model does not inherit them.
const OF_MODEL: [&str; 2] = ["context_window", "max_tokens"];

impl NamedModel {
    /// Returns whether its table sets a key.
    pub fn sets(&self, key: &str) -> bool {
        self.set.contains(key)
    }

    /// Fills in what the table leaves out.
    pub(crate) fn inherit(&mut self, main: &Model) {
        let is_other_service = self.sets("provider") && self.model.provider != main.provider;
        let is_other_host = self.sets("host") && self.model.host.trim() != main.host.trim();
        let is_other_model =
            is_other_service || self.sets("model_id") && self.model.model_id != main.model_id;
        let is_kept = |key: &str| {
            self.set.contains(key)
                || is_other_service && OF_SERVICE.contains(&key)
                || is_other_model && OF_MODEL.contains(&key)
                || (is_other_service || is_other_host) && OF_ACCOUNT.contains(&key)
        };
        macro_rules! inherit {
            ($($field:ident)*) => { $(if !is_kept(stringify!($field)) { self.model.$field.clone_from(&main.$field); })* };
        }
        inherit! {
            provider model_id api_key host allow_http api api_version max_tokens temperature top_p region context_window
            effort timeout_seconds max_retries small extra headers organization project web_search service_tier
        }
        if is_other_service && !self.sets("small") {
            self.model.small.clear();
        }
        if !self.sets("fallbacks") {
            // An id among them means a model of the main one's service.
            let fallbacks = main.candidates().into_iter().skip(1);
            self.model.fallbacks = fallbacks.map(|model| Fallback::Model(Box::new(model))).collect();
        }
    }
}

/// Only what the table sets, as the owner wrote it.
impl Serialize for NamedModel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let whole = serde_json::to_value(&self.model).map_err(serde::ser::Error::custom)?;
        let set = whole.as_object().into_iter().flatten().filter(|(key, _)| self.set.contains(*key));
        serializer.collect_map(set)
    }
}

impl<'de> Deserialize<'de> for NamedModel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(NamedVisitor)
    }
}

impl JsonSchema for NamedModel {
    fn schema_name() -> Cow<'static, str> {
        Model::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Model>()
    }
}

struct NamedVisitor;

impl<'de> Visitor<'de> for NamedVisitor {
    type Value = NamedModel;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table with the keys of [model]")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<NamedModel, A::Error> {
        let mut set = BTreeSet::new();
        let noting = NotingKeys { map, set: &mut set };
        let model = Model::deserialize(MapAccessDeserializer::new(noting))?;
        Ok(NamedModel { model, set })
    }
}

/// Notes the keys of a map that is being read.
struct NotingKeys<'s, A> {
    map: A,
    set: &'s mut BTreeSet<String>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for NotingKeys<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let Some(key) = self.map.next_key::<String>()? else { return Ok(None) };
        self.set.insert(key.clone());
        seed.deserialize(key.into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}
