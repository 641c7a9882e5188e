//! Identifiers of sessions, agents, turns and messages.
//!
//! Each is its own type, validated once when it enters the program, so that later code need not check it again. All of
//! them are strings on the wire.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::parsed_text;

/// The longest session id, in bytes.
pub const MAX_SESSION_ID: usize = 200;

/// How the name of a temporary session begins.
const TEMPORARY: &str = "temporary-";

/// A session's id, `channel:name`, such as `webchat:default` or `webhook:trigger:0198…`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(inline, extend("minLength" = 3, "maxLength" = 200))]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// Validates an id: at most [`MAX_SESSION_ID`] bytes, no control characters, a channel before the first colon.
    pub fn parse(id: &str) -> Result<Self, InvalidId> {
        let (channel, name) = id.split_once(':').ok_or_else(|| InvalidId::new("session id", id))?;
        let plain = id.len() <= MAX_SESSION_ID && !id.chars().any(char::is_control);
        if plain && is_channel_name(channel) && !name.trim().is_empty() {
            Ok(Self(id.into()))
        } else {
            Err(InvalidId::new("session id", id))
        }
    }

    /// Builds the id of the session `name` in `channel`.
    pub fn of(channel: &str, name: &str) -> Result<Self, InvalidId> {
        Self::parse(&format!("{channel}:{name}"))
    }

    /// Returns the whole id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the channel that the session belongs to: the part before the first colon.
    pub fn channel(&self) -> &str {
        self.0.split_once(':').map_or("", |(channel, _)| channel)
    }

    /// Returns the id with a number behind it, shortened if it would be too long.
    #[must_use]
    pub fn numbered(&self, number: u32) -> Self {
        let suffix = format!("-{number}");
        let mut end = self.0.len().min(MAX_SESSION_ID - suffix.len());
        while !self.0.is_char_boundary(end) {
            end -= 1;
        }
        Self(format!("{}{suffix}", &self.0[..end]).into())
    }

    /// Creates the id of a new [temporary](Self::is_temporary) session in `channel`, named after what it is for.
    pub fn temporary(channel: &str, purpose: Option<&str>) -> Result<Self, InvalidId> {
        let purpose = purpose.map_or_else(String::new, |purpose| format!("{purpose}:"));
        Self::parse(&format!("{channel}:{purpose}{TEMPORARY}{}", unique()))
    }

    /// Returns whether what is said in this session is kept in memory only: it is one of the chat, or a specialist's, and its
    /// name, or the part behind the last colon, is `temporary-` with 32 hexadecimal digits in lower case.
    ///
    /// No other channel has such sessions: who writes to a webhook chooses its session, and must not choose that the owner
    /// does not find it.
    pub fn is_temporary(&self) -> bool {
        let name = self.0.rsplit(':').next().unwrap_or_default();
        name.strip_prefix(TEMPORARY).is_some_and(is_unique) && matches!(self.channel(), "webchat" | "agent")
    }

    /// Returns the part after the first colon.
    pub fn name(&self) -> &str {
        self.0.split_once(':').map_or("", |(_, name)| name)
    }
}

parsed_text!(SessionId, InvalidId);

/// Whether `name` is a valid channel name: 1 to 64 lower-case letters, digits, `-` and `_`.
fn is_channel_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_'))
}

/// The agent for every message that names no other.
const MAIN_AGENT: &str = "main";

/// The name of an agent: 1 to 64 lower-case letters, digits, `-` and `_`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(inline)]
pub struct AgentName(Arc<str>);

