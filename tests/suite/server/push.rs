//! Web push (docs/phone.md): a device that asked is notified of replies and approvals while no page is in sight, and of nothing else.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aethon_tests::stub::{Seen, Stub, failure};
use aethon_tests::{Request, Server, eventually};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hmac::{self, HMAC_SHA256};
use ring::rand::SystemRandom;
use ring::signature::ECDSA_P256_SHA256_FIXED;
use serde_json::{Value, json};

/// A device: the keys of its browser. It can read one message.
struct Device {
    own: EphemeralPrivateKey,
    public: Vec<u8>,
    auth: [u8; 16],
}

impl Device {
    fn new() -> Self {
        let own = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).expect("randomness");
        let public = own.compute_public_key().expect("a key").as_ref().to_vec();
        Self { own, public, auth: *b"sixteen bytes it" }
    }

    fn subscription(&self, endpoint: &str) -> Value {
        let (key, auth) = (URL_SAFE_NO_PAD.encode(&self.public), URL_SAFE_NO_PAD.encode(self.auth));
        json!({"endpoint": endpoint, "expirationTime": null, "keys": {"p256dh": key, "auth": auth}})
    }

    /// Decrypts a message as a browser does (RFC 8291).
    fn read(self, body: &[u8]) -> Value {
        let (salt, rest) = body.split_at(16);
        let (theirs, record) = rest[5..].split_at(65);
        let tag =
            |key: &[u8], input: &[u8]| hmac::sign(&hmac::Key::new(HMAC_SHA256, key), input).as_ref().to_vec();
        let shared = agree_ephemeral(self.own, &UnparsedPublicKey::new(&ECDH_P256, theirs), <[u8]>::to_vec);
        let info = [b"WebPush: info\0", &self.public[..], theirs, &[1]].concat();
        let input = tag(&tag(&self.auth, &shared.expect("a point")), &info);
        let random = tag(salt, &input);
        let key = tag(&random, b"Content-Encoding: aes128gcm\0\x01");
        let nonce = tag(&random, b"Content-Encoding: nonce\0\x01");
        let opening = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key[..16]).expect("a key"));
        let nonce = Nonce::try_assume_unique_for_key(&nonce[..12]).expect("a nonce");
        let mut record = record.to_vec();
        let plain = opening.open_in_place(nonce, Aad::empty(), &mut record).expect("it is for this device");
        serde_json::from_slice(plain.strip_suffix(&[2]).expect("the end of the last record")).expect("JSON")
    }
}

/// A push service on this machine that answers with this status.
struct Service {
    stub: Stub,
    status: Arc<Mutex<&'static str>>,
}

impl Service {
    fn start() -> Self {
        let status = Arc::new(Mutex::new("201 Created"));
        let answers = Arc::clone(&status);
        let stub = Stub::answering(move |_: &Seen| failure(*answers.lock().expect("a lock"), "", ""));
        Self { stub, status }
    }

    fn endpoint(&self, device: &str) -> String {
        format!("http://{}/push/{device}", self.stub.address)
    }

    fn setting(&self) -> String {
        format!("security.egress_allowed_hosts=[\"{}\"]", self.stub.address)
    }

    fn await_one(&self, count: usize) -> Seen {
        eventually("the service is asked", || {
            let mut seen = self.stub.requests();
            (seen.len() >= count).then(|| seen.remove(count - 1))
        })
    }
}

#[test]
fn a_finished_reply_reaches_a_device_encrypted_and_without_its_words() {
    let service = Service::start();
    let server = Server::start(&[&service.setting()]);
    let key = server.get("/api/push/key").json()["key"].as_str().expect("a key").to_owned();
    let device = Device::new();
    let subscription = device.subscription(&service.endpoint("phone"));
    assert_eq!(server.post("/api/push/subscriptions", &subscription).status, 201);
    server.chat("garden").say("m1", "!say a secret word");
    let seen = service.await_one(1);
    assert_eq!(seen.line, "POST /push/phone");
    assert_eq!(seen.header("content-encoding"), Some("aes128gcm"));
    assert!(seen.header("ttl").is_some_and(|ttl| ttl.parse::<u32>().is_ok()));
    let proof = seen.header("authorization").expect("a proof").to_owned();
    let (token, own) = proof.strip_prefix("vapid t=").and_then(|it| it.split_once(", k=")).expect("its form");
    assert_eq!(own, key);
    let (signed, mark) = token.rsplit_once('.').expect("a signature");
    let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).expect("base64url");
    ring::signature::UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, bytes(own))
        .verify(signed.as_bytes(), &bytes(mark))
        .expect("it is signed");
    let claims: Value =
        serde_json::from_slice(&bytes(signed.split_once('.').expect("claims").1)).expect("JSON");
    assert_eq!(claims["aud"], format!("http://{}", service.stub.address));
    assert_eq!(device.read(&seen.body), json!({"kind": "reply", "session": "webchat:garden"}));
}

#[test]
fn question_for_approval_reaches_a_device_and_is_answered_from_elsewhere() {
    let service = Service::start();
    let settings = [
        "approval.enabled=true",
        "approval.requires_approval=[\"current_time\"]",
        "approval.timeout_seconds=600",
    ];
    let server = Server::start(&[settings[0], settings[1], settings[2], &service.setting()]);
    let device = Device::new();
    let subscription = device.subscription(&service.endpoint("phone"));
    assert_eq!(server.post("/api/push/subscriptions", &subscription).status, 201);
    let mut chat = server.chat("garden");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "!tool current_time {}"}));
    let asked = chat.until("approval").pop().expect("a question");
    let told = device.read(&service.await_one(1).body);
    assert_eq!(told, json!({"kind": "approval", "session": "webchat:garden"}), "without what is asked");
    // The notification leads to the question, which the person answers there.
    let waiting = server.get("/api/approvals").json();
    assert_eq!(waiting["approvals"][0]["id"], asked["id"]);
    let path = format!("/api/approvals/{}", asked["id"].as_str().expect("an id"));
    assert_eq!(server.post(&path, &json!({"decision": "approve"})).status, 200);
    assert_eq!(chat.until("done").last().expect("an end")["stop_reason"], "end");
}

