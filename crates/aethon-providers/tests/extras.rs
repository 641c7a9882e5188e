//! Requests with more than a conversation, in each service's own form: the schema of an answer, pictures that a model made,
//! web searches by the provider, and service tiers.
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
use aethon_core::web_search::{Source, WebSearch};
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
        options.connection.timeout = Some(Duration::from_secs(30));
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
async fn service_that_refuses_the_field_gets_the_schema_in_words() {
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
async fn refused_schema_is_put_in_words_and_the_next_one_sent() {
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

/// Returns a request that allows the provider to search the web.
fn searching() -> ModelRequest {
    let mut request = request(open_schema()).with_web_search(true);
    request.schema = None;
    let spec = |name: &str| ToolSpec::new(name, "Looks.", json!({"type": "object", "properties": {}}));
    request.with_tools(vec![spec("look"), spec("web_search")])
}

fn wants_search(provider: Provider, model: &str, api: OpenAiApi) -> Options {
    options(provider, model, "").with(|options| (options.extras.web_search, options.api) = (true, api))
}

#[tokio::test]
async fn every_service_is_asked_to_search_in_its_own_form() {
    let check = async |provider, model: &str, api, place: &str, expected: Value| {
        let body = body_of(searching(), wants_search(provider, model, api)).await;
        assert_eq!(body.pointer(place), Some(&expected), "{provider}: {body:#}");
        let tools = body["tools"].to_string();
        assert_eq!(
            tools.matches("\"name\":\"web_search\"").count(),
            usize::from(provider == Provider::Anthropic),
            "{tools}"
        );
        let plain = body_of(searching().with_web_search(false), wants_search(provider, model, api)).await;
        assert!(plain.pointer(place) != Some(&expected) && plain["tools"].to_string().contains("web_search"));
    };
    let claude = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 8});
    check(Provider::Anthropic, "claude-sonnet-5-5", OpenAiApi::Auto, "/tools/0", claude).await;
    let responses = json!({"type": "web_search"});
    check(Provider::OpenAi, "gpt-6-sol", OpenAiApi::Responses, "/tools/1", responses).await;
    check(Provider::Gemini, "gemini-3.8-flash", OpenAiApi::Auto, "/tools/1", json!({"googleSearch": {}}))
        .await;
    check(Provider::LiteLlm, "gpt-6-sol", OpenAiApi::Auto, "/web_search_options", json!({})).await;
}

#[tokio::test]
async fn a_service_that_refuses_to_search_is_asked_without_it() {
    let (host, requests) = serve_each(|request, stream| {
        let message = "Web search options not supported with this model.";
        let refusal = json!({"error": {"message": message, "param": "web_search_options"}}).to_string();
        match body(request).get("web_search_options") {
            Some(_) => answer("400 Bad Request", "content-type: application/json\r\n", &refusal)(stream),
            None => answer("200 OK", "content-type: text/event-stream\r\n", OPENAI)(stream),
        }
    });
    let provider = build(
        wants_search(Provider::LiteLlm, "gpt-6-sol", OpenAiApi::Chat).with(|options| options.host = host),
    );
    for _ in 0..2 {
        let mut stream = provider.stream(searching()).await.unwrap();
        while stream.next().await.is_some() {}
    }
    let has = requests.try_iter().map(|request| body(&request).get("web_search_options").is_some());
    assert_eq!(has.collect::<Vec<_>>(), [true, false, false]);
}

#[tokio::test]
async fn tiers_are_named_where_each_service_expects_them() {
    let check = async |provider, model: &str, api, tier: &str, place: &str| {
        let options = options(provider, model, "")
            .with(|options| (options.extras.service_tier, options.api) = (tier.into(), api));
        let body = body_of(request(open_schema()), options).await;
        assert_eq!(body.pointer(place).and_then(Value::as_str), Some(tier), "{provider}: {body:#}");
    };
    check(Provider::OpenAi, "gpt-4o", OpenAiApi::Chat, "flex", "/service_tier").await;
    check(Provider::OpenAi, "gpt-6-sol", OpenAiApi::Responses, "priority", "/service_tier").await;
    check(Provider::Anthropic, "claude-sonnet-5-5", OpenAiApi::Auto, "standard_only", "/service_tier").await;
    check(Provider::Gemini, "gemini-3.8-flash", OpenAiApi::Auto, "flex", "/serviceTier").await;
    check(
        Provider::Bedrock,
        "global.anthropic.claude-sonnet-5-5",
        OpenAiApi::Auto,
        "flex",
        "/serviceTier/type",
    )
    .await;
}

/// Returns the searches and the cited pages in the events of an answer, and how many searches it counted.
async fn searched(
    provider: Provider,
    model: &str,
    api: OpenAiApi,
    stream: &str,
) -> (Vec<WebSearch>, Vec<Source>, u64) {
    let (host, _requests) = serve(answer("200 OK", "content-type: text/event-stream\r\n", stream));
    let provider = build(wants_search(provider, model, api).with(|options| options.host = host));
    let mut events = provider.stream(searching()).await.unwrap();
    let (mut searches, mut cited, mut count) = (Vec::new(), Vec::new(), 0);
    while let Some(event) = events.next().await {
        match event.unwrap() {
            ModelEvent::Search(search) => searches.push(search),
            ModelEvent::Sources(sources) => cited = sources,
            ModelEvent::Finished { usage, .. } => count = usage.web_searches,
            _ => {}
        }
    }
    (searches, cited, count)
}

