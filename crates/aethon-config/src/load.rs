//! Loads a configuration: layers, references, types, checks, in that order, with all problems reported at once.

use std::path::{Path, PathBuf};

use crate::decode::{Decoded, decode};
use crate::header_values::OddValue;
use crate::layers::{Layers, Origin};
use crate::not_built;
use crate::path::KeyPath;
use crate::problem::{Error, Problem, Warning};
use crate::reference::References;
use crate::remark::Remark;
use crate::schema::Config;
use crate::sources::Sources;
use crate::unknown::UnknownKeys;
use crate::validate;

/// A valid configuration, and the warnings about it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Warnings that do not prevent loading.
    pub warnings: Vec<Warning>,
    /// The home directory.
    pub home: PathBuf,
    /// The file that was read, if there was one.
    pub file: Option<PathBuf>,
    /// Whether any layer chooses a model, or there is a key for the default one.
    pub names_a_model: bool,
    /// The storage limits that the owner has set.
    pub limits_set: LimitsSet,
}

/// The storage limits that the owner has set in the file, the environment or on the command line. The others are defaults, which
/// wait after an upgrade.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitsSet {
    /// `storage.max_mb`.
    pub max_mb: bool,
    /// `session.oneshot_keep`.
    pub oneshot_keep: bool,
    /// `session.oneshot_max_mb`.
    pub oneshot_max_mb: bool,
}

impl LimitsSet {
    fn of(layers: &Layers) -> Self {
        let is_set = |section, name| is_set(layers, section, name);
        Self {
            max_mb: is_set("storage", "max_mb"),
            oneshot_keep: is_set("session", "oneshot_keep"),
            oneshot_max_mb: is_set("session", "oneshot_max_mb"),
        }
    }
}

/// Loads the configuration from `sources`.
pub fn load(sources: &Sources) -> Result<Loaded, Error> {
    finish(&Layers::read(sources)?, sources)
}

/// Loads `text` as the only layer, as if it were the content of `path`. References see the environment of `sources`.
pub(crate) fn load_text(path: &Path, text: String, sources: &Sources) -> Result<Loaded, Error> {
    finish(&Layers::of_file(path, text)?, sources)
}

pub(crate) fn finish(layers: &Layers, sources: &Sources) -> Result<Loaded, Error> {
    let credentials = sources.credentials_directory();
    let references = references(sources, &credentials);
    let Decoded { mut config, mut problems, faulty, unknown } = decode(layers, references);
    let odd = complete(&mut config, references);

    let UnknownKeys { problems: refused, mut warnings } = UnknownKeys::of(layers, &unknown);
    problems.extend(refused);
    warnings.extend(switched_off(layers, &config));
    warnings.extend(odd.into_iter().map(|odd| odd_value(layers, odd)));
    warnings.extend(not_built::warnings(layers, &config));
    for remark in validate::check(&config) {
        match remark {
            // The default that replaces a rejected value is not the owner's mistake.
            Remark::Problem { key, .. }
                if faulty.iter().any(|fault| fault.is_within(&key) || key.is_within(fault)) => {}
            Remark::Problem { key, found, allowed } => {
                problems.push(Problem { place: layers.place(&key), key: key.shown(), found, allowed });
            }
            Remark::Warning { key, message } => {
                warnings.push(Warning { place: layers.place(&key), key: key.shown(), message });
            }
        }
    }
    if !problems.is_empty() {
        return Err(Error::new(problems, warnings));
    }
    let file = layers.file().map(|(path, _)| path.to_owned());
    let names_a_model = names_a_model(layers, &config);
    let limits_set = LimitsSet::of(layers);
    Ok(Loaded { config, warnings, home: sources.home.clone(), file, names_a_model, limits_set })
}

/// What references in these sources can refer to.
pub(crate) fn references<'a>(sources: &'a Sources, credentials: &'a Path) -> References<'a> {
    References { environment: &sources.environment, credentials }
}

/// Fills in what depends on other keys and on the environment, and cleans the keys that are sent in headers.
pub(crate) fn complete(config: &mut Config, references: References<'_>) -> Vec<OddValue> {
    let environment = |name: &str| references.variable(name).map(str::to_owned);
    config.model.complete(&environment);
    config.memory.embedding.complete(&environment);
    config.transcription.complete(&environment);
    let mut odd = config.clean_header_values();
    config.model.note_tables();
    // The values that they inherit from the main model are clean by now.
    config.model.complete_named(&environment);
    odd.extend(config.clean_named_models());
    odd
}

/// Warns of a header value with characters that do not belong there.
fn odd_value(layers: &Layers, odd: OddValue) -> Warning {
    match odd.variable {
        Some(name) => Warning {
            place: "environment".to_owned(),
            key: format!("environment variable {name}"),
            message: odd.message,
        },
        None => Warning { place: layers.place(&odd.key), key: odd.key.shown(), message: odd.message },
    }
}

/// Returns whether a layer names a model. Setting the host or the model id is as much a choice as setting the provider.
fn names_a_model(layers: &Layers, config: &Config) -> bool {
    let is_set = |name: &str| is_set(layers, "model", name);
    ["provider", "model_id", "host", "api_key"].into_iter().any(is_set) || !config.model.key().is_empty()
}

/// Returns whether a layer other than the defaults sets this key.
fn is_set(layers: &Layers, section: &str, name: &str) -> bool {
    let origin = layers.origin_of(&KeyPath::of([section, name]));
    origin.is_some_and(|origin| !matches!(origin, Origin::Default))
}

/// Warns if an empty variable or `--set` switches off a protection. It overrides the file like any other value, but an owner
/// who forgot to fill in the variable must learn that the protection is off.
fn switched_off(layers: &Layers, config: &Config) -> Vec<Warning> {
    let protections = [
        (["dashboard", "auth_token"], config.dashboard.auth_token.is_empty()),
        (["webhook", "secret"], config.webhook.secret.is_empty()),
    ];
    let mut warnings = Vec::new();
    for (keys, is_empty) in protections {
        let key = KeyPath::of(keys);
        if let Some(origin @ (Origin::Variable { .. } | Origin::Set(_) | Origin::Program(_))) =
            layers.origin_of(&key)
            && is_empty
        {
            let message = "empty: this turns the protection off, regardless of the file".to_owned();
            warnings.push(Warning { place: origin.place(&key), key: key.to_string(), message });
        }
    }
    warnings
}
