//! Versions of things that several clients may change, and the expectations of a change.
//!
//! Two pages, a terminal and a tool can change the same thing. A client that changes it may name the version that it has
//! seen; the storage compares it with the present one in the step that changes it, and refuses if they differ. A
//! version covers what people change (a text, a title, the definition of a job), and nothing that the program notes
//! beside it, such as when a memory was last recalled.

use crate::error::{Error, Result};

const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// One state of something. Equal versions mean that nothing of it was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version(String);

impl Version {
    /// Derives the version from everything that can be changed (FNV-1a, the same in every program). It identifies a
    /// state and keeps nothing secret.
    pub fn of<'p>(parts: impl IntoIterator<Item = &'p str>) -> Self {
        let mut hash = OFFSET;
        for part in parts {
            // With the length of each part, no two lists of parts read the same.
            let length = (part.len() as u64).to_be_bytes();
            for byte in length.iter().chain(part.as_bytes()) {
                hash = (hash ^ u128::from(*byte)).wrapping_mul(PRIME);
            }
        }
        Self(format!("{hash:032x}"))
    }

    /// The version of this name, as a client gave it or another function derived it.
    pub fn named(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// Returns its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The expectation of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Expected {
    /// Whatever is there: the last writer wins.
    #[default]
    Anything,
    /// Something, in any version.
    Existing,
    /// One of these versions.
    OneOf(Vec<Version>),
    /// Nothing: the new thing must not replace anything.
    Nothing,
}

impl Expected {
    /// Refuses the change unless the present version, `None` if the thing is gone, is an expected one.
    pub fn check(&self, present: impl FnOnce() -> Option<Version>) -> Result<()> {
        let is_met = match self {
            Self::Anything => true,
            Self::Existing => present().is_some(),
            Self::Nothing => present().is_none(),
            Self::OneOf(versions) => present().is_some_and(|present| versions.contains(&present)),
        };
        if is_met { Ok(()) } else { Err(Error::changed_elsewhere()) }
    }

    /// Returns whether any state will do, even none.
    pub fn is_anything(&self) -> bool {
        *self == Self::Anything
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_refused_unless_the_present_version_is_expected() {
        let (seen, other) = (Version::of(["a", "b"]), Version::of(["ab"]));
        assert_ne!(seen, other, "the parts are kept apart");
        let check = |expected: Expected, present: Option<&Version>, is_met: bool| {
            let outcome = expected.check(|| present.cloned());
            assert_eq!(outcome.is_ok(), is_met, "{expected:?}, {present:?}");
            assert!(outcome.is_ok() || outcome.unwrap_err().is_changed_elsewhere());
        };
        check(Expected::Anything, None, true);
        check(Expected::Existing, None, false);
        check(Expected::Existing, Some(&other), true);
        check(Expected::OneOf(vec![seen.clone()]), Some(&seen), true);
        check(Expected::OneOf(vec![other.clone(), seen.clone()]), Some(&seen), true);
        check(Expected::OneOf(vec![seen.clone()]), Some(&other), false);
        check(Expected::OneOf(vec![seen]), None, false);
        check(Expected::OneOf(Vec::new()), Some(&other), false);
        check(Expected::Nothing, Some(&other), false);
        check(Expected::Nothing, None, true);
    }
}
