//! A finding of a `tidy` rule: the place, the rule, the problem and the remedy.

use std::fmt;

/// One problem to fix.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Path from the root of the workspace, with `/` on every platform.
    pub(crate) path: String,
    /// Line, from 1; 0 for the whole file.
    pub(crate) line: usize,
    /// Name of the rule, to look up in `tidy::rules`.
    pub(crate) rule: &'static str,
    /// The problem.
    pub(crate) message: String,
    /// The remedy.
    pub(crate) remedy: &'static str,
}

impl Finding {
    /// A finding of `rule` at a line of a file.
    pub(crate) fn new(
        rule: &'static str,
        path: &str,
        line: usize,
        message: impl Into<String>,
        remedy: &'static str,
    ) -> Self {
        Self { path: path.to_owned(), line, rule, message: message.into(), remedy }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {} ({})\n    remedy: {}",
            self.path,
            self.line.max(1),
            self.message,
            self.rule,
            self.remedy
        )
    }
}
