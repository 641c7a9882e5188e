//! `[model]`: the model that answers, its address and its parameters.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use aethon_core::model::Effort;
use aethon_core::provider::{AnthropicVersion, OpenAiApi, Provider};
use aethon_core::secret::Secret;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::path::{KeyPath, Step};

/// The model that answers. A fallback takes the same keys.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Model {
    /// The provider of the model.
    #[schemars(schema_with = "crate::json_schema::provider")]
    pub provider: Provider,
    /// The model's name at the provider. Empty: the provider's default.
    // Absent means empty here, not the default provider's default; the loader fills it in afterwards.
    #[serde(default)]
    pub model_id: String,
    /// The API key. Empty: the provider's usual environment variable, such as `OPENAI_API_KEY`.
    #[schemars(schema_with = "crate::json_schema::secret")]
    pub api_key: Secret,
    /// The base address, as the provider's own SDK takes it. Empty: the provider's own.
    pub host: String,
    /// Whether plain http is permitted to addresses other than loopback. Keys and conversations are then sent unencrypted.
    pub allow_http: bool,
    /// Additional headers for every request to the model, such as those of a gateway. A value may be `${credential:NAME}`.
    pub headers: BTreeMap<String, String>,
    /// The organisation that pays, at OpenAI (`OpenAI-Organization`). Empty: the key's default.
    pub organization: String,
    /// The project that pays, at OpenAI (`OpenAI-Project`). Empty: the key's default.
    pub project: String,
    /// The API of OpenAI and compatible servers. `auto`: Responses on OpenAI's own host where the model accepts tools nowhere
    /// else, otherwise Chat Completions.
    #[schemars(schema_with = "crate::json_schema::openai_api")]
    pub api: OpenAiApi,
    /// The revision of Anthropic's API.
    #[schemars(schema_with = "crate::json_schema::anthropic_version")]
    pub api_version: AnthropicVersion,
    /// The maximum length of a reply, in tokens. Unset: the provider's default.
    pub max_tokens: Option<u32>,
    /// Sampling temperature. Unset: not sent.
    pub temperature: Option<f64>,
    /// Nucleus sampling. Unset: not sent.
    pub top_p: Option<f64>,
    /// The AWS region, for Bedrock.
    pub region: Option<String>,
    /// The size of the context window, in tokens. Requests to Ollama carry it (`num_ctx`). Unset: the known size of the model; for
    /// Ollama up to 32768, as far as the model can take it.
    pub context_window: Option<u32>,
    /// The reasoning effort: `none`, `low`, `medium` or `high`. Unset: the provider's default.
    #[schemars(schema_with = "crate::json_schema::effort")]
    pub effort: Option<Effort>,
    /// Whether the provider may search the web while its model answers, where it can. What it finds counts as text from outside;
    /// each search may cost extra.
    pub web_search: bool,
    /// The service tier of requests, in the provider's word: `auto`, `default`, `flex` or `priority` (OpenAI), `auto` or
    /// `standard_only` (Anthropic), `standard`, `flex` or `priority` (Gemini), `default`, `flex`, `priority` or `reserved`
    /// (Bedrock). Empty: the provider's own choice.
    pub service_tier: String,
    /// Seconds to wait for the next byte. Unset: 120, or 600 for reasoning models, which may be silent for minutes.
    pub timeout_seconds: Option<u64>,
    /// How often a request is retried that failed before any output.
    pub max_retries: u32,
    /// How many tools its service takes in one request. Built-in tools come first, then one of each MCP server in turn. Unset:
    /// as many as the provider documents, or as its refusal says.
    pub max_tools: Option<u32>,
    /// Models to try in order when the model fails: a model id of the same provider and host, or a table with the keys of
    /// `[model]`.
    pub fallbacks: Vec<Fallback>,
    /// The model for summaries, of the same provider and host; usually a smaller one. Empty: the model itself.
    pub small: String,
    /// Models that a conversation or a message chooses by name, such as `fast` or `local`, each with the keys of `[model]`;
    /// those left out are the ones above.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub named: BTreeMap<String, NamedModel>,
    /// Additional fields for the request body, sent unchanged.
    pub extra: serde_json::Map<String, serde_json::Value>,
    /// The key found in the provider's usual environment variable.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) environment_key: Secret,
    /// A remark on the key, if it was odd.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) key_remark: Option<String>,
    /// The table that describes it, such as `model.named.fast`; empty for `[model]`.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) table: String,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            provider: Provider::default(),
            model_id: Provider::default().default_model().to_owned(),
            api_key: Secret::default(),
            host: String::new(),
            allow_http: false,
            headers: BTreeMap::new(),
            organization: String::new(),
            project: String::new(),
            api: OpenAiApi::default(),
            api_version: AnthropicVersion::default(),
            max_tokens: None,
            temperature: None,
            top_p: None,
            region: None,
            context_window: None,
            effort: None,
            web_search: false,
            service_tier: String::new(),
            timeout_seconds: None,
            max_retries: 4,
            max_tools: None,
            fallbacks: Vec::new(),
            small: String::new(),
            named: BTreeMap::new(),
            extra: serde_json::Map::new(),
            environment_key: Secret::default(),
            key_remark: None,
            table: String::new(),
        }
    }
}

