//! Sets up the first model of a service that has none that could answer.

use std::time::Duration;

use async_trait::async_trait;

use crate::error::Error;
use crate::secret::Secret;

/// What a person has chosen. What is empty is the provider's own.
#[derive(Debug, Clone, Default)]
pub struct ModelWish {
    /// The provider's name.
    pub provider: String,
    /// The address of its service.
    pub host: String,
    /// The region, where the service has some.
    pub region: String,
    /// The model's id.
    pub model_id: String,
    /// The key; empty where none is needed, or where the environment has it.
    pub key: Secret,
}

/// A model that has answered and is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstModel {
    /// The provider's name.
    pub provider: String,
    /// The model's id.
    pub model: String,
    /// The time to the first piece of its answer.
    pub first_token: Option<Duration>,
    /// Things worth knowing.
    pub warnings: Vec<String>,
}

/// Why a model was not set up.
#[derive(Debug, thiserror::Error)]
pub enum ModelSetupRefusal {
    /// One of the fields of the wish, and its fault.
    #[error("{0}: {1}")]
    Field(&'static str, String),
    /// It could not be done.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// Sets up the first model: whoever calls it has checked that there is none, and that the person may do it.
#[async_trait]
pub trait ModelSetup: Send + Sync {
    /// Returns the ids of the models that the service lists, else those that are known of it.
    async fn models(&self, wish: &ModelWish) -> Result<Vec<String>, ModelSetupRefusal>;

    /// Asks the model for an answer; if it gives one, keeps the key as a credential, writes the configuration and puts it in
    /// force. Otherwise nothing is changed. `by` says who it is, for the audit log.
    async fn set_up(&self, wish: &ModelWish, by: &str) -> Result<FirstModel, ModelSetupRefusal>;
}
