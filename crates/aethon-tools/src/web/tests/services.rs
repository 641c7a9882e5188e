//! The services: how they are queried, how answers are read, and that no key leaks.

use aethon_core::secret::Secret;
use aethon_core::tool::{Tool, ToolError};
use serde_json::{Value, json};

use super::server::{answer, redirect};
use super::{Server, call, no_documents, options};
use crate::web::{GitHubOptions, SearchOptions, SearchService, web_tools};

const KEY: &str = "canary-key-4711";

async fn search(service: SearchService, server: &Server, input: Value) -> Result<String, ToolError> {
    let base = Some(server.url("/"));
    let key = if service == SearchService::SearXng { Secret::default() } else { Secret::new(KEY) };
    let options = options(&[], |web| web.search = Some(SearchOptions { service, base, key }));
    let tool = web_tools(&options, no_documents()).search.map_err(drop).unwrap();
    call(&tool, input).await
}

async fn github(server: &Server, input: Value) -> Result<String, ToolError> {
    call(&github_tool(server), input).await
}

fn github_tool(server: &Server) -> impl Tool + use<> {
    let base = server.url("/api");
    let options = options(&[], |web| web.github = Some(GitHubOptions { base, token: Secret::new(KEY) }));
    web_tools(&options, no_documents()).github.map_err(drop).unwrap()
}

async fn json_rpc(url: &str, input: Value) -> Result<String, ToolError> {
    let mut input = input;
    input["url"] = url.into();
    call(&web_tools(&options(&["127.0.0.1"], |_| {}), no_documents()).json_rpc, input).await
}

#[tokio::test]
async fn searxng_is_asked_and_read() {
    let found = json!({"query": "rust", "number_of_results": 0, "results": [
        {"url": "https://a.example/", "title": "A", "content": "about a", "engine": "x", "publishedDate": "2026-01-02T00:00:00"},
        {"url": "https://b.example/", "title": "B", "content": null_free(), "publishedDate": null},
    ], "answers": [], "suggestions": []});
    let server = Server::with_json("200 OK", found);
    let text = search(SearchService::SearXng, &server, json!({"query": " rust & co "})).await.unwrap();
    let expected =
        "1. A (2026-01-02T00:00:00)\n   https://a.example/\n   about a\n2. B\n   https://b.example/\n";
    assert_eq!(text, expected);
    assert_eq!(server.requests()[0].line, "GET /search?q=rust+%26+co&format=json");
    let closed = Server::new(|_, stream| answer(stream, "403 Forbidden", &[], b"<h1>Forbidden</h1>"));
    let error = search(SearchService::SearXng, &closed, json!({"query": "x"})).await.unwrap_err().to_string();
    assert!(error.contains("search.formats"), "{error}");
}

fn null_free() -> &'static str {
    ""
}

#[tokio::test]
async fn brave_is_asked_and_read() {
    let found = json!({"type": "search", "web": {"results": [
        {"url": "https://a.example/", "title": "A", "description": "about <strong>a</strong>", "age": "2 days ago"},
    ]}});
    let server = Server::with_json("200 OK", found);
    let text = search(SearchService::Brave, &server, json!({"query": "a", "count": 3})).await.unwrap();
    assert_eq!(text, "1. A (2 days ago)\n   https://a.example/\n   about a\n");
    let request = &server.requests()[0];
    assert_eq!(request.line, "GET /res/v1/web/search?q=a&count=3");
    assert!(request.head.contains(&format!("x-subscription-token: {KEY}")), "{}", request.head);
    let none = Server::with_json("200 OK", json!({"type": "search"}));
    assert!(
        search(SearchService::Brave, &none, json!({"query": "zebra"})).await.unwrap().contains("Nothing")
    );
}

#[tokio::test]
async fn tavily_is_asked_and_read() {
    let found = json!({"query": "a", "answer": null, "results": [
        {"url": "https://a.example/", "title": "A", "content": "about a", "score": 0.9},
    ]});
    let server = Server::with_json("200 OK", found);
    let text = search(SearchService::Tavily, &server, json!({"query": "a", "count": 50})).await.unwrap();
    assert_eq!(text, "1. A\n   https://a.example/\n   about a\n");
    let request = &server.requests()[0];
    let sent: Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!(request.line, "POST /search");
    assert_eq!(sent, json!({"query": "a", "max_results": 20, "search_depth": "basic"}));
    assert!(request.head.contains(&format!("authorization: bearer {KEY}")), "{}", request.head);
}

