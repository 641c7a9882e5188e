//! Hears the notes of the other daemons, on a connection of its own.

use std::sync::{Arc, Weak};
use std::time::Duration;

use aethon_core::peers::{Heard, Note};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Client;

use super::link::{Batch, Link};
use super::pieces::{Joined, Joiner};
use super::sending::{self, CHANNEL};
use crate::error::Error;
use crate::store::{Store, StoreInner};

/// How long the server is left alone after a connection was lost: at first, and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// How often the connection is tried when nothing comes, and how long an answer may take.
const TRIED: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(10);

/// The topic of a note to oneself, which shows that notes arrive.
const ECHO: &str = "echo";

/// How long such a note may take, and when it is tried again.
const ECHO_WAIT: Duration = Duration::from_secs(10);
const DEAF_PAUSE: Duration = Duration::from_secs(60);

impl Store {
    /// Connects the link of a daemon with the others, for as long as the store is open.
    pub(crate) fn link_up(&self) {
        let Some(link) = self.0.link.clone() else { return };
        tokio::spawn(sending::send(Arc::downgrade(&self.0), link.clone()));
        tokio::spawn(receive(Arc::downgrade(&self.0), link));
    }
}

async fn receive(store: Weak<StoreInner>, link: Arc<Link>) {
    let mut ear = Ear { link, joiner: Joiner::default(), is_proved: false, is_deaf: false };
    let mut pause = PAUSE.0;
    loop {
        let Some(inner) = store.upgrade().filter(|inner| !inner.pool.is_closed()) else { return };
        let connected = inner.pool.listen().await;
        drop(inner);
        let begun = Instant::now();
        let ended = match connected {
            Ok((client, payloads)) => ear.hear(&store, &client, payloads).await,
            Err(error) => Err(error),
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "the other instances cannot be heard; trying again");
        }
        pause = if begun.elapsed() > PAUSE.1 { PAUSE.0 } else { (pause * 2).min(PAUSE.1) };
        sleep(if ear.is_deaf { DEAF_PAUSE } else { pause }).await;
    }
}

struct Ear {
    link: Arc<Link>,
    joiner: Joiner,
    /// Whether a note of this daemon itself has come back.
    is_proved: bool,
    /// Whether none came back the last time.
    is_deaf: bool,
}

impl Ear {
    /// Listens until the connection or the store ends.
    async fn hear(
        &mut self,
        store: &Weak<StoreInner>,
        client: &Client,
        mut payloads: mpsc::Receiver<String>,
    ) -> Result<(), Error> {
        let name: String =
            ask(client.query_typed_one(&format!("SELECT {CHANNEL}"), &[])).await?.try_get(0)?;
        ask(client.batch_execute(&format!("LISTEN {name}"))).await?;
        self.is_proved = false;
        self.link.tell(Some(self.link.id()), ECHO, String::new());
        // Nothing is asked on this connection meanwhile: through a pooler, that would bring some of the notifications.
        let proved = timeout(ECHO_WAIT, async {
            while !self.is_proved
                && let Some(payload) = payloads.recv().await
            {
                self.note(&payload);
            }
        });
        if proved.await.is_err() {
            self.warn();
            return Ok(());
        }
        if std::mem::take(&mut self.is_deaf) {
            tracing::info!("the other instances are heard now");
        }
        self.link.pass_on(Heard::Lost(None));
        loop {
            match timeout(TRIED, payloads.recv()).await {
                Ok(Some(payload)) => self.note(&payload),
                Ok(None) => return Err(Error::lost("the connection ended")),
                Err(_) => {
                    if store.upgrade().is_none_or(|inner| inner.pool.is_closed()) {
                        return Ok(());
                    }
                    // A connection may be open with nothing at its other end.
                    ask(client.batch_execute("")).await?;
                }
            }
        }
    }

    fn note(&mut self, payload: &str) {
        match self.joiner.add(payload) {
            Joined::Nothing => {}
            Joined::Unknown => tracing::debug!("a notification of another program was passed over"),
            Joined::Batch { from, text, has_gap } => {
                let batch: Batch = serde_json::from_str(&text).unwrap_or_default();
                let own = self.link.id();
                if from == own {
                    self.is_proved = true;
                    return;
                }
                if has_gap || batch.has_lost {
                    self.link.pass_on(Heard::Lost(Some(from)));
                }
                for note in batch.notes.into_iter().filter(|note| note.to.is_none_or(|to| to == own)) {
                    let note = Note { from, topic: note.topic, body: note.body };
                    self.link.pass_on(Heard::Note(Arc::new(note)));
                }
            }
        }
    }

    /// Says what is missing, once.
    fn warn(&mut self) {
        if !std::mem::replace(&mut self.is_deaf, true) {
            tracing::warn!(
                "notifications of the PostgreSQL server do not arrive, as behind a pooler in transaction mode: \
                 each instance shows what runs on another only once it is stored, and cannot stop it. Let \
                 `storage.url` lead to the server itself, or to a pooler in session mode"
            );
        }
    }
}

/// Waits for an answer within a time limit.
async fn ask<T>(answer: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, Error> {
    match timeout(ANSWER, answer).await {
        Ok(answer) => answer.map_err(Error::from),
        Err(_) => Err(Error::lost("no answer")),
    }
}
