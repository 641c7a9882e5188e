//! What validation finds: problems, which reject the configuration, and warnings.

use crate::path::KeyPath;

/// A remark about a key.
#[derive(Debug)]
pub(crate) enum Remark {
    /// The configuration is rejected.
    Problem {
        /// The key.
        key: KeyPath,
        /// The value found.
        found: String,
        /// The values allowed.
        allowed: String,
    },
    /// The configuration is accepted.
    Warning {
        /// The key.
        key: KeyPath,
        /// The warning.
        message: String,
    },
}

/// The remarks so far.
#[derive(Debug, Default)]
pub(crate) struct Remarks(pub(crate) Vec<Remark>);

impl Remarks {
    /// Rejects the configuration because of this key.
    pub(crate) fn problem(&mut self, key: KeyPath, found: impl Into<String>, allowed: impl Into<String>) {
        self.0.push(Remark::Problem { key, found: found.into(), allowed: allowed.into() });
    }

    /// Warns of this key.
    pub(crate) fn warning(&mut self, key: KeyPath, message: impl Into<String>) {
        self.0.push(Remark::Warning { key, message: message.into() });
    }
}
