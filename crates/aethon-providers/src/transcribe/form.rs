//! The request and response formats of a transcription service.

use aethon_core::model::Usage;
use aethon_core::multipart;
use aethon_core::transcribe::{Speech, TOKENS_A_SECOND, Transcript};
use serde_json::Value;
use ureq::http::HeaderValue;
use ureq::http::header::{ACCEPT, CONTENT_TYPE};

use crate::headers;
use crate::service::Service;
use crate::transport::{Method, Outgoing};

/// Builds the request to transcribe a recording.
pub(super) fn build_request(service: &Service, speech: &Speech, language: Option<&str>) -> Outgoing {
    let mut fields = vec![("model", service.model.clone())];
    fields.extend(language.map(|language| ("language", language.to_owned())));
    let file = ("file", file_name(speech), speech.mime.as_str());
    let (content_type, body) = multipart::form(&fields, (file.0, &file.1, file.2), &speech.bytes);
    let mut headers = vec![(ACCEPT, HeaderValue::from_static("application/json"))];
    // Our boundary is always a valid header value.
    headers.extend(HeaderValue::from_str(&content_type).ok().map(|value| (CONTENT_TYPE, value)));
    headers.extend(headers::bearer(&service.key));
    Outgoing { method: Method::Post, url: service.url("/audio/transcriptions"), headers, body }
}

/// Returns a file name whose extension states the format, because the service looks nowhere else for it.
fn file_name(speech: &Speech) -> String {
    let ending = match speech.mime.to_ascii_lowercase().trim_start_matches("audio/") {
        "ogg" | "opus" | "vorbis" => "ogg",
        "mpeg" | "mp3" | "mpga" => "mp3",
        "mp4" | "m4a" | "x-m4a" | "aac" => "m4a",
        "wav" | "wave" | "x-wav" | "vnd.wave" => "wav",
        "webm" => "webm",
        "flac" | "x-flac" => "flac",
        "amr" => "amr",
        _ => {
            let ending = speech.name.rsplit_once('.').map_or("", |(_, ending)| ending);
            let is_ending =
                (1..=5).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
            if is_ending { ending } else { "ogg" }
        }
    };
    format!("speech.{ending}")
}

/// Returns the transcript in a response, or `None` if it is not where it should be.
pub(super) fn read(answer: &Value) -> Option<Transcript> {
    let text = answer.get("text")?.as_str()?.trim().to_owned();
    let told = &answer["usage"];
    let count = |key: &str| told[key].as_u64().unwrap_or(0);
    // Billed by tokens or by time.
    let seconds = told["seconds"].as_f64().filter(|seconds| (0.0..1e7).contains(seconds)).unwrap_or(0.0);
    let billed = count("input_tokens").max(seconds.ceil() as u64 * TOKENS_A_SECOND);
    let usage = Usage { input_tokens: billed, output_tokens: count("output_tokens"), ..Usage::default() };
    Some(Transcript { text, usage })
}
