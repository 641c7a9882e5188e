//! Delivery to the chat page: output of jobs and webhooks becomes messages of a session, shown at once to everyone
//! who has it open.

use std::sync::Arc;

use aethon_core::assistant::{Assistant, Posting};
use aethon_core::channel::{Channel, Delivery, DeliveryError};
use aethon_core::error::Error;
use aethon_core::ids::SessionId;
use async_trait::async_trait;

use super::hub::Hub;

/// The session for deliveries without a recipient.
pub(super) const DEFAULT_SESSION: &str = "default";

/// The channel `webchat`. A recipient is the name of a session.
pub struct WebChat {
    assistant: Arc<dyn Assistant>,
    hub: Arc<Hub>,
}

impl WebChat {
    /// Creates the channel over this assistant and hub.
    pub fn new(assistant: Arc<dyn Assistant>, hub: Arc<Hub>) -> Self {
        Self { assistant, hub }
    }
}

#[async_trait]
impl Channel for WebChat {
    fn name(&self) -> &str {
        "webchat"
    }

    fn check_recipient(&self, recipient: Option<&str>) -> Result<(), Error> {
        session(recipient).map(drop)
    }

    async fn send(&self, delivery: &Delivery) -> Result<(), DeliveryError> {
        let session = session(delivery.content.recipient.as_deref())
            .map_err(|error| DeliveryError::lasting(error.to_string()))?;
        let (key, posting) = (format!("outbox:{}", delivery.id), Posting::of(&delivery.content));
        let posted = self.assistant.post(&session, &key, &posting).await;
        let is_new = posted.map_err(|error| match error.is_invalid() {
            true => DeliveryError::lasting(error.to_string()),
            false => DeliveryError::passing(error.to_string()),
        })?;
        if is_new {
            self.hub.announce(&session, &posting);
        }
        Ok(())
    }
}

/// Returns the chat session of this name, if the name is valid.
pub(super) fn session_named(name: &str) -> Option<SessionId> {
    SessionId::of("webchat", name).ok()
}

fn session(recipient: Option<&str>) -> Result<SessionId, Error> {
    let named = SessionId::of("webchat", recipient.unwrap_or(DEFAULT_SESSION));
    named.map_err(|error| Error::invalid(error.to_string()))
}
