//! The arguments of `service`.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ServiceCommand {
    /// Install the service and start it, now and with every session: a systemd user unit, or a launchd agent on macOS.
    Install {
        /// The aethon-server to run [default: the one beside this program].
        #[arg(long, value_name = "FILE")]
        program: Option<PathBuf>,
        /// Replace a service file that was not written by this command, and keep it as .bak.
        #[arg(long)]
        force: bool,
        /// Only write the file, and print the commands that start the service.
        #[arg(long)]
        no_start: bool,
    },
    /// Stop the service and remove its file. The home stays as it is.
    Uninstall,
    /// Show whether the service is installed and runs. The exit status is 0 if aethon-server answers.
    Status {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}
