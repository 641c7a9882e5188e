//! Changes several keys of the file at once: checked as a whole, shown as a diff, and written only on request.
//!
//! Edits from the page go through here. Secrets do not: they belong in `credentials/`, and the page only ever sees a mask.
//! Everything but the changed values stays as it is in the file, comments and order included. Which of the changes loosen
//! protection is judged here (`guard`), both with the values in force and with the file alone: a variable that hides a key of the
//! file today may be gone tomorrow.

use std::time::Duration;

use aethon_core::secret::MASK;
use serde_json::Value;
use similar::TextDiff;
use toml_edit::DocumentMut;

use crate::addressed_keys::{AddressedKeys, addressed_keys, is_nameable};
use crate::decode::decode;
use crate::edit::{with, without};
use crate::guard;
use crate::layers::{Layers, Origin};
use crate::load::{self, finish};
use crate::mask::MASKED_NAMES;
use crate::origins::known;
use crate::path::KeyPath;
use crate::schema::Config;
use crate::sources::Sources;
use crate::typed::toml;

/// A fault of one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditFault {
    /// The key.
    pub key: String,
    /// The fault, and the remedy.
    pub message: String,
}

/// The edited file, checked but not yet written.
#[derive(Clone, Debug)]
pub struct Edited {
    /// The content before.
    pub before: String,
    /// The content after.
    pub after: String,
    /// The configuration that it yields with the environment and the flags of this process.
    pub config: Config,
    /// Whether it names a model, without which a demonstration goes on.
    pub names_a_model: bool,
    /// The warnings about it.
    pub warnings: Vec<String>,
    /// The changed keys, with those that are [`cleared`](Self::cleared).
    pub keys: Vec<String>,
    /// Changed keys that a higher layer overrides, and that layer: there the change has no effect.
    pub overridden: Vec<(String, String)>,
    /// Changed keys that loosen protection, or say where keys are sent or which programs run.
    pub loosened: Vec<String>,
    /// Keys that are removed because the address that they are sent to changes.
    pub cleared: Vec<String>,
    /// Keys that would be sent to another address than before, and cannot be removed here.
    pub misdirected: Vec<EditFault>,
}

/// Changes keys in this text of the file; null removes a key. Nothing is written.
pub fn edit(
    sources: &Sources,
    before: String,
    changes: &[(String, Value)],
) -> Result<Edited, Vec<EditFault>> {
    let file = sources.config_file();
    let document: DocumentMut =
        before.parse().map_err(|_| vec![fault("", format!("{} is no TOML", file.display()))])?;
    let (mut document, paths) = applied(document, changes)?;
    let earlier = Layers::read_with(sources, before.clone()).map_err(|error| faults_of(&error))?;
    let mut after = document.to_string();
    let mut layers = Layers::read_with(sources, after.clone()).map_err(|error| faults_of(&error))?;
    let (was, faulty) = forgiving(&earlier, sources);
    // Keys of moved addresses are removed first, so that the rest judges the file as it would be written.
    let (cleared, misdirected) = {
        let known = addressed_keys(&was);
        let moved = moved(&forgiving(&layers, sources).0, &known, &paths);
        let cleared = clear(&mut document, &moved);
        if !cleared.is_empty() {
            after = document.to_string();
            layers = Layers::read_with(sources, after.clone()).map_err(|error| faults_of(&error))?;
        }
        let left = self::moved(&forgiving(&layers, sources).0, &known, &paths);
        (cleared, left.iter().map(|keys| still_keyed(keys, &layers)).collect())
    };
    let loaded = finish(&layers, sources).map_err(|error| faults_of(&error))?;
    let mut loosened = guard::loosened(&was, &loaded.config, &paths);
    let alone = |text: &str| {
        let layers = Layers::of_file(&file, text.to_owned()).map_err(|error| faults_of(&error))?;
        Ok::<Config, Vec<EditFault>>(forgiving(&layers, sources).0)
    };
    loosened.extend(guard::loosened(&alone(&before)?, &alone(&after)?, &paths));
    // Values of secrets are not compared, and the protection of an invalid value is unknown.
    let is_unsure = |path: &&KeyPath| {
        let is_faulty = faulty.iter().any(|fault| fault.is_within(path) || path.is_within(fault));
        known(path) == Some(true) || (is_faulty && !guard::is_free(path))
    };
    loosened.extend(paths.iter().filter(is_unsure).map(ToString::to_string));
    let overridden = paths.iter().filter_map(|path| match layers.origin_of(path) {
        Some(origin @ (Origin::Variable { .. } | Origin::Set(_) | Origin::Program(_))) => {
            Some((path.to_string(), origin.place(path)))
        }
        _ => None,
    });
    Ok(Edited {
        overridden: overridden.collect(),
        warnings: loaded.warnings.iter().map(ToString::to_string).collect(),
        names_a_model: loaded.names_a_model,
        config: loaded.config,
        keys: paths.iter().map(ToString::to_string).chain(cleared.iter().cloned()).collect(),
        loosened: loosened.into_iter().collect(),
        cleared,
        misdirected,
        before,
        after,
    })
}

