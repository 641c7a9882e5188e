//! `config list` and `config explain`: the keys with their values, where those come from, and what they mean.

use aethon::config::{KnownKey, NAME, known_keys, nearest_word, schema, schema_of};
use aethon::core::service::ConfigKey;
use aethon::{config_keys, is_reloadable};
use anyhow::{Error, Result};

use crate::args::Common;
use crate::commands::{print, print_json};

/// The widest value that stands in a row of the list, in characters.
const WIDEST: usize = 40;

/// `config list`.
pub(crate) fn list(common: &Common, part: Option<&str>, set: bool, json: bool) -> Result<()> {
    let mut keys = keys(common)?;
    keys.retain(|key| part.is_none_or(|part| key.key.contains(part)) && (!set || key.source != "default"));
    if json {
        return print_json(&serde_json::json!({ "keys": keys }));
    }
    let cells: Vec<[String; 4]> = keys.iter().map(row).collect();
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second, third) = (width(0), width(1), width(2));
    let mut out = String::new();
    for [key, value, place, effect] in &cells {
        out.push_str(&format!("{key:first$}  {value:second$}  {place:third$}  {effect}\n"));
    }
    match (part, set) {
        _ if !out.is_empty() => print(&out),
        (None, _) => print("nothing is set; every key has its default\n"),
        (Some(part), true) if known_keys().iter().any(|known| known.name.contains(part)) => {
            print(&format!("no key with {part:?} is set; all of them have their defaults\n"))
        }
        (Some(part), _) => Err(no_such_key(part)),
    }
}

/// `config explain`.
pub(crate) fn explain(common: &Common, wanted: &str) -> Result<()> {
    let keys = keys(common)?;
    if let Some(key) = keys.iter().find(|key| key.key == wanted) {
        return print(&explanation(key));
    }
    let known = known_keys();
    if let Some(pattern) = known.iter().find(|known| matches(&known.name, wanted)) {
        return print(&pattern_explained(pattern, wanted));
    }
    let section = format!("{wanted}.");
    let inner: Vec<&KnownKey> = known.iter().filter(|known| known.name.starts_with(&section)).collect();
    if inner.is_empty() {
        return Err(no_such_key(wanted));
    }
    let mut out = String::new();
    for known in inner {
        out.push_str(&format!("{}\n    {}\n", known.name, known.description));
    }
    print(&out)
}

/// Returns the refusal of `config set KEY` without a value: what the key takes, and a line that works.
pub(crate) fn without_value(wanted: &str) -> Error {
    let known = known_keys();
    let Some(key) = known.iter().find(|known| matches(&known.name, wanted)) else {
        return no_such_key(wanted);
    };
    let takes = allowed(&key.name, &key.words).map(|allowed| format!(" ({allowed})")).unwrap_or_default();
    let example = key.words.first().map_or("VALUE", String::as_str);
    refused(format!(
        "{wanted} needs a value{takes}, such as in `aethon-cli config set {wanted} {example}`; \
         `config explain {wanted}` tells more, and `config unset {wanted}` brings the default back"
    ))
}

/// Returns the refusal of a key that there is not, with the nearest one.
pub(crate) fn no_such_key(wanted: &str) -> Error {
    let known = known_keys();
    let words: Vec<&str> = known.iter().map(|known| known.name.as_str()).collect();
    let hint =
        nearest_word(wanted, &words).map(|near| format!("; the nearest is {near}")).unwrap_or_default();
    refused(format!("there is no key {wanted:?}{hint}; `aethon-cli config list` lists them all"))
}

/// Whether a key, one above it or one below it is one of the configuration.
pub(crate) fn is_known(wanted: &str) -> bool {
    known_keys().iter().any(|known| {
        let pairs = || known.name.split('.').zip(wanted.split('.'));
        pairs().all(|(known, part)| known == NAME || known == part)
    })
}

/// Adds to the refusal of a key how its whole entry is written, if the refusal is about what else the entry needs: a job without
/// its prompt cannot be stored, not even for a moment.
pub(crate) fn with_whole_entry(refusal: Error, wanted: &str, value: &str) -> Error {
    let words = format!("{refusal:#}");
    let Some((entry, key)) = entry_of(wanted) else { return refusal };
    if !words.contains(&entry) || words.contains(&format!("{wanted}: ")) {
        return refusal;
    }
    refused(format!(
        "{words}; an entry that needs several keys is written at once, such as in \
         `aethon-cli config set {entry} '{{ {key} = {value:?}, ... }}'`"
    ))
}

