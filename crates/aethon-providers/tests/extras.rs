//! Requests with more than a conversation, in each service's own form: the schema of an answer, and pictures that a model
//! made.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod server;

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::answer_schema::AnswerSchema;
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Block, Message, Opaque, Role};
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

/// Returns the body of a request.
async fn body_of(request: ModelRequest, options: Options) -> Value {
    let (host, requests) = serve(answer("401 Unauthorized", "content-type: application/json\r\n", "{}"));
    let provider = build(options.with(|options| options.host = host));
    assert!(provider.stream(request).await.is_err());
    body(&requests.try_recv().unwrap())
}

/// Returns the body of a request with a schema.
async fn written(provider: Provider, model: &str, api: OpenAiApi, schema: Value) -> Value {
    body_of(request(schema), options(provider, model, "").with(|options| options.api = api)).await
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
    let mut request = request(open_schema());
    request.effort = Some(aethon_core::model::Effort::High);
    let body = body_of(request, options(Provider::Anthropic, "claude-sonnet-5-5", "")).await;
    let config = &body["output_config"];
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

const MADE_PICTURE: &str = "[A picture that you made stood here. The person sees it.]";

/// Returns the body of a request after an answer with a picture, which this dialect wants back with its data.
async fn with_picture(dialect: &str, data: Value, provider: Provider, model: &str, api: OpenAiApi) -> Value {
    let opaque = Some(Opaque { dialect: dialect.into(), data });
    let picture = Block::Image { mime: "image/png".into(), data: "iVBORw0KGgo=".into(), opaque };
    let message =
        |role, content| Arc::new(Message::new(role, content, "2026-11-20T10:00:00Z".parse().unwrap()));
    let messages = vec![
        message(Role::User, vec![Block::text("Draw a cat.")]),
        message(Role::Assistant, vec![Block::text("Here."), picture]),
        message(Role::User, vec![Block::text("Make it black.")]),
    ];
    let session = SessionId::parse("webchat:default").unwrap();
    let request = ModelRequest::new(session, TurnId::fresh(), "You help.", messages);
    body_of(request, options(provider, model, "").with(|options| options.api = api)).await
}

#[tokio::test]
async fn made_pictures_go_back_to_the_service_that_wants_them() {
    let gemini = async |data: Value| {
        let body =
            with_picture("gemini", data, Provider::Gemini, "gemini-2.5-flash-image", OpenAiApi::Auto).await;
        body["contents"][1]["parts"][1].clone()
    };
    let picture = json!({"mime_type": "image/png", "data": "iVBORw0KGgo="});
    assert_eq!(
        gemini(json!({"thoughtSignature": "s"})).await,
        json!({"inlineData": picture, "thoughtSignature": "s"})
    );
    assert_eq!(gemini(json!({})).await, json!({"inlineData": picture}));
    let item = json!({"type": "image_generation_call", "id": "ig_1", "status": "completed"});
    let body =
        with_picture("responses", item.clone(), Provider::OpenAi, "gpt-6-sol", OpenAiApi::Responses).await;
    let mut expected = item;
    expected["result"] = "iVBORw0KGgo=".into();
    assert_eq!(body["input"][2], expected);
}

#[tokio::test]
async fn other_services_get_a_note_in_place_of_a_made_picture() {
    let check = async |provider, model: &str, api| {
        let written = with_picture("some-other", json!({}), provider, model, api).await.to_string();
        assert!(written.contains(MADE_PICTURE) && !written.contains("iVBORw0KGgo"), "{provider}: {written}");
    };
    check(Provider::Anthropic, "claude-sonnet-5-5", OpenAiApi::Auto).await;
    check(Provider::OpenAi, "gpt-4o", OpenAiApi::Chat).await;
    check(Provider::OpenAi, "gpt-6-sol", OpenAiApi::Responses).await;
    check(Provider::Gemini, "gemini-3.8-flash", OpenAiApi::Auto).await;
    check(Provider::Ollama, "llava", OpenAiApi::Auto).await;
    check(Provider::Bedrock, "global.anthropic.claude-sonnet-5-5", OpenAiApi::Auto).await;
}
