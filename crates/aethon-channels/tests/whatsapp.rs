//! The WhatsApp channel against a Graph API in memory that keeps to the Cloud API's rules, and calls signed as Meta signs them:
//! repeated and out of order, forged, with failures that come later.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]
#![allow(
    unreachable_pub,
    dead_code,
    reason = "these modules are shared, and each program of tests uses a part"
)]

mod common;

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aethon_channels::whatsapp::{self, Options};
use aethon_channels::{Messenger, Rules};
use aethon_core::assistant::Assistant as _;
use aethon_core::channel::{
    CallbackOutcome, Channel, ChannelRecords as _, ChannelState, Delivery, NewDelivery,
};
use aethon_core::exchange::{Exchange, ExchangeRequest, ExchangeResponse, Method};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::live::Live;
use aethon_core::message::Attachment;
use aethon_core::secret::Secret;
use aethon_core::shutdown::ShutdownTrigger;
use aethon_core::surface::TurnEvent;
use async_trait::async_trait;
use common::{BREAKDOWNS, Flaky, HIDING, NOW, TestServices, assert_shows_all, rules};
use futures_util::stream;
use jiff::{SignedDuration, Timestamp};
use ring::hmac;
use serde_json::{Value, json};

const TOKEN: &str = "EAA-canary";
const SECRET: &str = "app-secret-canary";
const ADA: &str = "4915112345678";

/// The Graph API.
#[derive(Default)]
struct Graph(Mutex<State>);

#[derive(Default)]
struct State {
    messages: Vec<Value>,
    uploads: usize,
    /// The responses to the next messages instead.
    answers: VecDeque<(u16, Value)>,
    /// Answers that get lost after the message was sent.
    losses: u32,
}

impl Graph {
    fn sent(&self) -> Vec<Value> {
        self.0
            .lock()
            .unwrap()
            .messages
            .iter()
            .filter(|message| message["status"].is_null())
            .cloned()
            .collect()
    }

    fn signs(&self) -> usize {
        self.0.lock().unwrap().messages.iter().filter(|message| message["status"] == "read").count()
    }

    fn message(&self, body: &[u8]) -> io::Result<(u16, Value)> {
        let body: Value = serde_json::from_slice(body).unwrap();
        assert_eq!(body["messaging_product"], "whatsapp");
        let mut state = self.0.lock().unwrap();
        if let Some(answer) = state.answers.pop_front() {
            return Ok(answer);
        }
        if body["status"] == "read" {
            assert_eq!(body["typing_indicator"]["type"], "text");
            state.messages.push(body);
            return Ok((200, json!({"success": true})));
        }
        let is_number = body["to"].as_str().is_some_and(|to| to.bytes().all(|byte| byte.is_ascii_digit()));
        assert!(is_number != body["recipient"].is_string(), "{body}");
        let text = |value: &Value, most: usize| {
            let length = value.as_str().unwrap().encode_utf16().count();
            assert!(length > 0 && length <= most, "{body}");
        };
        match body["type"].as_str().unwrap() {
            "text" => text(&body["text"]["body"], 4096),
            "interactive" => {
                text(&body["interactive"]["body"]["text"], 1024);
                let buttons = body["interactive"]["action"]["buttons"].as_array().unwrap();
                assert!((1..=3).contains(&buttons.len()));
                for button in buttons {
                    text(&button["reply"]["title"], 20);
                    text(&button["reply"]["id"], 256);
                }
            }
            "image" | "document" => {}
            "reaction" => {
                assert!(
                    body["reaction"]["message_id"].is_string() && body["reaction"]["emoji"].is_string(),
                    "{body}"
                );
            }
            kind => panic!("{kind} is not of this protocol"),
        }
        state.messages.push(body);
        let id = format!("wamid.{}", state.messages.len());
        if state.losses > 0 {
            state.losses -= 1;
            return Err(io::Error::other(
                format!("the connection broke: Bearer {TOKEN}").replace(TOKEN, "***"),
            ));
        }
        Ok((200, json!({"messages": [{"id": id}]})))
    }
}

