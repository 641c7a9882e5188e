//! Requests for an answer that fits a JSON Schema: each service's own form, and words for a service that refuses it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod server;

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::answer_schema::AnswerSchema;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Block, Message, Role};
use aethon_core::model::{ModelErrorKind, ModelEvent, ModelProvider, ModelRequest};
use aethon_core::secret::Secret;
use aethon_core::tool::ToolSpec;
use aethon_providers::{AwsEnvironment, OpenAiApi, Options, Provider, build};
use futures_util::StreamExt;
use serde_json::{Value, json};

use server::{answer, serve, serve_each};

const OPENAI: &str = include_str!("data/openai/text.sse");

fn open_schema() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name"]})
}

fn options(provider: Provider, model: &str, host: &str) -> Options {
    Options::new(provider, model).with(|options| {
        options.host = host.into();
        options.api_key = Secret::new("sk-test-0123456789abcdefghij");
        options.timeout = Some(Duration::from_secs(30));
        if provider == Provider::Bedrock {
            options.api_key = Secret::default();
            options.aws = AwsEnvironment {
                metadata_disabled: true,
                region: Some("eu-west-1".into()),
                bearer_token: Secret::new("bedrock-key-0123456789"),
                ..AwsEnvironment::default()
            };
        }
    })
}

fn request(schema: Value) -> ModelRequest {
    let said =
        Message::new(Role::User, vec![Block::text("Who is it?")], "2026-11-20T10:00:00Z".parse().unwrap());
    let session = SessionId::parse("webchat:default").unwrap();
    let tool = ToolSpec::new("look", "Looks.", json!({"type": "object", "properties": {}}));
    ModelRequest::new(session, TurnId::fresh(), "You help.", vec![Arc::new(said)])
        .with_tools(vec![tool])
        .with_schema(Some(Arc::new(AnswerSchema::parse(schema).unwrap())))
}

/// Asks, whatever comes of it.
async fn ask(provider: &dyn ModelProvider, schema: Value) -> Result<(), ModelErrorKind> {
    let mut stream = provider.stream(request(schema)).await.map_err(|error| error.kind())?;
    while let Some(event) = stream.next().await {
        if let Ok(ModelEvent::Finished { .. }) = event {
            return Ok(());
        }
    }
    Ok(())
}

