//! The layers above the built-in defaults: `config.toml`, the environment, `--set`. figment merges them and remembers the
//! layer of each value; this module keeps the names of the layers and finds positions within them.
//!
//! Each source is parsed once. Line numbers are computed only when a message needs them.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use aethon_files::read_given;
use figment::value::{Dict, Map, Tag, Value};
use figment::{Figment, Metadata, Profile, Provider};
use toml::de::{DeTable, DeValue};

use crate::echo::shown;
use crate::held;
use crate::path::{KeyPath, Step};
use crate::problem::{Error, Problem};
use crate::sources::Sources;

/// How the environment variables that set keys begin.
pub(crate) const PREFIX: &str = "AETHON_";
/// What separates the steps of a key in the name of a variable.
pub(crate) const SEPARATOR: &str = "__";

/// The origin of a value.
#[derive(Debug)]
pub(crate) enum Origin {
    /// The built-in default.
    Default,
    /// A file.
    File {
        /// Its path.
        path: PathBuf,
        /// Its text, for line numbers.
        text: String,
    },
    /// An environment variable.
    Variable {
        /// Its name.
        name: String,
        /// The key and text that it sets.
        assignment: Assignment,
    },
    /// A `--set`.
    Set(Assignment),
    /// A setting of the program that embeds the assistant.
    Program(Assignment),
}

/// A key and the text given for it. Text takes the type that the key wants, which is known only when the value is
/// decoded.
#[derive(Debug)]
pub(crate) struct Assignment {
    /// The key.
    pub(crate) key: KeyPath,
    /// The text as given.
    pub(crate) text: String,
}

impl Origin {
    /// The text given for `depth` steps from the root, if this origin assigns exactly that key.
    pub(crate) fn text_at(&self, depth: usize) -> Option<&str> {
        let (Self::Variable { assignment, .. } | Self::Set(assignment) | Self::Program(assignment)) = self
        else {
            return None;
        };
        (assignment.key.steps().len() == depth).then_some(assignment.text.as_str())
    }

    /// Describes the place of `key` for a message.
    pub(crate) fn place(&self, key: &KeyPath) -> String {
        match self {
            Self::Default => "built-in default".to_owned(),
            Self::File { path, text } => match line_of(text, key) {
                Some(line) => format!("{}:{line}", path.display()),
                None => path.display().to_string(),
            },
            Self::Variable { name, .. } => format!("environment variable {name}"),
            Self::Set(assignment) => format!("--set {}", assignment.key.shown()),
            Self::Program(assignment) => format!("setting of the program {}", assignment.key.shown()),
        }
    }
}

/// The merged layers.
pub(crate) struct Layers {
    figment: Figment,
    origins: Vec<Origin>,
    merged: Value,
    incomplete_variables: Vec<String>,
}

impl fmt::Debug for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layers").field("count", &self.origins.len()).finish_non_exhaustive()
    }
}

impl Layers {
    /// Reads every source. The error lists all unreadable ones.
    pub(crate) fn read(sources: &Sources) -> Result<Self, Error> {
        let mut gathered = Gathered::default();
        let path = sources.config_file();
        // A file that is named on the command line may be a pipe on purpose.
        let text = match &sources.file {
            Some(named) => fs::read_to_string(named).map(Some),
            None => held::read(&path),
        };
        match text {
            Ok(Some(text)) => gathered.file(path, text),
            Ok(None) => {}
            Err(error) => gathered.problems.push(unreadable(&path, &error)),
        }
        gathered.environment(&sources.environment);
        gathered.settings(sources);
        gathered.merge()
    }

    /// Reads every source, with `text` in place of the file's content.
    pub(crate) fn read_with(sources: &Sources, text: String) -> Result<Self, Error> {
        let mut gathered = Gathered::default();
        gathered.file(sources.config_file(), text);
        gathered.environment(&sources.environment);
        gathered.settings(sources);
        gathered.merge()
    }

    /// Creates the layer of a file alone, with `text` as its content.
    pub(crate) fn of_file(path: &Path, text: String) -> Result<Self, Error> {
        let mut gathered = Gathered::default();
        gathered.file(path.to_owned(), text);
        gathered.merge()
    }

    /// The merged tree.
    pub(crate) fn merged(&self) -> &Value {
        &self.merged
    }

    /// The origin of a value with this tag.
    pub(crate) fn origin(&self, tag: Tag) -> &Origin {
        self.figment
            .get_metadata(tag)
            .and_then(|metadata| metadata.source.as_ref()?.custom()?.parse::<usize>().ok())
            .and_then(|index| self.origins.get(index))
            .unwrap_or(&Origin::Default)
    }

