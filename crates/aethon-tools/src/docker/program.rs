//! Runs a program that is talked to over its pipes in a container of its own: with the same walls and limits as
//! commands, and the image and network that its owner gave it. The container ends with the program, and the program
//! when its input is closed or when nothing holds it any more. Leftovers of a crash are removed along with the other
//! containers.

use aethon_core::program::{Program, ProgramLife, ProgramSandbox, RunningProgram};
use async_trait::async_trait;
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;

use super::client::{Origin, Output, PendingResponse};
use super::container::document_of_program;
use super::containers::Created;
use super::pool::{ContainerLease, DockerSandbox};
use crate::sandbox_limits::SandboxLimits;

/// Buffer for each of its two output streams.
const BUFFER: usize = 64 << 10;

impl DockerSandbox {
    /// Starts a program in a container and returns its pipes. The error is a sentence.
    pub(crate) async fn start(
        &self,
        program: &Program,
        wish: &ProgramSandbox,
    ) -> Result<RunningProgram, String> {
        self.hand_over().await?;
        let limits = limits(&self.0.limits, wish);
        let document = self.0.document(&limits, self.0.workspace().as_deref(), None).await?;
        let Created { id, .. } = self.0.containers.create(&document_of_program(document, program)).await?;
        // From here on, any early exit removes the container.
        let container = ContainerLease::new(&self.0, id.clone());
        let path = format!("/containers/{id}/attach?stream=1&stdin=1&stdout=1&stderr=1");
        let (output, input) = self.0.containers.client.attach(&path, None).await?;
        // Ask before the start, so that the end is not missed.
        let end = self
            .0
            .containers
            .client
            .ask_pending(&format!("/containers/{id}/wait?condition=next-exit"))
            .await?;
        self.0.containers.begin(&id).await.map_err(|error| {
            format!("{error}; in docker it has to be in the image, which is {}", limits.image)
        })?;
        let (said, to_output) = duplex(BUFFER);
        let (errors, to_errors) = duplex(BUFFER);
        let pump = tokio::spawn(pump(output, to_output, to_errors));
        let process = ContainerProcess {
            _container: container,
            pump,
            end: tokio::spawn(describe_exit(end)),
            how: None,
        };
        Ok(RunningProgram {
            input,
            output: Box::new(said),
            errors: Box::new(errors),
            life: Box::new(process),
        })
    }
}

fn limits(usual: &SandboxLimits, wish: &ProgramSandbox) -> SandboxLimits {
    SandboxLimits {
        image: wish.image.clone().unwrap_or_else(|| usual.image.clone()),
        network: wish.network.clone().unwrap_or_else(|| usual.network.clone()),
        ..usual.clone()
    }
}

/// Demultiplexes the output until it ends or its reader is gone.
async fn pump(mut from: Output, mut output: DuplexStream, mut errors: DuplexStream) {
    while let Ok(Some((origin, piece))) = from.next().await {
        let written = match origin {
            Origin::Output => output.write_all(&piece).await,
            Origin::Errors => errors.write_all(&piece).await,
        };
        // The reader of one stream may have dropped the other.
        if written.is_err() && origin == Origin::Output {
            return;
        }
    }
}

/// Describes how it ended, in a few words.
async fn describe_exit(end: PendingResponse) -> String {
    let status = end.answer().await.ok().and_then(|answer| answer.json()["StatusCode"].as_i64());
    match status {
        Some(137) => {
            "with exit status 137: it was killed, perhaps for want of memory (security.sandbox_memory)"
                .to_owned()
        }
        Some(status) => format!("with exit status {status}"),
        None => "for a reason that is not known".to_owned(),
    }
}

/// The container of a program.
struct ContainerProcess {
    _container: ContainerLease,
    pump: JoinHandle<()>,
    end: JoinHandle<String>,
    /// How it ended, once known.
    how: Option<String>,
}

#[async_trait]
impl ProgramLife for ContainerProcess {
    async fn ended(&mut self) -> String {
        if let Some(how) = &self.how {
            return how.clone();
        }
        let how = (&mut self.end).await.unwrap_or_else(|error| error.to_string());
        self.how.insert(how).clone()
    }
}

impl Drop for ContainerProcess {
    fn drop(&mut self) {
        self.pump.abort();
        self.end.abort();
    }
}
