//! `sessions list|search|show|export|rm|bin|restore`: through the daemon if one runs, else on the database.

use std::process::ExitCode;

use aethon::core::ids::SessionId;
use aethon::core::session::{Binned, Clear, Discard};
use aethon::core::version::Expected;
use aethon::json::Format;
use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::source::Source;
use super::{confirm, print, print_json};
use crate::args::{Common, ExportForm, SessionsCommand};
use crate::daemon::{encoded, or_missing};

pub(crate) async fn run(common: &Common, command: SessionsCommand) -> Result<ExitCode> {
    Source::run(common, async |source| Sessions(source).answer(command.clone()).await).await
}

fn parse(id: &str) -> Result<SessionId> {
    let id = if id.contains(':') { id.to_owned() } else { format!("webchat:{id}") };
    SessionId::parse(&id).map_err(|error| aethon::Error::refused(error.to_string()).into())
}

/// The conversations.
struct Sessions<'s>(&'s Source);

impl Sessions<'_> {
    async fn answer(&self, command: SessionsCommand) -> Result<ExitCode> {
        match command {
            SessionsCommand::List { query, limit, json } => {
                let page = self.list(query.unwrap_or_default(), limit.clamp(1, 200)).await?;
                if json { print_json(&page)? } else { print(&table(&page))? }
            }
            SessionsCommand::Search { words, session, limit, json } => {
                let session = session.as_deref().map(parse).transpose()?;
                let found = self.search(&words.join(" "), session, limit.clamp(1, 100)).await?;
                if json { print_json(&found)? } else { print(&passages(&found))? }
            }
            SessionsCommand::Show { id, limit, json } => {
                let session = self.show(&parse(&id)?, limit.clamp(1, 1000)).await?;
                if json { print_json(&session)? } else { print(&transcript(&session)?)? }
            }
            SessionsCommand::Export { id, format, versions } => {
                let id = parse(&id)?;
                match format {
                    ExportForm::Json => {
                        let file = self.export(&id, Format::Json, versions).await?;
                        print_json(&serde_json::from_str(&file).context("the export is not JSON")?)?;
                    }
                    ExportForm::Markdown => {
                        let file = self.export(&id, Format::Markdown, versions).await?;
                        print(&aethon::core::visible::readable(&file))?;
                    }
                }
            }
            SessionsCommand::Rm { id, now, yes } => {
                let id = parse(&id)?;
                return self.rm(&id, now, yes).await;
            }
            SessionsCommand::Bin { empty: true, yes, .. } => {
                if !confirm("delete all sessions in the bin for good", yes)? {
                    return Ok(ExitCode::FAILURE);
                }
                print(&format!("deleted for good: {}\n", self.empty_bin().await?))?;
                self.0.note_removal("sessions/bin").await;
            }
            SessionsCommand::Bin { limit, json, .. } => {
                let page = self.bin(limit.clamp(1, 500)).await?;
                if json { print_json(&page)? } else { print(&bin_table(&page))? }
            }
            SessionsCommand::Restore { id } => {
                let restored = self.restore(&parse(&id)?).await?;
                print(&format!("restored {restored}\n"))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn rm(&self, id: &SessionId, now: bool, yes: bool) -> Result<ExitCode> {
        // Fails for an unknown session before asking for confirmation.
        if !(now && self.is_in_bin(id).await?) {
            self.show(id, 1).await?;
        }
        let question = match now {
            true => format!("delete the session {id} with all its messages for good"),
            false => format!("remove the session {id} with all its messages"),
        };
        if !confirm(&question, yes)? {
            return Ok(ExitCode::FAILURE);
        }
        self.remove(id, now).await?;
        self.0.note_removal(&format!("sessions/{id}")).await;
        Ok(ExitCode::SUCCESS)
    }

    async fn list(&self, query: String, limit: usize) -> Result<Value> {
        match self.0 {
            Source::Daemon(daemon) => {
                daemon.get(format!("/api/sessions?limit={limit}&q={}", encoded(&query))).await
            }
            Source::Here(aethon) => Ok(aethon.sessions_document(&query, limit).await?),
        }
    }

    async fn search(&self, words: &str, session: Option<SessionId>, limit: usize) -> Result<Value> {
        match self.0 {
            Source::Daemon(daemon) => {
                let session =
                    session.map(|id| format!("&session={}", encoded(id.as_str()))).unwrap_or_default();
                daemon.get(format!("/api/search?limit={limit}&q={}{session}", encoded(words))).await
            }
            Source::Here(aethon) => Ok(aethon.found_document(words, session, limit).await?),
        }
    }

    async fn show(&self, id: &SessionId, limit: usize) -> Result<Value> {
        match self.0 {
            Source::Daemon(daemon) => found(
                daemon.find_json(format!("/api/sessions/{}?limit={limit}", encoded(id.as_str()))).await?,
                id,
            ),
            Source::Here(aethon) => found(aethon.session_document(id, limit).await?, id),
        }
    }

    async fn export(&self, id: &SessionId, format: Format, versions: bool) -> Result<String> {
        match self.0 {
            Source::Daemon(daemon) => {
                let word = if format == Format::Json { "json" } else { "markdown" };
                let which = if versions { "all" } else { "live" };
                let path =
                    format!("/api/sessions/{}/export?format={word}&versions={which}", encoded(id.as_str()));
                found(daemon.find_text(path).await?, id)
            }
            Source::Here(aethon) if versions => found(aethon.export_with_versions(id, format).await?, id),
            Source::Here(aethon) => found(aethon.export(id, format).await?, id),
        }
    }

    async fn remove(&self, id: &SessionId, now: bool) -> Result<()> {
        match self.0 {
            Source::Daemon(daemon) => {
                let gone = daemon.delete(format!("/api/sessions/{}?now={now}", encoded(id.as_str()))).await;
                or_missing(gone.map(drop), || missing(id))
            }
            Source::Here(aethon) => {
                let is_kept = !now && aethon.bin_days() > 0;
                let how = if is_kept { Clear::Bin(Expected::Anything) } else { Clear::Delete };
                let gone = aethon.assistant().clear(id, how).await?;
                let named = Discard::Named(id.clone());
                let was_binned = now && aethon.storage().transcripts.discard(named).await? > 0;
                found((gone || was_binned).then_some(()), id)
            }
        }
    }

    async fn bin(&self, limit: usize) -> Result<Value> {
        match self.0 {
            Source::Daemon(daemon) => daemon.get(format!("/api/sessions/bin?limit={limit}")).await,
            Source::Here(aethon) => Ok(aethon.bin_document(limit).await?),
        }
    }

    async fn is_in_bin(&self, id: &SessionId) -> Result<bool> {
        let page = self.bin(500).await?;
        let mut binned = page["sessions"].as_array().into_iter().flatten();
        Ok(binned.any(|session| session["session_id"] == id.as_str()))
    }

    async fn empty_bin(&self) -> Result<u64> {
        match self.0 {
            Source::Daemon(daemon) => {
                let answer = daemon.delete("/api/sessions/bin".into()).await?;
                Ok(answer["removed"].as_u64().unwrap_or_default())
            }
            Source::Here(aethon) => Ok(aethon.storage().transcripts.discard(Discard::All).await?),
        }
    }

    async fn restore(&self, id: &SessionId) -> Result<String> {
        let missing = || format!("there is no session {id} in the bin; `aethon-cli sessions bin` lists them");
        match self.0 {
            Source::Daemon(daemon) => {
                let path = format!("/api/sessions/{}/restore", encoded(id.as_str()));
                let answer = or_missing(daemon.post(path, &Value::Null).await, missing)?;
                Ok(answer["session_id"].as_str().unwrap_or(id.as_str()).to_owned())
            }
            Source::Here(aethon) => {
                let back = aethon.storage().transcripts.restore(Binned::Last(id.clone())).await?;
                back.map(|id| id.to_string()).with_context(missing)
            }
        }
    }
}

fn found<T>(document: Option<T>, id: &SessionId) -> Result<T> {
    match document {
        Some(document) => Ok(document),
        None => bail!(missing(id)),
    }
}

fn missing(id: &SessionId) -> String {
    format!("there is no session {id}; `aethon-cli sessions list` lists them")
}

fn table(page: &Value) -> String {
    let mut out = String::new();
    for session in page["sessions"].as_array().into_iter().flatten() {
        let text = |key: &str| aethon::core::visible::readable(session[key].as_str().unwrap_or_default());
        let when: String = text("updated_at").replace('T', " ").chars().take(16).collect();
        out.push_str(&format!(
            "{when}  {:>5}  {}  {}\n",
            session["message_count"],
            text("session_id"),
            text("title")
        ));
    }
    if out.is_empty() { "no sessions yet\n".to_owned() } else { out }
}

fn bin_table(page: &Value) -> String {
    let mut out = String::new();
    for session in page["sessions"].as_array().into_iter().flatten() {
        let text = |key: &str| aethon::core::visible::readable(session[key].as_str().unwrap_or_default());
        let until: String = text("expires_at").replace('T', " ").chars().take(16).collect();
        out.push_str(&format!("until {until}  {}  {}\n", text("session_id"), text("title")));
    }
    if out.is_empty() { "the bin is empty\n".to_owned() } else { out }
}

/// Formats found messages, the words between asterisks.
pub(crate) fn passages(found: &Value) -> String {
    let mut out = String::new();
    for hit in found["hits"].as_array().into_iter().flatten() {
        let text = |key: &str| aethon::core::visible::readable(hit[key].as_str().unwrap_or_default());
        let when: String = text("created_at").replace('T', " ").chars().take(16).collect();
        let parts = hit["snippet"].as_array().into_iter().flatten().map(|part| {
            let text = aethon::core::visible::readable(part["text"].as_str().unwrap_or_default());
            if part["hit"] == true { format!("*{text}*") } else { text }
        });
        let snippet: String = parts.collect();
        out.push_str(&format!("{when}  {}  {}\n    {snippet}\n", text("session_id"), text("title")));
    }
    if out.is_empty() { "no message contains all these words\n".to_owned() } else { out }
}

/// Formats a session as Markdown, without characters that could control a terminal.
fn transcript(session: &Value) -> Result<String> {
    let transcript =
        serde_json::from_value(session.clone()).context("aethon-server sent another form than expected")?;
    Ok(aethon::core::visible::readable(&aethon::json::transcript(&transcript)))
}
