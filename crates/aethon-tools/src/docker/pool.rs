//! One container per conversation and trust. It is created for the first command and removed when the conversation is
//! reset or deleted, when it has been idle for a while, when too many are idle, when a command had to be killed or ran out
//! of memory, and when the program ends. Leftovers of a crashed program are removed at the next start.
//!
//! A container that runs a command is taken out of the pool and put back afterwards. A call that is dropped in between
//! does not put it back: the container is removed, along with whatever ran in it. A command that outlives its call has a
//! container of its own, because everything in a container is killed between two commands.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aethon_core::ids::SessionId;
use aethon_core::turn::Trust;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::container::{self, Labels, Place};
use super::containers::{Containers, Created, Listed};
use super::covers;
use super::exec::{Ended, Room};
use super::idle::{Idle, IdleContainers};
use super::owner::{is_alive, owner};
use crate::sandbox_limits::{SandboxLimits, amount};

/// Timeout for looking at the mounts of a new container.
const LOOK: Duration = Duration::from_secs(10);

/// The docker sandbox of one assistant. Cheap to clone; clones share it.
#[derive(Clone)]
pub struct DockerSandbox(pub(super) Arc<Pool>);

pub(super) struct Pool {
    pub(super) containers: Containers,
    pub(super) limits: SandboxLimits,
    workspace: PathBuf,
    find_parts: Box<FindParts>,
    idle: Mutex<IdleContainers>,
}

/// Finds the parts of the workspace with this real path that strangers' turns may change now. Blocks.
pub(super) type FindParts = dyn Fn(&Path) -> Vec<PathBuf> + Send + Sync;

/// The folders of an assistant.
pub(super) struct Folders<'f> {
    pub(super) home: &'f Path,
    pub(super) workspace: &'f Path,
    pub(super) find_parts: Box<FindParts>,
}

/// How a command ended: its status, or `None` if it timed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) status: Option<i32>,
    /// What happened to the command or its container besides, in a sentence.
    pub(crate) note: Option<String>,
}

/// The container of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandContainer {
    /// That of its conversation, in which it is the only command.
    OfConversation,
    /// One of its own, which is removed after it.
    Own,
}

/// A command, and for whom it runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContainerCommand<'c> {
    pub(crate) session: &'c SessionId,
    /// Whose words began the turn.
    pub(crate) trust: Trust,
    /// The container that it runs in.
    pub(crate) container: CommandContainer,
    pub(crate) words: &'c [String],
    pub(crate) directory: &'c Path,
    /// When everything has to be over, whatever the daemon does.
    pub(crate) limit: Duration,
}

impl std::fmt::Debug for DockerSandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DockerSandbox").field("home", &self.0.containers.home).finish_non_exhaustive()
    }
}

impl DockerSandbox {
    /// Creates the sandbox for a daemon's address. Contacts nothing yet.
    pub(super) fn at(host: &str, limits: SandboxLimits, folders: Folders<'_>) -> Self {
        Self(Arc::new(Pool {
            containers: Containers::new(host, real(folders.home).display().to_string()),
            limits,
            workspace: folders.workspace.to_path_buf(),
            find_parts: folders.find_parts,
            idle: Mutex::default(),
        }))
    }

    /// Returns the address of the daemon.
    pub fn host(&self) -> &str {
        self.0.containers.client.host()
    }

    /// Returns why the daemon did not answer the last request; `None` if it did.
    pub fn fault(&self) -> Option<String> {
        self.0.containers.client.fault()
    }

    /// Asks whether the daemon is still there, so that [`Self::fault`] is up to date.
    pub async fn ping(&self) {
        self.0.containers.ping().await;
    }

