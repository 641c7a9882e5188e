//! Services' descriptions of their own models: the requests of a provider, and which answers it believes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod server;

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use aethon_core::model::ModelProvider;
use aethon_core::secret::Secret;
use aethon_providers::{Options, Provider, build};
use serde_json::{Value, json};
use server::{answer, serve_each};

const KEY: &str = "sk-test-0123456789abcdefghij";

fn provider(host: &str) -> Arc<dyn ModelProvider> {
    let options = Options::new(Provider::LiteLlm, "some-model");
    build(options.with(|options| {
        options.host = host.into();
        options.api_key = Secret::new(KEY);
    }))
}

/// The assumptions about a model that is in no table.
const ASSUMED: (u64, u64, bool) = (32_768, 4_096, true);

/// A page of a proxy: its path, the status, and the document.
type Page = (&'static str, &'static str, Value);

/// A proxy with these pages, and nothing anywhere else.
fn proxy(pages: &[Page]) -> (String, Receiver<String>) {
    let pages = pages.to_vec();
    serve_each(move |request, stream| {
        let path = request.split(' ').nth(1).unwrap();
        let page = pages.iter().find(|(known, ..)| *known == path);
        let (status, body) =
            page.map_or(("404 Not Found", "{}".to_owned()), |(_, status, body)| (*status, body.to_string()));
        answer(status, "content-type: application/json\r\n", &body)(stream);
    })
}

#[tokio::test]
async fn a_litellm_proxy_is_asked_what_its_model_can_do() {
    let check = async |base: &str, pages: &[Page], paths: &[&str], expected: (u64, u64, bool)| {
        let (host, requests) = proxy(pages);
        let provider = provider(&format!("{host}{base}"));
        let first = provider.learn().await;
        assert_eq!(first.is_ok(), expected != ASSUMED, "{first:?}");
        assert!(provider.learn().await.is_ok(), "what was said is remembered");
        let known = provider.capabilities();
        assert_eq!((known.context_window, known.max_output, known.images), expected, "{paths:?}");
        let asked: Vec<String> = requests.try_iter().collect();
        let lines: Vec<&str> = asked.iter().map(|request| request.split(' ').nth(1).unwrap()).collect();
        assert_eq!(lines, paths);
        let bearer = format!("authorization: bearer {KEY}");
        assert!(asked.iter().all(|request| request.to_lowercase().contains(&bearer)), "{asked:?}");
    };
    let info = |window: Value| {
        json!({"data": [
            {"model_name": "other", "litellm_params": {"model": "openai/gpt-4o"}, "model_info": {"max_input_tokens": 1}},
            {"model_name": "some-model", "litellm_params": {"model": "anthropic/claude-sonnet-5"}, "model_info": {
                "max_input_tokens": window, "max_output_tokens": 32_000, "supports_vision": false,
                "supports_function_calling": true, "input_cost_per_token": 3e-6}},
        ]})
    };
    let good = info(json!(200_000));
    let told = (200_000, 32_000, false);
    let list = json!({"data": [{"id": "other"}, {"id": "some-model", "max_model_len": 64_000}]});
    let listed = (64_000, 4_096, true);
    let (new, old, models) = ("/v1/model/info", "/model/info", "/v1/models");
    let withheld = json!({"error": {"message": "this key may not see it", "code": "401"}});
    check("", &[(new, "200 OK", good.clone())], &[new], told).await;
    check("/v1/", &[(new, "200 OK", good.clone())], &[new], told).await;
    check(
        "/team/v1",
        &[("/team/model/info", "200 OK", good.clone())],
        &["/team/v1/model/info", "/team/model/info"],
        told,
    )
    .await;
    check("", &[(old, "200 OK", good)], &[new, old], told).await;
    check("", &[(models, "200 OK", list.clone())], &[new, old, models], listed).await;
    for status in ["401 Unauthorized", "403 Forbidden", "500 Internal Server Error"] {
        check(
            "",
            &[(new, status, withheld.clone()), (models, "200 OK", list.clone())],
            &[new, models],
            listed,
        )
        .await;
    }
    check("", &[(new, "200 OK", info(json!(-5)))], &[new], ASSUMED).await;
    check(
        "",
        &[(new, "401 Unauthorized", withheld.clone()), (models, "401 Unauthorized", withheld)],
        &[new, models],
        ASSUMED,
    )
    .await;
}
