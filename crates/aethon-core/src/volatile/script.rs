//! What a test wants of the in-memory storage, and what was called.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::testkit::Gate;

/// What a test has asked for, and what it may query.
#[derive(Default)]
pub(super) struct Script {
    pub(super) calls: Vec<&'static str>,
    pub(super) failures: BTreeMap<&'static str, (usize, Failing)>,
    /// Whether all writes fail.
    pub(super) is_out: bool,
    /// Where the end of a turn waits before it is stored.
    pub(super) before_finish: Option<Gate>,
}

/// What a failure looks like.
#[derive(Clone, Copy)]
pub(super) enum Failing {
    /// The storage is temporarily unavailable.
    Passing,
    /// The program has a bug.
    Fault,
}

/// The methods that write.
const WRITES: [&str; 10] =
    ["accept", "begin", "append", "finish", "settle", "rename", "clear", "post", "import", "mark_read"];

impl Script {
    /// Notes the call of a method, and makes it fail if the test wants that.
    pub(super) fn follow(&mut self, method: &'static str) -> Result<()> {
        self.calls.push(method);
        if self.is_out && WRITES.contains(&method) {
            return Err(Error::unavailable("the storage was told to fail"));
        }
        match self.failures.get_mut(method) {
            Some((times, failing)) if *times > 0 => {
                *times -= 1;
                let message = format!("{method} was told to fail");
                Err(match failing {
                    Failing::Passing => Error::unavailable(message),
                    Failing::Fault => Error::internal(message),
                })
            }
            _ => Ok(()),
        }
    }
}
