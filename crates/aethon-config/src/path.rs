//! The dotted name of a key.
//!
//! Names of models and hosts contain dots and slashes, so a step may be quoted as in TOML:
//! `budget.pricing."gpt-5.1".input`.

use std::fmt;

use serde_json::Value;

use crate::echo::shown;

/// One step towards a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Into a table.
    Key(String),
    /// Into a list.
    Index(usize),
}

/// A full key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyPath(Vec<Step>);

impl KeyPath {
    /// Creates a path of table keys only.
    pub(crate) fn of<S: AsRef<str>>(keys: impl IntoIterator<Item = S>) -> Self {
        Self(keys.into_iter().map(|key| Step::Key(key.as_ref().to_owned())).collect())
    }

    /// Parses `a.b."c.d"`. `None` if a step is empty or a quote is not closed.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut steps = Vec::new();
        let mut rest = text.trim();
        loop {
            let (step, after) = match rest.chars().next().filter(|&first| first == '"' || first == '\'') {
                Some(quote) => rest[1..].split_once(quote)?,
                None => rest.split_at(rest.find('.').unwrap_or(rest.len())),
            };
            let (step, after) =
                (if rest.starts_with(['"', '\'']) { step } else { step.trim() }, after.trim());
            if step.is_empty() {
                return None;
            }
            steps.push(Step::Key(step.to_owned()));
            match after.strip_prefix('.') {
                Some(next) => rest = next.trim_start(),
                None if after.is_empty() => return Some(Self(steps)),
                None => return None,
            }
        }
    }

    /// The steps, from the root.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The table keys among the steps.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Index(_) => None,
        })
    }

    /// The value at this path of table keys.
    pub(crate) fn find<'v>(&self, whole: &'v Value) -> Option<&'v Value> {
        self.keys().try_fold(whole, |value, key| value.get(key))
    }

    /// Returns whether it names the whole configuration.
    pub(crate) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether it is `other` or lies below it.
    pub(crate) fn is_within(&self, other: &KeyPath) -> bool {
        self.0.starts_with(&other.0)
    }

    /// The path for a message, without a key that may be a credential in the wrong place.
    pub(crate) fn shown(&self) -> String {
        let steps = self.0.iter().map(|step| match step {
            Step::Key(key) => Step::Key(shown(key).to_owned()),
            Step::Index(index) => Step::Index(*index),
        });
        Self(steps.collect()).to_string()
    }

    /// The path extended by one step.
    pub(crate) fn join(&self, step: Step) -> Self {
        Self(self.0.iter().cloned().chain([step]).collect())
    }

    /// The path extended by one table key.
    pub(crate) fn key(&self, key: &str) -> Self {
        self.join(Step::Key(key.to_owned()))
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            let dot = if position == 0 { "" } else { "." };
            match step {
                Step::Key(key) if is_bare(key) => write!(f, "{dot}{key}")?,
                Step::Key(key) => write!(f, "{dot}{key:?}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

fn is_bare(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_and_printed_as_toml_writes_it() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(KeyPath::parse(text).map(|path| path.to_string()).as_deref(), expected, "{text}");
        };
        check("model.provider", Some("model.provider"));
        check(" model . provider ", Some("model.provider"));
        check("budget.pricing.\"gpt-5.1\".input", Some("budget.pricing.\"gpt-5.1\".input"));
        check("budget.pricing.'openai/gpt-5'.input", Some("budget.pricing.\"openai/gpt-5\".input"));
        check("model", Some("model"));
        check("", None);
        check("model.", None);
        check(".model", None);
        check("model..host", None);
        check("model.\"open", None);
        check("model.\"a\"b", None);
    }
}
