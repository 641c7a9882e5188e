//! Decides where a command runs: here inside the usual walls, in the kernel sandbox, or in a container. Every tool that
//! runs code uses it, so that nothing bypasses the sandbox that the owner has chosen.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use aethon_core::ids::SessionId;
use aethon_core::live::Live;
use aethon_core::sandbox::Sandbox;
use aethon_core::tool::{Effect, ToolContext};
use aethon_core::turn::Trust;
use aethon_guard::redact::Redactor;
use tokio::time::Instant;

use super::output::HeadTailBuffer;
use super::process::{ExitKind, Launch, Streams};
use super::progress::CallOutput;
use super::run::{PACE, Ran, Sink, run};
use super::slots::CommandSlots;
use crate::confine::Confinement;
use crate::docker::{CommandContainer, ContainerCommand, DockerSandbox};
use crate::options::{Options, ShellOptions, USUAL_PATH};
use crate::sandbox::{KernelSandbox, STEP_VARIABLE};

/// Runs commands where the owner wants them to run.
pub(crate) struct Runner {
    options: ShellOptions,
    shell: Vec<OsString>,
    setsid: Option<PathBuf>,
    confinement: Arc<Confinement>,
    kernel: Arc<KernelSandbox>,
    docker: Option<DockerSandbox>,
    redactor: Live<Redactor>,
    slots: CommandSlots,
    name: &'static str,
}

/// A command and the place where it starts.
#[derive(Debug, Clone)]
pub(crate) struct Script<'s> {
    pub(crate) session: &'s SessionId,
    pub(crate) command: &'s str,
    pub(crate) directory: PathBuf,
    pub(crate) limit: Duration,
}

impl Runner {
    pub(crate) fn new(options: &Options, redactor: Live<Redactor>) -> Self {
        let shell = &options.shell;
        let path = shell.path.clone().unwrap_or_else(|| USUAL_PATH.into());
        let bash = program("bash", &path);
        let is_docker = shell.sandbox == Sandbox::Docker;
        let name = if bash.is_some() && !is_docker { "bash" } else { "sh" };
        let words: Vec<OsString> = match bash {
            Some(bash) => vec![bash.into(), "--noprofile".into(), "--norc".into(), "-c".into()],
            None => vec!["/bin/sh".into(), "-c".into()],
        };
        Self {
            options: shell.clone(),
            shell: words,
            setsid: program("setsid", &format!("{path}:{USUAL_PATH}")),
            confinement: Arc::new(Confinement::new(options)),
            kernel: Arc::new(KernelSandbox::new(options)),
            docker: options.docker.clone(),
            redactor,
            slots: options.commands.clone(),
            name,
        }
    }

    /// Returns the name of the shell that commands are written for.
    pub(crate) fn shell_name(&self) -> &'static str {
        self.name
    }

    /// Returns where commands run.
    pub(crate) fn sandbox(&self) -> Sandbox {
        self.options.sandbox
    }

    /// Returns the effects that a command can have here: one that reaches a network can send whatever it reads.
    pub(crate) fn effect(&self) -> Effect {
        let is_alone = self.options.sandbox != Sandbox::None && self.options.limits.network == "none";
        if is_alone { Effect::RunsCode } else { Effect::Sends }
    }

    /// Runs a command to its end and shows its progress. Dropping the future ends it. The error is a sentence.
    pub(super) async fn run(&self, script: Script<'_>, context: &ToolContext) -> Result<Outcome, String> {
        let _slot = self.slots.take(context.trust()).await?;
        let mut output = CallOutput::new(context, &self.redactor);
        let place = Place { trust: context.trust(), container: CommandContainer::OfConversation };
        let ran = self.run_in(place, script, &mut output).await?;
        Ok(Outcome { ran, output: output.into_kept() })
    }

    /// The same for a command that outlives its call, which takes no slot from those that do not.
    pub(super) async fn run_apart(&self, script: Script<'_>, sink: &mut impl Sink) -> Result<Ran, String> {
        // Only the owner's turns start such commands. The container of a conversation is swept after each command.
        let place = Place { trust: Trust::Owner, container: CommandContainer::Own };
        self.run_in(place, script, sink).await
    }

    async fn run_in(&self, place: Place, script: Script<'_>, sink: &mut impl Sink) -> Result<Ran, String> {
        let trust = place.trust;
        let launch = match self.options.sandbox {
            Sandbox::Docker => return self.in_container(script, place, sink).await,
            Sandbox::None => self.launch(Vec::new(), script.command, script.directory, trust),
            Sandbox::Kernel => {
                let (kernel, directory) = (self.kernel.clone(), script.directory.clone());
                let words = tokio::task::spawn_blocking(move || kernel.words(&directory, trust)).await;
                let words = words.map_err(|error| error.to_string())?.map_err(not_started)?;
                // The sandbox step changes to the directory itself; the user that the command runs as may be unable to
                // traverse the path to it.
                self.launch(words, script.command, "/".into(), trust)
            }
        };
        run(launch, script.limit, sink).await.map_err(not_started)
    }

    fn launch(&self, before: Vec<OsString>, command: &str, directory: PathBuf, trust: Trust) -> Launch {
        let is_sandboxed = !before.is_empty();
        let mut environment = self.options.environment();
        if is_sandboxed {
            environment.retain(|(name, _)| name != "TMPDIR");
            environment.push((STEP_VARIABLE.0.to_owned(), STEP_VARIABLE.1.to_owned()));
        }
        let words = before.into_iter().chain(self.shell.iter().cloned()).chain([command.into()]);
        Launch {
            streams: Streams::Output,
            shell: words.collect(),
            directory,
            environment,
            setsid: self.setsid.clone(),
            confinement: self.confinement.clone(),
            trust,
            is_sandboxed,
        }
    }

    async fn in_container(
        &self,
        script: Script<'_>,
        Place { trust, container }: Place,
        sink: &mut impl Sink,
    ) -> Result<Ran, String> {
        let docker = self.docker.as_ref().ok_or("there is no docker sandbox (`security.sandbox`)")?;
        let (begun, mut shown) = (Instant::now(), Instant::now());
        let words = ["/bin/sh", "-c", script.command].map(str::to_owned);
        let take = |piece: &[u8]| {
            sink.take(piece);
            if shown.elapsed() >= PACE {
                shown = Instant::now();
                sink.look();
            }
        };
        let (session, directory, limit) = (script.session, script.directory.as_path(), script.limit);
        let command = ContainerCommand { session, trust, container, words: &words, directory, limit };
        let done = docker.run(command, take).await?;
        let ended = done.status.map(ExitKind::Status);
        Ok(Ran { ended, took: begun.elapsed(), left_running: false, note: done.note })
    }
}

/// Where and for whom a command runs.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// How far its turn may go.
    trust: Trust,
    /// The container that it gets, if commands run in Docker.
    container: CommandContainer,
}

/// The result of a call.
#[derive(Debug)]
pub(super) struct Outcome {
    /// How the command ran.
    pub(super) ran: Ran,
    /// Its output.
    pub(super) output: HeadTailBuffer,
}

fn not_started(error: std::io::Error) -> String {
    format!("the command could not be started: {error}")
}

/// Finds a program on a search path; only absolute directories count.
pub(crate) fn program(name: &str, path: &str) -> Option<PathBuf> {
    path.split(':')
        .map(Path::new)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}