impl Model {
    /// The table that describes it, whose keys a remedy names: `model`, `model.fallbacks[0]`, `model.named.fast`, ...
    pub fn section(&self) -> &str {
        if self.table.is_empty() { "model" } else { &self.table }
    }

    /// The key to use: `api_key`, else the value of the provider's usual environment variable at load. May be empty; the service
    /// then starts and names the key to set.
    pub fn key(&self) -> &Secret {
        if self.api_key.is_empty() { &self.environment_key } else { &self.api_key }
    }

    /// Describes what is wrong with the configured key and what follows from it, without the value itself.
    pub fn key_remark(&self) -> Option<&str> {
        self.key_remark.as_deref()
    }

    /// This model and its fallbacks, in the order in which they are tried, each complete in itself.
    pub fn candidates(&self) -> Vec<Model> {
        let alone = Model { fallbacks: Vec::new(), named: BTreeMap::new(), ..self.clone() };
        let others = self.fallbacks.iter().map(|fallback| match fallback {
            Fallback::ModelId(model_id) => Model { model_id: model_id.clone(), ..alone.clone() },
            Fallback::Model(model) => (**model).clone(),
        });
        std::iter::once(alone.clone()).chain(others).collect()
    }

    /// Another model of the same service, on its own. Sizes set for this one do not apply to it.
    #[must_use]
    pub fn sibling(&self, model_id: impl Into<String>) -> Model {
        Model {
            model_id: model_id.into(),
            fallbacks: Vec::new(),
            named: BTreeMap::new(),
            context_window: None,
            max_tokens: None,
            ..self.clone()
        }
    }

    /// Every configured model, complete in itself: this one, its fallbacks, and the named ones with theirs.
    pub fn all(&self) -> Vec<Model> {
        let named = self.named.values().flat_map(|named| named.model.candidates());
        self.candidates().into_iter().chain(named).collect()
    }

    /// The tables of models below this one, with their keys: the fallbacks, the named models, and the fallbacks that these
    /// set themselves.
    pub(crate) fn tables(&self) -> Vec<(KeyPath, &Model)> {
        let mut all = tables_of(&KeyPath::of(["model", "fallbacks"]), &self.fallbacks);
        for (name, named) in &self.named {
            let section = KeyPath::of(["model", "named", name]);
            if named.sets("fallbacks") {
                all.extend(tables_of(&section.key("fallbacks"), &named.model.fallbacks));
            }
            all.push((section, &named.model));
        }
        all
    }

    /// The model for summaries, complete in itself, if it is a different one. Sizes and sampling set for the main model do not
    /// apply to it.
    pub fn small_one(&self) -> Option<Model> {
        let model_id = self.small.trim();
        (!model_id.is_empty() && model_id != self.model_id).then(|| Model {
            model_id: model_id.to_owned(),
            fallbacks: Vec::new(),
            named: BTreeMap::new(),
            small: String::new(),
            context_window: None,
            max_tokens: None,
            temperature: None,
            top_p: None,
            ..self.clone()
        })
    }

    /// Lets the offline model `fake` answer, whatever was set.
    pub fn stand_in(&mut self) {
        *self = Self {
            provider: Provider::Fake,
            model_id: Provider::Fake.default_model().to_owned(),
            ..Self::default()
        };
    }

    /// Fills in what depends on the provider: the model id, and the key from `environment`.
    pub(crate) fn complete(&mut self, environment: &dyn Fn(&str) -> Option<String>) {
        if self.model_id.trim().is_empty() {
            self.provider.default_model().clone_into(&mut self.model_id);
        }
        if let Some(key) = self.provider.key_variable().and_then(environment) {
            self.environment_key = Secret::new(key);
        }
        for fallback in &mut self.fallbacks {
            if let Fallback::Model(model) = fallback {
                model.complete(environment);
            }
        }
    }

    /// Completes the named models from this one, which is complete itself.
    pub(crate) fn complete_named(&mut self, environment: &dyn Fn(&str) -> Option<String>) {
        let mut named = std::mem::take(&mut self.named);
        for named in named.values_mut() {
            named.inherit(self);
            named.model.complete(environment);
            if named.is_keyless {
                named.model.environment_key = Secret::default();
            }
        }
        self.named = named;
    }

