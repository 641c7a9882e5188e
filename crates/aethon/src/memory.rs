//! Long-term memory as the program uses it: refuses secrets, and computes vectors if an embedder is configured.
//!
//! Everything that stores or searches memories (tools, the API, the terminal, recall) uses this object instead of the
//! storage's, so nothing bypasses the guard. Vectors are computed in the background, so a slow, failing or expensive embedder
//! never delays or fails anything; a memory without a vector is found by its words.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aethon_core::embed::{Embedder, is_about_texts};
use aethon_core::error::Result;
use aethon_core::memory::{
    Correction, Memory, MemoryEntry, MemoryHit, MemoryId, MemoryListing, MemoryPage, MemoryQuery,
    MemoryRecord, MemoryStats, MemoryStorage, MemoryVector, NewMemory, Purpose, QueryVector, Reach, Stored,
};
use aethon_core::model::ModelError;
use aethon_core::version::Expected;
use aethon_guard::MemoryGuard;
use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// How long a search waits for the vector of its query before it falls back to words.
const RECALL_TIMEOUT: Duration = Duration::from_millis(1_500);
const SEARCH_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest part of a query that is embedded, in characters.
const MAX_ASKED: usize = 2_000;

/// The number of memories embedded per batch.
const TOGETHER: usize = 64;

/// The first and the longest pause before a failing embedder is tried again.
const FIRST_PAUSE: Duration = Duration::from_secs(15);
const LAST_PAUSE: Duration = Duration::from_secs(1_800);

/// The memory behind its guard.
#[derive(Clone)]
pub(crate) struct GuardedMemory {
    storage: Arc<dyn MemoryStorage>,
    guard: MemoryGuard,
    vectors: Option<Vectors>,
}

/// The embedder, and the signal that wakes it.
#[derive(Clone)]
struct Vectors {
    embedder: Arc<dyn Embedder>,
    wish: Arc<Notify>,
    /// Why memories are waiting for their vectors, while they do.
    trouble: Arc<Mutex<Option<String>>>,
}

impl GuardedMemory {
    pub(crate) fn new(
        storage: Arc<dyn MemoryStorage>,
        guard: MemoryGuard,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        let vectors =
            embedder.map(|embedder| Vectors { embedder, wish: Arc::default(), trouble: Arc::default() });
        Self { storage, guard, vectors }
    }

    /// Starts computing vectors, if there is an embedder: for new memories, and with `at_once` also for those without one.
    pub(crate) fn start(&self, at_once: bool) -> VectorTask {
        let task = self.vectors.clone().map(|vectors| {
            if at_once {
                vectors.wish.notify_one();
            }
            tokio::spawn(vectors.make(self.storage.clone()))
        });
        VectorTask(Mutex::new(task))
    }

    /// Why memories are waiting for their vectors, while they do.
    pub(crate) fn trouble(&self) -> Option<String> {
        let vectors = self.vectors.as_ref()?;
        vectors.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn wish(&self) {
        if let Some(vectors) = &self.vectors {
            vectors.wish.notify_one();
        }
    }

    /// Embeds the query; `None` if there is no vector in time.
    async fn vector(&self, query: &MemoryQuery) -> Option<QueryVector> {
        let vectors = self.vectors.as_ref()?;
        let text: String = query.text.trim().chars().take(MAX_ASKED).collect();
        if text.is_empty() {
            return None;
        }
        let patience = if query.purpose == Purpose::Recall { RECALL_TIMEOUT } else { SEARCH_TIMEOUT };
        let question = [text.as_str()];
        match timeout(patience, vectors.embedder.embed(&question)).await {
            Ok(Ok(made)) => {
                let numbers = made.into_iter().next()?;
                Some(QueryVector { model: vectors.embedder.model().to_owned(), numbers })
            }
            Ok(Err(error)) => {
                tracing::debug!(%error, "no vector for a memory search; using full-text search");
                None
            }
            Err(_) => {
                tracing::debug!("the embedder is slow; using full-text search");
                None
            }
        }
    }
}

#[async_trait]
impl Memory for GuardedMemory {
    async fn store(&self, memory: NewMemory) -> Result<Stored> {
        self.guard.check(&memory.content)?;
        self.guard.check(&memory.category)?;
        let stored = self.storage.store(memory).await?;
        if stored.is_new {
            self.wish();
        }
        Ok(stored)
    }

