//! What files were before tools changed them belongs to a conversation, and goes when that is emptied or deleted for good.
//!
//! Every deletion goes through the transcripts of the storage, so that is where it is noticed; what the storage deletes by itself
//! (the bin after its days, one-shot sessions) is looked for with the upkeep.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aethon_core::error::Result;
use aethon_core::file_changes::FileHistory;
use aethon_core::ids::{MessageId, SessionId};
use aethon_core::message::Message;
use aethon_core::session::{
    BinId, BinPage, BinQuery, Binned, Clear, Discard, SessionKeeping, SessionPage, SessionPatch,
    SessionQuery, SessionSummary, Transcripts, TurnRecord,
};
use aethon_core::storage::Storage;
use aethon_core::version::Expected;
use aethon_tools::ChangedFiles;
use async_trait::async_trait;

use crate::prepared::Prepared;
use crate::wiring;

/// How many sessions of the bin are read at a time.
const PAGE: usize = 500;

/// Returns the changes of files, and the storage whose deletions they follow.
pub(crate) fn with_file_changes(prepared: &Prepared, mut storage: Storage) -> (Storage, ChangedFiles) {
    let journal = wiring::tools::changes(prepared, &storage);
    let files = ChangedFiles::new(&wiring::tool_options::options(prepared), journal);
    let files = files.noting_in(storage.audit.clone());
    let (transcripts, changes) = (storage.transcripts.clone(), Arc::new(files.clone()));
    storage.transcripts = Arc::new(Forgetting { transcripts, files: changes });
    (storage, files)
}

/// Removes changes that are too old, or whose conversation is gone.
pub(crate) struct ChangesUpkeep {
    pub(crate) transcripts: Arc<dyn Transcripts>,
    pub(crate) files: Arc<dyn FileHistory>,
}

impl ChangesUpkeep {
    /// Does so. Whatever fails is tried again the next time.
    pub(crate) async fn look(&self) {
        let swept = async {
            self.files.sweep().await?;
            forget_missing(&*self.transcripts, &*self.files).await
        };
        if let Err(error) = swept.await {
            tracing::warn!(%error, "old changes of files cannot be removed");
        }
    }
}

/// Forgets the changes of sessions that are neither there nor in the bin.
async fn forget_missing(transcripts: &dyn Transcripts, files: &dyn FileHistory) -> Result<()> {
    let mut missing = Vec::new();
    for session in files.sessions().await? {
        if transcripts.session(&session).await?.is_none() {
            missing.push(session);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let binned: BTreeSet<SessionId> = binned(transcripts).await?.into_values().collect();
    for session in missing.iter().filter(|session| !binned.contains(*session)) {
        files.forget(session).await?;
    }
    Ok(())
}

/// Returns the sessions in the bin, by their places.
async fn binned(transcripts: &dyn Transcripts) -> Result<BTreeMap<BinId, SessionId>> {
    let (mut binned, mut before) = (BTreeMap::new(), None);
    loop {
        let page = transcripts.binned(BinQuery { limit: PAGE, before }).await?;
        before = page.sessions.last().map(|last| (last.deleted_at, last.bin_id));
        binned.extend(page.sessions.into_iter().map(|session| (session.bin_id, session.summary.session_id)));
        if !page.has_more || before.is_none() {
            return Ok(binned);
        }
    }
}

/// Transcripts that forget the changes of files with a conversation.
struct Forgetting {
    transcripts: Arc<dyn Transcripts>,
    files: Arc<dyn FileHistory>,
}

impl Forgetting {
    /// The conversation is gone already, so a failure is only logged: the upkeep looks again.
    fn told(forgotten: Result<()>) {
        if let Err(error) = forgotten {
            tracing::warn!(%error, "what files were before a deleted conversation changed them is removed later");
        }
    }

    /// The id that a session in the bin had.
    async fn former_id(&self, which: &Binned) -> Result<Option<SessionId>> {
        Ok(match which {
            Binned::Last(session) => Some(session.clone()),
            Binned::Place(place) => binned(&*self.transcripts).await?.remove(place),
        })
    }

    /// Gives a session that came back under another id what it had changed under its own, which another one has by now.
    async fn hand_over(&self, from: &SessionId, to: &SessionId) -> Result<()> {
        let until = self.transcripts.session(from).await?.map(|other| other.created_at);
        self.files.hand_over(from, to, until).await
    }
}

#[async_trait]
impl Transcripts for Forgetting {
    async fn sessions(&self, query: SessionQuery) -> Result<SessionPage> {
        self.transcripts.sessions(query).await
    }

    async fn session(&self, id: &SessionId) -> Result<Option<SessionSummary>> {
        self.transcripts.session(id).await
    }

    async fn messages(
        &self,
        id: &SessionId,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Message>> {
        self.transcripts.messages(id, before, limit).await
    }

    async fn pending(&self, id: &SessionId) -> Result<Vec<TurnRecord>> {
        self.transcripts.pending(id).await
    }

    async fn patch(&self, id: &SessionId, patch: &SessionPatch, expected: Expected) -> Result<bool> {
        self.transcripts.patch(id, patch, expected).await
    }

    async fn clear(&self, id: &SessionId, how: Clear) -> Result<bool> {
        let is_kept = matches!(how, Clear::Bin(_));
        let existed = self.transcripts.clear(id, how).await?;
        if !is_kept {
            Self::told(self.files.forget(id).await);
        }
        Ok(existed)
    }

    async fn post(&self, id: &SessionId, key: &str, message: Message) -> Result<Option<MessageId>> {
        self.transcripts.post(id, key, message).await
    }
}

#[async_trait]
impl SessionKeeping for Forgetting {
    async fn mark_read(&self, id: &SessionId) -> Result<bool> {
        self.transcripts.mark_read(id).await
    }

    async fn suggest_title(&self, id: &SessionId, title: &str) -> Result<bool> {
        self.transcripts.suggest_title(id, title).await
    }

    async fn binned(&self, query: BinQuery) -> Result<BinPage> {
        self.transcripts.binned(query).await
    }

    async fn restore(&self, which: Binned) -> Result<Option<SessionId>> {
        let from = self.former_id(&which).await?;
        let restored = self.transcripts.restore(which).await?;
        if let (Some(from), Some(to)) = (from, &restored)
            && from != *to
            && let Err(error) = self.hand_over(&from, to).await
        {
            tracing::warn!(%error, session = %to, "a restored conversation has lost what files were before it changed them");
        }
        Ok(restored)
    }

    async fn discard(&self, which: Discard) -> Result<u64> {
        let discarded = self.transcripts.discard(which).await?;
        if discarded > 0 {
            Self::told(forget_missing(&*self.transcripts, &*self.files).await);
        }
        Ok(discarded)
    }
}
