//! AWS settings from the environment, as values: this crate reads no variables itself.

use std::path::PathBuf;

use aethon_core::header_value::{CleanedKey, cleaned_key};
use aethon_core::secret::Secret;

/// The variables that AWS's own tools read, as far as they are supported here.
#[derive(Debug, Clone, Default)]
pub struct AwsEnvironment {
    /// `AWS_ACCESS_KEY_ID`.
    pub access_key_id: Option<String>,
    /// `AWS_SECRET_ACCESS_KEY`.
    pub secret_access_key: Secret,
    /// `AWS_SESSION_TOKEN`.
    pub session_token: Secret,
    /// `AWS_BEARER_TOKEN_BEDROCK`.
    pub bearer_token: Secret,
    /// `AWS_PROFILE`.
    pub profile: Option<String>,
    /// `AWS_REGION`, else `AWS_DEFAULT_REGION`. A configured region takes precedence over both.
    pub region: Option<String>,
    /// `AWS_SHARED_CREDENTIALS_FILE`.
    pub shared_credentials_file: Option<PathBuf>,
    /// `AWS_CONFIG_FILE`.
    pub config_file: Option<PathBuf>,
    /// `HOME`, the usual parent of the two files.
    pub user_home: Option<PathBuf>,
    /// `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI`.
    pub container_relative_uri: Option<String>,
    /// `AWS_CONTAINER_CREDENTIALS_FULL_URI`.
    pub container_full_uri: Option<String>,
    /// `AWS_CONTAINER_AUTHORIZATION_TOKEN`.
    pub container_token: Secret,
    /// `AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE`.
    pub container_token_file: Option<PathBuf>,
    /// `AWS_EC2_METADATA_SERVICE_ENDPOINT`.
    pub metadata_endpoint: Option<String>,
    /// Whether `AWS_EC2_METADATA_DISABLED` is `true`.
    pub metadata_disabled: bool,
}

impl AwsEnvironment {
    /// Reads the variables through the given function. An empty variable counts as unset.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let text = |name: &str| {
            variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        // Pasted with its quotation marks, a credential would only fail as a wrong signature.
        let key = |name: &str| {
            text(name).map(|value| match cleaned_key(&value) {
                CleanedKey { removed, .. } if removed.is_empty() => value,
                CleanedKey { key, .. } => key,
            })
        };
        let secret = |name: &str| key(name).map(Secret::new).unwrap_or_default();
        let path = |name: &str| text(name).map(PathBuf::from);
        Self {
            access_key_id: key("AWS_ACCESS_KEY_ID"),
            secret_access_key: secret("AWS_SECRET_ACCESS_KEY"),
            session_token: secret("AWS_SESSION_TOKEN"),
            bearer_token: secret("AWS_BEARER_TOKEN_BEDROCK"),
            profile: text("AWS_PROFILE"),
            region: text("AWS_REGION").or_else(|| text("AWS_DEFAULT_REGION")),
            shared_credentials_file: path("AWS_SHARED_CREDENTIALS_FILE"),
            config_file: path("AWS_CONFIG_FILE"),
            user_home: path("HOME"),
            container_relative_uri: text("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
            container_full_uri: text("AWS_CONTAINER_CREDENTIALS_FULL_URI"),
            container_token: secret("AWS_CONTAINER_AUTHORIZATION_TOKEN"),
            container_token_file: path("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
            metadata_endpoint: text("AWS_EC2_METADATA_SERVICE_ENDPOINT"),
            metadata_disabled: text("AWS_EC2_METADATA_DISABLED")
                .is_some_and(|value| value.eq_ignore_ascii_case("true")),
        }
    }

    /// Returns the values that must never be shown.
    pub fn secrets(&self) -> [&Secret; 4] {
        [&self.secret_access_key, &self.session_token, &self.bearer_token, &self.container_token]
    }

    /// Returns the name of the profile to use.
    pub(crate) fn profile_name(&self) -> &str {
        self.profile.as_deref().unwrap_or("default")
    }
}
