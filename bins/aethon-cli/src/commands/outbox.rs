//! `outbox list|retry|rm`: undelivered messages, through the daemon if one runs, else in this process.

use std::fmt::Write as _;
use std::process::ExitCode;

use aethon::core::channel::DeliveryState;
use aethon::core::clock::{Clock, SystemClock};
use aethon::core::visible::readable;
use aethon::jiff::SignedDuration;
use aethon::json::Deliveries;
use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::source::Source;
use super::{confirm, print, print_json};
use crate::args::{Common, OutboxCommand};
use crate::daemon::{encoded, or_missing};

/// The maximum number listed.
const LISTED: usize = 500;

/// How long delivery of a retried message may take.
const LIFETIME: SignedDuration = SignedDuration::from_hours(24);

pub(crate) async fn run(common: &Common, command: OutboxCommand) -> Result<ExitCode> {
    if let OutboxCommand::Rm { id, yes, .. } = &command
        && !confirm(&format!("remove the message {id}, which then never arrives"), *yes)?
    {
        return Ok(ExitCode::FAILURE);
    }
    Source::run(common, async |source| Outbox(source).run(command.clone()).await).await?;
    Ok(ExitCode::SUCCESS)
}

/// The pending and failed deliveries.
struct Outbox<'s>(&'s Source);

impl Outbox<'_> {
    async fn run(&self, command: OutboxCommand) -> Result<()> {
        match command {
            OutboxCommand::List { state, json } => {
                let list = self.list(state.as_deref()).await?;
                if json { print_json(&list) } else { print(&table(&list)) }
            }
            OutboxCommand::Retry { id, json } => {
                self.retry(&id).await?;
                if json { print_json(&json!({ "status": "ok", "id": id })) } else { Ok(()) }
            }
            OutboxCommand::Rm { id, json, .. } => {
                self.remove(&id).await?;
                self.0.note_removal(&format!("outbox/{id}")).await;
                if json { print_json(&json!({ "status": "ok", "id": id })) } else { Ok(()) }
            }
        }
    }

    async fn list(&self, state: Option<&str>) -> Result<Value> {
        match self.0 {
            Source::Daemon(daemon) => {
                let state = state.map(|state| format!("&state={state}")).unwrap_or_default();
                daemon.get(format!("/api/outbox?limit={LISTED}{state}")).await
            }
            Source::Here(aethon) => {
                let one = state.and_then(DeliveryState::from_word);
                let states = one.map_or(vec![DeliveryState::Waiting, DeliveryState::Failed], |one| vec![one]);
                let mut pages = Vec::new();
                for state in states {
                    pages.push(aethon.outbox().undelivered(state, LISTED).await?);
                }
                Ok(json!(Deliveries::of(pages, LISTED)))
            }
        }
    }

    async fn retry(&self, id: &str) -> Result<()> {
        match self.0 {
            Source::Daemon(daemon) => {
                let done = daemon.post(format!("/api/outbox/{}/retry", encoded(id)), &json!({})).await;
                or_missing(done.map(drop), || missing(id))
            }
            Source::Here(aethon) => {
                let until = SystemClock.now() + LIFETIME;
                let is_known = match id.parse() {
                    Ok(id) => aethon.outbox().retry_delivery(id, until).await?,
                    Err(_) => false,
                };
                known(is_known, id)?;
                eprintln!("the message is due; it is sent as soon as aethon-server runs");
                Ok(())
            }
        }
    }

    async fn remove(&self, id: &str) -> Result<()> {
        match self.0 {
            Source::Daemon(daemon) => {
                let done = daemon.delete(format!("/api/outbox/{}", encoded(id))).await;
                or_missing(done.map(drop), || missing(id))
            }
            Source::Here(aethon) => {
                let is_known = match id.parse() {
                    Ok(id) => aethon.outbox().remove_delivery(id).await?,
                    Err(_) => false,
                };
                known(is_known, id)
            }
        }
    }
}

fn known(is_known: bool, id: &str) -> Result<()> {
    if !is_known {
        bail!(missing(id));
    }
    Ok(())
}

fn missing(id: &str) -> String {
    format!("no message {id} waits or was given up; it may have arrived meanwhile")
}

fn table(list: &Value) -> String {
    let mut out = String::new();
    for delivery in list["deliveries"].as_array().into_iter().flatten() {
        let text = |key: &str| readable(delivery[key].as_str().unwrap_or_default());
        let to = match delivery["recipient"].as_str() {
            Some(recipient) => format!("{} for {}", text("channel"), readable(recipient)),
            None => text("channel"),
        };
        let attempts = &delivery["attempts"];
        // Writing into a string cannot fail.
        let _ = writeln!(
            out,
            "{}  {}  to {to}  {} attempts, from {}",
            text("id"),
            text("state"),
            attempts,
            text("created_at")
        );
        let line: String = text("text").chars().take(80).collect();
        let _ = writeln!(out, "    {}", line.replace('\n', " "));
        if delivery["error"].is_string() {
            let _ = writeln!(out, "    {}", text("error"));
        }
    }
    if out.is_empty() { "nothing waits and nothing failed\n".to_owned() } else { out }
}
