//! Programs that run beside the assistant and are talked to over pipes, such as MCP servers.
//!
//! They are started like commands: in the sandbox that `security.sandbox` names, or else inside the walls, in a session
//! of their own, with a watcher that ends all of it when this program ends, however that happens. Their environment is
//! `PATH`, `HOME` and the locale, plus the owner's settings. Containers are left to `docker`.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use aethon_core::program::{Program, ProgramLife, Programs, RunningProgram};
use aethon_core::sandbox::Sandbox;
use aethon_core::turn::Trust;
use async_trait::async_trait;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::oneshot;

use crate::confine::Confinement;
use crate::docker::DockerSandbox;
use crate::options::{Options, USUAL_PATH};
use crate::sandbox::{KernelSandbox, STEP_VARIABLE};
use crate::shell::{ExitKind, Group, Launch, Running, Streams, program, start};

/// Starts programs inside the walls.
pub struct ConfinedPrograms {
    directory: PathBuf,
    environment: Vec<(String, String)>,
    setsid: Option<PathBuf>,
    confinement: Arc<Confinement>,
    /// The kernel sandbox, if commands run in it.
    kernel: Option<Arc<KernelSandbox>>,
    /// Whether commands run in containers.
    in_docker: bool,
    docker: Option<DockerSandbox>,
}

impl ConfinedPrograms {
    /// Creates a starter with the walls of these options. `locale` has the locale variables except `LANG`.
    pub fn new(options: &Options, locale: &[(String, String)]) -> Self {
        let shell = &options.shell;
        let path = shell.path.clone().unwrap_or_else(|| USUAL_PATH.to_owned());
        let home = shell.home.as_ref().and_then(|home| home.to_str()).map(str::to_owned);
        let own = [("PATH", Some(path.clone())), ("HOME", home), ("LANG", shell.lang.clone())];
        let own = own.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Self {
            directory: options.workspace.clone(),
            environment: own.chain(locale.iter().cloned()).collect(),
            setsid: program("setsid", &format!("{path}:{USUAL_PATH}")),
            confinement: Arc::new(Confinement::new(options)),
            kernel: (shell.sandbox == Sandbox::Kernel).then(|| Arc::new(KernelSandbox::new(options))),
            in_docker: shell.sandbox == Sandbox::Docker,
            docker: options.docker.clone(),
        }
    }

    /// Returns the command prefix for a program in the kernel sandbox, or `None` if it does not run there.
    async fn before(&self, program: &Program) -> io::Result<Option<Vec<OsString>>> {
        let (Some(kernel), Some(wish)) = (&self.kernel, &program.sandbox) else { return Ok(None) };
        let kernel = match &wish.network {
            Some(network) => Arc::new(kernel.with_network(network)),
            None => kernel.clone(),
        };
        let directory = self.directory.clone();
        let words = tokio::task::spawn_blocking(move || kernel.words(&directory, Trust::Owner)).await;
        words.map_err(io::Error::other)?.map(Some)
    }
}

#[async_trait]
impl Programs for ConfinedPrograms {
    async fn start(&self, program: &Program) -> io::Result<RunningProgram> {
        if let Some(wish) = program.sandbox.as_ref().filter(|_| self.in_docker) {
            let none = || io::Error::other("there is no docker sandbox (`security.sandbox`)");
            let docker = self.docker.as_ref().ok_or_else(none)?;
            return docker.start(program, wish).await.map_err(io::Error::other);
        }
        let given = program.environment.iter().map(|(name, value)| (name.clone(), value.expose().to_owned()));
        let words = std::iter::once(&program.command).chain(&program.args).map(OsString::from);
        let before = self.before(program).await?;
        let is_sandboxed = before.is_some();
        let step = is_sandboxed.then(|| (STEP_VARIABLE.0.to_owned(), STEP_VARIABLE.1.to_owned()));
        // The sandbox step changes to the directory itself; the user that the program runs as may be unable to
        // traverse the path to it.
        let directory = if is_sandboxed { "/".into() } else { self.directory.clone() };
        let running = start(Launch {
            streams: Streams::Conversation,
            shell: before.into_iter().flatten().chain(words).collect(),
            directory,
            // Of two variables with the same name, the later wins.
            environment: self.environment.iter().cloned().chain(given).chain(step).collect(),
            setsid: self.setsid.clone(),
            confinement: self.confinement.clone(),
            // The owner configured it, and it serves the turns of all.
            trust: Trust::Owner,
            is_sandboxed,
        });
        let Running { group, input, output, errors, ended } = running.await?;
        let missing = || io::Error::other("the program has no pipes");
        let (input, errors) = (input.ok_or_else(missing)?, errors.ok_or_else(missing)?);
        Ok(RunningProgram {
            input: Box::new(Sender::from_owned_fd(input.into())?),
            output: Box::new(Receiver::from_owned_fd(output.into())?),
            errors: Box::new(Receiver::from_owned_fd(errors.into())?),
            life: Box::new(ConfinedProcess { _group: group, ended, how: None }),
        })
    }
}

/// The processes of a program.
struct ConfinedProcess {
    _group: Group,
    ended: oneshot::Receiver<ExitKind>,
    /// How it ended, once known.
    how: Option<String>,
}

#[async_trait]
impl ProgramLife for ConfinedProcess {
    async fn ended(&mut self) -> String {
        if let Some(how) = &self.how {
            return how.clone();
        }
        let how = match (&mut self.ended).await {
            Ok(ExitKind::Status(status)) => format!("with exit status {status}"),
            Ok(ExitKind::Signal(signal)) => format!("by signal {signal}"),
            Ok(ExitKind::Unknown) | Err(_) => "for a reason that is not known".to_owned(),
        };
        self.how.insert(how).clone()
    }
}
