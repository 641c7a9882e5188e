//! Requests, caching and booking of vectors, with the deterministic embedder and the real storage.

use std::sync::Mutex;

use aethon_core::error::{Error, Result as CoreResult};
use aethon_core::event::EventBus;
use aethon_core::ledger::{Ledger, LedgerEntry, Price};
use aethon_core::testkit::{ManualClock, MemoryLedger};
use aethon_core::usage::Budget;
use aethon_providers::{Options, Provider};
use aethon_store::Store;
use tempfile::TempDir;
use tokio::sync::Notify;

use super::*;

/// The deterministic embedder, recording its requests.
struct Noting {
    inner: Arc<dyn Embedder>,
    asked: Mutex<Vec<Vec<String>>>,
    failure: Option<ModelErrorKind>,
    /// Signals with the first that a request arrived; answers when the second is notified.
    gate: Option<[Arc<Notify>; 2]>,
}

#[async_trait]
impl Embedder for Noting {
    fn model(&self) -> &str {
        self.inner.model()
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        self.asked.lock().unwrap().push(texts.iter().map(|&text| text.to_owned()).collect());
        if let Some([asked, answer]) = &self.gate {
            asked.notify_one();
            answer.notified().await;
        }
        match self.failure {
            Some(kind) => Err(ModelError::new(kind, "no")),
            None => self.inner.embed(texts).await,
        }
    }
}

/// A cache that always fails.
struct Broken;

#[async_trait]
impl EmbeddingCache for Broken {
    async fn get(&self, _model: &str, _keys: &[TextKey]) -> CoreResult<Vec<Option<Vec<f32>>>> {
        Err(Error::internal("no"))
    }

    async fn put(&self, _model: &str, _vectors: Vec<(TextKey, Vec<f32>)>) -> CoreResult<()> {
        Err(Error::internal("no"))
    }
}

struct Bench {
    _folder: TempDir,
    store: Store,
    clock: Arc<ManualClock>,
    ledger: Arc<MemoryLedger>,
    daily_usd: f64,
}

impl Bench {
    fn new(daily_usd: f64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("a.db"), aethon_store::Options::default()).unwrap();
        let clock = Arc::new(ManualClock::at("2026-02-03T04:05:06Z".parse().unwrap()));
        let ledger = Arc::new(MemoryLedger::new(clock.clone()));
        Self { _folder: folder, store, clock, ledger, daily_usd }
    }

    /// An embedder that costs a dollar per token and makes vectors of this length.
    fn embedder(
        &self,
        dimensions: u32,
        failure: Option<ModelErrorKind>,
        cache: Option<Arc<dyn EmbeddingCache>>,
    ) -> (Arc<Noting>, CachedEmbedder) {
        let inner = aethon_providers::embedder(Options::new(Provider::Fake, "words"), Some(dimensions));
        let service = Arc::new(Noting { inner, asked: Mutex::default(), failure, gate: None });
        let embedder = self.cached(service.clone(), cache);
        (service, embedder)
    }

    fn cached(&self, service: Arc<Noting>, cache: Option<Arc<dyn EmbeddingCache>>) -> CachedEmbedder {
        CachedEmbedder::new(Parts {
            price: None,
            service,
            keys: TextKeys::new("", None),
            cache: cache.unwrap_or_else(|| Arc::new(self.store.clone())),
            meter: Meter::new(
                self.ledger.clone(),
                Arc::new(|_, _, _| Some(Price::new(1e6, 0.0))),
                Budget { daily_usd: self.daily_usd, warn_ratio: 0.5, ..Budget::default() },
                self.clock.clone(),
                EventBus::default(),
            ),
        })
    }

    /// The tokens, dollars and success of every call.
    fn calls(&self) -> Vec<(u64, f64, bool)> {
        let brief = |entry: LedgerEntry| {
            assert_eq!((entry.provider.as_str(), entry.model.as_str()), ("fake", "words"));
            assert_eq!(entry.kind, WorkKind::Embedding);
            (entry.usage.input_tokens, entry.usage.cost_usd, entry.is_ok)
        };
        self.ledger.entries().into_iter().map(brief).collect()
    }
}

#[tokio::test]
async fn a_text_is_asked_for_once() {
    let bench = Bench::new(0.0);
    let (service, embedder) = bench.embedder(8, None, None);
    let texts = ["cat", "a dog", "cat", ""];
    let first = embedder.embed(&texts).await.unwrap();
    assert_eq!(first, service.inner.embed(&texts).await.unwrap());
    assert_eq!(embedder.embed(&texts).await.unwrap(), first);
    // A new embedder on the same storage, as after a restart.
    let (later, embedder) = bench.embedder(8, None, None);
    let some = embedder.embed(&["", "new", "a dog"]).await.unwrap();
    assert_eq!((&some[0], &some[2]), (&first[3], &first[1]));
    assert!(embedder.embed(&[]).await.unwrap().is_empty());
    assert_eq!(*service.asked.lock().unwrap(), [["cat", "a dog", ""]]);
    assert_eq!(*later.asked.lock().unwrap(), [["new"]]);
    assert_eq!(bench.calls(), [(4, 4.0, true), (1, 1.0, true)]);
}