impl AgentName {
    /// Validates a name.
    pub fn parse(name: &str) -> Result<Self, InvalidAgentName> {
        if is_channel_name(name) {
            Ok(Self(name.into()))
        } else {
            Err(InvalidAgentName(name.chars().take(80).collect()))
        }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether this is the agent that answers when no other is named.
    pub fn is_main(&self) -> bool {
        &*self.0 == MAIN_AGENT
    }
}

parsed_text!(AgentName, InvalidAgentName);

impl Default for AgentName {
    fn default() -> Self {
        Self(MAIN_AGENT.into())
    }
}

/// The text is not a valid agent name.
#[derive(Debug, Clone, thiserror::Error)]
#[error("agent name {0:?} is not valid: use 1 to 64 lower-case letters, digits, `-` and `_`")]
pub struct InvalidAgentName(String);

/// The id of a turn: a message of a person (or a webhook, a job), and everything done to answer it. Ids grow with time
/// (UUID v7).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct TurnId(Arc<str>);

impl TurnId {
    /// Creates a new id, larger than all earlier ones.
    pub fn fresh() -> Self {
        Self(unique().into())
    }

    /// Wraps an id read from the storage or named by a client. It refers to nothing if it is not one of ours.
    pub fn existing(id: &str) -> Self {
        Self(id.into())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The number of a stored message within the database, which grows with time. A string on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema)]
#[schemars(inline, extend("pattern" = "^[0-9]+$"))]
pub struct MessageId(#[schemars(with = "String")] pub i64);

impl Serialize for MessageId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// Returns a new unique id that grows with time (UUID v7 in its simple form of 32 hexadecimal digits).
pub fn unique() -> String {
    #[cfg(feature = "testkit")]
    if let Some(word) = crate::testkit::counted_word() {
        return word;
    }
    uuid::Uuid::now_v7().simple().to_string()
}

/// Returns whether a text has the form of what [`unique`] returns: 32 hexadecimal digits in lower case.
pub fn is_unique(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

/// The text is not a valid id.
#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "{what} {found:?} is not valid: use `channel:name`, at most {MAX_SESSION_ID} bytes, without control characters"
)]
pub struct InvalidId {
    what: &'static str,
    found: String,
}

impl InvalidId {
    fn new(what: &'static str, found: &str) -> Self {
        Self { what, found: found.chars().take(80).collect() }
    }
}

macro_rules! text_id {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}
text_id!(SessionId);
text_id!(TurnId);
text_id!(AgentName);

impl std::str::FromStr for SessionId {
    type Err = InvalidId;
    fn from_str(id: &str) -> Result<Self, InvalidId> {
        Self::parse(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_has_a_channel_and_a_name() {
        let check = |id: &str, expected: Option<(&str, &str)>| {
            let parsed = SessionId::parse(id).ok();
            assert_eq!(parsed.as_ref().map(|id| (id.channel(), id.name())), expected, "{id:?}");
        };
        check("webchat:default", Some(("webchat", "default")));
        check("webhook:trigger:abc", Some(("webhook", "trigger:abc")));
        check("webchat:Ünï çode", Some(("webchat", "Ünï çode")));
        check("webchat:", None);
        check("webchat:  ", None);
        check("default", None);
        check(":x", None);
        check("Web chat:x", None);
        check("webchat:a\nb", None);
        check(&format!("webchat:{}", "x".repeat(200)), None);
    }

    #[test]
    fn a_temporary_session_is_known_by_its_name() {
        let digits = "0123456789abcdef0123456789abcdef";
        let check = |id: &str, expected: bool| {
            assert_eq!(SessionId::parse(id).unwrap().is_temporary(), expected, "{id}");
        };
        check(&format!("webchat:temporary-{digits}"), true);
        check(&format!("agent:researcher:temporary-{digits}"), true);
        check("webchat:temporary-plan", false);
        check(&format!("webchat:temporary-{}", digits.to_uppercase()), false);
        check(&format!("webchat:temporary-{digits}0"), false);
        check(&format!("webchat:not-temporary-{digits}"), false);
        check(&format!("temporary-{digits}:a"), false);
        check(&format!("webhook:temporary-{digits}"), false);
        assert!(SessionId::temporary("webchat", None).unwrap().is_temporary());
        assert!(SessionId::temporary("agent", Some("researcher")).unwrap().is_temporary());
    }

    #[test]
    fn turn_ids_grow() {
        let (first, second) = (TurnId::fresh(), TurnId::fresh());
        assert!(first < second);
    }
}
