//! Embeddings by services that take fewer texts in a request, or refuse one of them.

use std::sync::Arc;

use aethon_tests::stub::{Seen, failure, ok};
use aethon_tests::{Server, Stub, eventually, home};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A service that refuses more than so many texts in a request, and every text with the word `poison`.
fn service(most: usize, status: &'static str) -> Stub {
    Stub::answering(move |seen| {
        let body = seen.json();
        let texts = body["input"].as_array().expect("a list of texts").clone();
        let is_poisoned = texts.iter().any(|text| text.as_str().is_some_and(|text| text.contains("poison")));
        if texts.len() > most || is_poisoned {
            return failure(status, "", r#"{"error": {"message": "batch size is invalid"}}"#);
        }
        let rows: Vec<Value> =
            (0..texts.len()).map(|index| json!({"index": index, "embedding": [1.0, 0.5]})).collect();
        ok("application/json", &json!({ "data": rows }).to_string())
    })
}

fn settings(stub: &Stub) -> [String; 3] {
    [
        "memory.embedding.provider=openai".into(),
        format!("memory.embedding.host=http://{}/v1", stub.address),
        "memory.embedding.model_id=small".into(),
    ]
}

/// A home with so many memories, none of them with a vector.
fn home_with(memories: usize, more: &[&str]) -> Arc<TempDir> {
    let server = Server::start_in(home(), &[]);
    let numbered = (0..memories).map(|number| format!("The shelf number {number} holds {number} jars."));
    for content in numbered.chain(more.iter().map(|&content| content.to_owned())) {
        let stored = server.post("/api/memory", &json!({"content": content, "category": "shelf"}));
        assert_eq!(stored.status, 201, "{}", stored.text());
    }
    let home = server.home();
    server.terminate();
    home
}

fn with_vector(server: &Server) -> u64 {
    server.get("/api/memory/stats").json()["with_vector"].as_u64().expect("a number")
}

fn sizes(requests: &[Seen]) -> Vec<usize> {
    requests.iter().map(|seen| seen.json()["input"].as_array().map_or(0, Vec::len)).collect()
}

#[test]
fn a_service_with_a_smaller_batch_gets_smaller_batches() {
    for status in ["400 Bad Request", "413 Payload Too Large", "422 Unprocessable Entity"] {
        let stub = service(10, status);
        let all = settings(&stub);
        let server = Server::start_in(home_with(60, &[]), &all.each_ref().map(String::as_str));
        eventually("all have a vector", || (with_vector(&server) == 60).then_some(()));
        let sizes = sizes(&stub.requests());
        let refused = sizes.iter().filter(|size| **size > 10).count();
        assert!(refused <= 3, "{status}: the limit is learnt: {sizes:?}");
    }
}

#[test]
fn a_refused_text_costs_only_itself() {
    let stub = service(100, "400 Bad Request");
    let all = settings(&stub);
    let home = home_with(20, &["This memory is poison for the service."]);
    let server = Server::start_in(home, &all.each_ref().map(String::as_str));
    eventually("all others have a vector", || (with_vector(&server) == 20).then_some(()));
    let count = eventually("it is left alone", || {
        let before = stub.requests().len();
        server.post("/api/memory", &json!({"content": "The cellar is dry.", "category": "house"}));
        (with_vector(&server) == 21).then_some(before)
    });
    let asked = &stub.requests()[count..];
    assert!(asked.iter().all(|seen| !seen.json().to_string().contains("poison")), "{:?}", sizes(asked));

    // After a restart it is tried again.
    let home = server.home();
    server.terminate();
    let before = stub.requests().len();
    let server = Server::start_in(home, &all.each_ref().map(String::as_str));
    eventually("it is tried again", || {
        stub.requests()[before..].iter().any(|seen| seen.json().to_string().contains("poison")).then_some(())
    });
    drop(server);
}
