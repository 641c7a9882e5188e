//! `/api/memory`: browse, search, add, correct and remove memories.
//!
//! Every caller is the owner and sees the memories of all people, each with its scope.
//!
//! The memory itself refuses secrets (422 `secret_detected`). While memory is switched off, reading finds nothing and
//! changing is 409.

use std::sync::Arc;

use aethon_core::error::Error;
use aethon_core::memory::{
    Correction, MAX_LEN, MAX_WORD, Memory, MemoryId, MemoryListing, MemoryQuery, NewMemory, Reach, Scope,
};
use http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::deps::Knowledge;
use crate::error::Problem;
use crate::json;
use crate::precondition;
use crate::request::Request;
use crate::response::{self, HandlerResult};
use crate::typed::Limit;

/// The recorded source of a memory stored through the API.
const SOURCE: &str = "api";

/// How many results a search returns by default.
const USUAL_RESULTS: usize = 10;
const MAX_RESULTS: usize = 100;

/// Which memories are listed.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Listing {
    limit: Limit<50, 1000>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
    /// Only those that contain all of these words.
    q: Option<String>,
    /// Only those of this category.
    category: Option<String>,
    /// Only those of this person, or `shared`.
    scope: Option<String>,
}

/// A fact to remember.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "NewMemory")]
pub(super) struct Fact {
    /// The fact, in a sentence or two.
    #[schemars(length(min = 1, max = MAX_LEN), regex(pattern = "\\w"))]
    content: String,
    /// Its category, `general` unless it says otherwise.
    #[schemars(length(max = MAX_WORD))]
    category: Option<String>,
    /// Whose it is: a person's name, or `shared`; the owner's unless it says otherwise.
    #[schemars(length(max = MAX_WORD))]
    scope: Option<String>,
}

/// What of a memory is corrected; what is left out stays.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "MemoryCorrection")]
pub(super) struct Corrected {
    /// The fact.
    #[schemars(length(max = MAX_LEN))]
    content: Option<String>,
    /// Its category.
    #[schemars(length(max = MAX_WORD))]
    category: Option<String>,
}

/// What is looked for.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "MemoryQuestion")]
pub(super) struct Question {
    /// A question, or words.
    #[schemars(length(min = 1, max = MAX_LEN))]
    query: String,
    /// The most results.
    #[serde(default)]
    top_k: Limit<USUAL_RESULTS, MAX_RESULTS>,
    /// Only those of this category.
    category: Option<String>,
    /// Only those of this person, or `shared`.
    scope: Option<String>,
}

/// `GET /api/memory?q&category&scope&limit&cursor`: most recently changed first.
pub(super) async fn list(knowledge: Knowledge, request: Request) -> HandlerResult {
    let Listing { limit, cursor, q, category, scope } = request.queried()?;
    let listing = MemoryListing::newest(limit.get())
        .of(reach(scope))
        .with_words(q.unwrap_or_default())
        .in_category(category)
        .from_cursor(cursor.clone());
    let page = json::memories(knowledge.memory.as_deref(), listing).await.map_err(|error| {
        if error.is_invalid() && cursor.is_some() {
            return Problem::invalid("cursor", "is not one that this listing gave out");
        }
        error.into()
    })?;
    response::json(&page)
}

/// `GET /api/memory/stats`.
pub(super) async fn stats(knowledge: Knowledge, _request: Request) -> HandlerResult {
    response::json(&json::memory_numbers(knowledge.memory.as_deref()).await?)
}

/// `POST /api/memory/search {query, top_k, category, scope}`.
pub(super) async fn search(knowledge: Knowledge, mut request: Request) -> HandlerResult {
    let memory = there(&knowledge)?;
    let Question { query, top_k, category, scope } = request.sent().await?;
    let query = MemoryQuery::new(query, top_k.get()).of(reach(scope)).in_category(filled(category));
    response::json(&json::memory_results(&**memory, query).await?)
}

/// `POST /api/memory {content, category, scope}`: 201, or 200 with the existing memory that says the same.
pub(super) async fn store(knowledge: Knowledge, mut request: Request) -> HandlerResult {
    let memory = there(&knowledge)?;
    let Fact { content, category, scope } = request.sent().await?;
    let category = filled(category).unwrap_or_default();
    let scope = filled(scope).map_or(Ok(Scope::default()), |scope| Scope::given(&scope));
    let scope = scope.map_err(about_field)?;
    let new = NewMemory::new(&content, &category, SOURCE).map_err(about_field)?.of(scope);
    let stored = memory.store(new).await?;
    let answer = if stored.is_new { response::created(&stored.entry) } else { response::json(&stored.entry) };
    Ok(precondition::tagged(answer?, &stored.entry.version()))
}

