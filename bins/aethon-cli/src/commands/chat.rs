//! `chat` and `ask`.

use std::io::IsTerminal;
use std::process::ExitCode;

use aethon::Prepared;
use anyhow::Result;

use crate::args::Common;
use crate::chat::{self, Audience, Wishes, ask as question, repl};
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
pub(crate) async fn chat(common: &Common, session: &str) -> Result<ExitCode> {
    let (prepared, finder) = way(common)?;
    prepared.home().prepare()?;
    let history = prepared.home().run().join("history");
    private(&history)?;
    let audience = if std::io::stdin().is_terminal() { Audience::Person } else { Audience::Program };
    let backend = chat::open(prepared, finder, session, audience).await?;
    repl::run(backend, session, history).await?;
    Ok(ExitCode::SUCCESS)
}

/// Asks once. The exit status is 1 if the assistant could not answer.
pub(crate) async fn ask(
    common: &Common,
    text: Option<String>,
    session: Option<String>,
    wishes: &Wishes,
    json: bool,
) -> Result<ExitCode> {
    let text = question::question(text)?;
    let (prepared, finder) = way(common)?;
    let session = session.unwrap_or_else(|| format!("ask-{}", aethon::core::ids::unique()));
    let backend = chat::open(prepared, finder, &session, Audience::Program).await?;
    let answered = question::run(backend, &session, &text, wishes, json).await?;
    Ok(if answered { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Creates the history file with private permissions before the editor writes to it.
fn private(history: &std::path::Path) -> Result<()> {
    if !history.exists() {
        aethon::config::private_file::write(history, b"")?;
    }
    Ok(())
}
