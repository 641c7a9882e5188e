//! Requests and responses, format by format.

use aethon_core::model::ModelErrorKind;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::embedder;
use super::form::Form;
use crate::options::{Options, Provider};
use crate::testing::service;

fn asked(provider: Provider, model: &str, texts: &[&str], dimensions: Option<u32>) -> (String, Value) {
    let service = service(provider, model);
    let outgoing = Form::of(provider, model).unwrap().build_request(&service, texts, dimensions);
    let path = outgoing.url.strip_prefix(&service.endpoint.base).unwrap().to_owned();
    (path, serde_json::from_slice(&outgoing.body).unwrap())
}

#[test]
fn every_service_is_asked_as_it_wants() {
    let check = |provider, model: &str, dimensions, path: &str, body: Value| {
        assert_eq!(asked(provider, model, &["a", " "], dimensions), (path.to_owned(), body));
    };
    let model = "text-embedding-3-small";
    let body = json!({"model": model, "input": ["a", "(empty)"], "encoding_format": "float"});
    check(Provider::OpenAi, model, None, "/embeddings", body.clone());
    check(Provider::LiteLlm, model, None, "/embeddings", body.clone());
    let mut short = body;
    short["dimensions"] = 256.into();
    check(Provider::OpenAi, model, Some(256), "/embeddings", short);
    let model = "mistral-embed";
    check(
        Provider::Mistral,
        model,
        None,
        "/v1/embeddings",
        json!({"model": model, "input": ["a", "(empty)"]}),
    );
    let model = "nomic-embed-text";
    check(Provider::Ollama, model, None, "/api/embed", json!({"model": model, "input": ["a", "(empty)"]}));
    let one = |text: &str| {
        json!({
            "model": "models/gemini-embedding-001", "content": {"parts": [{"text": text}]}, "outputDimensionality": 8,
        })
    };
    check(
        Provider::Gemini,
        "gemini-embedding-001",
        Some(8),
        "/v1/models/gemini-embedding-001:batchEmbedContents",
        json!({"requests": [one("a"), one("(empty)")]}),
    );
    check(
        Provider::Bedrock,
        "amazon.titan-embed-text-v2:0",
        Some(256),
        "/model/amazon.titan-embed-text-v2%3A0/invoke",
        json!({"inputText": "a", "dimensions": 256}),
    );
    check(
        Provider::Bedrock,
        "cohere.embed-multilingual-v3",
        None,
        "/model/cohere.embed-multilingual-v3/invoke",
        json!({"texts": ["a", "(empty)"], "input_type": "search_document", "truncate": "END"}),
    );
}

#[test]
fn vectors_are_found_in_every_answer() {
    let both = || Some(vec![vec![1.0, 2.0], vec![3.0, 4.0]]);
    let check = |form: Form, answer: Value, expected: Option<Vec<Vec<f32>>>| {
        assert_eq!(form.read(&answer), expected, "{answer}");
    };
    let rows = json!([{"index": 1, "embedding": [3, 4]}, {"index": 0, "embedding": [1.0, 2.0]}]);
    check(Form::OpenAi, json!({"data": rows}), both());
    check(Form::Mistral, json!({"data": [{"embedding": [1, 2]}, {"embedding": [3, 4]}]}), both());
    check(Form::Ollama, json!({"embeddings": [[1, 2], [3, 4]]}), both());
    check(Form::Ollama, json!({"embedding": [1, 2]}), Some(vec![vec![1.0, 2.0]]));
    check(Form::Gemini, json!({"embeddings": [{"values": [1, 2]}, {"values": [3, 4]}]}), both());
    check(Form::Titan, json!({"embedding": [1, 2], "inputTextTokenCount": 3}), Some(vec![vec![1.0, 2.0]]));
    check(Form::Cohere, json!({"embeddings": [[1, 2], [3, 4]]}), both());
    check(Form::Cohere, json!({"embeddings": {"float": [[1, 2], [3, 4]]}}), both());
    for wrong in [json!({}), json!({"data": [{"embedding": []}]}), json!({"data": [{"embedding": ["x"]}]})] {
        check(Form::OpenAi, wrong, None);
    }
    check(Form::Ollama, json!({"embeddings": [[1e300]]}), None);
}

#[tokio::test]
async fn missing_settings_are_named_by_the_keys_of_their_section() {
    let refused = async |provider| {
        let options = Options::new(provider, "");
        embedder(options, None).embed(&["a"]).await.unwrap_err()
    };
    let error = refused(Provider::OpenAi).await;
    assert_eq!(error.kind(), ModelErrorKind::Auth);
    assert!(error.to_string().contains("memory.embedding.api_key"), "{error}");
    assert!(!error.to_string().contains(" model."), "{error}");
    assert!(refused(Provider::Anthropic).await.to_string().contains("memory.embedding.provider"));
    assert!(refused(Provider::Bedrock).await.to_string().contains("region"));
    let usual = embedder(Options::new(Provider::Gemini, " "), None);
    assert_eq!(usual.model(), "gemini/gemini-embedding-001");
}

#[test]
fn each_provider_of_embeddings_has_a_request_format() {
    for &provider in Provider::ALL {
        let model = provider.embedding_model();
        let is_remote = model.is_some() && provider != Provider::Fake;
        assert_eq!(Form::of(provider, model.unwrap_or_default()).is_some(), is_remote, "{provider}");
    }
}

proptest! {
    #[test]
    fn no_answer_can_make_it_panic(text in "[\\[\\]{}:,\"a-z0-9 ]{0,60}") {
        let value = serde_json::from_str(&text).unwrap_or(json!({"data": text, "embeddings": [text]}));
        for form in [Form::OpenAi, Form::Ollama, Form::Gemini, Form::Titan, Form::Cohere] {
            let _ = form.read(&value);
        }
    }
}