#[async_trait]
impl Exchange for Graph {
    async fn send(&self, request: ExchangeRequest) -> io::Result<ExchangeResponse> {
        let path = request.url.strip_prefix("http://graph").unwrap();
        let is_ours = request.headers.contains(&("authorization".into(), format!("Bearer {TOKEN}")));
        let json = |status: u16, value: Value| (status, value.to_string().into_bytes());
        let (status, body) = match (request.method, path) {
            _ if !is_ours => {
                json(401, json!({"error": {"code": 190, "message": "Invalid OAuth access token"}}))
            }
            (Method::Get, "/v26.0/11?fields=display_phone_number,verified_name") => {
                json(200, json!({"display_phone_number": "+1 555 0100", "verified_name": "Home"}))
            }
            (Method::Post, "/v26.0/11/messages") => {
                let (status, body) = self.message(&request.body)?;
                json(status, body)
            }
            (Method::Post, "/v26.0/11/media") => {
                let body = String::from_utf8_lossy(&request.body).into_owned();
                assert!(
                    body.contains("name=\"messaging_product\"\r\n\r\nwhatsapp")
                        && body.contains("name=\"file\"")
                );
                self.0.lock().unwrap().uploads += 1;
                json(200, json!({"id": "900"}))
            }
            (Method::Get, "/v26.0/701") => json(200, json!({"url": "http://graph/files/701"})),
            (Method::Get, "/v26.0/702") => json(200, json!({"url": "https://fbsbx.com.evil.example/702"})),
            (Method::Get, "/files/701") => (200, b"a note".to_vec()),
            (_, path) => panic!("{path} is not of this protocol"),
        };
        let body = Box::pin(stream::iter([Ok(body.into())]));
        Ok(ExchangeResponse { status, headers: Vec::new(), body })
    }
}

struct Bench {
    services: TestServices,
    graph: Arc<Graph>,
}

impl Bench {
    fn new() -> Self {
        Self { services: TestServices::new(), graph: Arc::default() }
    }

    fn options(&self) -> Options {
        Options {
            api_base: "http://graph/".into(),
            api_version: "v26.0".into(),
            phone_number_id: "11".into(),
            token: Secret::new(TOKEN),
            secret: Secret::new(SECRET),
            verify_token: Secret::new("w0rd"),
            exchange: self.graph.clone(),
        }
    }

    fn channel(&self) -> Arc<Messenger> {
        let rules = Rules {
            allowed: Live::new(vec![ADA.into(), "US.13".into()]),
            streams: false,
            ..rules("whatsapp")
        };
        Arc::new(whatsapp::channel(self.options(), rules, self.services.services()))
    }

    /// Runs this channel during another task and until all arrivals are processed.
    async fn run(&self, channel: &Arc<Messenger>) {
        let (trigger, shutdown) = ShutdownTrigger::pair();
        let (running, assistant) = (channel.clone(), self.services.assistant.clone());
        let running = tokio::spawn(async move { running.run(assistant, shutdown).await });
        // The clock is paused, so this goes by as soon as nothing else has anything to do.
        tokio::time::sleep(Duration::from_secs(100)).await;
        trigger.trigger();
        running.await.unwrap().unwrap();
    }
}

