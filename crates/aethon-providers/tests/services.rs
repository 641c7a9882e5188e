//! Whole providers against a server on this machine: requests, responses, and the sentences that a person reads when it
//! goes wrong.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod server;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Block, Message, Role};
use aethon_core::model::{
    ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, Readiness, StopReason,
};
use aethon_core::secret::Secret;
use aethon_providers::{AnthropicVersion, AwsEnvironment, OpenAiApi, Options, Provider, build, embedder};
use futures_util::StreamExt;

use server::{answer, serve};

const KEY: &str = "sk-test-0123456789abcdefghij";

fn events(body: &str) -> impl Fn(&mut TcpStream) + Send + 'static {
    answer("200 OK", "content-type: text/event-stream\r\n", body)
}

fn provider(provider: Provider, host: &str) -> Arc<dyn ModelProvider> {
    build(options(provider, host))
}

fn options(provider: Provider, host: &str) -> Options {
    Options::new(provider, "some-model").with(|options| {
        options.host = host.into();
        options.api_key = Secret::new(KEY);
        options.connection.timeout = Some(Duration::from_secs(30));
    })
}

fn request() -> ModelRequest {
    let said = Message::new(Role::User, vec![Block::text("hi")], "2026-11-20T10:00:00Z".parse().unwrap());
    ModelRequest::new(
        SessionId::parse("webchat:default").unwrap(),
        TurnId::fresh(),
        "You help.",
        vec![Arc::new(said)],
    )
}

async fn ask(provider: &dyn ModelProvider) -> Result<(String, StopReason), ModelError> {
    let mut stream = provider.stream(request()).await?;
    let mut text = String::new();
    let mut end = None;
    while let Some(event) = stream.next().await {
        match event? {
            ModelEvent::Text(piece) => text.push_str(&piece),
            ModelEvent::Finished { stop, .. } => assert!(end.replace(stop).is_none()),
            _ => {}
        }
    }
    Ok((text, end.expect("an answer ends")))
}

const OPENAI: &str = include_str!("data/openai/text.sse");
const ANTHROPIC: &str = include_str!("data/anthropic/text.sse");
const RESPONSES: &str = include_str!("data/responses/text.sse");
const GEMINI: &str = include_str!("data/gemini/text.sse");
const OLLAMA: &str = include_str!("data/ollama/text.ndjson");

#[tokio::test]
async fn every_service_is_asked_where_and_how_it_wants() {
    let check = |provider,
                 version,
                 base: &'static str,
                 body: &'static str,
                 path: &'static str,
                 key: &'static str| async move {
        let (host, requests) = serve(events(body));
        let options =
            options(provider, &format!("{host}{base}")).with(|options| options.api_version = version);
        ask(&*build(options)).await.unwrap();
        let request = requests.recv().unwrap();
        let head = request.split_once("\r\n\r\n").unwrap().0.to_lowercase();
        assert!(head.starts_with(&format!("post {path} http/1.1\r\n")), "{head}");
        assert!(head.contains("content-type: application/json"), "{head}");
        assert!(head.contains("user-agent: aethon/"), "{head}");
        assert!(head.contains(key), "{head}");
        head
    };
    let new = AnthropicVersion::V2026;
    let bearer = "authorization: bearer sk-test-0123456789abcdefghij";
    check(Provider::OpenAi, new, "/v1/", OPENAI, "/v1/chat/completions", bearer).await;
    let (host, requests) = serve(events(RESPONSES));
    ask(&*build(
        options(Provider::OpenAi, &format!("{host}/v1")).with(|options| options.api = OpenAiApi::Responses),
    ))
    .await
    .unwrap();
    let head = requests.recv().unwrap().to_lowercase();
    assert!(head.starts_with("post /v1/responses http/1.1\r\n") && head.contains(bearer), "{head}");
    check(Provider::LiteLlm, new, "", OPENAI, "/v1/chat/completions", bearer).await;
    let head = check(Provider::Mistral, new, "", OPENAI, "/v1/chat/completions", bearer).await;
    assert!(head.contains("accept: text/event-stream"), "{head}");
    let head = check(Provider::Anthropic, new, "", ANTHROPIC, "/v1/messages", bearer).await;
    assert!(head.contains("anthropic-version: 2026-10-21"), "{head}");
    let old = AnthropicVersion::V2023;
    let head = check(Provider::Anthropic, old, "", ANTHROPIC, "/v1/messages", "x-api-key: sk-test").await;
    assert!(head.contains("anthropic-version: 2023-06-01") && !head.contains("authorization"), "{head}");
    check(Provider::Ollama, new, "", OLLAMA, "/api/chat", bearer).await;
    let (path, key) = (
        "/v1/models/some-model:streamgeneratecontent?alt=sse",
        "x-goog-api-key: sk-test-0123456789abcdefghij",
    );
    check(Provider::Gemini, new, "", GEMINI, path, key).await;
    check(
        Provider::Gemini,
        new,
        "/v1beta/",
        GEMINI,
        "/v1beta/models/some-model:streamgeneratecontent?alt=sse",
        key,
    )
    .await;
}

