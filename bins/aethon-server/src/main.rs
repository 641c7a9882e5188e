//! `aethon-server`: the daemon.
//!
//! This file parses the arguments, installs the log, starts the service and waits for a signal. The exit status is a
//! contract: 0 stopped cleanly, 1 failed while running, 2 refused to start.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use aethon::{Builder, LogFormat, Prepared, Service};
use anyhow::{Context, Result};
use clap::Parser;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// This allocator returns memory to the system after thousands of connections have come and gone; the default one keeps it.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Your assistant: browser chat, chat socket, dashboard, JSON interface and webhooks on one port.
#[derive(Debug, Parser)]
#[command(name = "aethon-server", version, about, max_term_width = 100)]
struct Arguments {
    /// The assistant's home directory [default: ~/.aethon].
    #[arg(long, value_name = "DIR", env = "AETHON_HOME")]
    home: Option<PathBuf>,
    /// The configuration file [default: HOME/config.toml].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Set a configuration key for this run; the value is TOML, and a bare word is a string.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// How much is logged: trace, debug, info, warn or error [default: info].
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    /// How log lines look.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = log_format())]
    log_format: LogFormat,
    /// Bind an address that others reach without a token: your own authenticating proxy stands in front.
    #[arg(long)]
    insecure_bind: bool,
    /// Let the offline model answer when no model is configured and no key is found.
    #[arg(long)]
    demo: bool,
    /// Load and check everything, print what would run, and exit.
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    // A sandbox re-executes this program as one of its steps, and then it must do nothing else.
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(code) = aethon::step(&arguments) {
        return code;
    }
    aethon::harden_process();
    if let Some(code) = aethon::run_as_init(std::env::args_os()) {
        return code;
    }
    let outcome = run(Arguments::parse());
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let refused = error.downcast_ref::<aethon::Error>().is_some_and(aethon::Error::is_refusal);
            // The message of a refusal is complete; only failures need the chain of causes.
            let words = if refused { error.to_string() } else { format!("{error:#}") };
            // If stderr is closed, nobody is left to tell.
            let _ = writeln!(std::io::stderr(), "aethon-server: {words}");
            ExitCode::from(if refused { 2 } else { 1 })
        }
    }
}

fn run(arguments: Arguments) -> Result<()> {
    let (format, check) = (arguments.log_format, arguments.check);
    let prepared = builder(arguments).load()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("the runtime cannot be started")?;
    if check {
        return runtime.block_on(report(prepared));
    }
    tracing::subscriber::set_global_default(prepared.logging(format, true).subscriber())
        .context("the log cannot be set up")?;
    let outcome = runtime.block_on(serve(prepared));
    // A thread that still blocks (in a DNS look-up, say) must not delay the exit.
    runtime.shutdown_background();
    outcome
}

fn log_format() -> impl TypedValueParser<Value = LogFormat> {
    PossibleValuesParser::new(LogFormat::NAMES).map(|name| LogFormat::parse(&name).unwrap_or_default())
}

fn builder(arguments: Arguments) -> Builder {
    let mut builder = Builder::new().insecure_bind(arguments.insecure_bind).demo(arguments.demo);
    if let Ok(program) = std::env::current_exe() {
        builder = builder.launcher(program);
    }
    if let Some(home) = arguments.home {
        builder = builder.home(home);
    }
    if let Some(file) = arguments.config {
        builder = builder.config_file(file);
    }
    let level = arguments.log_level.map(|level| format!("logging.level={level}"));
    arguments.sets.into_iter().chain(level).fold(builder, Builder::set)
}

async fn serve(prepared: Prepared) -> Result<()> {
    // Watched before the start, so that no signal during it is missed.
    let mut signals = Signals::watch()?;
    for warning in prepared.warnings() {
        tracing::warn!("{warning}");
    }
    let service = Service::start(prepared).await?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", service.greeting()).and_then(|()| out.flush()).context("standard output")?;
    drop(out);
    let mut reload = service.reload();
    let (asked, stop) = tokio::sync::oneshot::channel();
    let running = tokio::spawn(service.run(async {
        // The sender lives as long as this function.
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
            // The result is in the log; a rejected configuration changes nothing.
            Wish::Reload => drop(reload.reload().await),
        }
    }
    let _ = asked.send(());
    tokio::select! {
        ended = &mut running => ended.context("the service failed")?.map_err(Into::into),
        // Everything acknowledged is in the database; the next start resumes or closes running turns.
        () = signals.stop() => Ok(()),
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
    fn watch() -> Result<Self> {
        let watch = |kind| signal(kind).context("signals cannot be watched");
        Ok(Self {
            terminate: watch(SignalKind::terminate())?,
            interrupt: watch(SignalKind::interrupt())?,
            hangup: watch(SignalKind::hangup())?,
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

async fn report(prepared: Prepared) -> Result<()> {
    prepared.preflight().await?;
    let sandbox = prepared.try_sandbox().await?;
    let summary = prepared.summary().await;
    let mut out = std::io::stdout().lock();
    for warning in prepared.warnings() {
        writeln!(out, "warning: {warning}")?;
    }
    writeln!(out, "{summary}")?;
    for line in sandbox {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
