//! One container per conversation. It is created for the first command and removed when the conversation is reset or
//! deleted, when it has been idle for a while, when a command had to be killed, and when the program ends. Leftovers of
//! a crashed program are removed at the next start.
//!
//! A container that runs a command is taken out of the pool and put back afterwards. A call that is dropped in between
//! does not put it back: the container is removed, along with whatever ran in it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aethon_core::ids::SessionId;
use serde_json::{Value, json};
use tokio::io::AsyncWrite;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use super::client::{Client, DockerAnswer, Output, PATIENCE};
use super::container;
use crate::sandbox_limits::SandboxLimits;

/// Timeout for pulling an image.
const FETCH: Duration = Duration::from_secs(600);
/// A container idle for this long is removed.
const IDLE: Duration = Duration::from_secs(15 * 60);
/// How often to check whether a command that left its output open has ended.
const LOOK: Duration = Duration::from_millis(500);
/// How long killing a command's leftovers may take.
const SWEEP: Duration = Duration::from_secs(10);

/// The docker sandbox of one assistant. Cheap to clone; clones share it.
#[derive(Clone)]
pub struct DockerSandbox(pub(super) Arc<Pool>);

pub(super) struct Pool {
    pub(super) client: Client,
    pub(super) limits: SandboxLimits,
    workspace: PathBuf,
    /// Identifies the home, so that two assistants on one machine leave each other alone.
    home: String,
    idle: Mutex<HashMap<SessionId, Idle>>,
}

struct Idle {
    id: String,
    since: Instant,
}

/// How a command ended: its status, or `None` if it timed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) status: Option<i32>,
}

impl std::fmt::Debug for DockerSandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DockerSandbox").field("home", &self.0.home).finish_non_exhaustive()
    }
}

