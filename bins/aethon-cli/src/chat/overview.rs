//! What the daemon lists and finds for the chat: sessions, SOPs, models, messages and usage.

use anyhow::{Context, Result};
use async_trait::async_trait;
use serde_json::Value;

use super::backend::{Listing, LookUp, Overview};
use super::remote::{ONE_TURN, Remote};
use super::words::running;
use crate::daemon::encoded;

#[async_trait]
impl Overview for Remote {
    async fn list(&mut self, what: Listing) -> Result<Vec<(String, String)>> {
        let (path, list, name) = match what {
            Listing::Sessions => ("/api/sessions?limit=20", "sessions", "session_id"),
            Listing::Sops => ("/api/sops", "sops", "name"),
            Listing::Models => ("/api/models", "models", "id"),
            Listing::Commands => return Ok(running(&self.look_up(LookUp::Commands).await?)),
        };
        let answer = self.daemon.get(path.into()).await?;
        let items =
            answer[list].as_array().with_context(|| format!("aethon-server sent no list of {list}"))?;
        let text = |item: &Value, key: &str| item[key].as_str().unwrap_or_default().to_owned();
        let title = if what == Listing::Models { "name" } else { "title" };
        Ok(items.iter().map(|item| (text(item, name), text(item, title))).collect())
    }

    async fn reach(&mut self) -> Result<Vec<String>> {
        let answer = self.daemon.get("/api/status".into()).await?;
        let reach = answer["reach"].as_array().context("aethon-server did not report what it can reach")?;
        Ok(reach.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    async fn look_up(&mut self, what: LookUp) -> Result<Value> {
        let session = format!("/api/sessions/{}", encoded(&format!("webchat:{}", self.session)));
        Ok(match what {
            LookUp::Conversation => {
                let path = format!("{session}?limit={ONE_TURN}");
                self.daemon.find_json(path).await?.unwrap_or_default()
            }
            LookUp::Export { as_json } => {
                let word = if as_json { "json" } else { "markdown" };
                let path = format!("{session}/export?format={word}");
                self.daemon.find_text(path).await?.map(Value::from).unwrap_or_default()
            }
            LookUp::Messages(words) => {
                self.daemon.get(format!("/api/search?limit={ONE_TURN}&q={}", encoded(&words))).await?
            }
            LookUp::FileChanges(turn) => {
                let path = format!("{session}/file-changes?turn={}", encoded(&turn));
                self.daemon.find_json(path).await?.unwrap_or_default()
            }
            LookUp::Usage => self.daemon.get("/api/usage?days=1".into()).await?,
            LookUp::Commands => {
                self.daemon.find_json(format!("{session}/commands")).await?.unwrap_or_default()
            }
        })
    }

    async fn stop_command(&mut self, number: u32) -> Result<Value> {
        let session = encoded(&format!("webchat:{}", self.session));
        let path = format!("/api/sessions/{session}/commands/{number}/stop");
        Ok(self.daemon.post(path, &Value::Null).await?["command"].take())
    }
}
