//! Commands that run on in the background, after the call that started them has returned.
//!
//! A command belongs to the conversation in which it was started, where it has a number. It lives in the program that started it
//! and nowhere else, and nothing of it is stored. The tools keep these commands; clients list and stop them through
//! [`BackgroundCommands`].

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::watch;

use crate::ids::SessionId;
use crate::time::in_words;
use crate::untrusted::shortened_between_words;
use crate::words::words;

words! {
    from_word:
    /// The state of a command.
    pub enum CommandState {
        /// It runs.
        Running = "running",
        /// It ended by itself, with an exit status unless the system did not know it.
        Exited = "exited",
        /// A signal killed it.
        Killed = "killed",
        /// It was stopped.
        Stopped = "stopped",
        /// It ran for as long as a command may.
        Expired = "expired",
        /// It could not be started.
        Failed = "failed",
    }
}

/// A command in the background of a conversation, as clients see it. Secrets are masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BackgroundCommand {
    /// Its number in the conversation.
    pub number: u32,
    /// The command itself.
    pub command: String,
    /// Its state.
    pub state: CommandState,
    /// Its exit status, if it exited.
    pub exit_status: Option<i32>,
    /// What became of it, as the rest of a sentence: `ended with status 1 after 12 s`. Empty while it runs.
    pub outcome: String,
    /// When it started.
    #[serde(serialize_with = "crate::time::serialize")]
    pub started_at: Timestamp,
    /// When it ended.
    #[serde(serialize_with = "crate::time::serialize_optional")]
    pub ended_at: Option<Timestamp>,
    /// The end of its output.
    pub output: String,
}

impl BackgroundCommand {
    /// Returns whether it runs.
    pub fn is_running(&self) -> bool {
        self.state == CommandState::Running
    }

    /// Names it for people and models.
    pub fn name(&self) -> String {
        format!("command {} ({})", self.number, short(&self.command))
    }
}

/// Who stops a command or puts files back through one of the owner's clients, for the audit log and for the model.
pub const BY_OWNER: &str = "the owner";

/// The most characters of a command in a sentence about it.
const MAX_NAMED: usize = 80;

/// Returns a command in one line, cut to the length of a name.
fn short(command: &str) -> String {
    let line = command.split_whitespace().collect::<Vec<_>>().join(" ");
    shortened_between_words(line, MAX_NAMED)
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandEnd {
    /// It exited with this status.
    Status(i32),
    /// A signal killed it.
    Signal(i32),
    /// It ended, and the system did not say how.
    Unknown,
    /// Somebody stopped it; says who.
    Stopped(String),
    /// It ran for as long as a command may.
    Expired,
    /// It could not be started; says why.
    Failed(String),
}

impl CommandEnd {
    /// Returns the state after this end.
    pub fn state(&self) -> CommandState {
        match self {
            Self::Status(_) | Self::Unknown => CommandState::Exited,
            Self::Signal(_) => CommandState::Killed,
            Self::Stopped(_) => CommandState::Stopped,
            Self::Expired => CommandState::Expired,
            Self::Failed(_) => CommandState::Failed,
        }
    }

    /// Describes the end after a command has run for so long, as the rest of a sentence.
    pub fn outcome(&self, took: Duration) -> String {
        let after = in_words(took);
        match self {
            Self::Status(status) => format!("ended with status {status} after {after}"),
            Self::Signal(signal) => format!("was killed by signal {signal} after {after}"),
            Self::Unknown => format!("ended after {after}; its exit status is not known"),
            Self::Stopped(by) => format!("was stopped by {by} after {after}"),
            Self::Expired => format!("was ended after {after}, the longest that it may run"),
            Self::Failed(why) => format!("did not start: {why}"),
        }
    }
}

/// The result of stopping a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopOutcome {
    /// It runs no more; so it was when it ended.
    Stopped(BackgroundCommand),
    /// It had ended before.
    HadEnded(BackgroundCommand),
    /// The conversation has no such command in this program; says where it is, if that is known.
    Missing(String),
}

/// The commands in the background of all conversations.
#[async_trait]
pub trait BackgroundCommands: Send + Sync {
    /// Returns the commands of a conversation, oldest first: all that run, and the last that have ended.
    fn list(&self, session: &SessionId) -> Vec<BackgroundCommand>;

    /// Stops a command and everything that it has started; `by` says who wants that.
    async fn stop(&self, session: &SessionId, number: u32, by: &str) -> StopOutcome;

    /// Returns a number that changes whenever the list of this conversation does. 0 if it never had a command.
    fn revision(&self, session: &SessionId) -> u64;

    /// Watches for changes of any list.
    fn changes(&self) -> watch::Receiver<u64>;
}

/// No commands: for programs without a shell, and for tests.
#[derive(Debug, Clone)]
pub struct NoBackgroundCommands(watch::Sender<u64>);

impl Default for NoBackgroundCommands {
    fn default() -> Self {
        Self(watch::channel(0).0)
    }
}

#[async_trait]
impl BackgroundCommands for NoBackgroundCommands {
    fn list(&self, _session: &SessionId) -> Vec<BackgroundCommand> {
        Vec::new()
    }

    async fn stop(&self, _session: &SessionId, number: u32, _by: &str) -> StopOutcome {
        StopOutcome::Missing(missing(number))
    }

    fn revision(&self, _session: &SessionId) -> u64 {
        0
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}

/// Says that a conversation has no command of this number.
pub fn missing(number: u32) -> String {
    format!(
        "this conversation has no command {number} in the background; a command ends with the program that started it, and the \
         last that have ended are listed for a while"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcome_says_how_a_command_ended() {
        let check = |end: CommandEnd, state: CommandState, expected: &str| {
            assert_eq!((end.state(), end.outcome(Duration::from_secs(84)).as_str()), (state, expected));
        };
        check(CommandEnd::Status(1), CommandState::Exited, "ended with status 1 after 1 min 24 s");
        check(CommandEnd::Signal(9), CommandState::Killed, "was killed by signal 9 after 1 min 24 s");
        let stopped = CommandEnd::Stopped("the assistant".into());
        check(stopped, CommandState::Stopped, "was stopped by the assistant after 1 min 24 s");
        check(CommandEnd::Failed("no shell".into()), CommandState::Failed, "did not start: no shell");
    }

    #[test]
    fn name_is_one_short_line() {
        let command = BackgroundCommand {
            number: 3,
            command: format!("cargo \\\n  test {}", "x ".repeat(200)),
            state: CommandState::Running,
            exit_status: None,
            outcome: String::new(),
            started_at: Timestamp::UNIX_EPOCH,
            ended_at: None,
            output: String::new(),
        };
        let name = command.name();
        assert!(name.starts_with("command 3 (cargo \\ test x x") && name.ends_with("…)"), "{name}");
        assert!(name.chars().count() <= "command 3 ()".len() + MAX_NAMED + 1, "{name}");
        assert!(command.is_running());
    }
}