fn sse(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("message")))
        .collect()
}

fn page() -> Source {
    Source::new("https://a.example/x", "A page").unwrap()
}

#[tokio::test]
async fn searches_of_claude_are_read_and_go_back_unchanged() {
    let call = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}});
    let result = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{
        "type": "web_search_result", "url": "https://a.example/x", "title": "A page", "encrypted_content": "sealed", "page_age": null}]});
    let citation = json!({"type": "web_search_result_location", "url": "https://a.example/x", "title": "A page",
        "cited_text": "x", "encrypted_index": "sealed"});
    let stream = sse(&[
        json!({"type": "message_start", "message": {"model": "claude-sonnet-5-5", "usage": {"input_tokens": 9, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": call}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{\"query\": \"cats\"}"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": result}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "Cats."}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "citations_delta", "citation": citation}}),
        json!({"type": "content_block_stop", "index": 2}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 5, "server_tool_use": {"web_search_requests": 1}}}),
        json!({"type": "message_stop"}),
    ]);
    let (searches, cited, count) =
        searched(Provider::Anthropic, "claude-sonnet-5-5", OpenAiApi::Auto, &stream).await;
    assert_eq!(
        (searches[0].query.as_str(), &searches[0].sources, cited, count),
        ("cats", &vec![page()], vec![page()], 1)
    );
    let mut request = searching();
    let said = vec![Block::Search(searches[0].clone()), Block::text("Cats.")];
    let at = "2026-11-20T10:00:00Z".parse().unwrap();
    let more = [
        Message::new(Role::Assistant, said, at),
        Message::new(Role::User, vec![Block::text("And dogs?")], at),
    ];
    Arc::make_mut(&mut request.messages).extend(more.map(Arc::new));
    let body =
        body_of(request, wants_search(Provider::Anthropic, "claude-sonnet-5-5", OpenAiApi::Auto)).await;
    let mut called = call;
    called["input"] = json!({"query": "cats"});
    assert_eq!(body["messages"][1]["content"], json!([called, result, {"type": "text", "text": "Cats."}]));
}

#[tokio::test]
async fn a_search_that_a_pause_interrupts_goes_back() {
    let call = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "cats"}});
    let stream = sse(&[
        json!({"type": "content_block_start", "index": 0, "content_block": call}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "pause_turn"}, "usage": {"output_tokens": 5}}),
        json!({"type": "message_stop"}),
    ]);
    let (searches, ..) = searched(Provider::Anthropic, "claude-sonnet-5-5", OpenAiApi::Auto, &stream).await;
    assert_eq!(searches[0].opaque.as_ref().unwrap().data, json!([call]));
}

#[tokio::test]
async fn searches_of_the_responses_api_are_read_and_go_back() {
    let item = json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "cats"}});
    let annotation = json!({"type": "url_citation", "url": "https://a.example/x", "title": "A page", "start_index": 0, "end_index": 4});
    let stream = sse(&[
        json!({"type": "response.created", "response": {"model": "gpt-6-sol"}}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.output_text.delta", "output_index": 1, "delta": "Cats."}),
        json!({"type": "response.output_text.annotation.added", "output_index": 1, "annotation": annotation}),
        json!({"type": "response.completed", "response": {"status": "completed", "usage": {"input_tokens": 9, "output_tokens": 5}}}),
    ]);
    let (searches, cited, count) =
        searched(Provider::OpenAi, "gpt-6-sol", OpenAiApi::Responses, &stream).await;
    assert_eq!((searches[0].query.as_str(), cited, count), ("cats", vec![page()], 1));
    assert_eq!(searches[0].opaque.as_ref().unwrap().data, item);
}

#[tokio::test]
async fn searches_of_gemini_and_citations_of_chat_completions_are_read() {
    let grounding = json!({"webSearchQueries": ["cats", "dogs"], "groundingChunks": [{"web": {"uri": "https://a.example/x", "title": "A page"}}]});
    let parts = json!([{"text": "Cats."}]);
    let candidate =
        json!({"content": {"parts": parts}, "finishReason": "STOP", "groundingMetadata": grounding});
    let stream = format!("data: {}\n\n", json!({"candidates": [candidate]}));
    let (searches, _, count) = searched(Provider::Gemini, "gemini-3.8-flash", OpenAiApi::Auto, &stream).await;
    assert_eq!((searches[0].query.as_str(), &searches[0].sources, count), ("cats; dogs", &vec![page()], 2));
    let citation =
        json!({"type": "url_citation", "url_citation": {"url": "https://a.example/x", "title": "A page"}});
    let choice = json!({"index": 0, "delta": {"content": "Cats.", "annotations": [citation]}, "finish_reason": "stop"});
    let stream = format!("data: {}\n\ndata: [DONE]\n\n", json!({"choices": [choice]}));
    let (searches, ..) = searched(Provider::LiteLlm, "gpt-6-sol", OpenAiApi::Chat, &stream).await;
    assert_eq!(searches[0].sources, [page()]);
}