/// The document with all changes, and the changed keys.
fn applied(
    mut document: DocumentMut,
    changes: &[(String, Value)],
) -> Result<(DocumentMut, Vec<KeyPath>), Vec<EditFault>> {
    let (mut faults, mut paths) = (Vec::new(), Vec::new());
    for (key, value) in changes {
        match changed(&document, key, value) {
            Ok((path, next)) => {
                document = next;
                paths.push(path);
            }
            Err(message) => faults.push(fault(key, message)),
        }
    }
    if faults.is_empty() { Ok((document, paths)) } else { Err(faults) }
}

/// The configuration of these layers without its wrong values, and the keys of those.
fn forgiving(layers: &Layers, sources: &Sources) -> (Config, Vec<KeyPath>) {
    let credentials = sources.credentials_directory();
    let references = load::references(sources, &credentials);
    let mut decoded = decode(layers, references);
    load::complete(&mut decoded.config, references);
    (decoded.config, decoded.faulty)
}

/// The addresses that would get keys which another one got before, where the change does not name these keys again.
fn moved(config: &Config, before: &[AddressedKeys], named: &[KeyPath]) -> Vec<AddressedKeys> {
    let all = addressed_keys(config).into_iter();
    let is_named =
        |keys: &AddressedKeys| keys.keys.iter().any(|key| named.iter().any(|name| name.is_within(key)));
    all.filter(|keys| keys.are_sent_elsewhere(before) && !is_named(keys)).collect()
}

/// Removes these keys from the file, and returns those that were in there.
fn clear(document: &mut DocumentMut, moved: &[AddressedKeys]) -> Vec<String> {
    let mut cleared = Vec::new();
    for key in moved.iter().flat_map(|keys| &keys.keys) {
        let next = without(document, key).and_then(|text| text.parse::<DocumentMut>().ok());
        if let Some(next) = next.filter(|next| next.to_string() != document.to_string()) {
            *document = next;
            cleared.push(key.to_string());
        }
    }
    cleared
}

fn still_keyed(keys: &AddressedKeys, layers: &Layers) -> EditFault {
    let key = keys.keys.first().cloned().unwrap_or_default();
    let place = match layers.origin_of(&key) {
        Some(origin) => origin.place(&key),
        None => "the provider's usual environment variable".to_owned(),
    };
    let message = format!(
        "the key of the address before would be sent to the new one: it comes from {place}; name the key of the new address in \
         the same change, as {{\"{key}\": \"${{credential:NAME}}\"}}, or edit the file"
    );
    fault(&keys.address_key, message)
}

