//! Signed webhooks that someone captured and replays.

use aethon_core::clock::{Clock as _, SystemClock};
use aethon_core::secret::Secret;
use ring::hmac;
use serde_json::json;

use super::TestApp;
use crate::hex::hex;
use crate::options::Options;

#[tokio::test]
async fn a_captured_signed_request_runs_once_under_any_spelling() {
    let mut options = Options::default();
    options.webhooks.secret = Secret::new("s3cret");
    let app = TestApp::new(options);
    let json = ("content-type", "application/json");
    let now = SystemClock.now().as_second();
    let send = async |time: i64, key: &str, target: &str, text: &str| {
        let (time, body) = (time.to_string(), json!({"text": text}).to_string());
        let signed = format!("v2\n{time}\n{key}\n{body}");
        let secret = hmac::Key::new(hmac::HMAC_SHA256, b"s3cret");
        let signature = hex(hmac::sign(&secret, signed.as_bytes()).as_ref());
        let signed =
            [json, ("x-aethon-signature", signature.as_str()), ("x-aethon-timestamp", time.as_str())];
        let named = [signed.as_slice(), &[("idempotency-key", key)]].concat();
        let seen = app.send("POST", target, if key.is_empty() { &signed } else { &named }, &body).await;
        let code = if seen.status == 200 { String::new() } else { seen.code() };
        (code, app.assistant.seen().len())
    };
    let used = |count: usize| ("signature_used".to_owned(), count);
    let ran = |count: usize| (String::new(), count);
    for target in [
        "/webhook/alerts",
        "/webhook/alerts",
        "/webhook/aler%74s",
        "/webhook/%61lerts",
        "/webhook/alerts?x=1",
    ] {
        assert_eq!(send(now, "k1", target, "hello").await, ran(1), "{target}");
    }
    for target in ["/webhook/other", "/webhook/trigger"] {
        assert_eq!(send(now, "k1", target, "hello").await, used(1), "{target}");
    }
    // Even with a new signature, it is a repetition.
    assert_eq!(send(now + 1, "k1", "/webhook/alerts", "hello").await, ran(1));
    // Without a key, nothing can be repeated.
    assert_eq!(send(now, "", "/webhook/alerts", "hello").await, ran(2));
    assert_eq!(send(now, "", "/webhook/alerts", "hello").await, used(2));
    assert_eq!(send(now + 1, "", "/webhook/alerts", "hello").await, ran(3));
    // A request that was not accepted can be sent again.
    for _ in 0..2 {
        assert_eq!(send(now, "", "/webhook/alerts", "!full").await.0, "busy");
    }
}
