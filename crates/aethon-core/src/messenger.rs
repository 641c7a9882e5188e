//! How a messenger is used: options that the owner sets in the configuration and the channels follow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a reply is shown while it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Streaming {
    /// A message that is edited as the reply grows.
    #[default]
    Edit,
    /// A draft that grows, and then the whole reply as a message: private chats of Telegram. On Telegram only.
    Draft,
    /// A stream of Slack's own, which grows at its end. On Slack only.
    Native,
    /// The reply is sent when it is whole.
    Off,
}

/// Which messages of a group are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GroupMode {
    /// Those that mention the assistant, and replies to it.
    #[default]
    Mention,
    /// All of them.
    All,
    /// None of them: the assistant is for private chats only.
    Off,
}

/// Whether a message is acknowledged before it is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Acknowledge {
    /// No.
    #[default]
    Off,
    /// By a reaction of the assistant's, while the answer is on its way.
    Reaction,
}

/// How a sender who is not in `security.allowed_senders` can request access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pairing {
    /// With a code that `aethon-cli channels pair NAME` has made.
    #[default]
    Invite,
    /// By asking: the stranger gets a code, which the owner confirms.
    Request,
    /// Not at all.
    Off,
}

/// The reply to unknown senders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
// Programs that read the schema of the configuration know the definition by this name.
#[schemars(rename = "Strangers")]
pub enum UnknownSenderPolicy {
    /// None.
    #[default]
    Silence,
    /// One sentence a day, which tells nothing about the assistant.
    Once,
}
