//! The command line for SOPs, scheduled jobs and multi-turn work.

use std::convert::Infallible;
use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};

use crate::completion;

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum SopCommand {
    /// List the SOPs.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print a SOP.
    Show {
        /// Its name.
        #[arg(add = completion::sops(), value_parser = sop_name)]
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Run a SOP and print the answer.
    Run {
        /// Its name.
        #[arg(add = completion::sops(), value_parser = sop_name)]
        name: String,
        /// The text for it: free words, or KEY=VALUE for its parameters.
        text: Vec<String>,
        /// The session to run it in [default: a new one].
        #[arg(long, short, add = completion::sessions())]
        session: Option<String>,
        /// Print one JSON object instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Check SOP files: prints FILE:LINE: message for each fault, and exits with 1 if there is one.
    Check {
        /// The files [default: those of the workspace].
        files: Vec<PathBuf>,
    },
    /// List the runs of SOPs, newest first.
    Runs {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Go on with a run that was interrupted, at the step where it was.
    Resume {
        /// The run, as `sop runs` shows it.
        run: String,
    },
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum JobsCommand {
    /// List the jobs with their next and last runs.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Add a job.
    Add(Box<JobArgs>),
    /// Remove a job.
    Rm {
        /// Its name.
        #[arg(add = completion::jobs())]
        id: String,
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
    },
    /// Run a job now and wait for its end. The exit status is 1 if it fails.
    Run {
        /// Its name.
        #[arg(add = completion::jobs())]
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// List the runs of a job, newest first.
    Runs {
        /// Its name.
        #[arg(add = completion::jobs())]
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Commands for work that takes more than one turn.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum TasksCommand {
    /// List the newest work with its state.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a piece of work with its tasks and their evidence.
    Show {
        /// Its name, or the end of it.
        id: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// End a piece of work.
    Cancel {
        /// Its name, or the end of it.
        id: String,
    },
    /// Pause a piece of work, or everything.
    Pause {
        /// Its name, or the end of it [default: everything].
        id: Option<String>,
    },
    /// Let a piece of work go on, or everything.
    Resume {
        /// Its name, or the end of it [default: everything].
        id: Option<String>,
    },
}

/// A job to add.
#[derive(Debug, Clone, Args)]
#[command(group(ArgGroup::new("when").required(true).args(["cron", "run_at"])))]
#[command(group(ArgGroup::new("what").required(true).multiple(true).args(["sop", "prompt"])))]
pub(crate) struct JobArgs {
    /// Its name [default: one is made up].
    #[arg(long, visible_alias = "name", value_name = "NAME")]
    pub(crate) id: Option<String>,
    /// When, again and again: five cron fields such as "0 8 * * 1-5", or @daily.
    #[arg(long)]
    pub(crate) cron: Option<String>,
    /// When, once, such as 2026-12-24T18:00:00Z.
    #[arg(long, visible_alias = "at", value_name = "TIME")]
    pub(crate) run_at: Option<String>,
    /// The SOP to run.
    #[arg(long, visible_alias = "sop-name", value_name = "NAME")]
    #[arg(add = completion::sops())]
    pub(crate) sop: Option<String>,
    /// The task, or the input of the SOP.
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// The channel that gets the result [default: scheduler.default_channel].
    #[arg(long, add = completion::channels())]
    pub(crate) channel: Option<String>,
    /// Who gets it there.
    #[arg(long)]
    pub(crate) recipient: Option<String>,
    /// The time zone of the times, such as Europe/Berlin [default: that of the machine].
    #[arg(long)]
    pub(crate) timezone: Option<String>,
    /// What happens to a run whose time passed while the server was not running: skip or run_once.
    #[arg(long, add = completion::words(["skip", "run_once"]))]
    pub(crate) missed: Option<String>,
    /// How often a run that failed is tried again.
    #[arg(long)]
    pub(crate) retries: Option<u32>,
    /// The model that works on it: a name under [model.named], or a model id.
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The name of a SOP, also as a chat calls it: `sop list` shows it with its slash.
fn sop_name(word: &str) -> Result<String, Infallible> {
    Ok(word.strip_prefix('/').unwrap_or(word).to_owned())
}