impl DockerSandbox {
    /// Creates the sandbox of the assistant with this home and workspace, for a daemon's address. Contacts nothing yet.
    pub fn new(host: &str, limits: SandboxLimits, home: &Path, workspace: &Path) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        Self(Arc::new(Pool {
            client: Client::new(host),
            limits,
            workspace: real(workspace),
            home: real(home).display().to_string(),
            idle: Mutex::default(),
        }))
    }

    /// Removes the containers of this home whose program is gone. Returns how many.
    pub async fn reap(&self) -> Result<usize, String> {
        let mut removed = 0;
        for (id, owner) in self.0.list().await? {
            if !is_alive(&owner) {
                self.0.remove(&id).await;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Removes the container of a conversation that is over.
    pub async fn forget(&self, session: &SessionId) {
        let idle = self.0.idle().remove(session);
        if let Some(Idle { id, .. }) = idle {
            self.0.remove(&id).await;
        }
    }

    /// Removes the containers that have been idle for a while.
    pub async fn tidy(&self) {
        for Idle { id, .. } in self.0.take_old() {
            self.0.remove(&id).await;
        }
    }

    /// Removes every container of this program.
    pub async fn close(&self) {
        let ours = owner();
        for (id, owner) in self.0.list().await.unwrap_or_default() {
            if owner == ours {
                self.0.remove(&id).await;
            }
        }
    }

    /// Runs a command and passes on what it writes. Dropping the future ends the command.
    pub(crate) async fn run(
        &self,
        session: &SessionId,
        (words, directory): (&[String], &Path),
        limit: Duration,
        mut take: impl FnMut(&[u8]) + Send,
    ) -> Result<Done, String> {
        self.hand_over().await?;
        let mut lease = ContainerLease { pool: self.0.clone(), id: Some(self.0.container(session).await?) };
        let mut exec = self.0.exec(lease.id(), words, directory).await;
        if exec.is_err() {
            // The container may have gone: somebody cleaned up, or the daemon was restarted.
            lease = ContainerLease { pool: self.0.clone(), id: Some(self.0.make().await?) };
            exec = self.0.exec(lease.id(), words, directory).await;
        }
        let (exec, output) = exec?;
        let status = self.0.follow(&exec, output, limit, &mut take).await?;
        if status.is_some() && self.0.sweep(lease.id(), directory).await {
            lease.return_to_pool(session);
        }
        Ok(Done { status })
    }

    /// If the service is root, gives the workspace to the user that commands run as.
    pub(super) async fn hand_over(&self) -> Result<(), String> {
        #[cfg(target_os = "linux")]
        if rustix::process::geteuid().is_root() {
            let workspace = self.0.workspace.clone();
            let given = move || crate::confine::hand_over(&workspace, container::user());
            let given = tokio::task::spawn_blocking(given).await.map_err(|error| error.to_string())?;
            return given.map_err(|error| format!("the workspace cannot be given to the sandbox: {error}"));
        }
        Ok(())
    }
}

impl Pool {
    fn idle(&self) -> MutexGuard<'_, HashMap<SessionId, Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the containers that have been idle for long out of the pool.
    fn take_old(&self) -> Vec<Idle> {
        let mut idle = self.idle();
        let old: Vec<SessionId> = idle
            .iter()
            .filter(|(_, idle)| idle.since.elapsed() > IDLE)
            .map(|(name, _)| name.clone())
            .collect();
        old.iter().filter_map(|name| idle.remove(name)).collect()
    }

    /// Returns the container of a conversation, or a new one. Also removes those that have been idle for long.
    async fn container(&self, session: &SessionId) -> Result<String, String> {
        let own = self.idle().remove(session);
        for Idle { id, .. } in self.take_old() {
            self.remove(&id).await;
        }
        match own {
            Some(Idle { id, .. }) => Ok(id),
            None => self.make().await,
        }
    }

    /// Creates and starts a container. Pulls the image if it is missing.
    async fn make(&self) -> Result<String, String> {
        let id = self.create(&self.document(&self.limits)).await?;
        if let Err(error) = self.begin(&id).await {
            self.remove(&id).await;
            return Err(error);
        }
        Ok(id)
    }

    /// Returns the document for a container of this home with these limits.
    pub(super) fn document(&self, limits: &SandboxLimits) -> Value {
        container::document(limits, &self.workspace, &self.home, &owner())
    }

    /// Creates a container. Pulls the image if it is missing.
    pub(super) async fn create(&self, document: &Value) -> Result<String, String> {
        let mut made = self.client.ask("POST", "/containers/create", Some(document), PATIENCE).await?;
        if made.status == 404 {
            self.fetch(document["Image"].as_str().unwrap_or_default()).await?;
            made = self.client.ask("POST", "/containers/create", Some(document), PATIENCE).await?;
        }
        let made = made.ok()?.json();
        Ok(made["Id"].as_str().ok_or("docker named no container")?.to_owned())
    }

    /// Starts a created container.
    pub(super) async fn begin(&self, id: &str) -> Result<(), String> {
        self.client.ask("POST", &format!("/containers/{id}/start"), None, PATIENCE).await?.ok().map(drop)
    }

    async fn fetch(&self, image: &str) -> Result<(), String> {
        // The registry's name, before the last slash, may contain a port.
        let has_tag = image.rsplit('/').next().is_some_and(|last| last.contains([':', '@']));
        let tag = if has_tag { "" } else { "&tag=latest" };
        let path = format!("/images/create?fromImage={}{tag}", escaped(image));
        self.client.ask("POST", &path, None, FETCH).await?.ok().map(drop).map_err(|error| {
            format!(
                "the image {image} (`security.sandbox_image`, or `image` of an MCP server) is not there and could not be \
                 fetched: {error}"
            )
        })
    }

    async fn exec(&self, id: &str, words: &[String], directory: &Path) -> Result<(String, Running), String> {
        let wanted = json!({
            "AttachStdout": true, "AttachStderr": true, "Cmd": words, "WorkingDir": directory.display().to_string(),
        });
        let made = self
            .client
            .ask("POST", &format!("/containers/{id}/exec"), Some(&wanted), PATIENCE)
            .await?
            .ok()?;
        let exec = made.json()["Id"].as_str().ok_or("docker named no command")?.to_owned();
        let how = json!({"Detach": false, "Tty": false});
        let (output, input) = self.client.attach(&format!("/exec/{exec}/start"), Some(&how)).await?;
        Ok((exec, Running { output, _input: input }))
    }

    /// Reads until the command has ended; `None` if it times out first.
    async fn follow(
        &self,
        exec: &str,
        mut running: Running,
        limit: Duration,
        take: &mut (impl FnMut(&[u8]) + Send),
    ) -> Result<Option<i32>, String> {
        let deadline = Instant::now() + limit;
        let output = &mut running.output;
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        looks.reset();
        loop {
            tokio::select! {
                () = sleep_until(deadline) => return Ok(None),
                piece = output.next() => match piece.map_err(|error| format!("docker broke off: {error}"))? {
                    Some((_, piece)) => take(&piece),
                    None => return self.status(exec).await.map(|status| status.or(Some(-1))),
                },
                // Its background processes may keep the output open.
                _ = looks.tick() => if let Some(status) = self.status(exec).await? {
                    while let Ok(Ok(Some((_, piece)))) = timeout(Duration::from_millis(100), output.next()).await {
                        take(&piece);
                        if Instant::now() > deadline {
                            break;
                        }
                    }
                    return Ok(Some(status));
                },
            }
        }
    }

    /// Returns the status of a command; `None` while it is running.
    async fn status(&self, exec: &str) -> Result<Option<i32>, String> {
        let state = self.client.ask("GET", &format!("/exec/{exec}/json"), None, PATIENCE).await?.ok()?.json();
        if state["Running"] == Value::Bool(true) {
            return Ok(None);
        }
        Ok(state["ExitCode"].as_i64().and_then(|code| i32::try_from(code).ok()))
    }

    /// Kills what a command has left behind. Returns `false` if the container is no longer usable.
    async fn sweep(&self, id: &str, directory: &Path) -> bool {
        let words = ["/bin/sh", "-c", "kill -KILL -1"].map(str::to_owned);
        let swept = async {
            let (_, mut running) = self.exec(id, &words, directory).await.ok()?;
            while running.output.next().await.ok()?.is_some() {}
            Some(())
        };
        matches!(timeout(SWEEP, swept).await, Ok(Some(())))
    }

    /// Lists the containers of this home, each with its owner.
    async fn list(&self) -> Result<Vec<(String, String)>, String> {
        let filters = json!({"label": [format!("{}={}", container::HOME, self.home)]}).to_string();
        let path = format!("/containers/json?all=1&filters={}", escaped(&filters));
        let listed = self.client.ask("GET", &path, None, PATIENCE).await?.ok()?.json();
        let listed = listed.as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(listed.iter().map(|one| (text(&one["Id"]), text(&one["Labels"][container::OWNER]))).collect())
    }

    pub(super) async fn remove(&self, id: &str) {
        let path = format!("/containers/{id}?force=1&v=1");
        let removed = match self.client.ask("DELETE", &path, None, PATIENCE).await {
            // It is already gone, or being removed.
            Ok(answer) if matches!(answer.status, 404 | 409) => return,
            answer => answer.and_then(DockerAnswer::ok),
        };
        if let Err(error) = removed {
            tracing::warn!(id, error, "a container of the sandbox could not be removed");
        }
    }
}

/// A running command.
struct Running {
    output: Output,
    /// Kept open: a daemon takes a closed direction for a client that left.
    _input: Box<dyn AsyncWrite + Send + Unpin>,
}

/// A container that runs a command. If dropped before it is returned to the pool, the container is removed.
pub(super) struct ContainerLease {
    pub(super) pool: Arc<Pool>,
    pub(super) id: Option<String>,
}

impl ContainerLease {
    fn id(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }

    fn return_to_pool(mut self, session: &SessionId) {
        let Some(id) = self.id.take() else { return };
        let before = self.pool.idle().insert(session.clone(), Idle { id, since: Instant::now() });
        // Another command of the conversation was returned first: one container is enough.
        self.id = before.map(|before| before.id);
    }
}

impl Drop for ContainerLease {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let pool = self.pool.clone();
        // When the program ends there is no runtime any more; `close` and the next start remove the rest.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { pool.remove(&id).await });
        }
    }
}