/// `GET /api/memory/{id}`: with its earlier versions.
pub(super) async fn show(knowledge: Knowledge, request: Request) -> HandlerResult {
    let memory = there(&knowledge)?;
    let record = match id(&request) {
        Some(id) => memory.show(&Reach::All, id).await?,
        None => None,
    };
    let record = record.ok_or_else(unknown)?;
    precondition::json(&record, &record.entry.version())
}

/// `PUT /api/memory/{id} {content?, category?}`: omitted fields stay the same, and the earlier version is kept as
/// history.
pub(super) async fn correct(knowledge: Knowledge, mut request: Request) -> HandlerResult {
    let memory = there(&knowledge)?;
    let Corrected { content, category } = request.sent().await?;
    let id = id(&request).ok_or_else(|| precondition::missing(&request, unknown()))?;
    let correction = Correction::new(content.as_deref(), category.as_deref(), SOURCE).map_err(about_field)?;
    let expected = precondition::expected(&request.head.headers);
    match memory.correct(&Reach::All, id, correction.expecting(expected)).await {
        Ok(entry) => precondition::json(&entry, &entry.version()),
        Err(error) if error.is_invalid() => Err(Problem::invalid("content", error.to_string())),
        Err(error) => Err(changed_or(&**memory, id, error).await),
    }
}

/// `DELETE /api/memory/{id}`: with its history.
pub(super) async fn forget(knowledge: Knowledge, request: Request) -> HandlerResult {
    let memory = there(&knowledge)?;
    let id = id(&request).ok_or_else(|| precondition::missing(&request, unknown()))?;
    match memory.forget(&Reach::All, id, precondition::expected(&request.head.headers)).await {
        Ok(true) => {}
        Ok(false) => return Err(unknown()),
        Err(error) => return Err(changed_or(&**memory, id, error).await),
    }
    tracing::info!(memory = %id, "a memory was removed");
    Ok(response::no_content())
}

/// Refuses a change of a memory; with its current state, if that is the reason.
async fn changed_or(memory: &dyn Memory, id: MemoryId, error: Error) -> Problem {
    if !error.is_changed_elsewhere() {
        return error.into();
    }
    match memory.show(&Reach::All, id).await {
        Ok(record) => precondition::changed_elsewhere(
            record.and_then(|record| precondition::Present::new(&record, record.entry.version())),
        ),
        Err(error) => error.into(),
    }
}

/// Returns the reach for one person's memories, or for everyone's.
fn reach(scope: Option<String>) -> Reach {
    match filled(scope) {
        Some(scope) => Reach::from(Scope::named(scope)),
        None => Reach::All,
    }
}

/// Returns a text unless it is blank.
fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

fn there(knowledge: &Knowledge) -> Result<&Arc<dyn Memory>, Problem> {
    knowledge.memory.as_ref().ok_or_else(|| {
        let detail = "long-term memory is switched off; set memory.enabled to true and restart";
        Problem::new(StatusCode::CONFLICT, "memory_disabled", detail)
    })
}

fn id(request: &Request) -> Option<MemoryId> {
    MemoryId::parse(&request.params.get::<String>("id")?)
}

fn unknown() -> Problem {
    Problem::not_found("there is no such memory; GET /api/memory lists them")
}

