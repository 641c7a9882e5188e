//! The containers of one assistant at the daemon: creates, starts, lists and removes them, and pulls their images.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::client::{Client, DockerAnswer, TIMEOUT};
use super::container;
use super::machine::Machine;

/// Timeout for pulling an image.
const PULL: Duration = Duration::from_secs(600);
/// Timeout for the daemon's description of itself.
const SURVEY: Duration = Duration::from_secs(5);

/// Whether a missing image may be pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullPolicy {
    /// It is pulled.
    Missing,
    /// It is only reported.
    Never,
}

/// The containers at the daemon.
pub(super) struct Containers {
    pub(super) client: Client,
    /// Identifies the home, so that two assistants on one machine leave each other alone.
    pub(super) home: String,
    machine: OnceCell<Machine>,
}

/// A new container.
pub(super) struct Created {
    pub(super) id: String,
    /// The daemon's warnings.
    pub(super) warnings: Vec<String>,
}

/// A container in the daemon's list.
pub(super) struct Listed {
    pub(super) id: String,
    /// The process that it belongs to.
    pub(super) owner: String,
}

impl Containers {
    /// Connects to a daemon's address for this home. Contacts nothing yet.
    pub(super) fn new(host: &str, home: String) -> Self {
        Self { client: Client::new(host), home, machine: OnceCell::new() }
    }

    /// Asks whether the daemon is there; the client remembers the outcome.
    pub(super) async fn ping(&self) {
        let _ = self.client.ask("GET", "/_ping", None, SURVEY).await;
    }

    /// Returns the daemon's description of itself; asks once.
    pub(super) async fn machine(&self) -> Result<Machine, String> {
        let asked = self.machine.get_or_try_init(|| async {
            let info = self.client.ask("GET", "/info", None, SURVEY).await?;
            if info.status != 200 {
                return Err("what answers there is no docker daemon".to_owned());
            }
            Machine::read(&info.json())
        });
        asked.await.cloned()
    }

    /// Creates a container. Pulls the image if it is missing.
    pub(super) async fn create(&self, document: &Value) -> Result<Created, String> {
        let mut made = self.client.ask("POST", "/containers/create", Some(document), TIMEOUT).await?;
        if made.status == 404 {
            self.pull(document["Image"].as_str().unwrap_or_default()).await?;
            made = self.client.ask("POST", "/containers/create", Some(document), TIMEOUT).await?;
        }
        let made = made.ok()?.json();
        let warnings = made["Warnings"].as_array().cloned().unwrap_or_default();
        let warnings = warnings.iter().filter_map(|one| Some(format!("docker: {}", one.as_str()?)));
        let id = made["Id"].as_str().ok_or("docker named no container")?;
        Ok(Created { id: id.to_owned(), warnings: warnings.collect() })
    }

    /// Starts a created container.
    pub(super) async fn begin(&self, id: &str) -> Result<(), String> {
        self.client.ask("POST", &format!("/containers/{id}/start"), None, TIMEOUT).await?.ok().map(drop)
    }

    /// Makes sure that the image of commands is there. Returns a clause if it is missing and may not be pulled.
    pub(super) async fn provide_image(
        &self,
        image: &str,
        policy: PullPolicy,
    ) -> Result<Option<String>, String> {
        let found = self.client.ask("GET", &format!("/images/{image}/json"), None, TIMEOUT).await?;
        match (found.status, policy) {
            (404, PullPolicy::Missing) => {
                tracing::info!(image, "the image of the sandbox is pulled");
                self.pull(image).await.map(|()| None)
            }
            (404, PullPolicy::Never) => {
                Ok(Some(format!("the image {image} is not there yet; the start pulls it, and then tries it")))
            }
            _ => found.ok().map(|_| None),
        }
    }

    async fn pull(&self, image: &str) -> Result<(), String> {
        // The registry's name, before the last slash, may contain a port.
        let has_tag = image.rsplit('/').next().is_some_and(|last| last.contains([':', '@']));
        let tag = if has_tag { "" } else { "&tag=latest" };
        let path = format!("/images/create?fromImage={}{tag}", escaped(image));
        self.client.ask("POST", &path, None, PULL).await?.ok().map(drop).map_err(|error| {
            format!(
                "the image {image} (`security.sandbox_image`, or `image` of an MCP server) is not there and could not be \
                 fetched: {error}"
            )
        })
    }

    /// Lists the containers of this home, each with its owner.
    pub(super) async fn list(&self) -> Result<Vec<Listed>, String> {
        let filters = json!({"label": [format!("{}={}", container::HOME, self.home)]}).to_string();
        let path = format!("/containers/json?all=1&filters={}", escaped(&filters));
        let listed = self.client.ask("GET", &path, None, TIMEOUT).await?.ok()?.json();
        let listed = listed.as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let read =
            |one: &Value| Listed { id: text(&one["Id"]), owner: text(&one["Labels"][container::OWNER]) };
        Ok(listed.iter().map(read).collect())
    }

    /// Removes a container with whatever runs in it.
    pub(super) async fn remove(&self, id: &str) {
        let path = format!("/containers/{id}?force=1&v=1");
        let removed = match self.client.ask("DELETE", &path, None, TIMEOUT).await {
            // It is already gone, or being removed.
            Ok(answer) if matches!(answer.status, 404 | 409) => return,
            answer => answer.and_then(DockerAnswer::ok),
        };
        if let Err(error) = removed {
            tracing::warn!(id, error, "a container of the sandbox could not be removed");
        }
    }
}

/// Escapes a value for a query string.
fn escaped(text: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    text.bytes()
        .map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_parameters_are_escaped() {
        assert_eq!(escaped(r#"{"a":["b=/c d"]}"#), "%7B%22a%22%3A%5B%22b%3D%2Fc%20d%22%5D%7D");
    }
}