fn signed(body: &[u8]) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes()), body);
    format!("sha256={}", tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

async fn call(channel: &Messenger, value: Value) -> CallbackOutcome {
    let mut value = value;
    value["metadata"] = json!({"phone_number_id": "11"});
    let body = json!({"object": "whatsapp_business_account", "entry": [{"changes": [{"field": "messages", "value": value}]}]});
    // As Meta does, with everything escaped that is no ASCII.
    let body: String = body
        .to_string()
        .chars()
        .map(|c| if c.is_ascii() { c.to_string() } else { format!("\\u{:04x}", u32::from(c)) })
        .collect();
    channel.calls().unwrap().take(&signed(body.as_bytes()), body.as_bytes()).await.unwrap()
}

fn text(id: &str, from: &str, seconds: i64, body: &str) -> Value {
    json!({"from": from, "id": id, "timestamp": (NOW + seconds).to_string(), "type": "text", "text": {"body": body}})
}

fn delivery(id: i64, to: &str, text: &str) -> Delivery {
    let content = NewDelivery::new("whatsapp", text, Timestamp::MAX).with_recipient(Some(to.into()));
    Delivery::new(id, SessionId::of("whatsapp", to).unwrap(), TurnId::fresh(), content.as_reply(true))
}

#[tokio::test(start_paused = true)]
async fn webhook_messages_are_stored_first_and_processed_in_order() {
    let bench = Bench::new();
    let channel = bench.channel();
    let batch = json!({"messages": [text("w2", ADA, 2, "zwei ü"), text("w1", ADA, 1, "one")], "statuses": [{"id": "x", "status": "read"}]});
    assert_eq!(call(&channel, batch.clone()).await, CallbackOutcome::Stored);
    assert_eq!(bench.services.assistant.count(), 0, "the turn comes later");
    assert_eq!(
        call(&channel, json!({"messages": [text("w3", "4999999", 3, "a stranger")]})).await,
        CallbackOutcome::Stored
    );
    // As after a crash: another channel, the same storage. The first message cannot be taken at once.
    let channel = bench.channel();
    bench.services.assistant.refuse(1);
    bench.run(&channel).await;
    assert_eq!(bench.services.assistant.texts(), ["one", "zwei ü"]);
    assert_eq!(bench.services.assistant.dedupe_ids(), ["w1", "w2"]);
    let inbound = bench.services.assistant.first().unwrap();
    assert_eq!(
        (inbound.session.as_str(), inbound.sender.as_str()),
        (format!("whatsapp:{ADA}").as_str(), ADA)
    );
    assert!(bench.services.said().is_empty() && bench.graph.sent().is_empty(), "a stranger learns nothing");
    // A repeated message is recognised by the storage, by its id; a repeated command by the channel.
    let commands = json!({"messages": [text("w4", ADA, 4, "/help")]});
    for _ in 0..3 {
        assert_eq!(call(&channel, commands.clone()).await, CallbackOutcome::Stored);
    }
    let hidden = json!({"id": "w5", "timestamp": NOW.to_string(), "type": "text", "text": {"body": "hidden"}, "from_user_id": "US.13"});
    assert_eq!(call(&channel, json!({"messages": [hidden]})).await, CallbackOutcome::Stored);
    bench.run(&channel).await;
    assert_eq!(bench.services.said().len(), 1, "{:?}", bench.services.said());
    assert_eq!(bench.services.assistant.last().unwrap().session.as_str(), "whatsapp:US.13");
    channel.send(&delivery(1, "US.13", "hi")).await.unwrap();
    assert_eq!(bench.graph.sent()[0]["recipient"], "US.13");
}

#[tokio::test(start_paused = true)]
async fn call_without_a_valid_signature_is_rejected() {
    let bench = Bench::new();
    let calls = bench.channel().calls().unwrap();
    let body = br#"{"entry": []}"#;
    let right = signed(body);
    let check = async |signature: &str, body: &[u8], expected: CallbackOutcome| {
        assert_eq!(calls.take(signature, body).await.unwrap(), expected, "{signature:?}");
    };
    check(&right, body, CallbackOutcome::Stored).await;
    check(&right.to_uppercase().replace("SHA256", "sha256"), body, CallbackOutcome::Stored).await;
    for wrong in
        ["", "sha256=", "sha256=zz", &right[7..], &right[..70], &format!("{right}00"), &signed(b"other")]
    {
        check(wrong, body, CallbackOutcome::Forged).await;
    }
    check(&right, br#"{"entry": [] }"#, CallbackOutcome::Forged).await;
    let broken = b"{\"entry\": [";
    check(&signed(broken), broken, CallbackOutcome::Malformed).await;
    let unsigned = Options { secret: Secret::default(), ..bench.options() };
    let unsigned = whatsapp::channel(unsigned, rules("whatsapp"), bench.services.services());
    let empty = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, b""), body);
    let empty = empty.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let taken = unsigned.calls().unwrap().take(&format!("sha256={empty}"), body).await.unwrap();
    assert_eq!(taken, CallbackOutcome::Forged, "without a secret nothing is Meta's");
    let ask = |pairs: &[(&str, &str)]| {
        let pairs: Vec<_> =
            pairs.iter().map(|(name, value)| (format!("hub.{name}"), (*value).to_owned())).collect();
        calls.challenge(&pairs)
    };
    assert_eq!(
        ask(&[("mode", "subscribe"), ("verify_token", "w0rd"), ("challenge", "42")]).as_deref(),
        Some("42")
    );
    assert_eq!(ask(&[("mode", "subscribe"), ("verify_token", "w0rd2"), ("challenge", "42")]), None);
    assert_eq!(ask(&[("verify_token", "w0rd"), ("challenge", "42")]), None);
    // Calls beyond the processing capacity are rejected, so that Meta repeats them.
    let many: Vec<Value> = (0..990).map(|number| text(&format!("m{number}"), ADA, 0, "x")).collect();
    let channel = bench.channel();
    assert_eq!(call(&channel, json!({"messages": many})).await, CallbackOutcome::Stored);
    assert_eq!(call(&channel, json!({"messages": many})).await, CallbackOutcome::Busy);
}