#[tokio::test]
async fn an_answer_comes_through() {
    let (host, _requests) = serve(events(OPENAI));
    let model = provider(Provider::OpenAi, &host);
    assert_eq!(model.readiness(), Readiness::Ready);
    assert_eq!(ask(&*model).await.unwrap(), ("Grüß dich, 🌍!".into(), StopReason::End));
    assert_eq!(ask(&*model).await.unwrap().1, StopReason::End);
}

#[tokio::test]
async fn an_answer_says_what_was_counted_and_no_price() {
    let (host, _requests) = serve(events(OPENAI));
    let options = options(Provider::OpenAi, &host).with(|options| options.model_id = "gpt-5".into());
    let events: Vec<_> = build(options).stream(request()).await.unwrap().collect().await;
    let Some(Ok(ModelEvent::Finished { usage, .. })) = events.last() else { panic!("{events:?}") };
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.cost_usd), (21, 7, 0.0));
}

#[tokio::test]
async fn a_missing_key_is_reported_and_nothing_is_sent() {
    for service in
        [Provider::OpenAi, Provider::Anthropic, Provider::Gemini, Provider::Mistral, Provider::LiteLlm]
    {
        let mut options = options(service, "");
        options.api_key = Secret::new(" ");
        let model = build(options);
        let Readiness::NotConfigured(sentence) = model.readiness() else { panic!("{service:?} is ready") };
        assert!(sentence.contains("model.api_key") && sentence.contains("_API_KEY"), "{sentence}");
        let error = ask(&*model).await.unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (ModelErrorKind::Auth, sentence));
        assert_eq!(model.probe().await.unwrap_err().kind(), ModelErrorKind::Auth);
    }
    assert_eq!(provider(Provider::Ollama, "").readiness(), Readiness::Ready);
}

#[tokio::test]
async fn a_server_of_ones_own_is_asked_without_a_key() {
    for service in [Provider::OpenAi, Provider::LiteLlm] {
        let (host, requests) = serve(answer("401 Unauthorized", "", "{\"error\":{\"message\":\"no key\"}}"));
        let mut options = options(service, &host);
        options.api_key = Secret::default();
        let model = build(options);
        assert_eq!(model.readiness(), Readiness::Ready);
        let error = ask(&*model).await.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::Auth);
        let sentence = error.to_string();
        assert!(sentence.contains("model.api_key") && sentence.contains("_API_KEY"), "{sentence}");
        assert!(!requests.recv().unwrap().to_lowercase().contains("authorization"));
    }
}

#[tokio::test]
async fn a_key_does_not_travel_in_the_open() {
    let Readiness::NotConfigured(sentence) = provider(Provider::OpenAi, "http://example.com/v1").readiness()
    else {
        panic!("keys would travel in the open")
    };
    assert!(sentence.contains("model.allow_http"), "{sentence}");
}

