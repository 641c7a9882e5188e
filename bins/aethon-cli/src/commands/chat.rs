//! `chat` and `ask`.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use aethon::Prepared;
use aethon::core::answer_schema::{self, AnswerSchema};
use aethon::core::ids::SessionId;
use aethon::core::model::Effort;
use anyhow::{Context, Result};

use crate::args::{ChatArgs, Common};
use crate::chat::ask::{Ended, Output};
use crate::chat::repl::{self, Start};
use crate::chat::{self, Audience, Habits, OutgoingMessage, ask as question};
use crate::daemon::Finder;

/// Loads the configuration and finds the daemon. Warns of flags that a running daemon ignores.
fn way(common: &Common) -> Result<(Prepared, Finder)> {
    let prepared = crate::setup::prepared(common)?;
    let finder = Finder::new(&prepared, common.connect.as_deref());
    let daemon = finder.find()?;
    // The token is used to sign in to the daemon, so it does have an effect.
    let is_idle = |set: &&String| !set.trim_start().starts_with("dashboard.auth_token");
    if let (Some(daemon), Some(set)) = (&daemon, common.sets.iter().find(is_idle)) {
        eprintln!(
            "warning: --set {set} has no effect: aethon-server at {} answers with its own configuration",
            daemon.base
        );
    }
    Ok((prepared, finder))
}

/// Chats in a session until the user leaves.
pub(crate) async fn chat(common: &Common, choice: &ChatArgs) -> Result<ExitCode> {
    let ChatArgs { session, continues, temporary, vi } = choice;
    let session = match temporary {
        true => SessionId::temporary("webchat", None)?.name().to_owned(),
        false => session.clone(),
    };
    let (prepared, finder) = way(common)?;
    prepared.home().prepare()?;
    let history = prepared.home().run().join("history");
    private(&history)?;
    let audience = if std::io::stdin().is_terminal() { Audience::Person } else { Audience::Program };
    let backend = chat::open(prepared, finder, &session, audience).await?;
    let is_vi = *vi || crate::environment::prefers_vi();
    let habits = Habits { history, is_kept: !temporary, is_vi };
    repl::run(backend, Start { session, continues: *continues, habits }).await?;
    Ok(ExitCode::SUCCESS)
}

/// The question, and the form of the answer.
#[derive(Debug, Default)]
pub(crate) struct Wish {
    /// The words of the question.
    pub(crate) text: Vec<String>,
    /// Whether standard input is added to them.
    pub(crate) reads_input: bool,
    /// The session to ask in; a new one if absent.
    pub(crate) session: Option<String>,
    /// How much the model should think.
    pub(crate) effort: Option<Effort>,
    /// The model that answers.
    pub(crate) model: Option<String>,
    /// The file with the JSON Schema of the answer.
    pub(crate) schema: Option<PathBuf>,
    /// What is printed of the answer.
    pub(crate) output: Output,
}

/// Asks once. The exit status is 1 if the assistant could not answer or the answer could not be written, 2 if the schema
/// cannot be used, and 130 after Ctrl-C.
pub(crate) async fn ask(common: &Common, wish: Wish) -> Result<ExitCode> {
    let schema = match wish.schema.as_deref().map(schema).transpose() {
        Ok(schema) => schema,
        Err(error) => {
            eprintln!("aethon-cli: {error:#}");
            return Ok(ExitCode::from(2));
        }
    };
    let text = question::question(&wish.text, wish.reads_input)?;
    let (prepared, finder) = way(common)?;
    let session = wish.session.unwrap_or_else(|| format!("ask-{}", aethon::core::ids::unique()));
    let backend = chat::open(prepared, finder, &session, Audience::Program).await?;
    let (effort, model) = (wish.effort, wish.model);
    let message = OutgoingMessage { effort, model, schema, ..OutgoingMessage::of(text) };
    Ok(match question::run(backend, &session, &message, wish.output).await? {
        Ended::Answered => ExitCode::SUCCESS,
        Ended::Failed => ExitCode::FAILURE,
        // As shells report a program that Ctrl-C ended.
        Ended::Interrupted => ExitCode::from(130),
    })
}

/// Reads the schema of an answer.
fn schema(file: &Path) -> Result<AnswerSchema> {
    let read = || -> Result<AnswerSchema> {
        let mut text = String::new();
        let limit = answer_schema::MAX_BYTES as u64 * 4;
        std::fs::File::open(file)?.take(limit).read_to_string(&mut text)?;
        Ok(AnswerSchema::from_json(&text)?)
    };
    read().with_context(|| format!("the schema in {} cannot be used", file.display()))
}

/// Creates the history file with private permissions before the editor writes to it.
fn private(history: &std::path::Path) -> Result<()> {
    if !history.exists() {
        aethon::config::private_file::write(history, b"")?;
    }
    Ok(())
}