    async fn correct(&self, reach: &Reach, id: MemoryId, correction: Correction) -> Result<MemoryEntry> {
        for text in [&correction.content, &correction.category].into_iter().flatten() {
            self.guard.check(text)?;
        }
        let entry = self.storage.correct(reach, id, correction).await?;
        self.wish();
        Ok(entry)
    }

    async fn forget(&self, reach: &Reach, id: MemoryId, expected: Expected) -> Result<bool> {
        self.storage.forget(reach, id, expected).await
    }

    async fn show(&self, reach: &Reach, id: MemoryId) -> Result<Option<MemoryRecord>> {
        self.storage.show(reach, id).await
    }

    async fn list(&self, listing: MemoryListing) -> Result<MemoryPage> {
        self.storage.list(listing).await
    }

    async fn search(&self, query: MemoryQuery) -> Result<Vec<MemoryHit>> {
        let vector = self.vector(&query).await;
        self.storage.search(query.with_vector(vector)).await
    }

    async fn stats(&self, reach: &Reach) -> Result<MemoryStats> {
        self.storage.stats(reach).await
    }
}

impl Vectors {
    /// Computes vectors on demand until it is stopped.
    async fn make(self, storage: Arc<dyn MemoryStorage>) {
        let mut pause = FIRST_PAUSE;
        let mut set_aside = SetAside::default();
        loop {
            self.wished(&mut set_aside).await;
            while let Err(error) = self.make_all(&*storage, &mut set_aside).await {
                if pause == FIRST_PAUSE {
                    tracing::warn!(
                        error,
                        "memory vectors are computed later; until then, only full-text search finds these memories"
                    );
                }
                self.note(Some(error));
                sleep(pause).await;
                pause = (pause * 2).min(LAST_PAUSE);
            }
            self.note(set_aside.trouble());
            pause = FIRST_PAUSE;
        }
    }

    /// Waits until there is something to embed: a new memory, or time to try the refused ones again.
    async fn wished(&self, set_aside: &mut SetAside) {
        if set_aside.refused.is_empty() {
            return self.wish.notified().await;
        }
        if timeout(LAST_PAUSE, self.wish.notified()).await.is_err() {
            set_aside.refused.clear();
        }
    }

    fn note(&self, trouble: Option<String>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    /// Embeds all memories without a vector but those that are set aside. An error means that trying again may help.
    async fn make_all(&self, storage: &dyn MemoryStorage, set_aside: &mut SetAside) -> Result<(), String> {
        let model = self.embedder.model();
        loop {
            let most = TOGETHER + set_aside.refused.len();
            let mut missing = storage.without_vector(model, most).await.map_err(|error| error.to_string())?;
            missing.retain(|memory| !set_aside.refused.contains(memory));
            missing.truncate(TOGETHER);
            if missing.is_empty() {
                return Ok(());
            }
            let texts: Vec<&str> = missing.iter().map(|(_, content)| content.as_str()).collect();
            let made = self.embedder.embed_each(&texts).await.map_err(|error| error.to_string())?;
            if made.len() != missing.len() {
                return Err("the embedder did not answer with a vector for each text".to_owned());
            }
            let (mut vectors, mut failure) = (Vec::new(), None);
            for ((id, content), made) in missing.into_iter().zip(made) {
                match made {
                    Ok(numbers) => vectors.push(MemoryVector { id, content, numbers }),
                    Err(error) if is_about_texts(&error) => set_aside.add((id, content), &error),
                    Err(error) => failure = Some(error.to_string()),
                }
            }
            let has_made = !vectors.is_empty();
            storage.put_vectors(model, vectors).await.map_err(|error| error.to_string())?;
            match (failure, has_made) {
                (Some(failure), _) => return Err(failure),
                // A service that refuses everything is set up wrongly, and is not asked about each memory.
                (None, false) => return Err(set_aside.reason.clone()),
                (None, true) => {}
            }
        }
    }
}

/// Memories that the service refused to embed, each for itself. They are tried again later, and after a restart.
#[derive(Default)]
struct SetAside {
    refused: HashSet<(MemoryId, String)>,
    /// Why, of the last one.
    reason: String,
}

impl SetAside {
    fn add(&mut self, memory: (MemoryId, String), error: &ModelError) {
        self.reason = error.to_string();
        tracing::warn!(memory = memory.0.0, error = self.reason, "a memory is refused by the embedder");
        self.refused.insert(memory);
    }

