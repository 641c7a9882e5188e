//! Errors as services really write them, with their class and the words that a person must see.

use std::time::Duration;

use aethon_core::model::ModelErrorKind::{
    self, Auth, ContextLength, InvalidRequest, Malformed, Network, NotFound, Overloaded, Quota, RateLimit,
    Refused, Timeout,
};
use aethon_core::secret::Secret;
use serde_json::json;
use ureq::http::HeaderMap;

use super::{Report, body_failure, failure, reported, status};
use crate::endpoint::Endpoint;
use crate::options::{Options, Provider};
use crate::service::Service;
use crate::transport::Failure;

const KEY: &str = "sk-test-0123456789abcdefghij";

fn service(provider: Provider, host: &str, key: &str) -> Service {
    let options =
        Options { host: host.into(), api_key: Secret::new(key), ..Options::new(provider, "some-model") };
    Service::new(&options, Endpoint::of(&options).unwrap())
}

fn check(provider: Provider, code: u16, body: &str, kind: ModelErrorKind, words: &str) {
    let error = status(&service(provider, "", KEY), code, &HeaderMap::new(), body.as_bytes());
    assert_eq!(error.kind(), kind, "{code} {body}: {error}");
    let sentence = error.to_string();
    assert!(sentence.contains(words) && sentence.ends_with('.'), "{sentence}");
    assert!(!sentence.contains(KEY) && !format!("{error:?}").contains(KEY), "{error:?}");
    assert_eq!(error.status(), Some(code));
}

fn openai(message: &str, kind: &str, code: &str) -> String {
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}}).to_string()
}

fn anthropic(kind: &str, message: &str) -> String {
    json!({"type": "error", "error": {"type": kind, "message": message}}).to_string()
}

#[test]
fn failures_of_openai_are_understood() {
    let o = Provider::OpenAi;
    check(
        o,
        401,
        &openai(&format!("Incorrect API key provided: {KEY}."), "invalid_request_error", "invalid_api_key"),
        Auth,
        "OPENAI_API_KEY",
    );
    check(
        o,
        403,
        &openai(
            "Country, region, or territory not supported",
            "request_forbidden",
            "unsupported_country_region_territory",
        ),
        Auth,
        "region",
    );
    check(
        o,
        429,
        &openai(
            "You exceeded your current quota, please check your plan",
            "insufficient_quota",
            "insufficient_quota",
        ),
        Quota,
        "credit",
    );
    check(
        o,
        429,
        &openai("Rate limit reached for gpt-5", "tokens", "rate_limit_exceeded"),
        RateLimit,
        "too many requests",
    );
    check(
        o,
        400,
        &openai(
            "This model's maximum context length is 8192 tokens.",
            "invalid_request_error",
            "context_length_exceeded",
        ),
        ContextLength,
        "too long",
    );
    check(
        o,
        400,
        &openai("Unsupported parameter: 'foo'.", "invalid_request_error", "unsupported_parameter"),
        InvalidRequest,
        "Unsupported parameter: 'foo'",
    );
    check(
        o,
        400,
        &openai(
            "Your request was rejected by our safety system",
            "invalid_request_error",
            "content_policy_violation",
        ),
        Refused,
        "other words",
    );
    check(
        o,
        404,
        &openai(
            "The model `x` does not exist or you do not have access to it.",
            "invalid_request_error",
            "model_not_found",
        ),
        NotFound,
        "model.model_id",
    );
}

#[test]
fn failures_of_openai_are_understood_in_odd_forms_too() {
    let o = Provider::OpenAi;
    check(o, 500, &openai("The server had an error", "server_error", ""), Overloaded, "try again");
    check(o, 503, "", Overloaded, "try again");
    check(o, 408, "", Timeout, "model.timeout_seconds");
    check(
        o,
        502,
        "<html>\r\n<head><title>502 Bad Gateway</title></head></html>",
        Overloaded,
        "error page (502)",
    );
    check(o, 307, "", NotFound, "redirects");
    check(o, 413, "<html><title>413</title>", ContextLength, "too long");
    check(
        o,
        400,
        r#"{"error":{"code":400,"message":"the request exceeds the available context size (512 tokens)","type":"exceed_context_size_error"}}"#,
        ContextLength,
        "too long",
    );
    check(
        o,
        422,
        r#"{"detail":[{"loc":["body","messages"],"msg":"Field required","type":"missing"}]}"#,
        InvalidRequest,
        "Field required",
    );
}