fn body(request: &str) -> Value {
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// Returns the body of the first request to a service that refuses everything.
async fn written(provider: Provider, model: &str, api: OpenAiApi, schema: Value) -> Value {
    let (host, requests) = serve(answer("401 Unauthorized", "content-type: application/json\r\n", "{}"));
    let provider = build(options(provider, model, &host).with(|options| options.api = api));
    assert_eq!(ask(&*provider, schema).await, Err(ModelErrorKind::Auth));
    body(&requests.try_recv().unwrap())
}

#[tokio::test]
async fn every_service_gets_the_schema_in_its_own_form() {
    let open = open_schema();
    let mut closed = open.clone();
    closed["additionalProperties"] = false.into();
    let check = async |provider, model: &str, api, place: &str, expected: Value| {
        let body = written(provider, model, api, open_schema()).await;
        assert_eq!(body.pointer(place), Some(&expected), "{provider}: {body:#}");
        assert!(
            !body.to_string().contains("Answer with one JSON value"),
            "{provider}: the words are not needed"
        );
    };
    let chat =
        json!({"type": "json_schema", "json_schema": {"name": "answer", "strict": false, "schema": open}});
    for provider in [Provider::OpenAi, Provider::Mistral, Provider::LiteLlm] {
        check(provider, "some-model", OpenAiApi::Chat, "/response_format", chat.clone()).await;
    }
    let responses = json!({"type": "json_schema", "name": "answer", "strict": false, "schema": open});
    check(Provider::OpenAi, "gpt-6-sol", OpenAiApi::Responses, "/text/format", responses).await;
    let messages = json!({"type": "json_schema", "schema": closed});
    check(Provider::Anthropic, "claude-sonnet-5-5", OpenAiApi::Auto, "/output_config/format", messages).await;
    check(
        Provider::Gemini,
        "gemini-3.8-flash",
        OpenAiApi::Auto,
        "/generationConfig/responseJsonSchema",
        open.clone(),
    )
    .await;
    let mime = json!("application/json");
    check(Provider::Gemini, "gemini-3.8-flash", OpenAiApi::Auto, "/generationConfig/responseMimeType", mime)
        .await;
    check(Provider::Ollama, "qwen3", OpenAiApi::Auto, "/format", open).await;
    let structure = json!({"type": "json_schema", "structure": {"jsonSchema":
        {"name": "answer", "schema": closed.to_string()}}});
    let claude = "global.anthropic.claude-sonnet-5-5";
    check(Provider::Bedrock, claude, OpenAiApi::Auto, "/outputConfig/textFormat", structure).await;
}

#[tokio::test]
async fn strict_mode_is_used_for_schemas_that_allow_it() {
    let mut strict = open_schema();
    strict["additionalProperties"] = false.into();
    strict["required"] = json!(["name", "age"]);
    let body = written(Provider::OpenAi, "some-model", OpenAiApi::Chat, strict).await;
    assert_eq!(body["response_format"]["json_schema"]["strict"], true);
}

#[tokio::test]
async fn an_effort_and_a_schema_go_together() {
    let (host, requests) = serve(answer("401 Unauthorized", "content-type: application/json\r\n", "{}"));
    let provider = build(options(Provider::Anthropic, "claude-sonnet-5-5", &host));
    let mut request = request(open_schema());
    request.effort = Some(aethon_core::model::Effort::High);
    assert!(provider.stream(request).await.is_err());
    let config = body(&requests.try_recv().unwrap())["output_config"].clone();
    assert_eq!(
        (config["effort"].as_str(), config["format"]["type"].as_str()),
        (Some("high"), Some("json_schema"))
    );
}

/// Serves a chat completion, but refuses a schema with this message.
fn refuses(message: &'static str) -> impl Fn(&str, &mut TcpStream) + Send + 'static {
    move |request, stream| {
        let is_refused = body(request).get("response_format").is_some();
        let refusal = json!({"error": {"message": message, "type": "invalid_request_error"}}).to_string();
        match is_refused {
            true => answer("400 Bad Request", "content-type: application/json\r\n", &refusal)(stream),
            false => answer("200 OK", "content-type: text/event-stream\r\n", OPENAI)(stream),
        }
        stream.flush().unwrap();
    }
}

#[tokio::test]
async fn a_service_that_refuses_the_field_is_asked_in_words_from_then_on() {
    let (host, requests) = serve_each(refuses("Unrecognized request argument supplied: response_format"));
    let provider = build(options(Provider::OpenAi, "some-model", &host));
    for _ in 0..2 {
        ask(&*provider, open_schema()).await.unwrap();
    }
    let bodies: Vec<Value> = requests.try_iter().map(|request| body(&request)).collect();
    let has_field: Vec<bool> = bodies.iter().map(|body| body.get("response_format").is_some()).collect();
    assert_eq!(has_field, [true, false, false]);
    for told in &bodies[1..] {
        let question = told["messages"][1]["content"].as_str().unwrap();
        assert!(question.starts_with("Who is it?\n\n[Answer with one JSON value"), "{question}");
        assert!(question.contains(&open_schema().to_string()), "{question}");
    }
}

#[tokio::test]
async fn a_refused_schema_is_put_in_words_and_the_next_one_is_sent_again() {
    let (host, requests) = serve_each(refuses("Invalid schema: 'age' of type integer cannot be compiled"));
    let provider = build(options(Provider::OpenAi, "some-model", &host));
    for _ in 0..2 {
        ask(&*provider, open_schema()).await.unwrap();
    }
    let has_field = requests.try_iter().map(|request| body(&request).get("response_format").is_some());
    assert_eq!(has_field.collect::<Vec<_>>(), [true, false, true, false]);
}
