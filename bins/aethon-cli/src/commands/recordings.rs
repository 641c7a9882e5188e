//! `recordings list|show|verify|resume`: through the daemon if one runs, else in this process.

use std::fmt::Write as _;
use std::process::ExitCode;

use aethon::core::error::Error;
use aethon::core::recording::{EventQuery, RecordingName, resume};
use aethon::core::visible::readable;
use aethon::json::{self as documents, BAD_RECORDING};
use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};

use super::source::Source;
use super::{print, print_json};
use crate::args::{Common, RecordingsCommand};
use crate::daemon::encoded;

/// The maximum number of events shown at once.
const MAX_EVENTS: usize = 1_000;

pub(crate) async fn run(common: &Common, command: RecordingsCommand) -> Result<ExitCode> {
    Source::run(common, async |source| Library(source).run(command.clone()).await.map_err(in_words)).await
}

/// The recordings of the home.
struct Library<'s>(&'s Source);

impl Library<'_> {
    async fn run(&self, command: RecordingsCommand) -> Result<ExitCode> {
        match command {
            RecordingsCommand::List { json } => {
                let list = self.list().await?;
                if json { print_json(&list)? } else { print(&table(&list))? }
            }
            RecordingsCommand::Show { name, snapshot: Some(number), json, .. } => {
                let state = self.snapshot(&named(&name)?, number).await?;
                if json { print_json(&state)? } else { print(&state_text(&state))? }
            }
            RecordingsCommand::Show { name, snapshot: None, limit, json } => {
                let document = self.show(&named(&name)?, limit.clamp(1, MAX_EVENTS)).await?;
                if json { print_json(&document)? } else { print(&timeline(&document))? }
            }
            RecordingsCommand::Verify { name, json } => return self.verify(&named(&name)?, json).await,
            RecordingsCommand::Resume { name, snapshot, json } => {
                let name = named(&name)?;
                let number = match snapshot {
                    Some(number) => number,
                    None => self.last_snapshot(&name).await?,
                };
                let made = self.resume(&name, number).await?;
                let session = made["session_id"].as_str().unwrap_or_default();
                match json {
                    true => print_json(&made)?,
                    false => print(&format!("{}\n", readable(session)))?,
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn list(&self) -> Result<Value> {
        match self.0 {
            Source::Daemon(daemon) => {
                let mut list: Value = daemon.get("/api/sessions/recordings".into()).await?;
                while let Some(cursor) = list["next_cursor"].as_str() {
                    let page = daemon.get(format!("/api/sessions/recordings?cursor={}", encoded(cursor)));
                    let page: Value = page.await?;
                    list["next_cursor"] = page["next_cursor"].clone();
                    if let Some(rows) = list["recordings"].as_array_mut() {
                        rows.extend(page["recordings"].as_array().into_iter().flatten().cloned());
                    }
                }
                Ok(list)
            }
            Source::Here(aethon) => {
                Ok(json!(documents::recordings(&*aethon.recordings(), None, usize::MAX).await?))
            }
        }
    }

    /// Returns a recording with its snapshots and first events.
    async fn show(&self, name: &RecordingName, limit: usize) -> Result<Value> {
        let (mut document, snapshots, events) = match self.0 {
            Source::Daemon(daemon) => (
                daemon.get(path(name, "")).await?,
                daemon.get(path(name, "/snapshots")).await?,
                daemon.get(path(name, &format!("/events?limit={limit}"))).await?,
            ),
            Source::Here(aethon) => {
                let recordings = aethon.recordings();
                let events = recordings.events(name, EventQuery { limit, ..EventQuery::default() });
                (
                    json!(documents::recording(&recordings.show(name).await?)),
                    json!(documents::snapshots(&*recordings, name).await?),
                    json!(documents::recorded_events(&events.await?)),
                )
            }
        };
        for part in [snapshots, events] {
            if let (Some(whole), Value::Object(part)) = (document.as_object_mut(), part) {
                whole.extend(part);
            }
        }
        Ok(document)
    }

    async fn snapshot(&self, name: &RecordingName, number: u64) -> Result<Value> {
        match self.0 {
            Source::Daemon(daemon) => daemon.get(path(name, &format!("/snapshots/{number}"))).await,
            Source::Here(aethon) => {
                Ok(json!(documents::snapshot(&*aethon.recordings(), (name, number)).await?))
            }
        }
    }

    async fn last_snapshot(&self, name: &RecordingName) -> Result<u64> {
        let document = match self.0 {
            Source::Daemon(daemon) => daemon.get(path(name, "")).await?,
            Source::Here(aethon) => json!(documents::recording(&aethon.recordings().show(name).await?)),
        };
        let count = document["snapshots_count"].as_u64().filter(|&count| count > 0);
        count.with_context(|| format!("the recording {name} has no snapshot to continue from"))
    }

    /// Reports whether a recording is valid; the exit status is 1 if it is not.
    async fn verify(&self, name: &RecordingName, as_json: bool) -> Result<ExitCode> {
        let checked = match self.0 {
            Source::Daemon(daemon) => daemon.get(path(name, "/verify")).await,
            Source::Here(aethon) => match aethon.recordings().show(name).await {
                Ok(recording) => Ok(json!(documents::verified(&recording))),
                Err(error) => Err(anyhow::Error::from(error)),
            },
        };
        let (document, code) = match checked {
            Ok(document) => (document, ExitCode::SUCCESS),
            Err(error) if is_refusal(&error) => {
                let detail = error.to_string();
                let refused = json!({ "name": name, "valid": false, "code": BAD_RECORDING, "error": detail });
                (refused, ExitCode::FAILURE)
            }
            Err(error) => return Err(error),
        };
        if as_json {
            print_json(&document)?;
        } else if document["valid"] == true {
            let (events, snapshots) = (&document["events_count"], &document["snapshots_count"]);
            print(&format!("{name} is sound: {events} events, {snapshots} snapshots\n"))?;
        } else {
            print(&format!("{name}: {}\n", readable(document["error"].as_str().unwrap_or_default())))?;
        }
        Ok(code)
    }

    async fn resume(&self, name: &RecordingName, number: u64) -> Result<Value> {
        match self.0 {
            Source::Daemon(daemon) => daemon.post(path(name, &format!("/resume/{number}")), &json!({})).await,
            Source::Here(aethon) => {
                let sessions = aethon.storage().imports();
                let session = resume(&*aethon.recordings(), &*sessions, (name, number)).await?;
                Ok(json!({ "session_id": session }))
            }
        }
    }
}

/// Replaces the answer that there is no such recording, which is worded for the API.
fn in_words(error: anyhow::Error) -> anyhow::Error {
    let is_missing = error.downcast_ref::<Error>().is_some_and(Error::is_not_found)
        || crate::daemon::status_of(&error) == Some(404);
    if is_missing {
        return anyhow!("there is no such recording; `aethon-cli recordings list` lists them");
    }
    error
}

/// Returns whether the recording itself is at fault.
fn is_refusal(error: &anyhow::Error) -> bool {
    let here = error.downcast_ref::<Error>().is_some_and(Error::is_invalid);
    here || crate::daemon::status_of(error) == Some(422)
}

fn named(name: &str) -> Result<RecordingName> {
    let words =
        || format!("{name:?} is not the name of a recording; `aethon-cli recordings list` shows them");
    RecordingName::parse(name).ok_or_else(|| aethon::Error::refused(words()).into())
}

fn path(name: &RecordingName, rest: &str) -> String {
    format!("/api/sessions/recordings/{}{rest}", encoded(name.as_str()))
}

fn table(list: &Value) -> String {
    let mut out = String::new();
    for recording in list["recordings"].as_array().into_iter().flatten() {
        let text = |key: &str| readable(recording[key].as_str().unwrap_or_default());
        // Writing into a string cannot fail.
        let _ = if recording["valid"] == true {
            let (events, snapshots) = (&recording["events_count"], &recording["snapshots_count"]);
            writeln!(
                out,
                "{}\n    {}  {} to {}  {snapshots} snapshots, {events} events, {} KiB",
                text("name"),
                text("session_id"),
                text("started_at"),
                text("ended_at"),
                recording["size"].as_u64().unwrap_or(0).div_ceil(1024)
            )
        } else {
            writeln!(out, "{}\n    refused: {}", text("name"), text("error"))
        };
    }
    if out.is_empty() {
        out.push_str("no recordings yet; session_recorder.enabled switches them on\n");
    }
    out
}

fn timeline(document: &Value) -> String {
    let text = |value: &Value| readable(value.as_str().unwrap_or_default());
    let metadata = &document["metadata"];
    let mut out = format!(
        "{}\nsession    {}\nfrom       {}\nto         {}\nsnapshots  {}\nevents     {}\n\n",
        text(&document["name"]),
        text(&document["session_id"]),
        text(&metadata["started_at"]),
        text(&metadata["ended_at"]),
        document["snapshots_count"],
        document["events_count"]
    );
    for event in document["events"].as_array().into_iter().flatten() {
        let about: String = event["data"].to_string().chars().take(120).collect();
        let (ts, layer, kind) = (text(&event["ts"]), text(&event["layer"]), text(&event["type"]));
        let _ = writeln!(out, "{:>6}  {ts}  {layer:<5}  {kind}  {}", event["seq"], readable(&about));
    }
    if document["next_after"].is_u64() {
        out.push_str("        ... and more; --limit shows them\n");
    }
    out
}

fn state_text(state: &Value) -> String {
    let text = |value: &Value| readable(value.as_str().unwrap_or_default());
    let mut out = format!(
        "snapshot   {}\nmessages   {}\nmodel      {}\nfolder     {}\n\n",
        state["n"],
        state["message_count"],
        text(&state["model"]),
        text(&state["cwd"])
    );
    for message in state["messages"].as_array().into_iter().flatten() {
        let blocks = message["content"].as_array().into_iter().flatten();
        let words: Vec<String> = blocks
            .map(|block| match block["type"].as_str() {
                Some("text") => text(&block["text"]),
                Some(kind) => format!("[{kind}]"),
                None => String::new(),
            })
            .collect();
        let _ = writeln!(out, "{}: {}", text(&message["role"]), words.join(" "));
    }
    out
}