    /// Describes why memories are without a vector, if some are.
    fn trouble(&self) -> Option<String> {
        let count = self.refused.len();
        (count > 0).then(|| format!("{count} of the memories cannot be embedded: {}", self.reason))
    }
}

/// The background task that computes vectors.
pub(crate) struct VectorTask(Mutex<Option<JoinHandle<()>>>);

impl Drop for VectorTask {
    /// Nothing else ends it, and it keeps the storage open.
    fn drop(&mut self) {
        if let Some(task) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner) {
            task.abort();
        }
    }
}

impl VectorTask {
    /// Stops the task. A vector in progress is made again at the next start, from the cache of paid ones.
    pub(crate) async fn stop(&self) {
        let task = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.abort();
            // The task is ending; its result does not matter.
            let _ = task.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use aethon_core::live::Live;
    use aethon_core::model::ModelErrorKind;
    use aethon_core::testkit::MemoryStore;

    use super::*;

    /// Maps every text to one of two axes, after a number of failures.
    struct Axes {
        failures: AtomicUsize,
    }

    #[async_trait]
    impl Embedder for Axes {
        fn model(&self) -> &str {
            "test/axes"
        }

        async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
            let fails = |left: usize| left.checked_sub(1);
            if self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fails).is_ok() {
                return Err(ModelError::new(ModelErrorKind::Network, "down"));
            }
            let is_animal = |text: &&str| text.contains("cat") || text.contains("pet");
            Ok(texts
                .iter()
                .map(|text| if is_animal(text) { vec![1.0, 0.0] } else { vec![0.0, 1.0] })
                .collect())
        }
    }

    fn guarded(failures: usize) -> (Arc<MemoryStore>, GuardedMemory) {
        let store = Arc::new(MemoryStore::default());
        let guard = MemoryGuard::new(Live::default(), &[]).unwrap();
        let embedder = Arc::new(Axes { failures: failures.into() });
        (store.clone(), GuardedMemory::new(store, guard, Some(embedder)))
    }

    async fn with_vectors(store: &MemoryStore, count: u64) {
        while store.stats(&Reach::default()).await.unwrap().with_vector != count {
            sleep(Duration::from_secs(1)).await;
        }
    }

    fn fact(content: &str) -> NewMemory {
        NewMemory::new(content, "", "api").unwrap()
    }

    #[tokio::test]
    async fn secrets_are_refused_by_every_write() {
        let (store, memory) = guarded(0);
        assert!(memory.store(fact("my password is hunter2")).await.unwrap_err().is_secret());
        let filed = NewMemory::new("fine", "password: hunter2", "api").unwrap();
        assert!(memory.store(filed).await.unwrap_err().is_secret());
        let entry = memory.store(fact("fine")).await.unwrap().entry;
        let correction = Correction::new(Some("password: hunter2"), None, "").unwrap();
        assert!(memory.correct(&Reach::default(), entry.id, correction).await.unwrap_err().is_secret());
        assert_eq!(store.list(MemoryListing::newest(5)).await.unwrap().count, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn vectors_come_later_however_often_the_embedder_fails() {
        let (store, memory) = guarded(3);
        let task = memory.start(false);
        assert!(memory.store(fact("The cat is called Momo.")).await.unwrap().is_new);
        memory.store(fact("Rent is due on the 5th.")).await.unwrap();
        with_vectors(&store, 2).await;
        let hits = memory.search(MemoryQuery::new("pet", 1)).await.unwrap();
        assert_eq!(hits[0].entry.content, "The cat is called Momo.");
        task.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn existing_memories_get_vectors_at_startup() {
        let (store, memory) = guarded(0);
        store.store(fact("The cat is called Momo.")).await.unwrap();
        let task = memory.start(true);
        with_vectors(&store, 1).await;
        let correction = Correction::new(Some("The cat is called Mimi."), None, "").unwrap();
        memory.correct(&Reach::default(), MemoryId(1), correction).await.unwrap();
        with_vectors(&store, 1).await;
        task.stop().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_search_does_without_an_embedder_that_fails() {
        let (_store, memory) = guarded(usize::MAX);
        memory.store(fact("The cat is called Momo.")).await.unwrap();
        assert_eq!(memory.search(MemoryQuery::new("momo", 1)).await.unwrap().len(), 1);
    }
}
