//! `aethon-server`: the daemon.
//!
//! This file parses the arguments and installs the log; `supervise` starts the service and waits for a signal. The exit status is a
//! contract: 0 stopped cleanly, 1 failed while running, 2 refused to start.

mod health;
mod notify;
mod supervise;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use aethon::config::Sources;
use aethon::core::log::Level;
use aethon::{Builder, Home, LogFormat, Prepared};
use anyhow::{Context, Result};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser};
use supervise::SignalWatch;

/// This allocator returns memory to the system after thousands of connections have come and gone; the default one keeps it.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Your assistant: browser chat, chat socket, dashboard, JSON interface and webhooks on one port.
#[derive(Debug, Parser)]
#[command(name = "aethon-server", version = aethon::version::long(), about, max_term_width = 100)]
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
    #[arg(long, value_name = "LEVEL", value_parser = Level::ALL.map(Level::as_str), hide_possible_values = true)]
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
    /// With --check: treat warnings as failures.
    #[arg(long, requires = "check")]
    strict: bool,
    /// Ask the server that runs on this home whether it answers, and exit: 0 if it does, 1 if not.
    #[arg(long, conflicts_with_all = ["check", "demo", "insecure_bind"])]
    health: bool,
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
    // First of all: until it is watched, this signal ends the program.
    let watch = SignalWatch::begin();
    // Before anything else, so that a secret among them stands in the list of processes for a moment only.
    let arguments = aethon::without_secrets(arguments);
    aethon::harden_process();
    if let Some(code) = arguments.as_deref().ok().and_then(aethon::run_as_init) {
        return code;
    }
    let outcome = arguments.map_err(Into::into).and_then(|arguments| run(parsed(arguments), watch?));
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

/// What people try, and what does it here.
const OTHER_FLAGS: [(&str, &str); 12] = [
    ("--port", PORT),
    ("-p", PORT),
    ("--host", HOST),
    ("--bind", HOST),
    ("--model", "it is a key of the configuration: --set model.model_id=NAME, or in config.toml"),
    ("--provider", "it is a key of the configuration: --set model.provider=ollama, or in config.toml"),
    ("--daemon", BACKGROUND),
    ("-d", BACKGROUND),
    ("start", PLAIN),
    ("run", PLAIN),
    ("serve", PLAIN),
    ("init", "`aethon-cli init` creates a configuration"),
];

const PORT: &str = "it is a key of the configuration: --set channels.webchat.port=8080, or in config.toml";
const HOST: &str = "it is a key of the configuration: --set channels.webchat.host=0.0.0.0, or in config.toml";
const BACKGROUND: &str = "`aethon-cli service install` has it run in the background";
const PLAIN: &str = "`aethon-server` alone starts it";

/// Parses the arguments. An unknown flag that is usual elsewhere is answered with what does the same here.
fn parsed(arguments: Vec<OsString>) -> Arguments {
    Arguments::try_parse_from(arguments).unwrap_or_else(|mut error| {
        let unknown = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(unknown)) => unknown.clone(),
            _ => String::new(),
        };
        if let Some((_, instead)) = OTHER_FLAGS.iter().find(|(flag, _)| *flag == unknown) {
            error.remove(ContextKind::SuggestedArg);
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![(*instead).into()]));
        }
        error.exit()
    })
}

fn run(arguments: Arguments, watch: SignalWatch) -> Result<()> {
    if arguments.manual_page {
        return Ok(clap_mangen::Man::new(Arguments::command()).render(&mut std::io::stdout().lock())?);
    }
    if arguments.health {
        let sources = Sources::from_process(arguments.home, arguments.config, Vec::new())?;
        let words = health::ask(&Home::at(&sources.home))?;
        return Ok(writeln!(std::io::stdout().lock(), "{words}")?);
    }
    // Before the first thread, each of which reserves some.
    aethon::check_address_space()?;
    let (format, check, strict) = (arguments.log_format, arguments.check, arguments.strict);
    let prepared = builder(arguments).load()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("the runtime cannot be started")?;
    if check {
        runtime.block_on(report(&prepared))?;
        return if strict { Ok(prepared.without_warnings()?) } else { Ok(()) };
    }
    tracing::subscriber::set_global_default(prepared.logging(format, true).subscriber())
        .context("the log cannot be set up")?;
    aethon::version::log("aethon-server");
    let outcome = supervise::run(watch, &runtime, prepared);
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
    arguments.sets.into_iter().chain(level).fold(builder, Builder::flag)
}

async fn report(prepared: &Prepared) -> Result<()> {
    let sandbox = prepared.try_out().await?;
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
