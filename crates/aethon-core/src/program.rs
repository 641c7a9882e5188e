//! Programs that run beside the assistant and talk to it over pipes, such as a tool server.
//!
//! Its users go through [`Programs`], so that everything the assistant starts is started in one place: confined, with
//! a scrubbed environment, and in a process group that ends as a whole.

use std::io;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::secret::Secret;

/// A program to be started.
#[derive(Debug, Clone)]
pub struct Program {
    /// The program: a path, or a name that is looked up in `PATH`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its own variables, besides `PATH`, `HOME` and the locale. Nothing else of the service's environment reaches it.
    pub environment: Vec<(String, Secret)>,
    /// Its needs in the sandbox, if there is one; `None` if its owner keeps it outside.
    pub sandbox: Option<ProgramSandbox>,
}

/// The needs of a program in the sandbox beyond those of commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramSandbox {
    /// Its image, if the sandbox is a container; by default the one for commands.
    pub image: Option<String>,
    /// Its network; by default the one for commands.
    pub network: Option<String>,
}

/// Starts programs.
#[async_trait]
pub trait Programs: Send + Sync {
    /// Starts a program. The error says why it could not be started, as far as that is known before it runs.
    async fn start(&self, program: &Program) -> io::Result<RunningProgram>;
}

/// A program that runs.
pub struct RunningProgram {
    /// Its standard input.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// Its standard output.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// Its standard error.
    pub errors: Box<dyn AsyncRead + Send + Unpin>,
    /// Its processes. Dropping this ends all of them.
    pub life: Box<dyn ProgramLife>,
}

/// The processes of a program, which end when this is dropped.
#[async_trait]
pub trait ProgramLife: Send + Sync {
    /// Waits until the program has ended, and says how in a few words, such as "with exit status 1".
    async fn ended(&mut self) -> String;
}

/// Starts nothing, for embedders and tests without programs.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPrograms;

#[async_trait]
impl Programs for NoPrograms {
    async fn start(&self, program: &Program) -> io::Result<RunningProgram> {
        Err(io::Error::other(format!("no programs are started here, and so not {}", program.command)))
    }
}