    /// The origin of the value of `key`; `None` if no layer sets it.
    pub(crate) fn origin_of(&self, key: &KeyPath) -> Option<&Origin> {
        let (origin, depth) = self.nearest_origin(key);
        (depth == key.steps().len()).then_some(origin)
    }

    /// The origin of `key`'s value, or of the nearest value above it that a layer sets, and the depth of that value.
    fn nearest_origin(&self, key: &KeyPath) -> (&Origin, usize) {
        let mut value = &self.merged;
        let mut origin = &Origin::Default;
        for (depth, step) in key.steps().iter().enumerate() {
            let next = match (step, value) {
                (Step::Key(name), Value::Dict(_, entries)) => entries.get(name),
                (Step::Index(index), Value::Array(_, items)) => items.get(*index),
                _ => None,
            };
            let Some(next) = next else { return (origin, depth) };
            value = next;
            origin = self.origin(value.tag());
        }
        (origin, key.steps().len())
    }

    /// Describes the place of `key` for a message.
    pub(crate) fn place(&self, key: &KeyPath) -> String {
        self.nearest_origin(key).0.place(key)
    }

    /// The variables that begin like those of keys and name none, because they lack the separator: `AETHON_HOME`, and slips.
    /// Without those that describe services.
    pub(crate) fn incomplete_variables(&self) -> &[String] {
        &self.incomplete_variables
    }

    /// The file among the layers, with its text.
    pub(crate) fn file(&self) -> Option<(&Path, &str)> {
        self.origins.iter().find_map(|origin| match origin {
            Origin::File { path, text } => Some((path.as_path(), text.as_str())),
            _ => None,
        })
    }
}

/// Returns whether a variable, without the prefix, is one of those with which Kubernetes describes a service to every container
/// beside it. A service called `aethon-dashboard` makes `AETHON_DASHBOARD_PORT_80_TCP`, which no owner wrote as a key.
fn describes_service(name: &str, text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if name.ends_with("_SERVICE_HOST") || name.ends_with("_SERVICE_PORT") || name.contains("_SERVICE_PORT_") {
        return true;
    }
    // The port of a key is a number, that of a service is an address.
    if name.ends_with("_PORT") && text.contains("://") {
        return true;
    }
    let part = ["_PROTO", "_PORT", "_ADDR"].iter().find_map(|ending| name.strip_suffix(ending));
    let name = part.unwrap_or(name);
    let port = ["_TCP", "_UDP", "_SCTP"].iter().find_map(|ending| name.strip_suffix(ending));
    port.and_then(|name| name.rsplit_once("_PORT_")).is_some_and(|(_, number)| is_number(number))
}

/// The layers in order before merging.
#[derive(Default)]
struct Gathered {
    layers: Vec<(Dict, Origin)>,
    problems: Vec<Problem>,
    incomplete_variables: Vec<String>,
}

impl Gathered {
    fn file(&mut self, path: PathBuf, text: String) {
        match toml::from_str::<Dict>(&text) {
            Ok(entries) => self.layers.push((entries, Origin::File { path, text })),
            // Only the parser's message: its `Display` quotes the line, which may contain a secret.
            Err(error) => self.problems.push(Problem {
                place: match error.span() {
                    Some(span) => format!("{}:{}", path.display(), line_at(&text, span.start)),
                    None => path.display().to_string(),
                },
                key: String::new(),
                found: match error.span().filter(|_| error.message().contains("duplicate key")) {
                    Some(span) => format!(
                        "a syntax error (duplicate key {})",
                        doubled_key(&text, span).unwrap_or_default()
                    ),
                    None => format!("a syntax error ({})", error.message().replace('\n', " ")),
                },
                allowed: allowed_instead(&text, error.span().map_or(0, |span| span.start)),
            }),
        }
    }

    fn environment(&mut self, environment: &[(String, String)]) {
        let (mut variables, incomplete): (Vec<_>, Vec<_>) = environment
            .iter()
            .filter(|(name, _)| name.starts_with(PREFIX))
            // Variables without the separator are no configuration keys: AETHON_HOME, AETHON_LOG.
            .partition(|(name, _)| name[PREFIX.len()..].contains(SEPARATOR));
        let is_of_owner = |(name, text): &&(String, String)| !describes_service(&name[PREFIX.len()..], text);
        self.incomplete_variables =
            incomplete.into_iter().filter(is_of_owner).map(|(name, _)| name.clone()).collect();
        // Sorting puts a whole table before its keys, whatever the order of the environment.
        variables.sort();
        for (name, text) in variables {
            let key = KeyPath::of(name[PREFIX.len()..].split(SEPARATOR).map(str::to_ascii_lowercase));
            let is_structured = text.trim_start().starts_with(['{', '[']);
            let value = if is_structured { parse_value(text) } else { None };
            self.assign(value, Assignment { key, text: text.clone() }, |assignment| Origin::Variable {
                name: name.clone(),
                assignment,
            });
        }
    }

