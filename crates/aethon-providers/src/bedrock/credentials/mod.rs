//! What to sign with: environment, shared files, container, instance, in the order of AWS's own tools.
//!
//! Files are read anew each time, because other tools rewrite them when they renew what is in them. What a container or
//! an instance hands out is kept until shortly before it expires; when renewing fails then, the old one is used while it
//! lasts. Roles to assume, single sign-on and helper programs are not followed; a profile that needs them says so.

mod files;
mod metadata;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

use aethon_core::clock::Clock;
use aethon_core::model::{ModelError, ModelErrorKind};
use aethon_core::secret::Secret;
use jiff::{SignedDuration, Timestamp};

use crate::options::{AwsEnvironment, Options};
use metadata::Metadata;

/// How long before they expire credentials are renewed.
const EARLY: SignedDuration = SignedDuration::from_mins(5);
/// How long credentials are kept whose end is not told.
const UNTOLD: SignedDuration = SignedDuration::from_mins(15);

const REMEDY: &str = "set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in \
                      ~/.aws/credentials";

/// A key pair, with its token where it is a temporary one.
#[derive(Debug, Clone)]
pub(crate) struct Credentials {
    pub(crate) access_key_id: String,
    pub(crate) secret_access_key: Secret,
    pub(crate) session_token: Secret,
    pub(crate) expires: Option<Timestamp>,
}

impl Credentials {
    fn lasts(&self, until: Timestamp) -> bool {
        self.expires.is_none_or(|expires| expires > until)
    }
}

/// Finds credentials.
pub(super) struct Chain {
    environment: Arc<AwsEnvironment>,
    metadata: Metadata,
    clock: Arc<dyn Clock>,
    kept: Mutex<Option<Credentials>>,
}

impl Chain {
    pub(super) fn new(environment: AwsEnvironment, clock: Arc<dyn Clock>) -> Self {
        let environment = Arc::new(environment);
        let metadata = Metadata::new(environment.clone());
        Self { environment, metadata, clock, kept: Mutex::new(None) }
    }

    /// The credentials to use now.
    pub(super) async fn credentials(&self) -> Result<Credentials, ModelError> {
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

    /// What the container or the instance hands out.
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

/// The options with the region and the bearer key in their places, or a sentence that says what to set.
pub(crate) fn resolve(options: &Options) -> Result<Options, String> {
    let mut options = options.clone();
    options.region = Some(region(&options)?);
    if options.api_key.is_empty() {
        options.api_key = options.aws.bearer_token.clone();
    }
    Ok(options)
}

/// `model.region`, else the environment's, else the profile's, else the one in the model's ARN.
pub(crate) fn region(options: &Options) -> Result<String, String> {
    let given = |region: &Option<String>| region.clone().filter(|region| !region.trim().is_empty());
    let found = given(&options.region)
        .or_else(|| given(&options.aws.region))
        .or_else(|| files::region(&options.aws))
        .or_else(|| arn_region(&options.model_id))
        .ok_or(
            "No region is set for Amazon Bedrock; set model.region or the environment variable AWS_REGION.",
        )?;
    let region = found.trim().to_owned();
    // It becomes part of a host name.
    let is_word =
        region.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if is_word { Ok(region) } else { Err(format!("`{region}` is not a region of AWS; set model.region.")) }
}

fn arn_region(model: &str) -> Option<String> {
    let mut parts = model.split(':');
    (parts.next() == Some("arn"))
        .then(|| parts.nth(2).map(str::to_owned))?
        .filter(|region| !region.is_empty())
}
