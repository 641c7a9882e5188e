//! The commands for messengers and for what they have to deliver.

use clap::Subcommand;

use crate::completion;

#[derive(Debug, Subcommand)]
pub(crate) enum ChannelsCommand {
    /// List the channels and how they are doing.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Check whether a messenger accepts the configured account. Nothing is sent or received.
    ///
    /// The exit status is 0 if all is well, 1 if something is wrong, and 2 if there is no such channel.
    Test {
        /// Its name, such as telegram.
        #[arg(add = completion::channels())]
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Make a code that lets a person write to the assistant: sent once, within ten minutes.
    Pair {
        /// The channel, such as telegram.
        #[arg(add = completion::channels())]
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List who was paired.
    Pairings {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Confirm a request to be allowed to write.
    Approve {
        /// The code that they were given.
        code: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Revoke a pairing.
    Revoke {
        /// The channel, such as telegram.
        #[arg(add = completion::channels())]
        name: String,
        /// The id of the sender, as `pairings` lists it.
        sender: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum OutboxCommand {
    /// List the messages that have not arrived, newest first.
    List {
        /// List only those that are waiting, or only those that failed.
        #[arg(long, value_parser = ["waiting", "failed"])]
        state: Option<String>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Send a message again, now.
    Retry {
        /// Its id, as `outbox list` shows it.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove a message that has not arrived.
    Rm {
        /// Its id.
        id: String,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}