#[tokio::test]
async fn failures_carry_class_status_and_wait() {
    let check = |status: &'static str, headers: &'static str, body: &'static str, kind, wait: Option<u64>| async move {
        let (host, _requests) = serve(answer(status, headers, body));
        let error = ask(&*provider(Provider::OpenAi, &host)).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(error.retry_after(), wait.map(Duration::from_secs));
        assert!(!format!("{error:?}").contains(KEY), "{error:?}");
        error.to_string()
    };
    use ModelErrorKind::{Auth, Malformed, NotFound, Overloaded, RateLimit};
    let json = "content-type: application/json\r\nretry-after: 20\r\n";
    check("429 Too Many", json, "{\"error\":{\"code\":\"rate_limit_exceeded\"}}", RateLimit, Some(20)).await;
    let date = "date: Fri, 20 Nov 2026 10:00:00 GMT\r\nretry-after: Fri, 20 Nov 2026 10:00:30 GMT\r\n";
    check("503 Unavailable", date, "", Overloaded, Some(30)).await;
    let page = "content-type: text/html\r\n";
    let sentence = check("502 Bad Gateway", page, "<html><title>502</title></html>", Overloaded, None).await;
    assert!(sentence.contains("proxy"), "{sentence}");
    check("200 OK", page, "<!doctype html><title>Sign in</title>", Malformed, None).await;
    let echoed = "{\"error\":{\"message\":\"Incorrect API key provided: sk-test-0123456789abcdefghij\"}}";
    check("401 Unauthorized", json, echoed, Auth, Some(20)).await;
    let elsewhere = "location: http://127.0.0.1:1/v1\r\n";
    let sentence = check("307 Temporary Redirect", elsewhere, "", NotFound, None).await;
    assert!(sentence.contains("redirects"), "{sentence}");
}

#[tokio::test]
async fn a_service_that_falls_silent_ends_in_time() {
    let (_hold, held) = mpsc::channel::<()>();
    let (host, _requests) = serve(move |stream| {
        let piece = OPENAI.split_inclusive("\n\n").take(2).collect::<String>();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").unwrap();
        stream.write_all(piece.as_bytes()).unwrap();
        let _ = held.recv();
    });
    let mut options = options(Provider::OpenAi, &host);
    options.connection.timeout = Some(Duration::from_millis(200));
    let began = Instant::now();
    let mut stream = build(options).stream(request()).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap(), ModelEvent::Text("Grüß".into()));
    let error = stream.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Timeout);
    assert!(error.to_string().contains("model.timeout_seconds"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(10));
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn a_service_that_does_not_close_is_not_waited_for() {
    for body in [OPENAI, OPENAI.strip_suffix("data: [DONE]\n\n").unwrap()] {
        let (_hold, held) = mpsc::channel::<()>();
        let (host, _requests) = serve(move |stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").unwrap();
            stream.write_all(body.as_bytes()).unwrap();
            let _ = held.recv();
        });
        let began = Instant::now();
        assert_eq!(ask(&*provider(Provider::OpenAi, &host)).await.unwrap().1, StopReason::End);
        assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    }
}

#[tokio::test]
async fn dropping_an_answer_hangs_up_at_once() {
    let (hung_up, hangs_up) = mpsc::channel();
    let (host, _requests) = serve(move |stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").unwrap();
        stream.write_all(OPENAI.split_inclusive("\n\n").take(2).collect::<String>().as_bytes()).unwrap();
        let began = Instant::now();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let ended = matches!(stream.read(&mut [0; 8]), Ok(0) | Err(_));
        hung_up.send(ended && began.elapsed() < Duration::from_secs(10)).unwrap();
    });
    let mut stream = provider(Provider::OpenAi, &host).stream(request()).await.unwrap();
    assert!(stream.next().await.unwrap().is_ok());
    drop(stream);
    assert!(hangs_up.recv_timeout(Duration::from_secs(30)).unwrap());
}

#[tokio::test]
async fn a_probe_tells_what_is_there() {
    let (host, requests) = serve(answer("200 OK", "", "{\"data\":[{\"id\":\"some-model\"},{\"id\":\"x\"}]}"));
    let sentence = provider(Provider::OpenAi, &host).probe().await.unwrap();
    assert!(sentence.contains(&host) && !sentence.contains("does not list"), "{sentence}");
    assert!(requests.recv().unwrap().starts_with("GET /models "));

    let (host, _requests) = serve(answer("200 OK", "", "{\"models\":[{\"name\":\"some-model:latest\"}]}"));
    assert!(provider(Provider::Ollama, &host).probe().await.unwrap().contains("some-model"));
    let (host, _requests) = serve(answer("200 OK", "", "{\"models\":[]}"));
    let error = provider(Provider::Ollama, &host).probe().await.unwrap_err();
    assert!(error.to_string().contains("ollama pull some-model"), "{error}");

    let (host, _requests) = serve(answer("401 Unauthorized", "", "{}"));
    assert_eq!(provider(Provider::Anthropic, &host).probe().await.unwrap_err().kind(), ModelErrorKind::Auth);
}

