//! The sign-ins of browsers, which all instances admit.
//!
//! The key that signs cookies is that of the instance which was there first. It is no use without `dashboard.auth_token`, from
//! which it makes the signatures. Sign-ins and revocations are stored one by one, and told to the others at once.

use std::sync::Arc;

use aethon_core::channel::ChannelRecords;
use aethon_core::error::Result;
use aethon_core::peers::{Heard, Peers};
use aethon_core::secret::Secret;
use aethon_http::App;
use aethon_http::options::{SharedSignIns, SignInJournal};
use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::broadcast::error::RecvError;

/// The owner of the records, which is no channel.
const OWNER: &str = "sign-ins";

/// The name of the key among them.
const KEY: &str = "key";

/// The topic of a line.
const SIGN_IN: &str = "sign_in";

/// How many lines are read.
const MAX_LINES: usize = 8192;

/// The shared register.
#[derive(Clone)]
pub(super) struct Journal {
    pub(super) records: Arc<dyn ChannelRecords>,
    pub(super) peers: Arc<dyn Peers>,
}

impl Journal {
    /// Returns the key of all instances; if there is none yet, this one.
    pub(super) async fn key(&self, own: &Secret) -> Result<Secret> {
        if let Some(key) = self.records.get(OWNER, KEY).await? {
            return Ok(Secret::new(key));
        }
        self.records.claim(OWNER, KEY, own.expose(), None).await?;
        Ok(self.records.get(OWNER, KEY).await?.map_or_else(|| own.clone(), Secret::new))
    }

    /// Returns the register with all its lines.
    pub(super) async fn shared(&self) -> Result<SharedSignIns> {
        Ok(SharedSignIns { journal: Arc::new(self.clone()), lines: self.lines().await? })
    }

    async fn lines(&self) -> Result<Vec<String>> {
        let listed = self.records.list(OWNER, "", MAX_LINES).await?;
        Ok(listed.into_iter().filter(|(name, _)| name != KEY).map(|(_, line)| line).collect())
    }

    /// Has this application admit those who sign in at other instances, for as long as this is polled.
    pub(super) async fn follow(self, app: Arc<App>) {
        let mut heard = self.peers.listen();
        loop {
            match heard.recv().await {
                Ok(Heard::Note(note)) if note.topic == SIGN_IN => app.take_in_sign_in(&note.body),
                Ok(Heard::Note(_)) => {}
                Ok(Heard::Lost(_)) | Err(RecvError::Lagged(_)) => match self.lines().await {
                    Ok(lines) => lines.iter().for_each(|line| app.take_in_sign_in(line)),
                    Err(error) => tracing::debug!(%error, "the sign-ins cannot be read"),
                },
                Err(RecvError::Closed) => return,
            }
        }
    }
}

#[async_trait]
impl SignInJournal for Journal {
    async fn add(&self, name: &str, line: &str, until: Timestamp) -> Result<()> {
        // Also where it cannot be stored now.
        self.peers.tell(None, SIGN_IN, line.to_owned());
        self.records.put(OWNER, name, line, Some(until)).await
    }
}
