//! Implements `config get`, `set`, `unset` and `edit`: reads or changes one key and leaves the rest as it was, or replaces all.

use std::fmt;
use std::path::Path;

use toml_edit::{DocumentMut, InlineTable, Item, Table, Value as Toml};

use crate::decode::decode;
use crate::echo::shown;
use crate::held::{self, HeldFile};
use crate::layers::Layers;
use crate::load::{self, load_text};
use crate::mask::dump;
use crate::path::KeyPath;
use crate::problem::{Error, Problem};
use crate::schema::Config;
use crate::sources::Sources;
use crate::unknown;

/// Returns the value of a dotted key, masked; `None` if there is no such key.
pub fn get(config: &Config, key: &str) -> Option<serde_json::Value> {
    let whole = dump(config);
    let path = KeyPath::parse(key)?;
    let keys: Vec<&str> = path.keys().collect();
    descend(&whole, &keys).cloned()
}

/// Descends by one key, or by several joined with dots if an entry has such a name, so that `budget.pricing.gpt-5.1` is found
/// without quotes.
fn descend<'v>(value: &'v serde_json::Value, keys: &[&str]) -> Option<&'v serde_json::Value> {
    if keys.is_empty() {
        return Some(value);
    }
    (1..=keys.len()).find_map(|length| descend(value.get(keys[..length].join("."))?, &keys[length..]))
}

/// Whether a key that is not known may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewKeys {
    /// It is refused, because it would have no effect.
    Refused,
    /// It is written, for another version say. One that may leave something unprotected is refused all the same.
    Written,
}

/// Sets `key` to `value` in the file of `sources`, creating it if necessary. As for `--set`, `value` is TOML, and a bare word
/// is a string. The result is loaded before it replaces the file, and rejected if it has a problem that the file did not
/// have. Comments and order are kept.
pub fn set_in_file(sources: &Sources, key: &str, value: &str, new_keys: NewKeys) -> Result<(), Error> {
    let Opened { mut held, path, document, known } = Opened::new(sources, key)?;
    let file = held.path().to_owned();
    let mut first = None;
    for candidate in readings(value) {
        let text = with(&document, &path, candidate).ok_or_else(|| no_table(&file, &path))?;
        let loaded = load_text(&file, text.clone(), sources).and_then(|loaded| match new_keys {
            NewKeys::Refused => all_known(&file, &text, sources, &path).map(|()| loaded),
            NewKeys::Written => Ok(loaded),
        });
        match new_problems(&known, loaded, &path) {
            None => return replace(&mut held, &text),
            Some(error) => first = first.or(Some(error)),
        }
    }
    Err(first.unwrap_or_else(|| not_toml(&file)))
}

/// Removes `key`, or a table of that name, from the file of `sources`, so that its default applies again. Returns `false` if it
/// is not in there. Rejected like [`set_in_file`]. Comments and order of everything else are kept.
pub fn unset_in_file(sources: &Sources, key: &str) -> Result<bool, Error> {
    let Opened { mut held, path, document, known } = Opened::new(sources, key)?;
    let file = held.path().to_owned();
    let text = without(&document, &path).ok_or_else(|| no_table(&file, &path))?;
    if text == document.to_string() {
        return Ok(false);
    }
    match new_problems(&known, load_text(&file, text.clone(), sources), &path) {
        None => replace(&mut held, &text).map(|()| true),
        Some(error) => Err(error),
    }
}

/// Returns the text of the file of `sources`, empty if there is none.
pub fn file_text(sources: &Sources) -> Result<String, Error> {
    let file = sources.config_file();
    Ok(held::read(&file).map_err(|error| failed(&file, &error))?.unwrap_or_default())
}

/// A file that is being edited.
struct Opened {
    held: HeldFile,
    path: KeyPath,
    document: DocumentMut,
    /// The problems it has already.
    known: Vec<Problem>,
}

impl Opened {
    fn new(sources: &Sources, key: &str) -> Result<Self, Error> {
        let held = hold(sources)?;
        let (file, before) = (held.path().to_owned(), held.text().to_owned());
        let path = KeyPath::parse(key).filter(|path| path.steps().len() > 1).ok_or_else(|| {
            Error::one(
                file.display(),
                format!("the key {:?}", shown(key)),
                "a dotted key such as model.provider",
            )
        })?;
        let document: DocumentMut = match before.parse() {
            Ok(document) => document,
            Err(_) => {
                return Err(load_text(&file, before, sources).err().unwrap_or_else(|| not_toml(&file)));
            }
        };
        let known = problems(load_text(&file, before, sources));
        Ok(Self { held, path, document, known })
    }
}

