//! `chat` and `ask`.

use std::io::IsTerminal;
use std::process::ExitCode;

use aethon::Prepared;
use aethon::core::model::Effort;
use anyhow::Result;

use crate::args::Common;
use crate::chat::{self, Audience, ask as question, repl};
use crate::daemon::Finder;

/// The configuration, and where to look for the daemon. Says so when flags are given that it knows nothing of.
fn way(common: &Common) -> Result<(Prepared, Finder)> {
    let prepared = crate::prepared(common)?;
    let finder = Finder::new(&prepared, common.connect.as_deref());
    let daemon = finder.find()?;
    // The token is needed to get in, so it does have an effect.
    let is_idle = |set: &&String| !set.trim_start().starts_with("dashboard.auth_token");
    if let (Some(daemon), Some(set)) = (&daemon, common.sets.iter().find(is_idle)) {
        eprintln!(
            "warning: --set {set} has no effect: aethon-server at {} answers with its own configuration",
            daemon.base
        );
    }
    Ok((prepared, finder))
}

/// Chats in a session until the person leaves.
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

/// Asks once. Exit status 1 when the assistant could not answer.
pub(crate) async fn ask(
    common: &Common,
    text: Option<String>,
    session: Option<String>,
    effort: Option<Effort>,
    json: bool,
) -> Result<ExitCode> {
    let text = question::question(text)?;
    let (prepared, finder) = way(common)?;
    let session = session.unwrap_or_else(|| format!("ask-{}", aethon::core::ids::unique()));
    let backend = chat::open(prepared, finder, &session, Audience::Program).await?;
    let answered = question::run(backend, &session, &text, effort, json).await?;
    Ok(if answered { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What is typed is private, so the file exists with its mode before the editor writes to it.
fn private(history: &std::path::Path) -> Result<()> {
    if !history.exists() {
        aethon::config::private_file::write(history, b"")?;
    }
    Ok(())
}