#[tokio::test]
async fn a_service_without_a_list_of_models_is_not_taken_for_another() {
    /// No list; and the conversation of nothing is answered like this.
    fn without_list(status: &'static str) -> impl Fn(&mut TcpStream) + Send + 'static {
        let is_second = AtomicBool::new(false);
        move |stream| {
            let status = if is_second.fetch_xor(true, Ordering::Relaxed) { status } else { "404 Not Found" };
            answer(status, "", "")(stream);
        }
    }
    for service in [Provider::OpenAi, Provider::Anthropic, Provider::Mistral] {
        let (host, requests) = serve(without_list("400 Bad Request"));
        let sentence = provider(service, &host).probe().await.unwrap();
        assert!(sentence.contains("keeps no list of models"), "{sentence}");
        assert!(requests.recv().unwrap().starts_with("GET "));
        assert!(requests.recv().unwrap().starts_with("POST "));
        let (host, _requests) = serve(without_list("401 Unauthorized"));
        assert_eq!(provider(service, &host).probe().await.unwrap_err().kind(), ModelErrorKind::Auth);
        let (host, _requests) = serve(without_list("404 Not Found"));
        let error = provider(service, &host).probe().await.unwrap_err();
        assert!(error.to_string().contains("model.host"), "{error}");
    }
}

/// Bedrock's stream as aimock sends it, behind its head.
fn binary(stream: &mut TcpStream) {
    let body = include_bytes!("data/bedrock/aimock_two_tools.bin");
    let kind = "application/vnd.amazon.eventstream";
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
}

fn bedrock(host: &str, aws: AwsEnvironment) -> Options {
    let api_key = Secret::default();
    let aws = AwsEnvironment { metadata_disabled: true, region: Some("eu-west-1".into()), ..aws };
    let model_id = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0".into();
    options(Provider::Bedrock, host).with(|options| {
        options.api_key = api_key;
        options.aws = aws;
        options.model_id = model_id;
    })
}

fn aws_key() -> AwsEnvironment {
    AwsEnvironment {
        access_key_id: Some("AKIDEXAMPLE".into()),
        secret_access_key: Secret::new("wJalrXUtnFEMI/K7MDENG"),
        session_token: Secret::new("the/session/token"),
        ..AwsEnvironment::default()
    }
}

#[tokio::test]
async fn bedrock_is_asked_with_a_signature_or_a_bearer_key() {
    let (host, requests) = serve(binary);
    assert_eq!(ask(&*build(bedrock(&host, aws_key()))).await.unwrap(), ("Both.".into(), StopReason::ToolUse));
    let head = requests.recv().unwrap();
    let path = "/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream";
    assert!(head.starts_with(&format!("POST {path} HTTP/1.1\r\n")), "{head}");
    let head = head.to_lowercase();
    for part in [
        "authorization: aws4-hmac-sha256 credential=akidexample/",
        "/eu-west-1/bedrock/aws4_request, signedheaders=content-type;host;x-amz-date;x-amz-security-token, signature=",
        "x-amz-security-token: the/session/token",
        "accept: application/vnd.amazon.eventstream",
        &format!("host: {}", host.trim_start_matches("http://")),
    ] {
        assert!(head.contains(part), "{part}\n{head}");
    }

    let bearer = AwsEnvironment { bearer_token: Secret::new(KEY), ..aws_key() };
    ask(&*build(bedrock(&host, bearer))).await.unwrap();
    let head = requests.recv().unwrap().to_lowercase();
    assert!(head.contains(&format!("authorization: bearer {KEY}")) && !head.contains("x-amz-"), "{head}");
}

#[tokio::test]
async fn missing_settings_of_bedrock_are_named() {
    let told = |options: Options| match build(options).readiness() {
        Readiness::NotConfigured(sentence) => sentence,
        Readiness::Ready => panic!("it is ready"),
    };
    let mut without_region = bedrock("", aws_key());
    without_region.aws.region = None;
    assert!(told(without_region).contains("model.region"));
    let bearer = AwsEnvironment { bearer_token: Secret::new(KEY), ..AwsEnvironment::default() };
    let in_the_open =
        bedrock("http://bedrock.example", bearer).with(|options| options.connection.allow_http = true);
    assert!(told(in_the_open).contains("https only"));

    let model = build(bedrock("", AwsEnvironment::default()));
    assert_eq!(model.readiness(), Readiness::Ready);
    let error = ask(&*model).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Auth);
    assert!(error.to_string().contains("AWS_ACCESS_KEY_ID"), "{error}");
}

