//! What is known while a command is walked through: variables, functions, files that it wrote, and data flow.
//!
//! After a branch a variable may have one of several values; here it then has all of them.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::marks::UNKNOWN;
use super::meter::Meter;
use super::refusal::Refusal;
use super::word::{List, Stage};

/// The possible values of something; never empty.
pub(super) type Texts = Vec<String>;

/// The most possible values of one thing.
const MAX_VALUES: usize = 32;
/// Variables that the shell or the tool sets to values unknown here.
const SET_ELSEWHERE: &[&str] = &[
    "PATH",
    "LANG",
    "TERM",
    "TMPDIR",
    "SHELL_CALL_ID",
    "PWD",
    "OLDPWD",
    "UID",
    "EUID",
    "PPID",
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "LINENO",
    "HOSTNAME",
    "HOSTTYPE",
    "MACHTYPE",
    "OSTYPE",
    "BASHPID",
    "BASHOPTS",
    "SHELLOPTS",
    "SHLVL",
    "BASH_VERSION",
    "BASH_VERSINFO",
    "BASH_COMMAND",
    "BASH_SOURCE",
    "BASH_EXECUTION_STRING",
    "FUNCNAME",
    "EPOCHSECONDS",
    "EPOCHREALTIME",
    "PIPESTATUS",
    "DIRSTACK",
    "GROUPS",
    "OPTIND",
    "OPTARG",
    "REPLY",
    "BASH_SUBSHELL",
    "COLUMNS",
    "LINES",
    "_",
    "?",
    "$",
    "!",
    "-",
];

/// A value: elements by key. What is not an array has a single element with the key `0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Value(pub(super) Vec<(String, String)>);

impl Value {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self(vec![("0".to_owned(), text.into())])
    }

    /// An array with keys from this number on.
    pub(super) fn array(elements: Vec<String>, first: usize) -> Self {
        Self(elements.into_iter().enumerate().map(|(at, text)| ((at + first).to_string(), text)).collect())
    }

    /// Returns the element with this key.
    pub(super) fn get(&self, key: &str) -> &str {
        self.0.iter().find(|(own, _)| own == key).map_or("", |(_, text)| text)
    }

    /// Returns the size of its texts in bytes.
    pub(super) fn size(&self) -> usize {
        self.0.iter().map(|(key, text)| key.len() + text.len()).sum()
    }
}

/// What is known of the shell.
#[derive(Debug, Clone, Default)]
pub(super) struct ShellState {
    variables: BTreeMap<String, Rc<Vec<Value>>>,
    /// Names that refer to others: `declare -n`.
    references: BTreeMap<String, String>,
    pub(super) functions: BTreeMap<String, Vec<Rc<Stage>>>,
    /// The current directory, if it is known.
    pub(super) folders: Rc<Vec<Option<String>>>,
    pub(super) traps: Vec<Rc<str>>,
}

impl ShellState {
    fn resolved<'a>(&'a self, name: &'a str) -> &'a str {
        self.references.get(name).map_or(name, String::as_str)
    }

    pub(super) fn refer(&mut self, name: &str, target: &str) {
        if name != target && !self.references.contains_key(target) {
            self.references.insert(name.to_owned(), target.to_owned());
        }
    }

    /// Returns the possible values of a variable.
    pub(super) fn get(&self, name: &str, home: &str) -> Rc<Vec<Value>> {
        let name = self.resolved(name);
        if let Some(known) = self.variables.get(name) {
            return Rc::clone(known);
        }
        let text = match name {
            "HOME" => home.to_owned(),
            "SHELL" | "BASH" => "/bin/bash".to_owned(),
            "0" | "BASH_ARGV0" => "bash".to_owned(),
            "PS4" => "+ ".to_owned(),
            "IFS" => " \t\n".to_owned(),
            name if SET_ELSEWHERE.contains(&name) => UNKNOWN.to_string(),
            "@" => return Rc::new(vec![Value(Vec::new())]),
            _ => String::new(),
        };
        Rc::new(vec![Value::text(text)])
    }

