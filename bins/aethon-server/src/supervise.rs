//! Starts the service, and acts on signals until it has ended.
//!
//! The signals have a runtime of their own, on the program's first thread. Whatever keeps the threads of the service
//! busy (a disk that hangs, say), a signal to stop ends the program: in order if the service can, and otherwise some time
//! after its grace. Everything acknowledged is in the database; the next start resumes or closes running turns.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use aethon::{Prepared, Service};
use anyhow::{Context, Result, bail};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use crate::notify::{Report, Supervisor};

/// How long after the grace of running turns the service may take for what comes after them: closing sockets, channels,
/// containers and the storage.
const LAST_THINGS: Duration = Duration::from_secs(30);

/// Watches SIGHUP, which would end the program otherwise, from the moment that this exists. A signal that comes before the
/// service runs reloads the configuration once it does.
pub(crate) struct SignalWatch {
    runtime: Runtime,
    hangup: Signal,
}

impl SignalWatch {
    /// Begins to watch.
    pub(crate) fn begin() -> Result<Self> {
        let built = Builder::new_current_thread().enable_all().build();
        let runtime = built.context("the runtime cannot be started")?;
        let hangup = {
            let _entered = runtime.enter();
            watch(SignalKind::hangup())?
        };
        Ok(Self { runtime, hangup })
    }
}

/// Runs the service on this runtime until it has ended or must.
pub(crate) fn run(watch: SignalWatch, runtime: &Runtime, prepared: Prepared) -> Result<()> {
    let SignalWatch { runtime: own, hangup } = watch;
    own.block_on(supervise(runtime, prepared, hangup))
}

fn watch(kind: SignalKind) -> Result<Signal> {
    signal(kind).context("signals cannot be watched")
}

async fn supervise(runtime: &Runtime, prepared: Prepared, hangup: Signal) -> Result<()> {
    let manager = Arc::new(Supervisor::find());
    // Watched before the start, so that no signal during it is missed.
    let mut signals = Signals::watch(hangup)?;
    for warning in prepared.warnings() {
        tracing::warn!("{warning}");
    }
    let patience = Duration::from_secs(prepared.config().server.shutdown_grace) + LAST_THINGS;
    let service = runtime.spawn(Service::start(prepared)).await.context("the start failed")??;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", service.greeting()).and_then(|()| out.flush()).context("standard output")?;
    drop(out);
    manager.tell(Report::Ready);
    let mut reload = service.reload();
    let told = manager.clone();
    let (reloads, mut asked) = mpsc::channel(1);
    runtime.spawn(async move {
        while let Some(()) = asked.recv().await {
            told.tell(Report::Reloading);
            // The result is in the log; a rejected configuration changes nothing.
            drop(reload.reload().await);
            told.tell(Report::Ready);
        }
    });
    let (ask, stop) = oneshot::channel();
    let running = runtime.spawn(service.run(async {
        // The sender lives as long as the function above.
        let _ = stop.await;
    }));
    tokio::pin!(running);
    loop {
        let wish = tokio::select! {
            ended = &mut running => return ended.context("the service failed")?.map_err(Into::into),
            wish = signals.next() => wish,
        };
        match wish {
            Wish::Stop => break,
            // If one is waiting already, it will read the same file.
            Wish::Reload => drop(reloads.try_send(())),
        }
    }
    manager.tell(Report::Stopping);
    let _ = ask.send(());
    tokio::select! {
        ended = &mut running => ended.context("the service failed")?.map_err(Into::into),
        () = signals.stop() => Ok(()),
        () = sleep(patience) => bail!("the service did not stop within {} s and was abandoned", patience.as_secs()),
    }
}

/// What a signal asks for.
enum Wish {
    Stop,
    Reload,
}

/// SIGTERM and SIGINT, which stop the daemon, and SIGHUP, which reloads the configuration.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn watch(hangup: Signal) -> Result<Self> {
        Ok(Self {
            terminate: watch(SignalKind::terminate())?,
            interrupt: watch(SignalKind::interrupt())?,
            hangup,
        })
    }

    async fn next(&mut self) -> Wish {
        tokio::select! {
            _ = self.terminate.recv() => Wish::Stop,
            _ = self.interrupt.recv() => Wish::Stop,
            _ = self.hangup.recv() => Wish::Reload,
        }
    }

    /// Waits for the next signal to stop, ignoring reloads: during shutdown there is nothing to reload.
    async fn stop(&mut self) {
        while let Wish::Reload = self.next().await {}
    }
}