fn hold(sources: &Sources) -> Result<HeldFile, Error> {
    HeldFile::open(sources).map_err(|error| failed(&sources.config_file(), &error))
}

/// Replaces the file. Its lines end as they did before: an edited document has none of the ends that Windows writes.
fn replace(held: &mut HeldFile, text: &str) -> Result<(), Error> {
    let first_line = held.text().split_inclusive('\n').next().unwrap_or_default();
    let text = match first_line.ends_with("\r\n") && !text.contains('\r') {
        true => text.replace('\n', "\r\n"),
        false => text.to_owned(),
    };
    held.replace(&text).map_err(|error| failed(held.path(), &error))
}

fn no_table(file: &Path, path: &KeyPath) -> Error {
    Error::one(file.display(), format!("a value above {path} that is not a table"), "a key below a table")
}

/// Refuses unknown keys at `path`.
fn all_known(file: &Path, text: &str, sources: &Sources, path: &KeyPath) -> Result<(), Error> {
    let layers = Layers::of_file(file, text.to_owned())?;
    let credentials = sources.credentials_directory();
    let unknown = decode(&layers, load::references(sources, &credentials)).unknown;
    let problems = unknown::refuse_at(path, &layers, &unknown);
    if problems.is_empty() { Ok(()) } else { Err(Error::new(problems, Vec::new())) }
}

/// The possible meanings of `text`: its TOML value, and the text itself for keys that take a string.
fn readings(text: &str) -> Vec<Toml> {
    let word = Toml::from(text);
    match text.trim().parse::<Toml>() {
        Ok(mut value) => {
            value.decor_mut().clear();
            vec![value, word]
        }
        Err(_) => vec![word],
    }
}

/// Returns the document with `value` at `path`; `None` if something above it is not a table.
pub(crate) fn with(document: &DocumentMut, path: &KeyPath, mut value: Toml) -> Option<String> {
    let mut document = document.clone();
    let keys: Vec<&str> = path.keys().collect();
    let (last, above) = keys.split_last()?;
    let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
    let mut is_inline = false;
    for key in above {
        let item = table.entry(key).or_insert_with(|| if is_inline { inline_section() } else { section() });
        is_inline = item.is_inline_table();
        table = item.as_table_like_mut()?;
    }
    match table.get_mut(last) {
        // Replaced in place, so that the comments above the key and after the value stay.
        Some(Item::Value(old)) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        _ => {
            table.insert(last, Item::Value(value));
        }
    }
    Some(document.to_string())
}

/// Returns the document without `path`; `None` if something above it is not a table.
pub(crate) fn without(document: &DocumentMut, path: &KeyPath) -> Option<String> {
    let mut document = document.clone();
    let keys: Vec<&str> = path.keys().collect();
    let (last, above) = keys.split_last()?;
    let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
    for key in above {
        match table.get_mut(key) {
            None => return Some(document.to_string()),
            Some(item) => table = item.as_table_like_mut()?,
        }
    }
    table.remove(last);
    Some(document.to_string())
}

fn inline_section() -> Item {
    Item::Value(Toml::InlineTable(InlineTable::new()))
}

fn section() -> Item {
    let mut section = Table::new();
    // A table that only contains tables needs no header.
    section.set_implicit(true);
    Item::Table(section)
}

fn problems<T>(outcome: Result<T, Error>) -> Vec<Problem> {
    outcome.err().map(|error| error.problems().to_vec()).unwrap_or_default()
}

/// Returns problems that are new or concern the key being set. The lines of known ones may have moved.
fn new_problems<T>(known: &[Problem], outcome: Result<T, Error>, path: &KeyPath) -> Option<Error> {
    let error = outcome.err()?;
    let is_old = |problem: &Problem| {
        problem.key != path.shown()
            && known.iter().any(|old| {
                (&old.key, &old.found, &old.allowed) == (&problem.key, &problem.found, &problem.allowed)
            })
    };
    let new: Vec<Problem> = error.problems().iter().filter(|problem| !is_old(problem)).cloned().collect();
    (!new.is_empty()).then(|| Error::new(new, error.warnings().to_vec()))
}

/// A file that could not be read or written.
pub(crate) fn failed(file: &Path, error: &dyn fmt::Display) -> Error {
    Error::one(
        file.display(),
        format!("a file that cannot be read or written ({error})"),
        "a file of your own",
    )
}

fn not_toml(file: &Path) -> Error {
    Error::one(file.display(), "a file that cannot be changed", "TOML")
}