    pub(super) fn is_set(&self, name: &str) -> bool {
        self.variables.contains_key(self.resolved(name))
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Rc<Vec<Value>>> {
        self.variables.remove(name)
    }

    pub(super) fn put(&mut self, name: &str, values: Option<Rc<Vec<Value>>>) {
        match values {
            Some(values) => self.variables.insert(name.to_owned(), values),
            None => self.variables.remove(name),
        };
    }

    /// Sets the possible values of a variable.
    pub(super) fn set(
        &mut self,
        name: &str,
        mut values: Vec<Value>,
        meter: &mut Meter,
    ) -> Result<(), Refusal> {
        values.sort();
        values.dedup();
        meter.bytes(name.len() + values.iter().map(Value::size).sum::<usize>())?;
        if values.len() > MAX_VALUES {
            return Err(Refusal::TooInvolved);
        }
        let name = self.resolved(name).to_owned();
        self.variables.insert(name, Rc::new(values));
        Ok(())
    }

    /// Returns a copy, and charges for it.
    pub(super) fn copied(&self, meter: &mut Meter) -> Result<Self, Refusal> {
        meter.steps(1)?;
        meter.bytes((self.variables.len() + self.functions.len() + self.traps.len()) * 8)?;
        Ok(self.clone())
    }

    /// Merges two states: what may be known after a branch.
    pub(super) fn join(&mut self, other: Self, meter: &mut Meter) -> Result<(), Refusal> {
        let names: Vec<String> = other.variables.keys().chain(self.variables.keys()).cloned().collect();
        meter.steps(1 + names.len() / 4)?;
        for name in names {
            if matches!((self.variables.get(&name), other.variables.get(&name)), (Some(own), Some(others)) if own == others)
            {
                continue;
            }
            let own = self.get(&name, "~");
            let others = other.get(&name, "~");
            let values = own.iter().chain(others.iter()).cloned().collect();
            self.set(&name, values, meter)?;
        }
        for (name, bodies) in other.functions {
            let own = self.functions.entry(name).or_default();
            let new = bodies.into_iter().filter(|body| !own.iter().any(|known| Rc::ptr_eq(known, body)));
            let new: Vec<_> = new.collect();
            own.extend(new);
        }
        self.references.extend(other.references);
        if self.folders != other.folders {
            let folders: Vec<_> = self.folders.iter().chain(other.folders.iter()).cloned().collect();
            self.folders = Rc::new(folders);
        }
        for trap in other.traps {
            if !self.traps.contains(&trap) {
                self.traps.push(trap);
            }
        }
        Ok(())
    }

    /// Returns the names whose values differ.
    pub(super) fn changed(&self, before: &Self) -> Vec<String> {
        let differs = |name: &&String| self.variables.get(*name) != before.variables.get(*name);
        self.variables.keys().filter(differs).cloned().collect()
    }
}

/// Where output goes.
#[derive(Debug, Clone)]
pub(super) enum Sink {
    /// To the caller: a pipe, a substitution, the terminal.
    Pipe,
    /// To somewhere nobody reads it as text.
    Lost,
    /// Into files.
    Files(Vec<String>),
    /// To commands: `>(…)`.
    Process(Rc<List>),
}

/// Inputs and outputs by descriptor.
#[derive(Debug, Clone)]
pub(super) struct Streams {
    pub(super) inputs: BTreeMap<u32, Rc<Texts>>,
    pub(super) sinks: BTreeMap<u32, Sink>,
}

impl Default for Streams {
    fn default() -> Self {
        let sinks = BTreeMap::from([(1, Sink::Pipe), (2, Sink::Lost)]);
        Self { inputs: BTreeMap::from([(0, Rc::new(vec![UNKNOWN.to_string()]))]), sinks }
    }
}

/// Files that the command wrote, and programs that it copied, on any branch.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) texts: BTreeMap<String, Texts>,
    pub(super) programs: BTreeMap<String, String>,
    pub(super) processes: BTreeMap<String, Rc<List>>,
}

/// Each of these followed by each of those; an unknown if that is too many.
pub(super) fn concatenated(mut before: Texts, after: &Texts, meter: &mut Meter) -> Result<Texts, Refusal> {
    if let ([first], [second]) = (before.as_mut_slice(), after.as_slice()) {
        meter.bytes(second.len())?;
        first.push_str(second);
        return Ok(before);
    }
    if before.len() == 1 && before[0].is_empty() {
        return Ok(after.clone());
    }
    if before.len() * after.len() > MAX_VALUES {
        return Ok(vec![super::marks::made_from(before.iter().chain(after))]);
    }
    let mut texts = Vec::with_capacity(before.len() * after.len());
    for first in &before {
        for second in after {
            meter.bytes(first.len() + second.len())?;
            texts.push(format!("{first}{second}"));
        }
    }
    texts.sort();
    texts.dedup();
    Ok(texts)
}

/// These values or those.
pub(super) fn either(mut texts: Texts, others: Texts) -> Texts {
    for other in others {
        if !texts.contains(&other) {
            texts.push(other);
        }
    }
    if texts.len() > MAX_VALUES {
        return vec![super::marks::made_from(&texts)];
    }
    texts
}