#[tokio::test]
async fn a_probe_of_bedrock_costs_nothing() {
    let complaint = "x-amzn-errortype: ValidationException:http://x/\r\n";
    let (host, requests) = serve(answer("400 Bad Request", complaint, "{\"message\":\"messages is empty\"}"));
    let sentence = build(bedrock(&host, aws_key())).probe().await.unwrap();
    assert!(sentence.contains(&host), "{sentence}");
    assert!(requests.recv().unwrap().ends_with("{\"messages\":[]}"));

    let refusal = "x-amzn-errortype: UnrecognizedClientException\r\n";
    let message = "{\"message\":\"The security token included in the request is invalid.\"}";
    let (host, _requests) = serve(answer("403 Forbidden", refusal, message));
    let error = build(bedrock(&host, aws_key())).probe().await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Auth);
    assert!(error.to_string().contains("AWS credentials"), "{error}");
}

#[tokio::test]
async fn texts_become_vectors_batch_by_batch() {
    let (host, requests) = serve(answer("200 OK", "", "{\"embedding\":[0.5,0.25]}"));
    let titan = embedder(bedrock(&host, aws_key()).with(|options| options.model_id = String::new()), None);
    assert_eq!(titan.embed(&["a", "b"]).await.unwrap(), [[0.5, 0.25], [0.5, 0.25]]);
    assert_eq!(titan.model(), "bedrock/amazon.titan-embed-text-v2:0");
    for text in ["a", "b"] {
        let request = requests.recv().unwrap();
        assert!(
            request.contains("AWS4-HMAC-SHA256")
                && request.ends_with(&format!("{{\"inputText\":\"{text}\"}}"))
        );
    }
    assert_eq!(titan.embed(&[]).await.unwrap(), Vec::<Vec<f32>>::new());

    let (host, _requests) = serve(answer("200 OK", "", "{\"data\":[{\"embedding\":[1]}]}"));
    let error = embedder(options(Provider::OpenAi, &host), None).embed(&["a", "b"]).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Malformed);
    assert_eq!(error.detail(), Some("1 vectors for 2 texts"));

    let (host, _requests) = serve(answer("429 Too Many", "retry-after: 3\r\n", "{}"));
    let error = embedder(options(Provider::OpenAi, &host), None).embed(&["a"]).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.retry_after()),
        (ModelErrorKind::RateLimit, Some(Duration::from_secs(3)))
    );
}

#[tokio::test]
async fn parameters_refused_by_name_are_left_out_from_then_on() {
    let refusal = |message: &str, param: &str| {
        let error =
            serde_json::json!({"error": {"message": message, "code": "unsupported_value", "param": param}});
        let (json, body) = ("content-type: application/json\r\n", error.to_string());
        format!(
            "HTTP/1.1 400 Bad\r\n{json}x-request-id: req_7\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let good = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{OPENAI}",
        OPENAI.len()
    );
    let limit =
        refusal("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_tokens");
    let temperature = refusal("'temperature' does not support 0.5 with this model.", "temperature");
    let strange = refusal("this cannot be helped", "the_moon");
    let answers = [limit, temperature, good.clone(), good, strange];
    let next = std::sync::atomic::AtomicUsize::new(0);
    let (host, requests) = serve(move |stream| {
        let answer = &answers[next.fetch_add(1, Ordering::Relaxed)];
        stream.write_all(answer.as_bytes()).unwrap();
    });
    let options = options(Provider::OpenAi, &host).with(|options| {
        options.max_tokens = Some(500);
        options.temperature = Some(0.5);
    });
    let model = build(options);
    let written = || {
        let request = requests.recv().unwrap();
        ["\"max_tokens\"", "\"max_completion_tokens\"", "\"temperature\""].map(|key| request.contains(key))
    };
    ask(&*model).await.unwrap();
    assert_eq!(written(), [true, false, true]);
    assert_eq!(written(), [false, true, true]);
    assert_eq!(written(), [false, true, false]);
    ask(&*model).await.unwrap();
    assert_eq!(written(), [false, true, false], "it is remembered");
    let error = ask(&*model).await.unwrap_err();
    assert_eq!((error.kind(), error.request_id()), (ModelErrorKind::InvalidRequest, Some("req_7")));
    assert!(error.to_string().ends_with("(request id req_7)."), "{error}");
    assert_eq!(written(), [false, true, false]);
    assert!(requests.try_recv().is_err(), "what teaches nothing is not asked again");
}
