//! Starts with an assistant in this process, and switches to the daemon as soon as one runs on the home.
//!
//! Both may write to one home, but only the daemon shows messages to the session's other participants, and only there does a
//! turn outlive the terminal.

use anyhow::Result;
use async_trait::async_trait;
use serde_json::Value;

use super::backend::{Backend, FilesWish, Listing, LookUp, OutgoingMessage, Overview, Request};
use super::event::{BackendEvent, ChatEvent};
use super::local::Local;
use super::remote::{Audience, Remote};
use super::words::is_temporary;
use crate::daemon::Finder;

/// A connection that switches once.
pub(super) struct Handover {
    way: Box<dyn Backend>,
    /// Looks for a daemon; `None` once one was found.
    finder: Option<Finder>,
    session: String,
    audience: Audience,
    news: Option<BackendEvent>,
}

impl Handover {
    pub(super) fn new(local: Local, finder: Finder, session: &str, audience: Audience) -> Self {
        let (way, session) = (Box::new(local), session.to_owned());
        Self { way, finder: Some(finder), session, audience, news: None }
    }

    /// Switches to a daemon if one answers. If it is still starting, the next message tries again.
    async fn meet(&mut self) {
        // What was said in a temporary conversation is in this process only.
        if is_temporary(&self.session) {
            return;
        }
        let Some(finder) = &self.finder else { return };
        let Ok(Some(daemon)) = finder.find() else { return };
        let Ok(remote) = Remote::connect(finder.clone(), daemon, &self.session, self.audience).await else {
            return;
        };
        self.way.close().await;
        self.way = Box::new(remote);
        self.finder = None;
        let words = "aethon-server runs on this home now; the conversation continues there";
        self.news = Some(BackendEvent::outside(ChatEvent::Connection(words.into())));
    }
}

#[async_trait]
impl Overview for Handover {
    async fn list(&mut self, what: Listing) -> Result<Vec<(String, String)>> {
        self.way.list(what).await
    }

    async fn reach(&mut self) -> Result<Vec<String>> {
        self.way.reach().await
    }

    async fn look_up(&mut self, what: LookUp) -> Result<Value> {
        self.way.look_up(what).await
    }

    async fn stop_command(&mut self, number: u32) -> Result<Value> {
        self.way.stop_command(number).await
    }
}

#[async_trait]
impl Backend for Handover {
    fn describe(&self) -> String {
        self.way.describe()
    }

    async fn enter(&mut self, session: &str) -> Result<()> {
        session.clone_into(&mut self.session);
        self.way.enter(session).await
    }

    async fn say(&mut self, message: &OutgoingMessage) -> Result<Option<String>> {
        self.meet().await;
        self.way.say(message).await
    }

    async fn next(&mut self) -> BackendEvent {
        match self.news.take() {
            Some(news) => news,
            None => self.way.next().await,
        }
    }

    async fn tell(&mut self, request: Request) -> Result<()> {
        self.way.tell(request).await
    }

    async fn put_files(&mut self, wish: FilesWish) -> Result<Value> {
        self.way.put_files(wish).await
    }

    async fn close(&mut self) {
        self.way.close().await;
    }
}