#[test]
fn failures_of_anthropic_are_understood() {
    let a = Provider::Anthropic;
    check(a, 401, &anthropic("authentication_error", "invalid x-api-key"), Auth, "ANTHROPIC_API_KEY");
    check(
        a,
        400,
        &anthropic("invalid_request_error", "Your credit balance is too low to access the API."),
        Quota,
        "credit",
    );
    check(
        a,
        400,
        &anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        ContextLength,
        "too long",
    );
    check(
        a,
        400,
        &anthropic(
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 199000 + 8000 > 200000",
        ),
        ContextLength,
        "too long",
    );
    check(a, 404, &anthropic("not_found_error", "model: claude-9"), NotFound, "model.model_id");
    check(
        a,
        413,
        &anthropic("request_too_large", "Request exceeds the maximum size"),
        ContextLength,
        "too long",
    );
    check(
        a,
        429,
        &anthropic("rate_limit_error", "This request would exceed your rate limit"),
        RateLimit,
        "too many requests",
    );
    check(a, 529, &anthropic("overloaded_error", "Overloaded"), Overloaded, "(529)");
}

#[test]
fn failures_of_mistral_are_understood() {
    let m = Provider::Mistral;
    check(m, 401, r#"{"message":"Unauthorized","request_id":"1"}"#, Auth, "MISTRAL_API_KEY");
    check(
        m,
        400,
        r#"{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","code":"3051"}"#,
        ContextLength,
        "too long",
    );
    check(
        m,
        400,
        r#"{"object":"error","message":"Invalid model: x","type":"invalid_model","code":"1500"}"#,
        NotFound,
        "model.model_id",
    );
    check(
        m,
        422,
        r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","msg":"Extra inputs are not permitted"}]}}"#,
        InvalidRequest,
        "Extra inputs",
    );
    check(m, 429, r#"{"message":"Requests rate limit exceeded"}"#, RateLimit, "too many requests");
}

#[test]
fn failures_of_ollama_are_understood() {
    let l = Provider::Ollama;
    check(l, 404, r#"{"error":"model 'some-model' not found"}"#, NotFound, "ollama pull some-model");
    check(
        l,
        400,
        r#"{"error":"registry.ollama.ai/library/x does not support tools"}"#,
        InvalidRequest,
        "does not support tools",
    );
    check(l, 500, r#"{"error":"the input length exceeds the context length"}"#, ContextLength, "too long");
    check(l, 500, r#"{"error":"llama runner process has terminated"}"#, Overloaded, "try again");
}

#[test]
fn failures_of_litellm_are_understood() {
    let p = Provider::LiteLlm;
    check(
        p,
        400,
        &openai("litellm.ContextWindowExceededError: too long", "invalid_request_error", "400"),
        ContextLength,
        "too long",
    );
    check(
        p,
        400,
        &openai("Budget has been exceeded! Current cost: 11", "budget_exceeded", "400"),
        Quota,
        "credit",
    );
    check(
        p,
        401,
        &openai("Authentication Error, Invalid proxy server token passed", "auth_error", "401"),
        Auth,
        "LITELLM_API_KEY",
    );
}

fn google(code: u16, status: &str, message: &str, details: serde_json::Value) -> String {
    json!({"error": {"code": code, "message": message, "status": status, "details": details}}).to_string()
}

#[test]
fn failures_of_gemini_are_understood() {
    let g = Provider::Gemini;
    let reason = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]);
    let message = "API key not valid. Please pass a valid API key.";
    check(g, 400, &google(400, "INVALID_ARGUMENT", message, reason), Auth, "GEMINI_API_KEY");
    check(g, 403, &google(403, "PERMISSION_DENIED", "Denied", json!([])), Auth, "rights");
    let message = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).";
    check(g, 400, &google(400, "INVALID_ARGUMENT", message, json!([])), ContextLength, "too long");
    let message = "Invalid JSON payload received. Unknown name \"foo\"";
    check(g, 400, &google(400, "INVALID_ARGUMENT", message, json!([])), InvalidRequest, "Unknown name");
    let message = "models/x is not found for API version v1, or is not supported for generateContent.";
    check(g, 404, &google(404, "NOT_FOUND", message, json!([])), NotFound, "model.model_id");
    check(g, 503, &google(503, "UNAVAILABLE", "The model is overloaded.", json!([])), Overloaded, "(503)");
    check(
        g,
        500,
        &google(500, "INTERNAL", "An internal error has occurred.", json!([])),
        Overloaded,
        "(500)",
    );
}

#[test]
fn rate_limits_differ_from_an_empty_account() {
    let of = |quota: &str, delay: Option<&str>| {
        let mut details = vec![json!({"violations": [{"quotaMetric": "requests", "quotaId": quota}]})];
        details.extend(delay.map(|delay| json!({"retryDelay": delay})));
        let message = "You exceeded your current quota, please check your plan and billing details.";
        let body = google(429, "RESOURCE_EXHAUSTED", message, details.into());
        let error = status(&service(Provider::Gemini, "", KEY), 429, &HeaderMap::new(), body.as_bytes());
        (error.kind(), error.retry_after())
    };
    let minute = "GenerateRequestsPerMinutePerProjectPerModel-FreeTier";
    assert_eq!(of(minute, Some("34.5s")), (RateLimit, Some(Duration::from_millis(34_500))));
    assert_eq!(of(minute, None), (Quota, None));
    let day = "GenerateRequestsPerDayPerProjectPerModel-FreeTier";
    assert_eq!(of(day, Some("20s")).0, Quota);
    assert_eq!(of(minute, Some("-1s")), (Quota, None));
}

#[test]
fn failures_of_bedrock_are_understood() {
    let of = |code: u16, kind: &str, message: &str| {
        let mut headers = HeaderMap::new();
        headers.insert("x-amzn-errortype", format!("{kind}:http://internal.amazon.com/").parse().unwrap());
        let body = json!({"message": message}).to_string();
        let error =
            status(&service(Provider::Bedrock, "https://x.example", KEY), code, &headers, body.as_bytes());
        assert!(error.to_string().ends_with('.'), "{error}");
        error.kind()
    };
    assert_eq!(
        of(429, "ThrottlingException", "Too many tokens, please wait before trying again."),
        RateLimit
    );
    assert_eq!(of(429, "ThrottlingException", "Too many tokens per day, please wait"), Quota);
    assert_eq!(of(429, "ModelNotReadyException", "not ready"), Overloaded);
    assert_eq!(of(400, "ServiceQuotaExceededException", "x"), Quota);
    assert_eq!(of(400, "ValidationException", "Input is too long for requested model."), ContextLength);
    assert_eq!(of(400, "ValidationException", "The provided model identifier is invalid."), NotFound);
    assert_eq!(of(400, "ValidationException", "toolConfig is wrong"), InvalidRequest);
    assert_eq!(of(403, "AccessDeniedException", "You don't have access to the model"), Auth);
    assert_eq!(of(403, "ExpiredTokenException", "The security token is expired"), Auth);
    assert_eq!(of(404, "ResourceNotFoundException", "The model is not there"), NotFound);
    assert_eq!(of(408, "ModelTimeoutException", "x"), Timeout);
    assert_eq!(of(424, "ModelErrorException", "x"), Overloaded);
    assert_eq!(of(500, "InternalServerException", "x"), Overloaded);
    assert_eq!(of(503, "ServiceUnavailableException", "x"), Overloaded);
}

#[test]
fn a_service_of_ones_own_without_a_key_names_the_key_to_set() {
    let error =
        status(&service(Provider::OpenAi, "http://localhost:8080/v1", ""), 401, &HeaderMap::new(), b"");
    assert_eq!(error.kind(), Auth);
    let sentence = error.to_string();
    assert!(
        sentence.contains("model.api_key") && sentence.contains("http://localhost:8080/v1"),
        "{sentence}"
    );
    let error =
        status(&service(Provider::OpenAi, "http://localhost:8080", ""), 404, &HeaderMap::new(), b"{}");
    assert!(error.to_string().contains("/v1"), "{error}");
}

#[test]
fn a_litellm_proxy_that_hides_a_wrong_key_is_seen_through() {
    let of = |key: &str, code, body: &[u8]| {
        status(&service(Provider::LiteLlm, "http://localhost:4000", key), code, &HeaderMap::new(), body)
    };
    let body =
        br#"{"error":{"message":"No connected db.","type":"no_db_connection","param":null,"code":"400"}}"#;
    let error = of(KEY, 400, body);
    assert_eq!(error.kind(), Auth);
    assert!(error.to_string().contains("model.api_key"), "{error}");
    let error = of("", 500, b"Internal Server Error");
    assert_eq!(error.kind(), Overloaded);
    assert!(error.to_string().contains("model.api_key"), "{error}");
}

#[test]
fn the_requested_wait_is_reported() {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", "90".parse().unwrap());
    let error = status(&service(Provider::OpenAi, "", KEY), 429, &headers, b"{}");
    assert_eq!(error.retry_after(), Some(Duration::from_secs(90)));
    assert!(error.to_string().contains("in 90 seconds"), "{error}");
}

#[test]
fn failures_within_an_answer_are_understood() {
    let check = |body: serde_json::Value, kind: ModelErrorKind| {
        let error = reported(&service(Provider::OpenAi, "", KEY), &Report::of_value(&body));
        assert_eq!(error.kind(), kind, "{body}: {error}");
    };
    check(json!({"error": {"message": "The server had an error", "type": "server_error"}}), Overloaded);
    check(
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        Overloaded,
    );
    check(json!({"error": {"message": "Rate limit", "code": 429}}), RateLimit);
    check(json!({"error": "an unknown thing"}), Overloaded);
    check(json!({"error": {"code": "context_length_exceeded", "message": "x"}}), ContextLength);
}

#[test]
fn every_sentence_quotes_the_service_and_names_the_server() {
    let of = |code: u16, body: &str| {
        let own = service(Provider::OpenAi, "http://127.0.0.1:8080/v1", KEY);
        status(&own, code, &HeaderMap::new(), body.as_bytes()).to_string()
    };
    let check = |code: u16, body: &str, quote: &str| {
        let sentence = of(code, body);
        assert!(sentence.contains(&format!("It says: \"{quote}\".")), "{sentence}");
        assert!(!sentence.contains("OpenAI"), "{sentence}");
        assert!(sentence.contains("127.0.0.1:8080"), "{sentence}");
    };
    check(500, r#"{"error":{"message":"CUDA error: out of memory"}}"#, "CUDA error: out of memory");
    check(503, r#"{"error":"model 'm' is loading"}"#, "model 'm' is loading");
    check(500, "GPU fell off the bus", "GPU fell off the bus");
    check(403, r#"{"detail":"not available in your region"}"#, "not available in your region");
    check(429, r#"{"message":"slow\u001b[31m down\n"}"#, "slow [31m down");
    check(402, r#"{"message":"pay first"}"#, "pay first");
    check(401, r#"{"message":"key sk-te**********hij is wrong"}"#, "key *** is wrong");
    let long = of(400, &json!({"message": "ü".repeat(900)}).to_string());
    assert!(long.contains(&format!("\"{}…\"", "ü".repeat(199))), "{long}");
    assert!(!of(502, "<html><title>Bad Gateway</title></html>").contains("It says"));
    assert!(!of(503, "").contains("It says"));
}

#[test]
fn no_part_of_a_key_at_the_cut_is_told() {
    let key = "canary-5ecret-value-of-a-service";
    let service = service(Provider::OpenAi, "https://api.openai.com", key);
    let message = format!("{}{key} is wrong", "word ".repeat(55));
    let body = json!({"error": {"message": message}}).to_string();
    let error = status(&service, 500, &HeaderMap::new(), body.as_bytes());
    let told = format!("{error} {}", error.detail().unwrap_or_default());
    assert!(told.contains("word") && !told.contains("canary"), "{told}");
}

#[test]
fn an_odd_key_is_explained_when_it_is_refused() {
    let mut options = Options::new(Provider::OpenAi, "some-model");
    options.api_key = Secret::new(KEY);
    options.connection.key_remark = Some("the value has quotation marks around it".into());
    let service = Service::new(&options, Endpoint::of(&options).unwrap());
    let error = status(&service, 401, &HeaderMap::new(), b"{}");
    assert!(
        error.to_string().ends_with("About the key: the value has quotation marks around it."),
        "{error}"
    );
}

#[test]
fn failures_below_http_name_the_address() {
    let check = |provider, host: &str, below: Failure, kind: ModelErrorKind, words: &str| {
        let error = failure(&service(provider, host, KEY), &below);
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    check(Provider::Ollama, "", Failure::Refused, Network, "start Ollama");
    check(Provider::OpenAi, "https://x.example/v1", Failure::UnknownHost, Network, "https://x.example/v1");
    check(Provider::OpenAi, "", Failure::Silence(Duration::from_secs(120)), Timeout, "2 minutes");
    check(Provider::OpenAi, "", Failure::Tls("bad".into()), Network, "certificate");
    let other = Failure::Tls("received corrupt message of type InvalidContentType".into());
    check(Provider::OpenAi, "https://127.0.0.1:8080/v1", other, Network, "does not speak TLS");
    check(Provider::OpenAi, "", Failure::NotHttp("x".into()), Malformed, "HTTP");
    check(Provider::OpenAi, "", Failure::Proxy("407".into()), Network, "HTTPS_PROXY");
    check(Provider::OpenAi, "", Failure::NoProxy("127.0.0.1:9".into()), Network, "proxy at 127.0.0.1:9");
    let page = body_failure(&service(Provider::OpenAi, "", KEY), b"<!doctype html><title>Sign in</title>");
    assert_eq!((page.kind(), page.detail()), (Malformed, Some("Sign in")));
}
