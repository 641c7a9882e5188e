//! Why a command is refused, as data and as the sentence that the model and the person read.

use std::fmt;

/// Why a command must not run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Its text contains this entry of `security.blocked_commands`.
    Contains(String),
    /// It does what this entry of `security.blocked_commands` does, in a different spelling.
    AmountsTo(String),
    /// It is on the built-in danger list, under this name.
    Danger(&'static str),
    /// It is too long, nested too deep, or expands to too much to be judged completely.
    TooInvolved,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the command was refused: ")?;
        match self {
            Self::Contains(entry) => {
                write!(f, "it contains {entry:?}, which is listed in `security.blocked_commands`")
            }
            Self::AmountsTo(entry) => {
                write!(f, "it amounts to {entry:?}, which is listed in `security.blocked_commands`")
            }
            Self::Danger(name) => write!(f, "it is on the built-in danger list as \"{name}\""),
            Self::TooInvolved => f.write_str("it is too involved to judge; run it in smaller steps"),
        }
    }
}