    /// Notes in every table of a model where it is. Tables that are inherited later take the note along.
    pub(crate) fn note_tables(&mut self) {
        note_tables_of(&KeyPath::of(["model", "fallbacks"]), &mut self.fallbacks);
        for (name, named) in &mut self.named {
            let section = KeyPath::of(["model", "named", name]);
            if named.sets("fallbacks") {
                note_tables_of(&section.clone().key("fallbacks"), &mut named.model.fallbacks);
            }
            named.model.table = section.to_string();
        }
    }
}

/// Notes in the fallbacks that are tables where they are.
fn note_tables_of(list: &KeyPath, fallbacks: &mut [Fallback]) {
    for (index, fallback) in fallbacks.iter_mut().enumerate() {
        if let Fallback::Model(model) = fallback {
            model.table = list.clone().join(Step::Index(index)).to_string();
        }
    }
}

/// Returns the fallbacks that are tables, with their keys.
fn tables_of<'m>(list: &KeyPath, fallbacks: &'m [Fallback]) -> Vec<(KeyPath, &'m Model)> {
    let table = |(index, fallback): (usize, &'m Fallback)| match fallback {
        Fallback::Model(model) => Some((list.clone().join(Step::Index(index)), &**model)),
        Fallback::ModelId(_) => None,
    };
    fallbacks.iter().enumerate().filter_map(table).collect()
}

/// A model to try when the first one fails.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Fallback {
    /// Another model of the same provider and host.
    ModelId(String),
    /// A model of its own; keys that are not set have the defaults of `[model]`.
    Model(Box<Model>),
}

impl<'de> Deserialize<'de> for Fallback {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FallbackVisitor)
    }
}

/// Reads by hand what `untagged` would read, which loses the place of an error and the unknown keys.
struct FallbackVisitor;

impl<'de> Visitor<'de> for FallbackVisitor {
    type Value = Fallback;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a model id or a table with the keys of [model]")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Fallback, E> {
        Ok(Fallback::ModelId(value.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Fallback, A::Error> {
        Model::deserialize(MapAccessDeserializer::new(map)).map(|model| Fallback::Model(Box::new(model)))
    }
}

/// A named model. Keys that its table leaves out are those of `[model]`; but what belongs to a service, its key above all,
/// goes to no other service and to no other address, and nothing stands by for it there.
#[derive(Clone, Debug, Default)]
pub struct NamedModel {
    /// The model, complete in itself once the configuration is loaded.
    pub model: Model,
    /// The keys in its table.
    set: BTreeSet<String>,
    /// Whether the usual variable's key, which is that of the main model's address, stays away from its address.
    is_keyless: bool,
}

/// The keys that belong to a service. A table that names another provider does not inherit them.
const OF_SERVICE: [&str; 6] = ["host", "allow_http", "api", "api_version", "region", "model_id"];

/// The keys that authorise, or that only one service understands. A table that names another provider or another address
/// does not inherit them.
const OF_ACCOUNT: [&str; 8] =
    ["api_key", "headers", "organization", "project", "extra", "service_tier", "small", "max_tools"];

/// The keys that belong to a model. A table that names another model does not inherit them.
const OF_MODEL: [&str; 2] = ["context_window", "max_tokens"];

impl NamedModel {
    /// Returns whether its table sets a key.
    pub fn sets(&self, key: &str) -> bool {
        self.set.contains(key)
    }

    /// Fills in missing values from the main model.
    pub(crate) fn inherit(&mut self, main: &Model) {
        let is_other_service = self.sets("provider") && self.model.provider != main.provider;
        let is_other_host = self.sets("host") && self.model.host.trim() != main.host.trim();
        let is_elsewhere = is_other_service || is_other_host;
        let is_other_model =
            is_other_service || self.sets("model_id") && self.model.model_id != main.model_id;
        let is_kept = |key: &str| {
            self.set.contains(key)
                || is_other_service && OF_SERVICE.contains(&key)
                || is_other_model && OF_MODEL.contains(&key)
                || is_elsewhere && OF_ACCOUNT.contains(&key)
        };
        macro_rules! inherit {
            ($($field:ident)*) => { $(if !is_kept(stringify!($field)) { self.model.$field.clone_from(&main.$field); })* };
        }
        inherit! {
            provider model_id api_key host allow_http api api_version max_tokens temperature top_p region context_window
            effort timeout_seconds max_retries max_tools small extra headers organization project web_search service_tier
        }
        self.is_keyless = is_other_host && !is_other_service && !self.sets("api_key");
        // Someone who chooses another service may not want the usual ones to have the conversation.
        if !self.sets("fallbacks") && !is_elsewhere {
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
        Ok(NamedModel { model, set, is_keyless: false })
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