#[tokio::test]
async fn many_texts_are_asked_for_in_pieces() {
    let bench = Bench::new(0.0);
    let (service, embedder) = bench.embedder(8, None, None);
    let texts: Vec<String> = (0..600).map(|number| number.to_string()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_eq!(embedder.embed(&texts).await.unwrap(), service.inner.embed(&texts).await.unwrap());
    let sizes: Vec<usize> = service.asked.lock().unwrap().iter().map(Vec::len).collect();
    assert_eq!(sizes, [256, 256, 88]);
}

#[tokio::test]
async fn vectors_stop_where_the_owner_is_warned() {
    let bench = Bench::new(4.0);
    let (service, embedder) = bench.embedder(8, None, None);
    embedder.embed(&["cats"]).await.unwrap();
    let refused = embedder.embed(&["dog"]).await.unwrap_err();
    assert_eq!(refused.kind(), ModelErrorKind::Quota);
    assert!(refused.to_string().contains("budget.daily_usd"), "{refused}");
    embedder.embed(&["cats"]).await.unwrap();
    assert_eq!(service.asked.lock().unwrap().len(), 1, "what is refused is not asked, what is kept is free");
    assert_eq!(bench.calls(), [(2, 2.0, true)]);
    assert_eq!(bench.ledger.today().await.unwrap().reserved_usd, 0.0);
}

#[tokio::test]
async fn a_failure_costs_what_the_service_may_have_done() {
    let check = async |kind, cost: f64| {
        let bench = Bench::new(100.0);
        let (_, embedder) = bench.embedder(8, Some(kind), None);
        assert_eq!(embedder.embed(&["cat"]).await.unwrap_err().kind(), kind);
        assert_eq!(bench.calls(), [(if cost > 0.0 { 1 } else { 0 }, cost, false)], "{kind:?}");
        assert_eq!(bench.ledger.today().await.unwrap().reserved_usd, 0.0);
    };
    check(ModelErrorKind::Auth, 0.0).await;
    check(ModelErrorKind::RateLimit, 0.0).await;
    check(ModelErrorKind::Timeout, 1.0).await;
}

#[tokio::test]
async fn vectors_that_do_not_fit_any_more_are_asked_for_again() {
    let bench = Bench::new(0.0);
    bench.embedder(8, None, None).1.embed(&["cat", "dog"]).await.unwrap();
    let (service, embedder) = bench.embedder(16, None, None);
    let vectors = embedder.embed(&["cat", "new", "dog"]).await.unwrap();
    assert!(vectors.iter().all(|vector| vector.len() == 16));
    assert_eq!(service.asked.lock().unwrap().len(), 2);
    embedder.embed(&["dog", "cat"]).await.unwrap();
    assert_eq!(service.asked.lock().unwrap().len(), 2, "the new ones have taken the place of the old ones");
}

#[tokio::test]
async fn a_failing_cache_does_not_prevent_embedding() {
    let bench = Bench::new(0.0);
    let (service, embedder) = bench.embedder(8, None, Some(Arc::new(Broken)));
    for _ in 0..2 {
        assert_eq!(embedder.embed(&["cat"]).await.unwrap().len(), 1);
    }
    assert_eq!(service.asked.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn vectors_of_a_dropped_request_are_cached() {
    let bench = Bench::new(100.0);
    let [asked, answer] = [Arc::new(Notify::new()), Arc::new(Notify::new())];
    let inner = aethon_providers::embedder(Options::new(Provider::Fake, "words"), Some(8));
    let gate = Some([asked.clone(), answer.clone()]);
    let service = Arc::new(Noting { inner, asked: Mutex::default(), failure: None, gate });
    let embedder = bench.cached(service.clone(), None);
    tokio::select! {
        _ = embedder.embed(&["cat"]) => panic!("nobody has answered"),
        () = asked.notified() => {}
    }
    answer.notify_one();
    let key = [TextKeys::new("", None).key("cat")];
    let kept = async || bench.store.get("fake/words", &key).await.unwrap()[0].is_some();
    while !kept().await {
        tokio::task::yield_now().await;
    }
    assert_eq!(bench.calls(), [(1, 1.0, true)]);
    assert_eq!(embedder.embed(&["cat"]).await.unwrap().len(), 1);
    assert_eq!(service.asked.lock().unwrap().len(), 1);
}
