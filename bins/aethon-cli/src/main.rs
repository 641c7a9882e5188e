//! `aethon-cli`: talks to the assistant in the terminal, and maintains it.
//!
//! This file parses the arguments, runs a command and turns its result into an exit status: 0 done, 1 failed, 2 refused.
//! Everything else is in the commands.

mod args;
mod chat;
mod commands;
mod completion;
mod daemon;
mod environment;
mod render;
mod setup;
mod unix_socket;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;

use args::{ChannelsCommand, ChatArgs, Cli, Command, ModelCommand, SopCommand};
use chat::ask::Output;
use setup::finish;

fn main() -> ExitCode {
    // A sandbox re-executes this program as one of its steps, and then it must do nothing else.
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let Some(code) = aethon::step(arguments.get(1..).unwrap_or_default()) {
        return code;
    }
    if let Some(code) = commands::completions::answer(&arguments) {
        return code;
    }
    // Before anything else, so that a secret among them stands in the list of processes for a moment only.
    let arguments = aethon::without_secrets(arguments);
    aethon::harden_process();
    let outcome = arguments.map_err(Into::into).and_then(|arguments| run(args::parsed(arguments)));
    match outcome {
        Ok(code) => code,
        Err(error) => {
            let refused = error.downcast_ref::<aethon::Error>().is_some_and(aethon::Error::is_refusal);
            // The message of a refusal is complete; the chain of causes would only repeat it.
            let words = if refused { error.to_string() } else { format!("{error:#}") };
            eprintln!("aethon-cli: {}", aethon::core::visible::readable(&words));
            ExitCode::from(if refused || is_senseless(&error) { 2 } else { 1 })
        }
    }
}

fn run(cli: Cli) -> Result<ExitCode> {
    environment::keep_no_color(cli.common.no_color);
    let command = cli.command.unwrap_or_else(|| Command::Chat(ChatArgs::default()));
    let common = &cli.common;
    if let Some(name) = local_only(&command) {
        commands::refuse_connect(common, name)?;
    }
    match command {
        Command::Completions { shell } => commands::completions::run(shell),
        Command::PackageFiles { folder } => commands::package_files::run(&folder),
        Command::Service(command) => finish(commands::service::run(common, command)),
        Command::Init(wish) => commands::init::run(common, wish),
        Command::Config(command) => commands::config::run(common, command),
        Command::Secrets(command) => commands::secrets::run(common, command),
        Command::Doctor { attack, repair, fix, strict, all, json } => {
            let repaired = repair.then(|| commands::doctor::repair(common)).transpose()?;
            let fixed = fix.then(|| commands::doctor::fix(common)).transpose()?.unwrap_or_default();
            let look = commands::doctor::Look { attack, strict, as_json: json, all };
            finish(commands::doctor::run(common, look, fixed, repaired))
        }
        Command::Model(ModelCommand::Test { json }) => finish(commands::model::test(common, json)),
        Command::Model(ModelCommand::List { provider, json }) => {
            commands::models::list(common, provider.as_deref(), json)
        }
        Command::Model(ModelCommand::Update { file, json }) => {
            commands::models::update(common, file.as_deref(), json)
        }
        Command::Mcp { command: None } => commands::mcp::run(common),
        Command::Mcp { command: Some(command) } => commands::mcp_sign_in::run(common, command),
        Command::Sessions(command) => finish(commands::sessions::run(common, command)),
        Command::Sop(command) => finish(commands::sop::run(common, command)),
        Command::Channels(command) => finish(commands::channels::run(common, command)),
        Command::Jobs(command) => finish(commands::jobs::run(common, command)),
        Command::Recordings(command) => finish(commands::recordings::run(common, command)),
        Command::Tasks(command) => finish(commands::tasks::run(common, command)),
        Command::Outbox(command) => finish(commands::outbox::run(common, command)),
        Command::Backup(arguments) => commands::backup::run(common, arguments),
        Command::Restore(arguments) => commands::restore::run(common, &arguments),
        Command::Upgrade(arguments) => commands::upgrade::run(common, &arguments),
        Command::Storage(command) => finish(commands::storage::run(common, command)),
        Command::Memory(command) => finish(commands::memory::run(common, command)),
        Command::Usage { days, json } => finish(commands::usage::run(common, days, json)),
        Command::PairPhone { address, json } => {
            finish(commands::pair_phone::run(common, address.as_deref(), json))
        }
        Command::Audit { limit, json } => finish(commands::audit::run(common, limit, json)),
        Command::Chat(choice) => finish(commands::chat::chat(common, &choice)),
        Command::Ask { text, no_stdin, session, effort, model, schema, json, events } => {
            let output = Output::of(json, events);
            let reads_input = !no_stdin;
            let wish = commands::chat::Wish { text, reads_input, session, effort, model, schema, output };
            finish(commands::chat::ask(common, wish))
        }
    }
}

/// Whether the request made no sense, as judged by the daemon or by an assistant in this process.
fn is_senseless(error: &anyhow::Error) -> bool {
    let core = || error.chain().find_map(|cause| cause.downcast_ref::<aethon::core::error::Error>());
    matches!(daemon::status_of(error), Some(400 | 422)) || core().is_some_and(|error| error.is_invalid())
}

/// Returns the name of a command that works on the files of a home, and so cannot use a daemon elsewhere. `None` for
/// the others.
fn local_only(command: &Command) -> Option<&'static str> {
    Some(match command {
        Command::Completions { .. } => "completions",
        Command::PackageFiles { .. } => "package-files",
        Command::Init(_) => "init",
        Command::Service(_) => "service",
        Command::Config(_) => "config",
        Command::Secrets(_) => "secrets",
        Command::Doctor { .. } => "doctor",
        Command::Model(_) => "model",
        Command::Mcp { .. } => "mcp",
        Command::Backup(_) => "backup",
        Command::Restore(_) => "restore",
        Command::Upgrade(_) => "upgrade",
        Command::Storage(_) => "storage",
        Command::Sop(SopCommand::Check { .. }) => "sop check",
        Command::Channels(command) if !matches!(command, ChannelsCommand::List { .. }) => "channels",
        Command::Sessions(_)
        | Command::Sop(_)
        | Command::Channels(_)
        | Command::Jobs(_)
        | Command::Recordings(_)
        | Command::Tasks(_)
        | Command::Outbox(_)
        | Command::Memory(_)
        | Command::Usage { .. }
        | Command::Audit { .. }
        | Command::PairPhone { .. }
        | Command::Chat(_)
        | Command::Ask { .. } => return None,
    })
}
