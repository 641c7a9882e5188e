//! Programs that run beside the assistant and talk to it over pipes: a server of tools, say.
//!
//! Whoever needs one asks [`Programs`], so that everything which the assistant starts is started in one place: inside the
//! walls, with a scrubbed environment, and in a group that ends as a whole.

use std::io;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::secret::Secret;

/// What is to be started.
#[derive(Debug, Clone)]
pub struct Program {
    /// The program: a path, or a name that is looked up in `PATH`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its own variables, besides `PATH`, `HOME` and the locale. Nothing else of the service's environment reaches it.
    pub environment: Vec<(String, Secret)>,
    /// What it needs of the sandbox, where there is one; `None` where its owner keeps it outside.
    pub sandbox: Option<ProgramSandbox>,
}

/// What a program needs of the sandbox besides what commands get.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramSandbox {
    /// The image that it lies in, where the sandbox is a container; else the one for commands.
    pub image: Option<String>,
    /// Its network; else the one for commands.
    pub network: Option<String>,
}

/// Starts programs.
#[async_trait]
pub trait Programs: Send + Sync {
    /// Starts one. An error says why it could not be started, as far as that is known before it runs.
    async fn start(&self, program: &Program) -> io::Result<RunningProgram>;
}

/// A program that runs.
pub struct RunningProgram {
    /// What it reads.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// What it says.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// What it says to its operator.
    pub errors: Box<dyn AsyncRead + Send + Unpin>,
    /// Its processes. Dropping this ends them all.
    pub life: Box<dyn ProgramLife>,
}

/// The processes of a program; they end when this is dropped.
#[async_trait]
pub trait ProgramLife: Send + Sync {
    /// Waits until the program has ended, and says how in a few words, such as "with exit status 1".
    async fn ended(&mut self) -> String;
}

/// Starts nothing: for embedders and tests that have no programs.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPrograms;

#[async_trait]
impl Programs for NoPrograms {
    async fn start(&self, program: &Program) -> io::Result<RunningProgram> {
        Err(io::Error::other(format!("no programs are started here, and so not {}", program.command)))
    }
}