/// Splits a key below a name of the owner's choice into the entry of that name and the rest.
fn entry_of(wanted: &str) -> Option<(String, String)> {
    let known = known_keys();
    let pattern = known.iter().find(|known| matches(&known.name, wanted))?;
    let at = pattern.name.split('.').position(|part| part == NAME)?;
    let parts: Vec<&str> = wanted.split('.').collect();
    let (entry, key) = parts.split_at(at + 1);
    (!key.is_empty()).then(|| (entry.join("."), key.join(".")))
}

fn refused(words: String) -> Error {
    aethon::Error::refused(words).into()
}

fn keys(common: &Common) -> Result<Vec<ConfigKey>> {
    let prepared = crate::setup::prepared(common)?;
    config_keys(&crate::setup::sources(common)?, prepared.config()).map_err(crate::setup::refused)
}

fn row(key: &ConfigKey) -> [String; 4] {
    let value = key.value.to_string();
    let value = match value.char_indices().nth(WIDEST) {
        Some((end, _)) => format!("{}...", &value[..end]),
        None => value,
    };
    [key.key.clone(), value, place(key), effect(key).to_owned()]
}

fn place(key: &ConfigKey) -> String {
    if key.source == "default" { "default".to_owned() } else { key.place.clone() }
}

fn effect(key: &ConfigKey) -> &'static str {
    if key.needs_restart { "restart" } else { "reload" }
}

/// When a change takes effect, as the end of a sentence.
fn when(is_reloadable: bool) -> &'static str {
    match is_reloadable {
        false => "at the next start of aethon-server",
        true => "at a reload (`aethon-cli config reload`) or the next start",
    }
}

fn explanation(key: &ConfigKey) -> String {
    let mut out = format!("{}\n    {}\n\n", key.key, key.description);
    out.push_str(&format!("value:    {} ({})\n", key.value, place(key)));
    out.push_str(&format!("default:  {}\n", key.default));
    if let Some(allowed) = allowed(&key.key, &key.words) {
        out.push_str(&format!("allowed:  {allowed}\n"));
    }
    out.push_str(&format!("change:   takes effect {}\n", when(!key.needs_restart)));
    if key.secret {
        let name = key.key.replace('.', "_");
        out.push_str(&format!(
            "secret:   keep it out of the file: `aethon-cli secrets set {name}`, and {} = \"${{credential:{name}}}\"\n",
            key.key
        ));
    }
    out
}

/// Explains a key below a name that the owner has not chosen yet.
fn pattern_explained(known: &KnownKey, wanted: &str) -> String {
    let mut out = format!("{wanted}\n    {}\n\nvalue:    not set\n", known.description);
    out.push_str(&format!("default:  {}\n", known.default));
    if let Some(allowed) = allowed(&known.name, &known.words) {
        out.push_str(&format!("allowed:  {allowed}\n"));
    }
    out.push_str(&format!("change:   takes effect {}\n", when(is_reloadable(wanted))));
    out
}

/// Whether a key matches a known one, in which [`NAME`] is a placeholder for a name of the owner's choice.
fn matches(known: &str, wanted: &str) -> bool {
    let (known, wanted): (Vec<&str>, Vec<&str>) = (known.split('.').collect(), wanted.split('.').collect());
    known.len() == wanted.len()
        && known.iter().zip(&wanted).all(|(known, part)| *known == NAME || known == part)
}

/// The words or the range that the schema allows.
fn allowed(key: &str, words: &[String]) -> Option<String> {
    if !words.is_empty() {
        return Some(words.join(", "));
    }
    let whole = schema();
    let part = schema_of(&whole, key)?;
    let least = part.get("minimum").map(|least| format!("from {least}"));
    let least = least.or_else(|| part.get("exclusiveMinimum").map(|least| format!("above {least}")));
    let most = part.get("maximum").map(|most| format!("to {most}"));
    let range: Vec<String> = least.into_iter().chain(most).collect();
    (!range.is_empty()).then(|| range.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allowed_values_come_from_the_schema() {
        assert_eq!(allowed("agent.loop_limit", &[]).as_deref(), Some("from 2 to 10000"));
        assert!(allowed("budget.daily_usd", &[]).is_some());
        assert_eq!(allowed("agent.dynamic_specialists", &[]), None);
        assert_eq!(allowed("x", &["a".into(), "b".into()]).as_deref(), Some("a, b"));
    }

    #[test]
    fn names_that_the_owner_chooses_fit_their_place() {
        assert!(matches("model.named.NAME.effort", "model.named.fast.effort"));
        assert!(!matches("model.named.NAME.effort", "model.named.fast"));
        assert!(!matches("model.provider", "model.providers"));
    }
}
