//! Tries the sources of credentials in order, and caches those that cost a request.

use std::sync::{Arc, Mutex, PoisonError};

use aethon_core::clock::Clock;
use aethon_core::model::{ModelError, ModelErrorKind};
use jiff::SignedDuration;

use super::files;
use super::key_pair::Credentials;
use super::metadata::Metadata;
use crate::options::AwsEnvironment;

/// How long before their expiry credentials are renewed.
const EARLY: SignedDuration = SignedDuration::from_mins(5);
/// How long credentials without a stated expiry are kept.
const UNTOLD: SignedDuration = SignedDuration::from_mins(15);

const REMEDY: &str = "set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in \
                      ~/.aws/credentials";

/// Finds credentials.
pub(crate) struct Chain {
    environment: Arc<AwsEnvironment>,
    metadata: Metadata,
    clock: Arc<dyn Clock>,
    kept: Mutex<Option<Credentials>>,
}

impl Chain {
    pub(crate) fn new(environment: AwsEnvironment, clock: Arc<dyn Clock>) -> Self {
        let environment = Arc::new(environment);
        let metadata = Metadata::new(environment.clone());
        Self { environment, metadata, clock, kept: Mutex::new(None) }
    }

    /// Returns the credentials to use now.
    pub(crate) async fn credentials(&self) -> Result<Credentials, ModelError> {
        if let Some(credentials) = of_environment(&self.environment) {
            return Ok(credentials);
        }
        let environment = self.environment.clone();
        let read = tokio::task::spawn_blocking(move || files::credentials(&environment));
        match read.await {
            Ok(Ok(Some(credentials))) => return Ok(credentials),
            Ok(Ok(None)) => {}
            Ok(Err(sentence)) => return Err(ModelError::new(ModelErrorKind::Auth, sentence)),
            Err(error) => return Err(nothing(&error.to_string())),
        }
        self.handed_out().await
    }

    /// Returns the credentials of the container or the instance.
    async fn handed_out(&self) -> Result<Credentials, ModelError> {
        let now = self.clock.now();
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(credentials) = kept.as_ref().filter(|kept| kept.lasts(now + EARLY)) {
            return Ok(credentials.clone());
        }
        match self.metadata.fetch().await {
            Ok(mut fresh) => {
                fresh.expires = fresh.expires.or(Some(now + UNTOLD));
                *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(fresh.clone());
                Ok(fresh)
            }
            Err(why) => kept.filter(|kept| kept.lasts(now)).ok_or_else(|| nothing(&why)),
        }
    }
}

fn nothing(why: &str) -> ModelError {
    let sentence = format!("No AWS credentials were found for Amazon Bedrock; {REMEDY}.");
    ModelError::new(ModelErrorKind::Auth, sentence).with_detail(why)
}

fn of_environment(environment: &AwsEnvironment) -> Option<Credentials> {
    let access_key_id = environment.access_key_id.clone()?;
    (!environment.secret_access_key.is_empty()).then(|| Credentials {
        access_key_id,
        secret_access_key: environment.secret_access_key.clone(),
        session_token: environment.session_token.clone(),
        expires: None,
    })
}