/// Turns an error into a refusal of the field that its message begins with.
fn about_field(error: Error) -> Problem {
    let sentence = error.to_string();
    let (field, rest) = sentence.split_once(' ').unwrap_or(("content", &sentence));
    Problem::invalid(field.to_owned(), rest.to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aethon_core::error::Result;
    use aethon_core::memory::{MemoryEntry, MemoryHit, MemoryPage, MemoryRecord, MemoryStats, Stored};
    use aethon_core::testkit::MemoryStore;
    use aethon_core::version::Expected;
    use aethon_guard::MemoryGuard;
    use async_trait::async_trait;
    use serde_json::{Value, json};

    use super::*;
    use crate::options::Options;
    use crate::service::tests::{ReadResponse, TestApp};

    const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

    /// A storage behind a guard, as in the program.
    struct Guarded(MemoryStore);

    #[async_trait]
    impl Memory for Guarded {
        async fn store(&self, memory: NewMemory) -> Result<Stored> {
            MemoryGuard::default().check(&memory.content)?;
            self.0.store(memory).await
        }
        async fn correct(&self, reach: &Reach, id: MemoryId, correction: Correction) -> Result<MemoryEntry> {
            MemoryGuard::default().check(correction.content.as_deref().unwrap_or_default())?;
            self.0.correct(reach, id, correction).await
        }
        async fn forget(&self, reach: &Reach, id: MemoryId, expected: Expected) -> Result<bool> {
            self.0.forget(reach, id, expected).await
        }
        async fn show(&self, reach: &Reach, id: MemoryId) -> Result<Option<MemoryRecord>> {
            self.0.show(reach, id).await
        }
        async fn list(&self, listing: MemoryListing) -> Result<MemoryPage> {
            self.0.list(listing).await
        }
        async fn search(&self, query: MemoryQuery) -> Result<Vec<MemoryHit>> {
            self.0.search(query).await
        }
        async fn stats(&self, reach: &Reach) -> Result<MemoryStats> {
            self.0.stats(reach).await
        }
    }

    fn app() -> TestApp {
        TestApp::remembering(Arc::new(Guarded(MemoryStore::default())))
    }

    async fn send(app: &TestApp, method: &str, target: &str, body: Value) -> ReadResponse {
        app.send(method, target, &JSON, &body.to_string()).await
    }

    #[tokio::test]
    async fn a_memory_is_made_found_corrected_and_removed() {
        let app = app();
        let fact = json!({"content": "Rent is due on the 5th.", "category": "money"});
        let made = send(&app, "POST", "/api/memory", fact.clone()).await;
        assert_eq!(made.status, 201);
        let entry = made.json();
        assert_eq!(entry["id"], "1", "ids are strings");
        let fields: Vec<&str> = entry.as_object().unwrap().keys().map(String::as_str).collect();
        let expected =
            ["category", "content", "created_at", "id", "last_recalled_at", "source", "updated_at"];
        assert_eq!(fields, expected);
        assert_eq!((&entry["source"], &entry["last_recalled_at"]), (&json!("api"), &Value::Null));
        let again = send(&app, "POST", "/api/memory", json!({"content": "RENT is due on the 5th"})).await;
        assert_eq!((again.status, again.json()), (200, entry.clone()));
        let plain = send(&app, "POST", "/api/memory", json!({"content": "The cat is Momo."})).await.json();
        assert_eq!(plain["category"], "general");

        let page = app.get("/api/memory?limit=1", &[]).await.json();
        assert_eq!((&page["enabled"], &page["count"]), (&json!(true), &json!(2)));
        assert_eq!(page["entries"].as_array().unwrap().len(), 1);
        let next = format!("/api/memory?limit=1&cursor={}", page["next_cursor"].as_str().unwrap());
        assert_ne!(app.get(&next, &[]).await.json()["entries"], page["entries"]);
        let found = app.get("/api/memory?q=rent", &[]).await.json();
        assert_eq!((&found["count"], &found["entries"][0]), (&json!(1), &entry));
        let results =
            send(&app, "POST", "/api/memory/search", json!({"query": "rent?", "top_k": 3})).await.json();
        let hit = &results["results"][0];
        assert_eq!(hit["content"], entry["content"]);
        assert!(
            hit["score"].as_f64().unwrap() > 0.0 && hit["why"].as_str().unwrap().contains("rent"),
            "{hit}"
        );
        assert_eq!(
            app.get("/api/memory/stats", &[]).await.json()["categories"],
            json!({"general": 1, "money": 1})
        );

        let corrected =
            send(&app, "PUT", "/api/memory/1", json!({"content": "Rent is due on the 3rd."})).await;
        assert_eq!((corrected.status, &corrected.json()["category"]), (200, &json!("money")));
        let shown = app.get("/api/memory/1", &[]).await.json();
        assert_eq!(shown["history"][0]["content"], "Rent is due on the 5th.");
        let removed = app.send("DELETE", "/api/memory/1", &[], "").await;
        assert_eq!(removed.status, 204);
        assert_eq!(app.send("DELETE", "/api/memory/1", &[], "").await.code(), "not_found");
    }

    #[tokio::test]
    async fn the_owner_sees_memories_of_all_people_with_their_scope() {
        let app = app();
        send(&app, "POST", "/api/memory", json!({"content": "The owner's tea is green."})).await;
        let made =
            send(&app, "POST", "/api/memory", json!({"content": "Ben's tea is black.", "scope": "ben"}))
                .await;
        assert_eq!((made.status, &made.json()["scope"]), (201, &json!("ben")));
        send(&app, "POST", "/api/memory", json!({"content": "Tea is on the shelf.", "scope": "shared"}))
            .await;
        let page = app.get("/api/memory", &[]).await.json();
        let scopes: Vec<_> =
            page["entries"].as_array().unwrap().iter().map(|entry| entry["scope"].clone()).collect();
        assert_eq!(page["count"], 3, "{page}");
        assert!(scopes.contains(&json!("ben")) && scopes.contains(&Value::Null), "{page}");
        assert_eq!(app.get("/api/memory?scope=ben", &[]).await.json()["count"], 1);
        let found =
            send(&app, "POST", "/api/memory/search", json!({"query": "tea", "scope": "shared"})).await;
        assert_eq!(found.json()["results"].as_array().unwrap().len(), 1);
        assert_eq!(app.get("/api/memory/stats", &[]).await.json()["count"], 3);
        assert_eq!(app.get("/api/memory/2", &[]).await.json()["scope"], "ben");
        let wrong = send(&app, "POST", "/api/memory", json!({"content": "x", "scope": "No Body"})).await;
        assert_eq!((wrong.status, &wrong.json()["errors"][0]["field"]), (422, &json!("scope")));
    }

    #[tokio::test]
    async fn invalid_requests_are_refused_with_their_field() {
        let app = app();
        send(&app, "POST", "/api/memory", json!({"content": "fine"})).await;
        let check = async |method: &str, target: &str, body: Value, status: u16, expected: &str| {
            let seen = send(&app, method, target, body).await;
            assert_eq!(seen.status, status, "{target}: {seen:?}");
            let problem = seen.json();
            let word = problem["errors"][0]["field"].as_str().unwrap_or(problem["code"].as_str().unwrap());
            assert_eq!(word, expected, "{target}: {problem}");
        };
        check("POST", "/api/memory", json!({}), 422, "content").await;
        check("POST", "/api/memory", json!({"content": "  "}), 422, "content").await;
        check("POST", "/api/memory", json!({"content": "?!"}), 422, "content").await;
        check("POST", "/api/memory", json!({"content": "x".repeat(8_001)}), 422, "content").await;
        check("POST", "/api/memory", json!({"content": "x", "category": "c".repeat(65)}), 422, "category")
            .await;
        for (method, target) in [("POST", "/api/memory"), ("PUT", "/api/memory/1")] {
            let body = || json!({"content": "password: hunter2"});
            check(method, target, body(), 422, "content").await;
            assert_eq!(send(&app, method, target, body()).await.code(), "secret_detected");
        }
        check("PUT", "/api/memory/1", json!({"content": ""}), 422, "content").await;
        check("PUT", "/api/memory/7", json!({"content": "x"}), 404, "not_found").await;
        check("PUT", "/api/memory/soup", json!({"content": "x"}), 404, "not_found").await;
        check("POST", "/api/memory/search", json!({}), 422, "query").await;
        check("POST", "/api/memory/search", json!({"query": "x", "top_k": 0}), 422, "top_k").await;
        check("POST", "/api/memory/search", json!({"query": "x", "top_k": "3"}), 422, "top_k").await;
        assert_eq!(app.get("/api/memory?cursor=nonsense", &[]).await.status, 422);
        assert_eq!(app.get("/api/memory/7", &[]).await.code(), "not_found");
        let plain = app.send("POST", "/api/memory", &[("content-type", "text/plain")], "x").await;
        assert_eq!(plain.status, 415);
    }

    #[tokio::test]
    async fn without_a_memory_reads_are_empty_and_changes_conflict() {
        let app = TestApp::new(Options::default());
        let page = app.get("/api/memory", &[]).await.json();
        assert_eq!(page, json!({"enabled": false, "count": 0, "entries": [], "next_cursor": null}));
        assert_eq!(app.get("/api/memory/stats", &[]).await.json()["enabled"], false);
        let refused = send(&app, "POST", "/api/memory", json!({"content": "x"})).await;
        assert_eq!((refused.status, refused.code().as_str()), (409, "memory_disabled"));
    }
}