fn changed(document: &DocumentMut, key: &str, value: &Value) -> Result<(KeyPath, DocumentMut), String> {
    let path = KeyPath::parse(key).filter(|path| path.steps().len() > 1);
    let path = path.ok_or("must be a dotted key such as model.provider")?;
    let is_secret = known(&path).ok_or("is no key of the configuration")?;
    if is_secret && !(is_nameable(&path) && is_credential(value)) {
        let sentence = "is a secret or holds some; store it with `aethon-cli secrets set NAME`, and write \
                        \"${credential:NAME}\" into the file";
        return Err(sentence.to_owned());
    }
    if is_masked(value) && !is_credential(value) {
        return Err("holds a masked value or the name of a secret; edit the file for it".to_owned());
    }
    // The resolved text would show wherever the value does: in the dump, in the status, at the model's service.
    if !is_secret && has_reference(value) {
        return Err(
            "has a reference (`${NAME}`), which is written into the file only; write `$$` for a dollar sign"
                .to_owned(),
        );
    }
    let text = match value {
        Value::Null => without(document, &path),
        _ => with(document, &path, toml(value).ok_or("cannot be written as TOML: it has a null in it")?),
    };
    let text = text.ok_or("stands below a value that is no table")?;
    let next = text.parse().map_err(|_| "cannot be written into the file".to_owned())?;
    Ok((path, next))
}

/// Returns whether a value names a credential and nothing else, or no key at all.
fn is_credential(value: &Value) -> bool {
    let is_name = |text: &str| {
        let name = text.strip_prefix("${credential:").and_then(|rest| rest.strip_suffix('}'));
        text.is_empty() || name.is_some_and(|name| !name.contains(['$', '{', '}']))
    };
    value.is_null() || value.as_str().is_some_and(is_name)
}

/// Returns whether a value, or a part of it, refers to a variable or a credential.
fn has_reference(value: &Value) -> bool {
    let is_reference = |text: &str| text.replace("$$", "").contains("${");
    match value {
        Value::String(text) => is_reference(text),
        Value::Array(items) => items.iter().any(has_reference),
        Value::Object(entries) => {
            entries.iter().any(|(name, inner)| is_reference(name) || has_reference(inner))
        }
        _ => false,
    }
}

/// Returns whether a value is a mask, which the page shows for a secret, or contains one.
fn is_masked(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(MASK),
        Value::Array(items) => items.iter().any(is_masked),
        Value::Object(entries) => entries.iter().any(|(name, inner)| {
            MASKED_NAMES.iter().any(|masked| masked.eq_ignore_ascii_case(name)) || is_masked(inner)
        }),
        _ => false,
    }
}

fn fault(key: &str, message: impl Into<String>) -> EditFault {
    EditFault { key: key.to_owned(), message: message.into() }
}

fn faults_of(error: &crate::problem::Error) -> Vec<EditFault> {
    let problems = error.problems().iter();
    problems
        .map(|problem| fault(&problem.key, format!("found {}; allowed: {}", problem.found, problem.allowed)))
        .collect()
}

