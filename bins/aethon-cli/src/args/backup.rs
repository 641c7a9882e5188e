//! The arguments of `backup` and `restore`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `backup`.
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The file to write, which must not exist, or a folder to put it into [default: a new file in backup.dir].
    pub(crate) file: Option<PathBuf>,
    /// Include the stored secrets. Such a backup is always encrypted.
    #[arg(long)]
    pub(crate) with_secrets: bool,
    /// Encrypt it to this age recipient, such as age1... [default: backup.recipient].
    #[arg(long, value_name = "AGE", conflicts_with = "passphrase")]
    pub(crate) recipient: Option<String>,
    /// Encrypt it with a passphrase, from a prompt or from piped standard input.
    #[arg(long)]
    pub(crate) passphrase: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `restore`.
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// A backup, or a copy of the database such as aethon.db.bak-v17.
    pub(crate) file: PathBuf,
    /// Move the present home aside first, to HOME.before-restore-TIME.
    #[arg(long)]
    pub(crate) replace: bool,
    /// Check everything and say what would be done, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The file with the age identity that opens the backup.
    #[arg(long, value_name = "FILE")]
    pub(crate) identity: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `upgrade`.
#[derive(Debug, Args)]
pub(crate) struct UpgradeArgs {
    /// Only say what would be done.
    #[arg(long, visible_alias = "check")]
    pub(crate) dry_run: bool,
    /// Remove the copies that earlier upgrades left, instead. There is no way back to those versions then.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) remove_copies: bool,
    /// Remove them without asking for confirmation.
    #[arg(long, requires = "remove_copies")]
    pub(crate) yes: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
