//! `aethon-mcp`: serves the assistant's tools to an MCP client over standard input and output.
//!
//! This file parses the arguments, installs the log and serves one client. The exit status is a contract: 0 when the client
//! has disconnected, 1 failed while running, 2 refused to start.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use aethon::core::log::Level;
use aethon::{Builder, LogFormat, Prepared};
use anyhow::{Context, Result};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{CommandFactory, Parser};
use tokio::signal::unix::{SignalKind, signal};

/// Your assistant's tools as an MCP server: for editors and desktop programs that start it and talk to it over standard
/// input and output.
#[derive(Debug, Parser)]
#[command(name = "aethon-mcp", version = aethon::version::long(), about, max_term_width = 100)]
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
    /// How much is logged to standard error and HOME/logs: trace, debug, info, warn or error [default: info].
    #[arg(long, value_name = "LEVEL", value_parser = Level::ALL.map(Level::as_str), hide_possible_values = true)]
    log_level: Option<String>,
    /// How log lines look.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = log_format())]
    log_format: LogFormat,
    /// Print the manual page.
    #[arg(long, hide = true)]
    manual_page: bool,
}

fn main() -> ExitCode {
    // A sandbox re-executes this program as one of its steps, and then it must do nothing else.
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let Some(code) = aethon::step(arguments.get(1..).unwrap_or_default()) {
        return code;
    }
    // Before anything else, so that a secret among them stands in the list of processes for a moment only.
    let arguments = aethon::without_secrets(arguments);
    aethon::harden_process();
    if let Some(code) = arguments.as_deref().ok().and_then(aethon::run_as_init) {
        return code;
    }
    match arguments.map_err(Into::into).and_then(|arguments| run(Arguments::parse_from(arguments))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let refused = error.downcast_ref::<aethon::Error>().is_some_and(aethon::Error::is_refusal);
            // The message of a refusal is complete; only failures need the chain of causes.
            let words = if refused { error.to_string() } else { format!("{error:#}") };
            // If stderr is closed, nobody is left to tell.
            let _ = writeln!(std::io::stderr(), "aethon-mcp: {words}");
            ExitCode::from(if refused { 2 } else { 1 })
        }
    }
}

fn run(arguments: Arguments) -> Result<()> {
    if arguments.manual_page {
        return Ok(clap_mangen::Man::new(Arguments::command()).render(&mut std::io::stdout().lock())?);
    }
    let format = arguments.log_format;
    let prepared = builder(arguments).load()?;
    tracing::subscriber::set_global_default(prepared.logging(format, true).subscriber())
        .context("the log cannot be set up")?;
    aethon::version::log("aethon-mcp");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("the runtime cannot be started")?;
    let served = runtime.block_on(serve(prepared));
    // A thread still reading standard input must not delay the exit.
    runtime.shutdown_background();
    served
}

async fn serve(prepared: Prepared) -> Result<()> {
    for warning in prepared.warnings() {
        tracing::warn!("{warning}");
    }
    let mut terminate = signal(SignalKind::terminate()).context("signals cannot be watched")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("signals cannot be watched")?;
    let stop = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    Ok(aethon::serve_mcp(prepared, tokio::io::stdin(), tokio::io::stdout(), stop).await?)
}

fn log_format() -> impl TypedValueParser<Value = LogFormat> {
    PossibleValuesParser::new(LogFormat::NAMES).map(|name| LogFormat::parse(&name).unwrap_or_default())
}

fn builder(arguments: Arguments) -> Builder {
    let mut builder = Builder::new();
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
    arguments.sets.into_iter().chain(level).fold(builder, Builder::flag)
}
