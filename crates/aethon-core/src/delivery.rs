//! The content of a delivery to a recipient of a channel.

use std::borrow::Cow;

use jiff::Timestamp;

use crate::inbound::Attachment;
use crate::words::setters;

/// A delivery that is not stored yet.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NewDelivery {
    /// The channel.
    pub channel: String,
    /// Its recipient there; the channel's own default if absent.
    pub recipient: Option<String>,
    /// The Markdown.
    pub text: String,
    /// The files attached to it.
    pub attachments: Vec<Attachment>,
    /// The source of outside content that the text was made from, if any: the owner must not take a stranger's words
    /// for the assistant's.
    pub outside: Option<String>,
    /// Whether it is the reply that ends its turn, not an additional message that the turn sends.
    pub is_reply: bool,
    /// When it is too old to be useful.
    pub expires_at: Timestamp,
    /// Whether the same message of the same turn counts as this one: the call that sends it may have done so before a
    /// restart.
    pub is_again: bool,
}

impl NewDelivery {
    /// A text for the channel's default recipient.
    pub fn new(channel: impl Into<String>, text: impl Into<String>, expires_at: Timestamp) -> Self {
        let (channel, text) = (channel.into(), text.into());
        let (attachments, outside) = (Vec::new(), None);
        Self {
            channel,
            recipient: None,
            text,
            attachments,
            outside,
            is_reply: false,
            expires_at,
            is_again: false,
        }
    }

    setters! {
        /// Sets whether it may have been stored before.
        pub fn with_again(is_again: bool);
        /// Sets the recipient.
        pub fn with_recipient(recipient: Option<String>);
        /// Attaches files.
        pub fn with_attachments(attachments: Vec<Attachment>);
        /// Sets the source of outside content that it was made from.
        pub fn with_outside(outside: Option<String>);
        /// Sets whether it is the reply of its turn.
        pub fn as_reply(is_reply: bool);
    }

    /// Returns the text for a text-only channel: if it was made from outside content, a line above it says so.
    pub fn labelled_text(&self) -> Cow<'_, str> {
        match &self.outside {
            Some(outside) => format!("_{}_\n\n{}", made_of(outside), self.text).into(),
            None => self.text.as_str().into(),
        }
    }
}

/// The notice to a person about a text that was made from outside content.
pub fn made_of(outside: &str) -> String {
    format!("Made from content that came from outside ({outside}). Check it before you rely on it.")
}
