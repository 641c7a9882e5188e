//! Controls one command: reads until it ends or times out, then ends its remaining processes.
//!
//! A command has ended when its shell has. Background processes may still hold the pipe, so the end of the
//! output is awaited only briefly. Everything that a command started ends with it.

use std::io;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until, timeout, timeout_at};

use super::process::{ExitKind, Launch, Running, start};

/// How long a command runs before any output is shown: most have ended by then.
const FIRST_LOOK: Duration = Duration::from_millis(800);
/// Interval between updates.
pub(super) const PACE: Duration = Duration::from_millis(400);
/// How long to read on after the command has ended: a process substitution may still be writing.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(300);
/// How long a killed process may take to disappear.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// Receives the output of a command while it runs.
pub(super) trait Sink: Send {
    /// Takes the next bytes.
    fn take(&mut self, bytes: &[u8]);

    /// Shows what has arrived so far. Called a few times a second.
    fn look(&mut self);
}

/// How a command ran.
#[derive(Debug)]
pub(super) struct Ran {
    /// How it ended; `None` if it timed out.
    pub(super) ended: Option<ExitKind>,
    /// How long it took.
    pub(super) took: Duration,
    /// Whether processes that it left in the background were still running.
    pub(super) left_running: bool,
    /// What else happened to it, in a sentence.
    pub(super) note: Option<String>,
}

/// Runs a command to its end and passes on its output. Dropping the future ends it.
pub(super) async fn run(launch: Launch, limit: Duration, sink: &mut impl Sink) -> io::Result<Ran> {
    let begun = Instant::now();
    let Running { group, output, mut ended, .. } = start(launch).await?;
    let mut output = Receiver::from_owned_fd(output.into())?;
    let deadline = begun + limit;
    let mut is_open = true;
    let mut buffer = vec![0; 32 * 1024];
    let mut looks = interval_at(begun + FIRST_LOOK, PACE);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let status = loop {
        tokio::select! {
            status = &mut ended => break Some(status.unwrap_or(ExitKind::Unknown)),
            () = sleep_until(deadline) => break None,
            _ = looks.tick() => sink.look(),
            read = output.read(&mut buffer), if is_open => match read {
                Ok(0) | Err(_) => is_open = false,
                Ok(length) => sink.take(&buffer[..length]),
            },
        }
    };
    let took = begun.elapsed();
    let mut left_running = false;
    if is_open && status.is_some() {
        let rest = drain(&mut output, &mut buffer, sink);
        left_running = timeout_at(Instant::now() + DRAIN_TIMEOUT, rest).await.is_err();
    }
    group.kill();
    if status.is_none() {
        // A process that is still there hangs in the kernel; the thread of the call keeps waiting for it.
        let _ = timeout(KILL_TIMEOUT, ended).await;
    }
    if is_open && (left_running || status.is_none()) {
        // A process that left the group may still hold the pipe; the watcher ends it, so do not wait for it.
        let _ = timeout(DRAIN_TIMEOUT, drain(&mut output, &mut buffer, sink)).await;
    }
    Ok(Ran { ended: status, took, left_running, note: None })
}

async fn drain(output: &mut Receiver, buffer: &mut [u8], sink: &mut impl Sink) {
    while let Ok(length) = output.read(buffer).await {
        if length == 0 {
            return;
        }
        sink.take(&buffer[..length]);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aethon_core::ids::{SessionId, TurnId};
    use aethon_core::surface::Unattended;
    use aethon_core::tool::ToolContext;
    use aethon_core::turn::TurnContext;

    use super::*;
    use crate::confine::Confinement;
    use crate::options::Options;
    use crate::shell::progress::CallOutput;

    /// `cargo test -p aethon-tools --release walls_cost -- --ignored --nocapture` prints the numbers quoted in decision
    /// 0038.
    #[tokio::test]
    #[ignore = "a measurement"]
    async fn walls_cost() {
        let home = tempfile::tempdir().unwrap();
        let options = Options {
            home: Some(home.path().to_owned()),
            workspace: home.path().join("workspace"),
            user_home: crate::account_home(),
            ..Options::default()
        };
        std::fs::create_dir(&options.workspace).unwrap();
        let none = Confinement::without_walls(&options);
        let files = Confinement::new(&options);
        let all = Confinement::new(&Options { port: Some(18_790), ..options });
        let redactor = aethon_core::live::Live::default();
        let inbound = aethon_core::message::Inbound::say(SessionId::of("webchat", "a").unwrap(), "run it");
        let turn = TurnContext::of(TurnId::fresh(), &inbound);
        let context = ToolContext::of(&turn, Arc::new(Unattended), 1_000);
        for (name, confinement) in [("none", none), ("files, signals", files), ("and the port", all)] {
            let confinement = Arc::new(confinement);
            let mut took = Vec::new();
            for _ in 0..40 {
                let launch = Launch {
                    streams: crate::shell::Streams::Output,
                    shell: ["/bin/sh", "-c", "true"].map(Into::into).to_vec(),
                    directory: "/".into(),
                    environment: Vec::new(),
                    setsid: Some("/usr/bin/setsid".into()),
                    confinement: confinement.clone(),
                    trust: context.trust(),
                    is_sandboxed: false,
                };
                let mut output = CallOutput::new(&context, &redactor);
                let ran = run(launch, Duration::from_secs(60), &mut output).await.unwrap();
                assert_eq!(ran.ended, Some(ExitKind::Status(0)));
                took.push(ran.took);
            }
            took.sort_unstable();
            println!("{name}: median {:?}, least {:?}", took[took.len() / 2], took[0]);
        }
    }
}