#[tokio::test]
async fn a_key_does_not_come_back_and_goes_nowhere_else() {
    let leak = json!({"detail": format!("unknown key {KEY}"), "message": format!("bad {KEY}")});
    for (status, words) in
        [("401 Unauthorized", "tools.web_search.api_key"), ("500 Oops", "***"), ("429 Slow", "too many")]
    {
        let server = Server::with_json(status, leak.clone());
        for service in [SearchService::Brave, SearchService::Tavily] {
            let error = search(service, &server, json!({"query": "a"})).await.unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains(KEY), "{error}");
        }
    }
    let html = Server::new(|_, stream| answer(stream, "502 Bad", &[], format!("<p>{KEY}").as_bytes()));
    let error = search(SearchService::Brave, &html, json!({"query": "a"})).await.unwrap_err().to_string();
    assert!(error.contains("no JSON") && !error.contains(KEY), "{error}");
    let thief = Server::with_json("200 OK", json!({}));
    let to = thief.url("/steal");
    let lured = Server::new(move |_, stream| redirect(stream, &to));
    for service in [SearchService::Brave, SearchService::Tavily] {
        assert!(search(service, &lured, json!({"query": "a"})).await.unwrap_err().is_denied());
    }
    assert!(github(&lured, json!({"query": "{ a }"})).await.unwrap_err().is_denied());
    assert!(thief.requests().is_empty());
}

#[tokio::test]
async fn github_is_asked_with_the_token() {
    let server = Server::with_json("200 OK", json!({"data": {"viewer": {"login": "ada"}}}));
    let input = json!({"query": "query Q($n: Int) { viewer { login } }", "variables": {"n": 3}, "operation_name": "Q"});
    assert!(github(&server, input).await.unwrap().contains("\"login\": \"ada\""));
    let request = &server.requests()[0];
    assert_eq!(request.line, "POST /api/graphql");
    assert!(
        request.head.contains(&format!("authorization: bearer {KEY}"))
            && request.head.contains("user-agent: aethon")
    );
    let sent: Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!((&sent["variables"], &sent["operationName"]), (&json!({"n": 3}), &json!("Q")));
    let check = async |status, body: Value, words: &str| {
        let server = Server::with_json(status, body);
        let error = github(&server, json!({"query": "{ a }"})).await.unwrap_err().to_string();
        assert!(error.contains(words) && !error.contains(KEY), "{error}");
    };
    check("401 Unauthorized", json!({"message": format!("Bad credentials {KEY}")}), "tools.github.token")
        .await;
    check("200 OK", json!({"data": null, "errors": [{"message": "no such field"}]}), "no such field").await;
    check("403 Forbidden", json!({"message": "rate limit"}), "rate limit").await;
    let part = Server::with_json("200 OK", json!({"data": {"a": 1}, "errors": [{"message": "b is gone"}]}));
    assert!(github(&part, json!({"query": "{ a b }"})).await.unwrap().contains("b is gone"));
}

#[test]
fn a_mutation_asks_first_and_a_query_does_not() {
    let tool = github_tool(&Server::with_json("200 OK", json!({})));
    let asks = |query: &str| tool.asks_first(&json!({"query": query})).is_some();
    assert!(asks("mutation { addStar(input: {}) { x } }"));
    assert!(asks("query A { a } mutation B { b }"));
    assert!(!asks("{ viewer { login } }"));
    assert!(!asks("# mutation\n{ search(query: \"mutation {\") { x } }"));
}

#[tokio::test]
async fn a_document_that_cannot_be_read_is_not_sent() {
    let server = Server::with_json("200 OK", json!({}));
    let error = github(&server, json!({"query": "\u{a0}mutation { a }"})).await.unwrap_err().to_string();
    assert!(error.contains("no GraphQL document"), "{error}");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_method_is_called_and_its_result_returned() {
    let server = Server::new(|request, stream| {
        let call: Value = serde_json::from_str(&request.body).unwrap();
        assert_eq!(call["jsonrpc"], "2.0");
        let body = match call["method"].as_str() {
            Some("sum") => json!({"jsonrpc": "2.0", "id": call["id"], "result": {"sum": 3}}),
            _ => {
                json!({"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32601, "message": "Method not found"}})
            }
        };
        answer(stream, "200 OK", &[("content-type", "application/json")], body.to_string().as_bytes());
    });
    let called = json_rpc(&server.url("/rpc"), json!({"method": "sum", "params": [1, 2]})).await.unwrap();
    assert_eq!(called, "{\n  \"sum\": 3\n}");
    let request = &server.requests()[0];
    assert_eq!(request.line, "POST /rpc");
    assert_eq!(serde_json::from_str::<Value>(&request.body).unwrap()["params"], json!([1, 2]));
    let error = json_rpc(&server.url("/rpc"), json!({"method": "none"})).await.unwrap_err().to_string();
    assert!(error.contains("-32601: Method not found"), "{error}");
    let lured = Server::new(|_, stream| redirect(stream, "/elsewhere"));
    assert!(json_rpc(&lured.url("/"), json!({"method": "sum"})).await.unwrap_err().is_denied());
    let refused = call(
        &web_tools(&options(&[], |_| {}), no_documents()).json_rpc,
        json!({"url": server.url("/"), "method": "sum"}),
    )
    .await;
    assert!(refused.unwrap_err().is_denied());
}