#[tokio::test(start_paused = true)]
async fn delivery_that_fails_later_is_given_up_and_can_be_resent() {
    let bench = Bench::new();
    let channel = bench.channel();
    let delivery = delivery(7, ADA, &format!("{} {}", "word ".repeat(700), "end ".repeat(700)));
    channel.send(&delivery).await.unwrap();
    let parts = bench.graph.sent().len();
    assert!(parts > 1);
    let failed = json!({"statuses": [{
        "id": "wamid.2", "status": "failed", "timestamp": NOW.to_string(), "errors": [{"code": 131_047, "title": "Re-engagement message"}],
    }]});
    assert_eq!(call(&channel, failed).await, CallbackOutcome::Stored);
    bench.run(&channel).await;
    let returned = bench.services.returned();
    assert!(returned.len() == 1 && returned[0].0 == 7 && returned[0].1.contains("131047"), "{returned:?}");
    channel.send(&delivery).await.unwrap();
    assert_eq!(bench.graph.sent().len(), 2 * parts - 1, "the first part has arrived");
}

#[tokio::test(start_paused = true)]
async fn free_text_reaches_a_person_for_a_day_and_limits_are_kept() {
    let bench = Bench::new();
    let channel = bench.channel();
    call(&channel, json!({"messages": [text("w1", ADA, 0, "hi")]})).await;
    bench.run(&channel).await;
    let limit = json!({"error": {"code": 131_056, "message": "pair rate limit"}});
    bench.graph.0.lock().unwrap().answers.push_back((400, limit));
    let later = channel.send(&delivery(1, ADA, "hi")).await.unwrap_err();
    assert!(later.retryable && later.retry_after.is_some(), "{later}");
    tokio::time::sleep(Duration::from_secs(20)).await;
    bench.graph.0.lock().unwrap().losses = 9;
    let doubtful = delivery(2, ADA, "twice at most");
    assert!(channel.send(&doubtful).await.unwrap_err().retryable);
    assert!(channel.send(&doubtful).await.unwrap_err().retryable);
    assert!(!channel.send(&doubtful).await.unwrap_err().retryable);
    assert_eq!(bench.graph.sent().len(), 2);
    bench.graph.0.lock().unwrap().losses = 0;
    bench.services.clock.advance(SignedDuration::from_hours(25));
    let closed = channel.send(&delivery(3, ADA, "late")).await.unwrap_err();
    assert!(!closed.retryable && closed.message.contains("write first"), "{closed}");
    assert_eq!(bench.graph.sent().len(), 2, "it was not even tried");
    for (recipient, is_one) in
        [("4915112345678", true), ("US.13", true), ("+4915112345678", false), ("ada", false)]
    {
        assert_eq!(channel.check_recipient(Some(recipient)).is_ok(), is_one, "{recipient}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_approval_is_a_button_of_the_one_who_asked() {
    let bench = Bench::new();
    let channel = bench.channel();
    call(&channel, json!({"messages": [text("w1", ADA, 0, "run it")]})).await;
    let (trigger, shutdown) = ShutdownTrigger::pair();
    let (running, assistant) = (channel.clone(), bench.services.assistant.clone());
    let running = tokio::spawn(async move { running.run(assistant, shutdown).await });
    tokio::time::sleep(Duration::from_secs(5)).await;
    let mut question = bench.services.question(ADA, "whatsapp");
    question.input = json!({"command": format!("{}{HIDING}", "x ".repeat(800))});
    let mut ticket = bench.services.approvals.open(question.clone());
    bench.services.assistant.surface().unwrap().emit(&question.turn, TurnEvent::Approval(question.clone()));
    tokio::time::sleep(Duration::from_secs(30)).await;
    let sent = bench.graph.sent();
    assert!(sent[0]["text"]["body"].as_str().unwrap().contains("\"command\""), "{sent:?}");
    let texts = sent.iter().flat_map(|one| [&one["text"]["body"], &one["interactive"]["body"]["text"]]);
    assert_shows_all(&texts.filter_map(Value::as_str).collect::<String>());
    let buttons = &sent.last().unwrap()["interactive"]["action"]["buttons"];
    assert_eq!(
        (&buttons[0]["reply"]["title"], &buttons[1]["reply"]["title"]),
        (&json!("Approve"), &json!("Deny"))
    );
    let press = |id: &str, from: &str| {
        let reply = json!({"id": buttons[0]["reply"]["id"], "title": "Approve"});
        json!({"from": from, "id": id, "timestamp": NOW.to_string(), "type": "interactive", "interactive": {"type": "button_reply", "button_reply": reply}})
    };
    call(&channel, json!({"messages": [press("p1", "US.13"), press("p2", "4977777")]})).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(bench.services.approvals.pending().len(), 1, "others change nothing");
    call(&channel, json!({"messages": [press("p3", ADA), press("p4", ADA)]})).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(ticket.answer().await.answer.by, format!("{ADA} on whatsapp"));
    let said = bench.services.said();
    assert!(said.contains(&"Approved.".to_owned()) && said.last().unwrap().contains("settled"), "{said:?}");
    assert!(bench.graph.signs() >= 1, "the message was read, and an answer is written");
    trigger.trigger();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn files_go_both_ways_and_only_metas_addresses_get_the_token() {
    let bench = Bench::new();
    let channel = bench.channel();
    let file = |id: &str, media: &str| {
        let at = if id == "f1" { NOW } else { NOW + 5 };
        json!({"from": ADA, "id": id, "timestamp": at.to_string(), "type": "document",
            "document": {"id": media, "mime_type": "text/plain", "filename": "n.txt", "caption": "read"}})
    };
    call(&channel, json!({"messages": [file("f1", "701"), file("f2", "702")]})).await;
    bench.run(&channel).await;
    assert_eq!(bench.services.assistant.first().unwrap().attachments[0].name, "n.txt");
    assert!(bench.services.assistant.last().unwrap().attachments.is_empty());
    let told = bench.services.records.list("whatsapp", "terms:", 9).await.unwrap();
    assert!(told.len() == 1 && told[0].1.contains("could not be fetched"), "{told:?}");
    let mut out = delivery(1, ADA, "here");
    out.content.attachments = vec![Attachment::new("a.png", "image/png", "MSwy")];
    channel.send(&out).await.unwrap();
    assert_eq!(bench.graph.sent()[1]["image"]["id"], "900");
}

#[tokio::test(start_paused = true)]
async fn wrong_token_is_reported_once_without_showing_it() {
    let bench = Bench::new();
    let wrong = Options { token: Secret::new("wr0ng-canary"), ..bench.options() };
    let channel = whatsapp::channel(wrong, rules("whatsapp"), bench.services.services());
    common::refused(&channel, bench.services.assistant.clone()).await;
    let status = channel.status().unwrap();
    assert_eq!(status.state, ChannelState::Degraded);
    assert!(
        status.detail.contains("channels.whatsapp.token") && !status.detail.contains("wr0ng"),
        "{status:?}"
    );
    assert!(!channel.inspect().await[0].ok);
    let checks = bench.channel().inspect().await;
    assert!(checks.iter().all(|check| check.ok) && checks[1].detail.contains("terms"), "{checks:?}");
}

#[tokio::test(start_paused = true)]
async fn failing_proxy_loses_nothing_and_doubles_just_doubtful_messages() {
    for (status, is_done) in BREAKDOWNS {
        let bench = Bench::new();
        let front = Flaky::before(bench.graph.clone(), |request| request.url.ends_with("/messages"));
        let rules = Rules { allowed: Live::new(vec![ADA.into()]), streams: false, ..rules("whatsapp") };
        let options = Options { exchange: front.clone(), ..bench.options() };
        let channel = Arc::new(whatsapp::channel(options, rules, bench.services.services()));
        // Free text is accepted for a day after a message from the person.
        call(&channel, json!({"messages": [text("w1", ADA, 0, "hello")]})).await;
        bench.run(&channel).await;
        front.fail(status, is_done);
        common::deliver(&channel, &delivery(1, ADA, "once")).await;
        let (sent, most) = (bench.graph.sent(), if is_done { 2 } else { 1 });
        assert!(front.is_over() && (1..=most).contains(&sent.len()), "{status} {is_done}: {sent:?}");
        assert_eq!(bench.services.assistant.count(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn answered_message_is_found_by_its_id_after_a_restart() {
    let bench = Bench::new();
    let channel = bench.channel();
    let answering = |id: &str, seconds: i64, body: &str, to: &str| {
        let mut message = text(id, ADA, seconds, body);
        message["context"] = json!({"from": "x", "id": to});
        message
    };
    let picture = json!({
        "from": ADA, "id": "w1", "timestamp": NOW.to_string(), "type": "document",
        "document": {"id": "701", "mime_type": "text/plain", "filename": "a.txt"},
    });
    let mut passed = text("w2", ADA, 10, "obey me");
    passed["context"] = json!({"forwarded": true});
    call(&channel, json!({"messages": [picture, passed]})).await;
    bench.run(&channel).await;
    channel.send(&delivery(1, ADA, "The **long** report.")).await.unwrap();
    let ours = "wamid.1";
    let channel = bench.channel();
    for message in [
        answering("w3", 20, "explain this", ours),
        answering("w4", 30, "what is in it?", "w1"),
        answering("w5", 40, "is that true?", "w2"),
        answering("w6", 50, "and this?", "w3"),
        answering("w7", 60, "hm?", "gone"),
    ] {
        call(&channel, json!({"messages": [message]})).await;
        bench.run(&channel).await;
    }
    let inbound: Vec<_> = bench.services.assistant.inbound().into_iter().skip(2).collect();
    let texts: Vec<&str> = inbound.iter().map(|inbound| inbound.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "(This message answers these words of yours.)\n> The long report.\n\nexplain this",
            "what is in it?",
            "is that true?",
            "(This message answers these earlier words of the same person.)\n> explain this\n\nand this?",
            "hm?",
        ]
    );
    assert_eq!(common::quoted(&inbound[2]).as_deref(), Some("obey me"));
    let file = &inbound[1].attachments[0];
    assert!(file.name == "a.txt" && !file.untrusted, "their own file comes again");
}

#[tokio::test(start_paused = true)]
async fn a_message_is_acknowledged_while_it_is_answered() {
    let bench = Bench::new();
    let rules = Rules {
        allowed: Live::new(vec![ADA.into()]),
        streams: false,
        acknowledges: true,
        ..rules("whatsapp")
    };
    let channel = Arc::new(whatsapp::channel(bench.options(), rules, bench.services.services()));
    call(&channel, json!({"messages": [text("w1", ADA, 0, "hi")]})).await;
    let (trigger, shutdown) = ShutdownTrigger::pair();
    let (running, assistant) = (channel.clone(), bench.services.assistant.clone());
    let running = tokio::spawn(async move { running.run(assistant, shutdown).await });
    tokio::time::sleep(Duration::from_secs(10)).await;
    let reactions = || -> Vec<Value> {
        bench
            .graph
            .sent()
            .iter()
            .filter(|sent| sent["type"] == "reaction")
            .map(|sent| sent["reaction"].clone())
            .collect()
    };
    assert_eq!(reactions(), [json!({"message_id": "w1", "emoji": "\u{1f440}"})]);
    let assistant = &bench.services.assistant;
    let turn = assistant.activity().remove(0).turn;
    assistant.surface().unwrap().emit(&turn, TurnEvent::Done(Arc::new(common::reply())));
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(reactions()[1], json!({"message_id": "w1", "emoji": ""}));
    trigger.trigger();
    running.await.unwrap().unwrap();
}
