//! The command line of `aethon-cli`.

mod backup;
mod chat;
mod config;
mod count;
mod init;
mod kept;
mod messengers;
mod service;
mod storage;
mod workflows;

use std::ffi::OsString;
use std::path::PathBuf;

use aethon::LogFormat;
use aethon::core::log::Level;
use aethon::core::model::Effort;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Args, Parser, Subcommand};

use crate::completion;

pub(crate) use self::backup::{BackupArgs, RestoreArgs, UpgradeArgs};
pub(crate) use self::chat::ChatArgs;
pub(crate) use self::config::ConfigCommand;
pub(crate) use self::init::InitArgs;
pub(crate) use self::kept::{ExportForm, MemoryCommand, RecordingsCommand, SessionsCommand};
pub(crate) use self::messengers::{ChannelsCommand, OutboxCommand};
pub(crate) use self::service::ServiceCommand;
pub(crate) use self::storage::StorageCommand;
pub(crate) use self::workflows::{JobArgs, JobsCommand, SopCommand, TasksCommand};

/// Talk to your assistant, and manage it.
#[derive(Debug, Parser)]
#[command(name = "aethon-cli", version = aethon::version::long(), about, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    /// The command to run; without one, chat.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Flags of every command. Under a heading of their own they do not stand between those of the command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Common {
    /// The assistant's home directory [default: ~/.aethon].
    #[arg(long, global = true, value_name = "DIR", env = "AETHON_HOME")]
    pub(crate) home: Option<PathBuf>,
    /// The configuration file [default: HOME/config.toml].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Set a configuration key for this run only. The value is TOML; a bare word is a string.
    #[arg(long = "set", global = true, value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// Log to standard error at this level: trace, debug, info, warn or error.
    #[arg(long, global = true, value_name = "LEVEL", value_parser = Level::ALL.map(Level::as_str), hide_possible_values = true)]
    pub(crate) log_level: Option<String>,
    /// The format of log lines.
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text", value_parser = log_format())]
    pub(crate) log_format: LogFormat,
    /// Use the aethon-server at this address instead of the one that runs on this home.
    #[arg(long, global = true, value_name = "URL|unix:PATH")]
    pub(crate) connect: Option<String>,
    /// Print without colours, as with the environment variable NO_COLOR.
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
}

/// Adds to a command line what a person may leave out, so that clap understands it.
fn completed(arguments: Vec<OsString>) -> Vec<OsString> {
    let arguments = config::with_parted_set(config::with_bare_set(chat::without_help_of_help(arguments)));
    chat::with_chat(arguments)
}

/// What people try that is no command here, and what does it.
const OTHER_COMMANDS: [(&str, &str); 13] = [
    ("login", SECRET),
    ("auth", SECRET),
    ("logs", "the logs are files in logs/ of the home; a service also has its journal"),
    ("restart", "a service restarts with `systemctl --user restart aethon`"),
    ("run", SERVER),
    ("serve", SERVER),
    ("server", SERVER),
    ("setup", "`aethon-cli init` sets up a model"),
    ("start", SERVER),
    ("status", "`aethon-cli doctor` checks everything, and `aethon-cli service status` the service"),
    ("stop", "Ctrl-C ends a server in a terminal, and `systemctl --user stop aethon` a service"),
    ("up", SERVER),
    ("version", "`aethon-cli --version` tells the version"),
];

const SERVER: &str = "`aethon-server` starts the server, and `aethon-cli service install` has it always run";
const QUESTION: &str = "`aethon-cli ask \"...\"` asks a question and prints the answer";
const SECRET: &str = "`aethon-cli secrets set NAME` stores the key of a service";

/// Parses the arguments. A word that is a command elsewhere is answered with what does it here.
pub(crate) fn parsed(arguments: Vec<OsString>) -> Cli {
    Cli::try_parse_from(completed(arguments)).unwrap_or_else(|mut error| {
        if error.get(ContextKind::InvalidArg) == Some(&ContextValue::String("-p".to_owned())) {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![QUESTION.into()]));
        }
        let unknown = match error.get(ContextKind::InvalidSubcommand) {
            Some(ContextValue::String(unknown)) => unknown.clone(),
            _ => String::new(),
        };
        let known = OTHER_COMMANDS.iter().find(|(word, _)| *word == unknown).map(|(_, instead)| *instead);
        // No command has blanks, so these are the words of somebody who asks.
        let question = unknown.contains(char::is_whitespace).then_some(QUESTION);
        if let Some(instead) = known.or(question) {
            error.remove(ContextKind::SuggestedSubcommand);
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![instead.into()]));
        }
        error.exit()
    })
}