    /// Removes the containers of this home whose program is gone. Returns how many.
    pub async fn reap(&self) -> Result<usize, String> {
        let mut removed = 0;
        for Listed { id, owner } in self.0.containers.list().await? {
            if !is_alive(&owner) {
                self.0.containers.remove(&id).await;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Removes the containers of a conversation that is over.
    pub async fn forget(&self, session: &SessionId) {
        let idle = self.0.with_idle(|idle| idle.take_session(session));
        self.0.remove_all(idle).await;
    }

    /// Removes the containers that have been idle for a while.
    pub async fn tidy(&self) {
        let idle = self.0.with_idle(IdleContainers::take_old);
        self.0.remove_all(idle).await;
    }

    /// Removes every container of this program.
    pub async fn close(&self) {
        let ours = owner();
        for Listed { id, owner } in self.0.containers.list().await.unwrap_or_default() {
            if owner == ours {
                self.0.containers.remove(&id).await;
            }
        }
    }

    /// Runs a command and passes on its output. Dropping the future ends the command. Whatever the daemon does, the
    /// call is over soon after the command's limit.
    pub(crate) async fn run(
        &self,
        command: ContainerCommand<'_>,
        mut take: impl FnMut(&[u8]) + Send,
    ) -> Result<Done, String> {
        let deadline = Instant::now() + command.limit;
        let mut explanation = String::new();
        // A command that has not begun may be tried once more, in a new container: the old one may have been stopped,
        // removed or filled.
        for attempt in [Attempt::First, Attempt::InNewContainer] {
            let leased = match timeout_at(deadline, self.lease(command, attempt)).await {
                Ok(leased) => leased?,
                Err(_) => return Ok(Done::late()),
            };
            let room = leased.room();
            match room.run(command.words, command.directory, deadline, &mut take).await {
                Ended::NotBegun(why) => explanation = why,
                Ended::TimedOut => return Ok(Done { status: None, note: None }),
                Ended::Status(status) => return Ok(self.finish(leased, command, status).await),
                Ended::Lost(error) => {
                    let died = leased.room().was_out_of_memory().await;
                    let why = if died {
                        self.0.out_of_memory()
                    } else {
                        format!("its container has ended: {error}")
                    };
                    return Ok(Done { status: Some(137), note: Some(why) });
                }
            }
        }
        Err(format!("docker could not run the command: {explanation}"))
    }

    /// Sweeps a container after a command, and returns it to the pool if that is proved and memory did not run out.
    async fn finish(&self, mut leased: ContainerLease, command: ContainerCommand<'_>, status: i32) -> Done {
        let swept = leased.room().sweep(command.directory).await;
        let has_run_out = match swept {
            Some(swept) => swept.killed > leased.killed,
            None => status == 137 && leased.room().was_out_of_memory().await,
        };
        let is_shared = command.container == CommandContainer::OfConversation;
        if let Some(swept) = swept.filter(|_| is_shared && !has_run_out) {
            leased.killed = swept.killed;
            leased.return_to_pool(command.session, command.trust);
        }
        Done { status: Some(status), note: has_run_out.then(|| self.0.out_of_memory()) }
    }

    /// Returns a container for a command. A new one is created in a task of its own, so that a call that is cut off
    /// interrupts neither a pull nor the cleanup after it.
    async fn lease(&self, command: ContainerCommand<'_>, attempt: Attempt) -> Result<ContainerLease, String> {
        self.hand_over().await?;
        let pool = self.0.clone();
        let is_shared = command.container == CommandContainer::OfConversation;
        let (own, old) = pool.with_idle(|idle| {
            let own = is_shared.then(|| idle.take(command.session, command.trust)).flatten();
            (own, idle.take_old())
        });
        if !old.is_empty() {
            let pool = pool.clone();
            tokio::spawn(async move { pool.remove_all(old).await });
        }
        match own {
            Some(own) if attempt == Attempt::First => {
                let lease = ContainerLease::reused(&pool, own);
                // Something may have been made since that acts later, or that may be changed. Dropping the lease removes
                // the container.
                if command.trust.is_owner() || lease.is_current().await {
                    return Ok(lease);
                }
            }
            Some(own) => drop(ContainerLease::reused(&pool, own)),
            None => {}
        }
        let trust = command.trust;
        let made = tokio::spawn(async move { pool.make(trust).await });
        made.await.map_err(|error| error.to_string())?
    }

    /// If the service is root, gives the workspace to the user that commands run as.
    pub(super) async fn hand_over(&self) -> Result<(), String> {
        #[cfg(target_os = "linux")]
        if rustix::process::geteuid().is_root() {
            let machine = self.0.containers.machine().await?;
            if !machine.needs_hand_over() {
                return Ok(());
            }
            let workspace = real(&self.0.workspace);
            let given = move || crate::confine::hand_over(&workspace, machine.user());
            let given = tokio::task::spawn_blocking(given).await.map_err(|error| error.to_string())?;
            return given.map_err(|error| format!("the workspace cannot be given to the sandbox: {error}"));
        }
        Ok(())
    }
}

/// Which attempt to run a command it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    First,
    InNewContainer,
}

impl Done {
    fn late() -> Self {
        let note = "the command had not begun: the docker daemon did not provide a container in time";
        Self { status: None, note: Some(note.into()) }
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

impl Pool {
    fn with_idle<T>(&self, act: impl FnOnce(&mut IdleContainers) -> T) -> T {
        act(&mut self.idle.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the workspace by its real path.
    pub(super) fn workspace(&self) -> Option<PathBuf> {
        Some(real(&self.workspace)).filter(|path| path.is_absolute())
    }

    /// Creates and starts a container. In one for words that are not the owner's, what acts later is read-only.
    pub(super) async fn make(self: Arc<Self>, trust: Trust) -> Result<ContainerLease, String> {
        if trust.is_owner() {
            return self.make_with(None).await;
        }
        match self.make_with(Some(self.parts().await?)).await {
            // A part may have gone while the daemon was about to mount it.
            Err(_) => self.make_with(Some(self.parts().await?)).await,
            made => made,
        }
    }

    async fn make_with(self: &Arc<Self>, parts: Option<Vec<PathBuf>>) -> Result<ContainerLease, String> {
        let workspace = real(&self.workspace);
        let document = self.document(&self.limits, Some(&workspace), parts.as_deref()).await?;
        let Created { id, .. } = self.containers.create(&document).await?;
        // From here on, any early exit removes the container.
        let lease = ContainerLease::new(self, id);
        self.containers.begin(lease.id()).await?;
        if let Some(parts) = parts {
            lease.verify(&workspace, &parts).await?;
        }
        Ok(lease)
    }

    /// Returns the parts of the workspace that strangers' turns may change now.
    async fn parts(self: &Arc<Self>) -> Result<Vec<PathBuf>, String> {
        let pool = self.clone();
        let found = tokio::task::spawn_blocking(move || (pool.find_parts)(&real(&pool.workspace)));
        found.await.map_err(|error| error.to_string())
    }

    /// Returns the document for a container of this home with these limits.
    pub(super) async fn document(
        &self,
        limits: &SandboxLimits,
        workspace: Option<&Path>,
        parts: Option<&[PathBuf]>,
    ) -> Result<Value, String> {
        let (machine, owner) = (self.containers.machine().await?, owner());
        let place = Place {
            workspace,
            labels: Labels { home: &self.containers.home, owner: &owner },
            user: machine.user(),
            is_remapped: machine.is_remapped,
            parts,
        };
        Ok(container::document(limits, place))
    }

    /// Says that a command ran out of memory.
    fn out_of_memory(&self) -> String {
        format!(
            "the command needed more memory than security.sandbox_memory ({}), to which files in /tmp and /dev/shm count, so \
             the kernel ended processes; the next command gets a new container with an empty /tmp",
            amount(self.limits.memory)
        )
    }

    async fn remove_all(&self, idle: Vec<Idle>) {
        for Idle { id, .. } in idle {
            self.containers.remove(&id).await;
        }
    }
}

/// A container that runs a command. If dropped before it is returned to the pool, the container is removed.
pub(super) struct ContainerLease {
    pool: Arc<Pool>,
    id: Option<String>,
    /// How many of its processes the kernel has ended for want of memory so far.
    killed: u64,
}

impl ContainerLease {
    pub(super) fn new(pool: &Arc<Pool>, id: String) -> Self {
        Self { pool: pool.clone(), id: Some(id), killed: 0 }
    }

    fn reused(pool: &Arc<Pool>, idle: Idle) -> Self {
        Self { pool: pool.clone(), id: Some(idle.id), killed: idle.killed }
    }

    fn id(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }

    /// Verifies that only these parts of the workspace can be changed in the container.
    async fn verify(&self, workspace: &Path, parts: &[PathBuf]) -> Result<(), String> {
        let listed = covers::as_listed(workspace);
        let (mounts, _) = self.room().probe(covers::LIST_MOUNTS, &[&listed], Path::new("/"), LOOK).await?;
        covers::verify(workspace, parts, &mounts)
    }

    /// Returns whether exactly what may be changed now can be changed in the container.
    async fn is_current(&self) -> bool {
        let Ok(parts) = self.pool.parts().await else { return false };
        self.verify(&real(&self.pool.workspace), &parts).await.is_ok()
    }

    fn room(&self) -> Room<'_> {
        Room { client: &self.pool.containers.client, id: self.id() }
    }

    /// Removes the container now.
    pub(super) async fn remove(mut self) {
        if let Some(id) = self.id.take() {
            self.pool.containers.remove(&id).await;
        }
    }

    fn return_to_pool(mut self, session: &SessionId, trust: Trust) {
        let Some(id) = self.id.take() else { return };
        let surplus = self.pool.with_idle(|idle| idle.put(session, trust, Idle::now(id, self.killed)));
        for one in surplus {
            drop(Self::reused(&self.pool, one));
        }
    }
}

impl Drop for ContainerLease {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let pool = self.pool.clone();
        // When the program ends there is no runtime any more; `close` and the next start remove the rest.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { pool.containers.remove(&id).await });
        }
    }
}
