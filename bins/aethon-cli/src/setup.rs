//! From the common flags to a home, a configuration and a runtime.

use std::time::Duration;

use aethon::config::Sources;
use aethon::{Builder, Home};
use anyhow::{Context, Result};

use crate::args::Common;

/// Returns the home that the common flags name, without its configuration.
pub(crate) fn home(common: &Common) -> Result<Home> {
    let sources = Sources::from_process(common.home.clone(), None, Vec::new())
        .map_err(|error| aethon::Error::refused(error.to_string()))?;
    Ok(Home::at(&sources.home))
}

/// Returns the sources of the configuration that the common flags name.
pub(crate) fn sources(common: &Common) -> Result<Sources> {
    Sources::from_process(common.home.clone(), common.config.clone(), common.sets.clone()).map_err(refused)
}

/// A refusal that lists the problems of the configuration.
pub(crate) fn refused(error: aethon::config::Error) -> anyhow::Error {
    aethon::Error::refused(error.to_string()).into()
}

/// Creates the builder from the common flags.
pub(crate) fn builder(common: &Common) -> Builder {
    let mut builder = Builder::new();
    if let Ok(program) = std::env::current_exe() {
        builder = builder.launcher(program);
    }
    if let Some(home) = &common.home {
        builder = builder.home(home);
    }
    if let Some(file) = &common.config {
        builder = builder.config_file(file);
    }
    let level = common.log_level.as_deref().map(|level| format!("logging.level={level}"));
    common.sets.iter().cloned().chain(level).fold(builder, Builder::flag)
}

/// Reads the configuration. Warnings go to stderr, and so does the log if `--log-level` asks for one.
pub(crate) fn prepared(common: &Common) -> Result<aethon::Prepared> {
    let prepared = builder(common).load()?;
    // Expected on the first day, and a mistyped path on any other.
    if let Some(home) = common.home.as_ref().filter(|home| !home.exists()) {
        eprintln!("warning: there is no home at {} yet", home.display());
    }
    for warning in prepared.warnings() {
        eprintln!("warning: {warning}");
    }
    if common.log_level.is_some() {
        let log = prepared.logging(common.log_format, false).subscriber();
        tracing::subscriber::set_global_default(log).context("the log cannot be set up")?;
    }
    Ok(prepared)
}

/// How long the background work that a command left behind may take.
const LAST_THINGS: Duration = Duration::from_secs(3);

/// Runs a command to its end. A thread that still blocks then (on a disk that hangs, say) must not keep it from exiting.
pub(crate) fn finish<T>(command: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = runtime()?;
    let outcome = runtime.block_on(command);
    runtime.shutdown_timeout(LAST_THINGS);
    outcome
}

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("the runtime cannot be started")
}
