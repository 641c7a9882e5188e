//! One result of `doctor`: the subject of a check, its result and the remedy.

use serde::Serialize;

/// The outcome of one check.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// The subject of the check: `config`, `home`, `database`, `model`, `port`, ...
    pub area: &'static str,
    /// The result.
    pub health: Health,
    /// The result, as a sentence.
    pub message: String,
    /// The remedy.
    pub fix: Option<String>,
}

/// The health of the thing that was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// It works as it should.
    Ok,
    /// It is as configured, and worth knowing: neither praise nor a fault, so `--strict` does not count it.
    Note,
    /// It works, but deserves a look.
    Warning,
    /// It does not work.
    Broken,
}

impl Finding {
    pub(crate) fn ok(area: &'static str, message: impl Into<String>) -> Self {
        Self { area, health: Health::Ok, message: message.into(), fix: None }
    }

    pub(crate) fn note(area: &'static str, message: impl Into<String>) -> Self {
        Self { area, health: Health::Note, message: message.into(), fix: None }
    }

    pub(crate) fn warning(area: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { area, health: Health::Warning, message: message.into(), fix: Some(fix.into()) }
    }

    pub(crate) fn broken(area: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { area, health: Health::Broken, message: message.into(), fix: Some(fix.into()) }
    }
}
