//! Credentials from the environment the program runs in: a container's endpoint, or an instance's metadata service,
//! version 2, which requires a token first.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::secret::Secret;
use serde::Deserialize;
use ureq::http::{HeaderName, HeaderValue};
use url::{Host, Url};

use super::key_pair::Credentials;
use crate::options::AwsEnvironment;
use crate::transport::{Client, Method, Outgoing};

/// These endpoints are on the same machine or link. Where they do not exist, nothing answers.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The most that is read of a response.
const MAX_LEN: usize = 64 * 1024;
const CONTAINER: &str = "http://169.254.170.2";
const INSTANCE: &str = "http://169.254.169.254";
const ROLES: &str = "/latest/meta-data/iam/security-credentials/";

/// Requests credentials.
pub(super) struct Metadata {
    environment: Arc<AwsEnvironment>,
    client: Client,
}

/// The response of both endpoints.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct RoleCredentials {
    access_key_id: String,
    secret_access_key: Secret,
    #[serde(default)]
    token: Option<Secret>,
    expiration: Option<String>,
}

impl Metadata {
    pub(super) fn new(environment: Arc<AwsEnvironment>) -> Self {
        // Never through a proxy.
        Self { environment, client: Client::new(TIMEOUT, true) }
    }

    /// Requests new credentials. An error says why there are none, for the log.
    pub(super) async fn fetch(&self) -> Result<Credentials, String> {
        let environment = &self.environment;
        if let Some(path) = &environment.container_relative_uri {
            if !path.starts_with('/') {
                return Err("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with a slash".into());
            }
            return self.container(&format!("{CONTAINER}{path}")).await;
        }
        if let Some(url) = &environment.container_full_uri {
            check_container(url)?;
            return self.container(url).await;
        }
        if environment.metadata_disabled {
            return Err("instance metadata is disabled".into());
        }
        self.instance().await
    }

    async fn container(&self, url: &str) -> Result<Credentials, String> {
        let mut headers = Vec::new();
        let token = self.container_token().await?;
        if !token.is_empty() {
            headers.push(("authorization", token));
        }
        read(&self.ask(Method::Get, url, headers).await?)
    }

    async fn container_token(&self) -> Result<Secret, String> {
        let Some(path) = self.environment.container_token_file.clone() else {
            return Ok(self.environment.container_token.clone());
        };
        // The file is rewritten from time to time, so it is read each time.
        let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(path)).await;
        let token = read.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        Ok(Secret::new(token.trim()))
    }

    async fn instance(&self) -> Result<Credentials, String> {
        let base = self.environment.metadata_endpoint.as_deref().unwrap_or(INSTANCE).trim_end_matches('/');
        let lifetime = ("x-aws-ec2-metadata-token-ttl-seconds", Secret::new("21600"));
        let token = self.ask(Method::Put, &format!("{base}/latest/api/token"), vec![lifetime]).await?;
        let token = ("x-aws-ec2-metadata-token", Secret::new(token));
        let roles = self.ask(Method::Get, &format!("{base}{ROLES}"), vec![token.clone()]).await?;
        let role = roles.lines().next().map(str::trim).filter(|role| !role.is_empty());
        let role = role.ok_or("the instance has no role")?;
        read(&self.ask(Method::Get, &format!("{base}{ROLES}{role}"), vec![token]).await?)
    }

    async fn ask(
        &self,
        method: Method,
        url: &str,
        headers: Vec<(&'static str, Secret)>,
    ) -> Result<String, String> {
        let mut outgoing = Outgoing { method, url: url.to_owned(), headers: Vec::new(), body: Vec::new() };
        for (name, value) in headers {
            let value =
                HeaderValue::from_str(value.expose()).map_err(|_| format!("{name} cannot be sent"))?;
            outgoing.headers.push((HeaderName::from_static(name), value));
        }
        let answer = self.client.send(outgoing).await;
        let mut answer = answer.map_err(|failure| format!("{url}: {}", failure.cause()))?;
        let body = answer.body.read(MAX_LEN).await;
        if answer.status != 200 {
            return Err(format!("{url} answered {}", answer.status));
        }
        String::from_utf8(body).map_err(|_| format!("{url} did not answer with text"))
    }
}

fn read(answer: &str) -> Result<Credentials, String> {
    // The parse error is withheld, because it may quote a secret.
    let answer: RoleCredentials =
        serde_json::from_str(answer).map_err(|_| "the response holds no credentials")?;
    Ok(Credentials {
        access_key_id: answer.access_key_id,
        secret_access_key: answer.secret_access_key,
        session_token: answer.token.unwrap_or_default(),
        expires: answer.expiration.and_then(|at| at.parse().ok()),
    })
}

/// Allows plain http to a container endpoint only on the same machine or link, where no one can listen in.
fn check_container(url: &str) -> Result<(), String> {
    let parsed = Url::parse(url).map_err(|error| format!("AWS_CONTAINER_CREDENTIALS_FULL_URI: {error}"))?;
    let is_near = match parsed.host() {
        Some(Host::Ipv4(address)) => {
            address.is_loopback() || matches!(address.octets(), [169, 254, 170, 2 | 23])
        }
        Some(Host::Ipv6(address)) => {
            address.is_loopback() || address.segments() == [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23]
        }
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    if parsed.scheme() == "https" || (parsed.scheme() == "http" && is_near) {
        Ok(())
    } else {
        Err(format!("AWS_CONTAINER_CREDENTIALS_FULL_URI {url} is neither https nor on this machine"))
    }
}
