//! `[household]`: the people who share the assistant.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The people who share the assistant.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Household {
    /// Each person by a name of lower-case letters, digits, `-` and `_`; `owner` is the owner. As soon as there is one, a
    /// sender who is nobody here is a guest, who shares nothing with anybody.
    pub people: BTreeMap<String, HouseholdPerson>,
}

/// A person.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HouseholdPerson {
    /// The senders who are this person, each `CHANNEL:SENDER`. Being named here lets nobody in: see
    /// `security.allowed_senders`.
    pub senders: Vec<String>,
    /// A name for one conversation in which the private messages of all these senders go on. People who give the same name
    /// share it. Empty: each chat is a conversation of its own.
    pub conversation: String,
    /// The tools that this person may use in private, beyond those of everybody and of `security.guest_tools`.
    pub tools: Vec<String>,
}