    /// Adds the settings of the program and the flags; a flag wins.
    fn settings(&mut self, sources: &Sources) {
        for set in &sources.program {
            self.set(set, "setting of the program", Origin::Program);
        }
        for set in &sources.sets {
            self.set(set, "--set", Origin::Set);
        }
    }

    fn set(&mut self, set: &str, place: &str, origin: fn(Assignment) -> Origin) {
        let parts = set.split_once('=').and_then(|(key, text)| Some((KeyPath::parse(key)?, text.trim())));
        let Some((key, text)) = parts else {
            // What follows the key may be its value, with another sign between them.
            let is_of_key = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '"' | '\'');
            let name = &set[..set.find(|c| !is_of_key(c)).unwrap_or(set.len())];
            self.problems.push(Problem {
                place: format!("{place} {}", shown(name)),
                key: String::new(),
                found: "no KEY=VALUE".to_owned(),
                allowed: "a dotted key and a value, as in --set model.provider=ollama".to_owned(),
            });
            return;
        };
        self.assign(parse_value(text), Assignment { key, text: text.to_owned() }, origin);
    }

    fn assign(
        &mut self,
        value: Option<Value>,
        assignment: Assignment,
        origin: impl FnOnce(Assignment) -> Origin,
    ) {
        let value = value.unwrap_or_else(|| Value::from(assignment.text.as_str()));
        let keys: Vec<&str> = assignment.key.keys().collect();
        let tree = keys
            .iter()
            .rev()
            .fold(value, |inner, key| Value::Dict(Tag::Default, Dict::from([((*key).to_owned(), inner)])));
        if let Value::Dict(_, entries) = tree {
            self.layers.push((entries, origin(assignment)));
        }
    }

    fn merge(self) -> Result<Layers, Error> {
        if !self.problems.is_empty() {
            return Err(Error::new(self.problems, Vec::new()));
        }
        let mut figment = Figment::new();
        let mut origins = Vec::with_capacity(self.layers.len());
        for (index, (entries, origin)) in self.layers.into_iter().enumerate() {
            figment = figment.merge(Layer { index, entries });
            origins.push(origin);
        }
        let entries = figment
            .data()
            .map_err(|error| Error::one("configuration", error.to_string(), "layers that can be merged"))?
            .remove(&Profile::Default)
            .unwrap_or_default();
        let merged = Value::Dict(Tag::Default, entries);
        Ok(Layers { figment, origins, merged, incomplete_variables: self.incomplete_variables })
    }
}

/// One layer as a figment provider. Its number leads back to the origin of a value.
struct Layer {
    index: usize,
    entries: Dict,
}

impl Provider for Layer {
    fn metadata(&self) -> Metadata {
        Metadata::from("layer", self.index.to_string())
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        Ok(Profile::Default.collect(self.entries.clone()))
    }
}

/// Parses `text` as a TOML value.
pub(crate) fn parse_value(text: &str) -> Option<Value> {
    let parsed = toml::de::ValueDeserializer::parse(text.trim()).ok()?;
    // Spelled out because figment has a method of the same name for the opposite direction.
    <Value as serde::Deserialize>::deserialize(parsed).ok()
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    let (found, allowed) = match error.kind() {
        io::ErrorKind::NotADirectory => (
            format!("a file where a folder has to be, in {}", path.parent().unwrap_or(path).display()),
            "a folder as the home; --home names another",
        ),
        io::ErrorKind::InvalidData => {
            let (line, found) = foreign_bytes(path);
            let allowed = "a file that was saved as UTF-8; --config names another".to_owned();
            let place = line.map_or_else(String::new, |line| format!(":{line}"));
            return Problem {
                place: format!("{}{place}", path.display()),
                key: String::new(),
                found,
                allowed,
            };
        }
        io::ErrorKind::PermissionDenied => (
            format!("a file that this account may not read ({error})"),
            "a file and a folder that belong to this account; --home names another folder, --config another file",
        ),
        _ => {
            (format!("a file that cannot be read ({error})"), "a readable TOML file; --config names another")
        }
    };
    Problem { place: path.display().to_string(), key: String::new(), found, allowed: allowed.to_owned() }
}

