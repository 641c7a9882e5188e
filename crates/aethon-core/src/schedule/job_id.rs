//! The id of a job.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::parsed_text;

/// The id of a job: 1 to 64 letters, digits, `-`, `_` and `.`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(inline, extend("minLength" = 1, "maxLength" = 64, "pattern" = "^[A-Za-z0-9._-]+$"))]
pub struct JobId(String);

/// The text is not a valid job id.
#[derive(Debug, Clone, thiserror::Error)]
#[error("use 1 to 64 letters, digits, `-`, `_` and `.`")]
pub struct InvalidJobId;

impl JobId {
    /// Validates an id.
    pub fn parse(id: &str) -> Result<Self, InvalidJobId> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let is_id =
            (1..=64).contains(&id.len()) && id.bytes().all(plain) && id.bytes().any(|byte| byte != b'.');
        if is_id { Ok(Self(id.to_owned())) } else { Err(InvalidJobId) }
    }

    /// Creates a unique id.
    pub fn fresh() -> Self {
        let unique = crate::ids::unique();
        Self(format!("job-{}", &unique[unique.len() - 12..]))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

parsed_text!(shown JobId, InvalidJobId);
