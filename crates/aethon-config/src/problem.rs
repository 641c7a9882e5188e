//! Problems of a configuration, in words for the person who wrote it.
//!
//! All problems are reported at once. The values of secrets never appear: where a string is expected, a wrong value is
//! described by its type only, and a value from a reference is shown as the reference.

use std::fmt;

/// A problem: the source, the key, the value found and the values allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The source: file and line, environment variable, or `--set`.
    pub place: String,
    /// The full key; empty if the source as a whole is at fault.
    pub key: String,
    /// The value found.
    pub found: String,
    /// The values allowed.
    pub allowed: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "found {}; allowed: {}", self.found, self.allowed)
    }
}

/// A warning, which does not prevent loading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The source: file and line, environment variable, or `--set`.
    pub place: String,
    /// The full key.
    pub key: String,
    /// The warning.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.place, self.key, self.message)
    }
}

/// Why a configuration was rejected: all problems, one per line.
#[derive(Clone, Debug)]
pub struct Error {
    problems: Vec<Problem>,
    warnings: Vec<Warning>,
}

impl Error {
    pub(crate) fn new(problems: Vec<Problem>, warnings: Vec<Warning>) -> Self {
        Self { problems, warnings }
    }

    pub(crate) fn one(
        place: impl fmt::Display,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Self {
        let problem = Problem {
            place: place.to_string(),
            key: String::new(),
            found: found.into(),
            allowed: allowed.into(),
        };
        Self::new(vec![problem], Vec::new())
    }

    /// All problems.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The warnings that loading would have given; an unknown key is often the cause of a problem.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns whether a problem concerns `key` or a key below it.
    pub fn is_about(&self, key: &str) -> bool {
        self.problems.iter().any(|problem| {
            problem.key.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.problems.iter().enumerate() {
            let separator = if position == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
