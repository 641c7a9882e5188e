//! Long-term memory as the program uses it: refuses secrets, and computes vectors if an embedder is configured.
//!
//! Everything that stores or searches memories (tools, the API, the terminal, recall) uses this object instead of the
//! storage's, so nothing bypasses the guard. Vectors are computed in the background, so a slow, failing or expensive embedder
//! never delays or fails anything; a memory without a vector is found by its words.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aethon_core::embed::Embedder;
use aethon_core::error::Result;
use aethon_core::memory::{
    Correction, Memory, MemoryEntry, MemoryHit, MemoryId, MemoryListing, MemoryPage, MemoryQuery,
    MemoryRecord, MemoryStats, MemoryStorage, MemoryVector, NewMemory, Purpose, QueryVector, Reach, Stored,
};
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
        loop {
            self.wish.notified().await;
            while let Err(error) = self.make_all(&*storage).await {
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
            self.note(None);
            pause = FIRST_PAUSE;
        }
    }

    fn note(&self, trouble: Option<String>) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    async fn make_all(&self, storage: &dyn MemoryStorage) -> Result<(), String> {
        let model = self.embedder.model();
        loop {
            let missing = storage.without_vector(model, TOGETHER).await.map_err(|error| error.to_string())?;
            if missing.is_empty() {
                return Ok(());
            }
            let texts: Vec<&str> = missing.iter().map(|(_, content)| content.as_str()).collect();
            let made = self.embedder.embed(&texts).await.map_err(|error| error.to_string())?;
            if made.len() != missing.len() {
                return Err("the embedder did not answer with a vector for each text".to_owned());
            }
            let vectors = missing.into_iter().zip(made);
            let vectors =
                vectors.map(|((id, content), numbers)| MemoryVector { id, content, numbers }).collect();
            storage.put_vectors(model, vectors).await.map_err(|error| error.to_string())?;
        }
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
    use aethon_core::model::{ModelError, ModelErrorKind};
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