/// Identifies this process, even after its pid is reused.
fn owner() -> String {
    let id = std::process::id();
    format!("{id}:{}", started_at(id).unwrap_or_default())
}

fn is_alive(owner: &str) -> bool {
    let Some((id, started)) = owner.split_once(':') else { return false };
    id.parse().is_ok_and(|id| {
        started_at(id).unwrap_or_default() == started && Path::new(&format!("/proc/{id}")).exists()
    })
}

/// Returns the start time of a living process.
fn started_at(id: u32) -> Option<String> {
    start_of(&std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
}

/// Parses the start time of a process: the 22nd field, after a name that may contain spaces. A process that has ended
/// but was not reaped yet (`Z`, `X`) has none.
fn start_of(stat: &str) -> Option<String> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let lives = !matches!(fields.next()?, "Z" | "X");
    fields.nth(18).filter(|_| lives).map(str::to_owned)
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
    fn the_owner_of_a_container_is_alive_as_long_as_this_very_process() {
        assert!(is_alive(&owner()));
        assert!(!is_alive("4294967294:1"));
        let other = format!("{}:1", std::process::id());
        assert!(!is_alive(&other), "another process had the number before");
        assert!(!is_alive(""));
    }

    #[test]
    fn a_process_that_only_waits_to_be_collected_is_not_alive() {
        let stat = |state: &str| {
            format!(
                "7 (a ) b) {state} {} 4242 0",
                (1..=18).map(|n| n.to_string()).collect::<Vec<_>>().join(" ")
            )
        };
        assert_eq!(start_of(&stat("S")).as_deref(), Some("4242"));
        assert_eq!(start_of(&stat("Z")), None);
    }

    #[test]
    fn what_stands_in_a_query_is_escaped() {
        assert_eq!(escaped(r#"{"a":["b=/c d"]}"#), "%7B%22a%22%3A%5B%22b%3D%2Fc%20d%22%5D%7D");
    }
}