fn log_format() -> impl TypedValueParser<Value = LogFormat> {
    PossibleValuesParser::new(LogFormat::NAMES).map(|name| LogFormat::parse(&name).unwrap_or_default())
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Chat in the terminal (the default).
    Chat(ChatArgs),
    /// Ask one question and print the answer.
    Ask {
        /// The question, in quotes or not. Text piped to standard input is added below it.
        text: Vec<String>,
        /// Do not read standard input.
        #[arg(long)]
        no_stdin: bool,
        /// The session to ask in [default: a new one].
        #[arg(long, short, add = completion::sessions())]
        session: Option<String>,
        /// How much the model thinks first: none, low, medium or high [default: model.effort].
        #[arg(long, value_name = "LEVEL", value_parser = effort, add = completion::words(Effort::ALL.map(Effort::as_str)))]
        effort: Option<Effort>,
        /// The model that answers: a name under [model.named], or a model id [default: model.model_id].
        #[arg(long, value_name = "NAME")]
        model: Option<String>,
        /// Answer with JSON that fits the JSON Schema in this file.
        #[arg(long, value_name = "FILE")]
        schema: Option<PathBuf>,
        /// Print one JSON object instead of text.
        #[arg(long)]
        json: bool,
        /// Print what happens as it happens: JSON objects, one per line, as on the chat socket.
        #[arg(long, conflicts_with = "json")]
        events: bool,
    },
    /// Create a configuration by answering a few questions.
    Init(InitArgs),
    /// Check the installation and explain how to fix each problem.
    Doctor {
        /// Attack the running daemon instead, and say what held. It takes about a minute.
        #[arg(long)]
        attack: bool,
        /// Repair a damaged database first, and list the losses. The server must be stopped.
        #[arg(long, conflicts_with = "attack")]
        repair: bool,
        /// Apply the safe fixes first: make missing folders, and close files of the home that other accounts can read.
        #[arg(long, conflicts_with = "attack")]
        fix: bool,
        /// List everything, in the order of the checks.
        #[arg(long)]
        all: bool,
        /// Treat warnings as failures.
        #[arg(long)]
        strict: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Serve the tools to an MCP client, such as an editor, over standard input and output; or sign in to MCP servers.
    Mcp {
        /// Without a command, it serves.
        #[command(subcommand)]
        command: Option<McpCommand>,
    },
    /// Test models, and list the known ones.
    #[command(subcommand)]
    Model(ModelCommand),
    /// Show, check and change the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Store secrets outside the configuration file.
    #[command(subcommand)]
    Secrets(SecretsCommand),
    /// List, show, export and remove conversations.
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// List, search, add and remove memories, which outlive conversations.
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// List, show, run and check SOPs: workflows in Markdown.
    #[command(subcommand)]
    Sop(SopCommand),
    /// List, add, remove and run scheduled jobs.
    #[command(subcommand)]
    Jobs(JobsCommand),
    /// List, show, check and resume recordings of sessions.
    #[command(subcommand)]
    Recordings(RecordingsCommand),
    /// Work that takes more than one turn.
    #[command(subcommand)]
    Tasks(TasksCommand),
    /// List and test messengers, and decide who may write through them.
    #[command(subcommand)]
    Channels(ChannelsCommand),
    /// List messages that wait for their channel or were given up, send them again, or remove them.
    #[command(subcommand)]
    Outbox(OutboxCommand),
    /// Back up the home into one file, while aethon-server runs or not.
    Backup(BackupArgs),
    /// Restore a home from a backup, or its database from the copy that an upgrade made.
    Restore(RestoreArgs),
    /// Bring the database of the home to the format of this version, after copying it. Nothing else may use the home meanwhile.
    Upgrade(UpgradeArgs),
    /// Move the data between the file in the home and a PostgreSQL server.
    #[command(subcommand)]
    Storage(StorageCommand),
    /// Show token usage and cost by day, model and kind of work.
    Usage {
        /// The number of days to show, including today.
        #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=366))]
        days: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Sign in a phone: show a QR code that counts once, within five minutes.
    PairPhone {
        /// The address of the chat page as the phone reaches it [default: that of the aethon-server].
        #[arg(long, value_name = "URL")]
        address: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the audit trail: grants, refusals, removals and changes, newest first.
    Audit {
        /// The number of rows to show.
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
        limit: u16,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Run aethon-server as a service of your account.
    #[command(subcommand)]
    Service(ServiceCommand),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write what packages need besides the programs: manual pages, completions and units of systemd.
    #[command(hide = true)]
    PackageFiles {
        /// The folder that they go to; it is created.
        folder: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Sign in to a configured MCP server that asks for it.
    ///
    /// Prints an address to open in a browser, and waits until you come back from it. If the browser is on another machine,
    /// paste the address at which it ended.
    Login {
        /// The server's name under [mcp.servers].
        name: String,
        /// Open the address in the browser of this machine.
        #[arg(long)]
        open: bool,
    },
    /// Sign out of an MCP server, and forget its tokens.
    Logout {
        /// The server's name under [mcp.servers].
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Test the configured model and each fallback with a few short requests.
    ///
    /// The requests cover chat, streaming, tools, pictures and speed, and cost a little if the provider charges for them.
    /// The exit status is 0 if the configured model answers, and 1 if it does not.
    Test {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List known models with their context sizes, prices, abilities and retirement dates.
    List {
        /// List only the models of this provider or vendor.
        #[arg(long, value_name = "NAME", add = completion::providers())]
        provider: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Install a newer table of models: LiteLLM's, or one in the same format.
    ///
    /// The table is checked first. If it is refused, the current one stays in place.
    Update {
        /// The table, such as LiteLLM's model_prices_and_context_window.json. Without it, the commands that get one are printed.
        file: Option<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SecretsCommand {
    /// Store a secret. Its value is read from standard input.
    Set {
        /// Its name, as in ${credential:NAME}.
        #[arg(add = completion::secrets())]
        name: String,
        /// A value that was typed here; it is refused.
        #[arg(hide = true)]
        value: Option<OsString>,
    },
    /// List the names of the stored secrets.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove a secret.
    Rm {
        /// Its name.
        #[arg(add = completion::secrets())]
        name: String,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
    },
}

/// Parses an effort.
fn effort(word: &str) -> Result<Effort, String> {
    Effort::parse(word).ok_or_else(|| "use none, low, medium or high".to_owned())
}
