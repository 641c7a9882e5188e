//! The command line: what can be asked of `aethon-cli`.

use std::path::PathBuf;

use aethon::LogFormat;
use aethon::core::model::Effort;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Talk to your assistant and look after it.
#[derive(Debug, Parser)]
#[command(name = "aethon-cli", version, about, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    /// What to do; without it, chat.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Flags of every program.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// The assistant's home directory [default: ~/.aethon].
    #[arg(long, global = true, value_name = "DIR", env = "AETHON_HOME")]
    pub(crate) home: Option<PathBuf>,
    /// The configuration file [default: HOME/config.toml].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Set a configuration key for this run; the value is TOML, and a bare word is a string.
    #[arg(long = "set", global = true, value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
    /// How much is logged: trace, debug, info, warn, error or off [default: warn].
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) log_level: Option<String>,
    /// How log lines look.
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text", value_parser = log_format())]
    pub(crate) log_format: LogFormat,
    /// The address of a running aethon-server to use instead of the one on this home.
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) connect: Option<String>,
}

fn log_format() -> impl TypedValueParser<Value = LogFormat> {
    PossibleValuesParser::new(LogFormat::NAMES).map(|name| LogFormat::parse(&name).unwrap_or_default())
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Chat in the terminal.
    Chat {
        /// The session to continue.
        #[arg(long, short, default_value = "default")]
        session: String,
    },
    /// Ask one question and print the answer; reads standard input when it is piped.
    Ask {
        /// The question; what is piped in is added below it.
        text: Option<String>,
        /// The session to ask in; a fresh one by default.
        #[arg(long, short)]
        session: Option<String>,
        /// How much the model thinks first: none, low, medium or high [default: model.effort].
        #[arg(long, value_name = "LEVEL", value_parser = effort)]
        effort: Option<Effort>,
        /// Print one JSON object instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Set up a configuration by answering a few questions.
    Init {
        /// Replace a configuration that is there.
        #[arg(long)]
        force: bool,
        /// The model provider, so that it is not asked for.
        #[arg(long)]
        provider: Option<String>,
        /// The model, so that it is not asked for.
        #[arg(long)]
        model: Option<String>,
    },
    /// Look for what is wrong and say how to mend it.
    Doctor {
        /// Count warnings as failures.
        #[arg(long)]
        strict: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Find out what models can do, and what is known of them.
    #[command(subcommand)]
    Model(ModelCommand),
    /// Show and change the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Keep secrets out of the configuration file.
    #[command(subcommand)]
    Secrets(SecretsCommand),
    /// Look at conversations.
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Show what the models took: tokens and cost by day, model and kind of work.
    Usage {
        /// How many days, today included.
        #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=366))]
        days: u32,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Ask the model and each fallback a few short questions: chat, streaming, tools, pictures, speed. This costs a
    /// little where the provider takes money. Exit status 0 when the configured model answers, else 1.
    Test {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show what is known of models: sizes, prices, abilities, and when their vendors end them.
    List {
        /// Only the models of this provider or vendor.
        #[arg(long, value_name = "NAME")]
        provider: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Install a newer table of models: LiteLLM's, or one in its form. It is checked first, and the old one stays if it is
    /// refused.
    Update {
        /// The table, such as model_prices_and_context_window.json of LiteLLM.
        file: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print where the configuration file is.
    Path,
    /// Print the configuration in force, secrets masked.
    Show {
        /// Print JSON instead of TOML.
        #[arg(long)]
        json: bool,
    },
    /// Print one value.
    Get {
        /// The dotted key, such as model.provider.
        key: String,
    },
    /// Change one value in the file; comments stay.
    Set {
        /// The dotted key.
        key: String,
        /// The value: TOML, or a bare word.
        value: String,
    },
    /// Check the configuration: exit status 0 or 2.
    Check,
    /// Print the JSON Schema of the configuration file.
    Schema,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SecretsCommand {
    /// Store a secret; its value is read from standard input.
    Set {
        /// Its name, as in ${credential:NAME}.
        name: String,
    },
    /// List the names of stored secrets.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove a secret.
    Rm {
        /// Its name.
        name: String,
        /// Do not ask.
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List sessions, newest first.
    List {
        /// Only those that contain these words.
        #[arg(long, short)]
        query: Option<String>,
        /// How many.
        #[arg(long, default_value_t = 20)]
        limit: usize,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print a session's messages.
    Show {
        /// Its id, such as webchat:default.
        id: String,
        /// How many of the newest messages.
        #[arg(long, default_value_t = 50)]
        limit: usize,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print a whole session.
    Export {
        /// Its id.
        id: String,
        /// The form.
        #[arg(long, default_value = "markdown")]
        format: ExportForm,
    },
    /// Remove a session and its messages.
    Rm {
        /// Its id.
        id: String,
        /// Do not ask.
        #[arg(long)]
        yes: bool,
    },
}

/// Reads an effort.
fn effort(word: &str) -> Result<Effort, String> {
    Effort::parse(word).ok_or_else(|| "use none, low, medium or high".to_owned())
}

/// The forms of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportForm {
    /// For people.
    Markdown,
    /// For programs.
    Json,
}
