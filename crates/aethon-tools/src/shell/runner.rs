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
use super::progress::{PACE, Progress};
use super::run::{Outcome, run};
use super::slots::CommandSlots;
use crate::confine::Confinement;
use crate::docker::{ContainerCommand, DockerSandbox};
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
        let (progress, trust) = (Progress::new(context, &self.redactor), context.trust());
        let launch = match self.options.sandbox {
            Sandbox::Docker => return self.in_container(script, trust, progress).await,
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
        run(launch, script.limit, HeadTailBuffer::default(), progress).await.map_err(not_started)
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
        trust: Trust,
        mut progress: Progress<'_>,
    ) -> Result<Outcome, String> {
        let docker = self.docker.as_ref().ok_or("there is no docker sandbox (`security.sandbox`)")?;
        let (begun, mut kept, mut shown) = (Instant::now(), HeadTailBuffer::default(), Instant::now());
        let words = ["/bin/sh", "-c", script.command].map(str::to_owned);
        let take = |piece: &[u8]| {
            kept.push(piece);
            if shown.elapsed() >= PACE {
                shown = Instant::now();
                progress.show(&kept);
            }
        };
        let (session, directory, limit) = (script.session, script.directory.as_path(), script.limit);
        let command = ContainerCommand { session, trust, words: &words, directory, limit };
        let done = docker.run(command, take).await?;
        let ended = done.status.map(ExitKind::Status);
        Ok(Outcome { ended, output: kept, took: begun.elapsed(), left_running: false, note: done.note })
    }
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
