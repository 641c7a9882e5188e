//! Requests and responses, and the reports about a service that is not configured.

use aethon_core::model::ModelErrorKind;
use aethon_core::transcribe::Speech;
use serde_json::{Value, json};

use super::{form, transcriber};
use crate::options::{Options, Provider};
use crate::testing::service;

fn speech(name: &str, mime: &str) -> Speech {
    Speech { bytes: b"\0OggS\r\n--".to_vec(), name: name.into(), mime: mime.into(), seconds: Some(2) }
}

#[test]
fn a_recording_is_a_form_with_a_name_that_tells_its_format() {
    let service = service(Provider::OpenAi, "whisper-1");
    let check = |name: &str, mime: &str, file: &str| {
        let outgoing = form::build_request(&service, &speech(name, mime), Some("de"));
        assert_eq!(outgoing.url, format!("{}/audio/transcriptions", service.endpoint.base));
        let body = String::from_utf8_lossy(&outgoing.body).into_owned();
        let boundary = body.split("\r\n").next().unwrap();
        let expected = format!(
            "{boundary}\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n\
             {boundary}\r\nContent-Disposition: form-data; name=\"language\"\r\n\r\nde\r\n\
             {boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{file}\"\r\n\
             Content-Type: {mime}\r\n\r\n\0OggS\r\n--\r\n{boundary}--\r\n"
        );
        assert_eq!(body, expected);
        let types = outgoing.headers.iter().filter(|(name, _)| name == "content-type");
        let types: Vec<_> = types.map(|(_, value)| value.to_str().unwrap().to_owned()).collect();
        assert_eq!(types, [format!("multipart/form-data; boundary={}", &boundary[2..])]);
    };
    check("voice message", "audio/ogg", "speech.ogg");
    check("x.mp3", "audio/MPEG", "speech.mp3");
    check("memo", "audio/x-m4a", "speech.m4a");
    check("memo.3gp", "audio/3gpp", "speech.3gp");
    check("memo", "audio/unheard-of", "speech.ogg");
    check("a.b\"\r\nc", "audio/unheard-of", "speech.ogg");
}

#[test]
fn words_and_what_they_cost_are_found() {
    let check = |answer: Value, expected: Option<(&str, u64, u64)>| {
        let read = form::read(&answer);
        let read =
            read.as_ref().map(|read| (read.text.as_str(), read.usage.input_tokens, read.usage.output_tokens));
        assert_eq!(read, expected, "{answer}");
    };
    check(json!({"text": " hi \n"}), Some(("hi", 0, 0)));
    check(
        json!({"text": "hi", "usage": {"type": "tokens", "input_tokens": 14, "output_tokens": 4}}),
        Some(("hi", 14, 4)),
    );
    check(json!({"text": "hi", "usage": {"type": "duration", "seconds": 2.3}}), Some(("hi", 30, 0)));
    check(json!({"text": "hi", "usage": {"seconds": -1.0}}), Some(("hi", 0, 0)));
    check(json!({"text": ""}), Some(("", 0, 0)));
    for wrong in [json!({}), json!({"text": 1}), json!("hi")] {
        check(wrong, None);
    }
}

#[tokio::test]
async fn missing_settings_are_named_by_the_keys_of_their_section() {
    let refused = async |provider| {
        let made = transcriber(Options::new(provider, ""), "");
        made.transcribe(speech("", "audio/ogg")).await.unwrap_err()
    };
    let error = refused(Provider::OpenAi).await;
    assert_eq!(error.kind(), ModelErrorKind::Auth);
    assert!(error.to_string().contains("transcription.api_key"), "{error}");
    assert!(!error.to_string().contains(" model."), "{error}");
    assert!(refused(Provider::Anthropic).await.to_string().contains("transcription.provider"));
    assert_eq!(
        transcriber(Options::new(Provider::LiteLlm, " "), "").model(),
        "litellm/gpt-4o-mini-transcribe"
    );
}
