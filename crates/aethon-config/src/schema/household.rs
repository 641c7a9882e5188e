//! `[household]`: the people who share the assistant.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The people who share the assistant.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Household {
    /// The people by name, each of lower-case letters, digits, `-` and `_`; `owner` is the owner. As soon as one is listed,
    /// senders not listed here are guests and share nothing with anyone.
    pub people: BTreeMap<String, HouseholdPerson>,
}

/// A person.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HouseholdPerson {
    /// The senders who are this person, each as `CHANNEL:SENDER`. This does not admit them: see `security.allowed_senders`.
    pub senders: Vec<String>,
    /// The name of one conversation for the private messages of all these senders. People with the same name share it. Empty:
    /// each chat is a separate conversation.
    pub conversation: String,
    /// The tools that this person may use in private chats, besides those for everyone and those in `security.guest_tools`.
    pub tools: Vec<String>,
}
