//! The arguments of `init`.

use aethon::config::Caution;
use clap::Args;

use crate::completion;

/// The answers that are given on the command line.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct InitArgs {
    /// Replace an existing configuration.
    #[arg(long)]
    pub(crate) force: bool,
    /// Use this model provider instead of asking for one.
    #[arg(long, add = completion::providers())]
    pub(crate) provider: Option<String>,
    /// Use this model instead of asking for one.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Use the service at this address instead of asking for one.
    #[arg(long, value_name = "URL")]
    pub(crate) host: Option<String>,
    /// Permit plain http to another machine, which sends keys and conversations unencrypted.
    #[arg(long)]
    pub(crate) allow_http: bool,
    /// Use this region of Amazon Bedrock instead of asking for one.
    #[arg(long)]
    pub(crate) region: Option<String>,
    /// Read the key of the model from standard input and store it as a credential.
    #[arg(long)]
    pub(crate) key_stdin: bool,
    /// How much the assistant asks before it acts, instead of asking you: open (nothing), ask (before commands and
    /// changes of files) or guarded (also before anything leaves the machine).
    #[arg(long, value_name = "LEVEL", value_parser = caution, add = completion::words(Caution::ALL.map(Caution::name)))]
    pub(crate) caution: Option<Caution>,
    /// The same in short: true is ask, false is open.
    #[arg(long, conflicts_with = "caution", hide = true)]
    pub(crate) ask_first: Option<bool>,
    /// Ask the model for one answer at the end, without asking you first.
    #[arg(long)]
    pub(crate) test: bool,
}

/// Parses how much the assistant asks.
fn caution(word: &str) -> Result<Caution, String> {
    Caution::from_name(word).ok_or_else(|| "use open, ask or guarded".to_owned())
}