/// Returns a unified diff of two texts, with two lines of context, and a line of dots between distant changes.
pub fn difference(before: &str, after: &str) -> String {
    const CONTEXT: usize = 2;
    /// A longer comparison ends early, with a larger change than necessary.
    const MAX_DIFF: Duration = Duration::from_secs(1);
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let diff = TextDiff::configure().timeout(MAX_DIFF).diff_slices(&old, &new);
    let hunks = diff.grouped_ops(CONTEXT).into_iter().map(|hunk| {
        let changes = hunk.iter().flat_map(|op| diff.iter_changes(op));
        changes.map(|change| format!("{}{}\n", change.tag(), change.value())).collect()
    });
    hunks.collect::<Vec<String>>().join("...\n")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;
    use crate::held::HeldFile;

    fn sources(text: &str) -> (tempfile::TempDir, Sources) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("config.toml"), text).unwrap();
        let sources = Sources { home: folder.path().to_owned(), ..Sources::default() };
        (folder, sources)
    }

    const TEXT: &str = "# mine\n[agent]\nloop_limit = 4 # not more\n\n[logging]\nlevel = \"info\"\n";

    #[test]
    fn references_are_refused_in_changes() {
        let (_folder, sources) = sources(TEXT);
        let check = |key: &str, value: Value, is_taken: bool| {
            let outcome = edit(&sources, TEXT.to_owned(), &[(key.to_owned(), value)]);
            match outcome {
                Ok(_) => assert!(is_taken, "{key}"),
                Err(faults) => {
                    assert!(!is_taken && faults[0].message.contains("${NAME}"), "{key}: {faults:?}")
                }
            }
        };
        check("model.model_id", json!("${AETHON_DASHBOARD__AUTH_TOKEN}"), false);
        check("model.model_id", json!("${credential:telegram}"), false);
        check("model.model_id", json!("a ${X:-b}"), false);
        check("channels.webchat.allowed_hosts", json!(["a.example", "${X}"]), false);
        check("scheduler.jobs.tea", json!({"cron": "@daily", "prompt": "say ${X}"}), false);
        check("model.extra", json!({"deep": [{"er": "${X}"}]}), false);
        check("model.model_id", json!("costs $$5 {a}"), true);
        check("model.model_id", json!("$${X}"), true);
    }

    #[test]
    fn comments_stay_and_the_difference_is_shown() {
        let (_folder, sources) = sources(TEXT);
        let changes = [
            ("agent.loop_limit".to_owned(), json!(6)),
            ("logging.level".to_owned(), Value::Null),
            ("channels.webchat.allowed_hosts".to_owned(), json!(["a.example"])),
        ];
        let edited = edit(&sources, TEXT.to_owned(), &changes).unwrap();
        assert_eq!(edited.config.agent.loop_limit, 6);
        assert!(edited.after.contains("# mine") && edited.after.contains("loop_limit = 6 # not more"));
        let diff = difference(&edited.before, &edited.after);
        assert!(diff.contains("-loop_limit = 4 # not more\n+loop_limit = 6 # not more\n"), "{diff}");
        assert!(diff.contains("-level = \"info\"\n"), "{diff}");
        assert_eq!(fs::read_to_string(sources.config_file()).unwrap(), TEXT, "nothing is written yet");
        HeldFile::open(&sources).unwrap().replace(&edited.after).unwrap();
        assert_eq!(fs::read_to_string(sources.config_file()).unwrap(), edited.after);
        assert!(difference(TEXT, TEXT).is_empty());
    }

    #[test]
    fn each_faulty_key_gets_its_own_message() {
        let (_folder, sources) = sources(TEXT);
        let check = |key: &str, value: Value, expected: &str| {
            let faults = edit(&sources, TEXT.to_owned(), &[(key.to_owned(), value)]).unwrap_err();
            assert!(faults[0].message.contains(expected), "{key}: {faults:?}");
        };
        check("agent.loop_limit", json!("many"), "allowed");
        check("agent.nothing", json!(1), "no key");
        check("agent", json!({}), "dotted key");
        check("dashboard.auth_token", json!("x"), "secret");
        check("mcp.servers.x", json!({"url": "https://a.example"}), "secret");
        check("model.host", json!("https://***@a.example"), "masked");
        check("model.extra", json!({"token": "x"}), "secret");
        check("logging.level.x", json!(1), "no key");
    }

    #[test]
    fn keys_overridden_by_the_environment_are_reported() {
        let (_folder, mut sources) = sources(TEXT);
        sources.environment.push(("AETHON_AGENT__LOOP_LIMIT".into(), "9".into()));
        let edited = edit(&sources, TEXT.to_owned(), &[("agent.loop_limit".to_owned(), json!(6))]).unwrap();
        assert_eq!(edited.config.agent.loop_limit, 9);
        let place = "environment variable AETHON_AGENT__LOOP_LIMIT".to_owned();
        assert_eq!(edited.overridden, [("agent.loop_limit".to_owned(), place)]);
    }
}