/// Returns the line of the first byte that is not UTF-8, if there are lines, and what stands in the file instead.
fn foreign_bytes(path: &Path) -> (Option<usize>, String) {
    let bytes = match read_given(path, held::MAX_BYTES) {
        Ok(Some(contents)) => contents.bytes,
        _ => Vec::new(),
    };
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return (None, "text in UTF-16, and not in UTF-8".to_owned());
    }
    let valid = std::str::from_utf8(&bytes).err().map(|error| error.valid_up_to());
    let line = valid.map(|end| 1 + bytes[..end].iter().filter(|byte| **byte == b'\n').count());
    (line, "bytes that are not UTF-8".to_owned())
}

/// Says what to write instead of what the parser stumbled over at `offset`.
fn allowed_instead(text: &str, offset: usize) -> String {
    let line = text.lines().nth(line_at(text, offset) - 1).unwrap_or_default();
    let begin = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let is_yaml = |line: &str| {
        let Some((name, _)) = line.trim_start_matches("- ").split_once(':') else { return false };
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
        is_name && !line.contains('=')
    };
    let toml = "TOML, as in `[model]` and `provider = \"openai\"`";
    if line.contains([
        '\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}', '\u{2019}', '\u{201a}', '\u{ab}', '\u{bb}',
    ]) {
        format!("straight quotation marks (\") instead of typographic ones; {toml}")
    } else if begin.is_some_and(|line| line.starts_with('{')) {
        format!("{toml}; this looks like JSON")
    } else if begin.is_some_and(is_yaml) {
        format!("{toml}; this looks like YAML")
    } else {
        toml.to_owned()
    }
}

/// Names a key that a file sets twice, and the line that sets it first. `place` is where the parser found it again.
fn doubled_key(text: &str, place: std::ops::Range<usize>) -> Option<String> {
    let name = text.get(place.clone())?.trim();
    let is_same = |line: &str| {
        let rest = line.trim_start().trim_start_matches('[').strip_prefix(name);
        rest.is_some_and(|rest| rest.trim_start().starts_with(['=', '.', ']']))
    };
    let own_line = line_at(text, place.start) - 1;
    let is_header = |line: &str| line.trim_start().starts_with('[');
    // A key of a table is set twice in that table; the name of a table may stand anywhere above.
    let is_key = text.lines().nth(own_line).is_some_and(|line| !is_header(line));
    let lines: Vec<&str> = text.lines().take(own_line).collect();
    let from = if is_key { lines.iter().rposition(|line| is_header(line)).map_or(0, |at| at + 1) } else { 0 };
    let first = lines.iter().enumerate().skip(from).find(|(_, line)| is_same(line))?;
    Some(format!("`{name}`, which line {} sets already", first.0 + 1))
}

/// The line, counted from 1, that sets `key` or the nearest key above it.
fn line_of(text: &str, key: &KeyPath) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let root = DeValue::Table(document.into_inner());
    let mut value = &root;
    let mut offset = None;
    for step in key.steps() {
        let next = match step {
            Step::Key(name) => value
                .as_table()
                .and_then(|table| table.iter().find(|(known, _)| known.get_ref() == name))
                .map(|(known, inner)| (known.span().start, inner)),
            Step::Index(index) => {
                value.as_array().and_then(|items| items.get(*index)).map(|inner| (inner.span().start, inner))
            }
        };
        let Some((start, inner)) = next else { break };
        offset = Some(start);
        value = inner.get_ref();
    }
    offset.map(|offset| line_at(text, offset))
}

fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|&byte| byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_on_its_line() {
        let text = "# first\n[model]\nhost = \"x\"\nfallbacks = [\n  \"a\",\n  { provider = \"b\" },\n]\n\n\
                    [budget.pricing.\"gpt-5.1\"]\ninput = 1\n[channels]\nwebchat.port = 1\n";
        let check = |key: &str, expected: Option<usize>| {
            assert_eq!(line_of(text, &KeyPath::parse(key).unwrap()), expected, "{key}");
        };
        check("model", Some(2));
        check("model.host", Some(3));
        check("model.absent", Some(2));
        check("model.fallbacks", Some(4));
        check("budget.pricing.\"gpt-5.1\".input", Some(10));
        check("channels.webchat.port", Some(12));
        check("dashboard.enabled", None);
        let nested = KeyPath::of(["model", "fallbacks"]).join(Step::Index(1)).key("provider");
        assert_eq!(line_of(text, &nested), Some(6));
    }
}
