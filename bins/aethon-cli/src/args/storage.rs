//! The arguments of `storage`.

use clap::Subcommand;

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum StorageCommand {
    /// Copy all data from one storage to another one, which is empty or not there yet. Nothing may use either meanwhile.
    ///
    /// A storage is `sqlite:///path/aethon.db` or a path, a home, `postgres://user@host/database`, `env:NAME` for a variable that
    /// holds one of these, or a .jsonl file. If it is interrupted, the same command goes on where it was.
    Copy {
        /// Where the data is.
        #[arg(long, value_name = "URL")]
        from: String,
        /// Where it goes.
        #[arg(long, value_name = "URL")]
        to: String,
        /// Compare both row by row at the end.
        #[arg(long)]
        verify: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}