#[test]
fn nothing_is_sent_while_a_page_is_in_sight_or_after_the_device_left() {
    let service = Service::start();
    let server = Server::start(&[&service.setting()]);
    let subscription = Device::new().subscription(&service.endpoint("phone"));
    assert_eq!(server.post("/api/push/subscriptions", &subscription).status, 201);
    let mut looking = server.chat("other");
    looking.send_json(&json!({"type": "visible", "visible": true}));
    looking.settle();
    server.chat("garden").say("m1", "!say seen");
    // The turn ends a moment after its last frame.
    std::thread::sleep(Duration::from_millis(500));
    looking.send_json(&json!({"type": "visible", "visible": false}));
    looking.settle();
    server.chat("garden").say("m2", "!say unseen");
    service.await_one(1);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(service.stub.requests().len(), 1, "the first reply was in sight");
    let gone = Request::new("DELETE", "/api/push/subscriptions").header("Content-Type", "application/json");
    let gone = gone.body(subscription.to_string());
    assert_eq!(server.send(&gone).status, 204);
    assert_eq!(server.send(&gone).status, 404);
    server.chat("garden").say("m3", "!say for nobody");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(service.stub.requests().len(), 1);
}

#[test]
fn devices_outlive_a_restart_and_those_that_are_gone_are_removed() {
    let service = Service::start();
    let server = Server::start(&[&service.setting()]);
    let key = server.get("/api/push/key").json();
    let subscription = Device::new().subscription(&service.endpoint("phone"));
    assert_eq!(server.post("/api/push/subscriptions", &subscription).status, 201);
    let home = server.kill();
    for file in ["push.key", "push.devices"] {
        let mode = std::fs::metadata(home.path().join("run").join(file)).expect(file).permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let server = Server::start_in(home, &[&service.setting()]);
    assert_eq!(server.get("/api/push/key").json(), key);
    *service.status.lock().expect("a lock") = "410 Gone";
    server.chat("garden").say("m1", "!say again");
    service.await_one(1);
    eventually("the device is forgotten", || {
        let kept = std::fs::read_to_string(server.home().path().join("run/push.devices")).unwrap_or_default();
        (!kept.contains("/push/phone")).then_some(())
    });
}

#[test]
fn a_device_whose_sign_in_ended_is_not_notified() {
    let service = Service::start();
    let server = Server::start(&[&service.setting(), "dashboard.auth_token=t0ken-of-the-owner"]);
    let cookie = server.get("/dashboard?token=t0ken-of-the-owner");
    let cookie = cookie.header("set-cookie").expect("a cookie").split(';').next().expect("a pair").to_owned();
    let post =
        |target: &str, body: &Value| server.send(&Request::post(target, body).header("Cookie", &cookie));
    let subscription = Device::new().subscription(&service.endpoint("phone"));
    assert_eq!(server.send(&Request::post("/api/push/subscriptions", &subscription)).status, 401);
    assert_eq!(post("/api/push/subscriptions", &subscription).status, 201);
    assert_eq!(post("/api/sign-out", &json!({})).status, 200);
    let mut chat = aethon_tests::Socket::open(
        server.address,
        "/ws/chat?session=garden&token=t0ken-of-the-owner",
        &[("Sec-WebSocket-Protocol", "aethon.chat.v1")],
    );
    chat.say("m1", "!say after the sign-out");
    eventually("the device is forgotten", || {
        let kept = std::fs::read_to_string(server.home().path().join("run/push.devices")).unwrap_or_default();
        (!kept.contains("/push/phone")).then_some(())
    });
    assert!(service.stub.requests().is_empty());
}

#[test]
fn subscription_needs_a_push_service_and_ends_with_the_switch() {
    let server = Server::start(&[]);
    let device = Device::new();
    for endpoint in [
        "http://push.example/x",
        "https://127.0.0.1/x",
        "https://192.168.0.1/x",
        "https://nas.local/x",
        "x",
        "",
    ] {
        let answer = server.post("/api/push/subscriptions", &device.subscription(endpoint));
        assert_eq!(answer.status, 422, "{endpoint}");
        assert_eq!(answer.json()["errors"][0]["field"], "endpoint", "{endpoint}");
    }
    let mut wrong = device.subscription("https://updates.push.services.mozilla.com/wpush/v2/x");
    assert_eq!(server.post("/api/push/subscriptions", &wrong).status, 201);
    wrong["keys"]["auth"] = json!("c2hvcnQ");
    assert_eq!(server.post("/api/push/subscriptions", &wrong).status, 422);
    wrong["keys"] = json!({});
    assert_eq!(server.post("/api/push/subscriptions", &wrong).status, 422);
    let off = Server::start(&["push.enabled=false"]);
    assert_eq!(
        (off.get("/api/push/key").status, off.get("/api/push/key").problem()),
        (404, "push_off".to_owned())
    );
    assert_eq!(off.post("/api/push/subscriptions", &wrong).status, 404);
}
