//! The Slack channel against a workspace in memory that keeps to the protocol: sockets with tickets for one use, envelopes that
//! are sent again until they are confirmed, mentions that come twice, posts that are taken twice, limits, renewed sockets.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use aethon_channels::socket::{Dial, Wire};
use aethon_channels::{Messenger, slack};
use aethon_core::approval::{Resolution, ResolutionReason};
use aethon_core::channel::{Channel, ChannelState};
use aethon_core::exchange::{Exchange, ExchangeRequest, ExchangeResponse, Method};
use aethon_core::secret::Secret;
use aethon_core::surface::TurnEvent;
use async_trait::async_trait;
use common::{Ground, NOW, answer, delivery, eventually, header, lost, pass, query, response};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

const BOT: &str = "xoxb-canary-of-the-bot";
const APP: &str = "xapp-canary-of-the-app";
const US: &str = "UBOT";

/// A workspace.
#[derive(Default)]
struct Workspace(Mutex<State>);

#[derive(Default)]
struct State {
    /// Tickets that were not used yet.
    tickets: BTreeSet<String>,
    next: u32,
    /// What can be sent to each open socket, by its number.
    sockets: BTreeMap<u32, UnboundedSender<Value>>,
    /// How many sockets were open when one was left.
    open_at_leaving: Vec<usize>,
    opened: u32,
    confirmed: BTreeSet<String>,
    posted: Vec<Value>,
    whispers: Vec<Value>,
    calls: Vec<String>,
    /// Pauses that the next posts and edits are answered with.
    pauses: VecDeque<u64>,
    /// Posts that are taken, and whose answers get lost.
    losses: u32,
    /// The word with which every call is refused.
    refusal: Option<&'static str>,
    files: BTreeMap<String, Value>,
}

impl Workspace {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Something happens. Slack sends it until it is confirmed: at once, once more when that is not in time, and after one and
    /// five minutes.
    fn emit(self: &Arc<Self>, kind: &'static str, payload: Value) {
        let workspace = self.clone();
        tokio::spawn(async move {
            for (attempt, pause) in [0, 3, 60, 300].into_iter().enumerate() {
                pass(pause).await;
                let envelope = {
                    let mut state = workspace.state();
                    state.next += 1;
                    let envelope = format!("e{}", state.next);
                    let sent = json!({
                        "envelope_id": envelope, "type": kind, "payload": payload, "accepts_response_payload": false,
                        "retry_attempt": attempt, "retry_reason": if attempt > 0 { "timeout" } else { "" },
                    });
                    if let Some(socket) = state.sockets.values().next_back() {
                        let _ = socket.send(sent);
                    }
                    envelope
                };
                pass(3).await;
                if workspace.state().confirmed.contains(&envelope) {
                    return;
                }
            }
        });
    }

    /// An event of a message.
    fn event(self: &Arc<Self>, event: Value) {
        self.emit("events_api", json!({"team_id": "T1", "event": event}));
    }

    fn say(self: &Arc<Self>, channel: &str, user: &str, text: &str, number: u32) {
        self.event(json!({
            "type": "message", "channel": channel, "user": user, "text": text, "ts": format!("{NOW}.{number:06}"),
        }));
    }

    fn press(self: &Arc<Self>, user: &str, message: &Value, value: &str) {
        self.emit(
            "interactive",
            json!({
                "type": "block_actions", "user": {"id": user}, "channel": {"id": message["channel"]},
                "message": {"ts": message["ts"], "thread_ts": message["thread_ts"]},
                "actions": [{"action_id": "aethon_0", "value": value}],
            }),
        );
    }

    /// Slack says something about the newest socket.
    fn disconnect(&self, reason: &str) {
        let state = self.state();
        let socket = state.sockets.values().next_back().unwrap();
        socket.send(json!({"type": "disconnect", "reason": reason})).unwrap();
    }

    /// Every connection breaks.
    fn cut(&self) {
        self.state().sockets.clear();
    }

    fn is_open(&self) -> bool {
        !self.state().sockets.is_empty()
    }

    async fn serve(self: Arc<Self>, wire: DuplexStream) {
        let workspace = self.clone();
        #[expect(clippy::result_large_err, reason = "the handshake's own type")]
        let check = move |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
            let ticket = request.uri().query().unwrap_or_default().trim_start_matches("ticket=");
            match workspace.state().tickets.remove(ticket) {
                true => Ok(response),
                false => Err(Response::builder().status(403).body(None).unwrap()),
            }
        };
        let Ok(mut socket) = accept_hdr_async(wire, check).await else { return };
        let (sender, commands) = unbounded_channel();
        let number = {
            let mut state = self.state();
            state.opened += 1;
            let number = state.opened;
            state.sockets.insert(number, sender);
            number
        };
        let hello = json!({"type": "hello", "num_connections": 1});
        let _ = socket.send(Message::text(hello.to_string())).await;
        self.talk(&mut socket, commands).await;
        let mut state = self.state();
        state.sockets.remove(&number);
        let open = state.sockets.len();
        state.open_at_leaving.push(open);
    }

    async fn talk(&self, socket: &mut WebSocketStream<DuplexStream>, mut commands: UnboundedReceiver<Value>) {
        loop {
            tokio::select! {
                command = commands.recv() => match command {
                    Some(command) => { let _ = socket.send(Message::text(command.to_string())).await; }
                    None => return,
                },
                heard = socket.next() => match heard {
                    Some(Ok(Message::Text(text))) => {
                        let told: Value = serde_json::from_str(&text).unwrap();
                        let keys: Vec<&String> = told.as_object().unwrap().keys().collect();
                        assert_eq!(keys, ["envelope_id"], "{told}");
                        self.state().confirmed.insert(told["envelope_id"].as_str().unwrap().to_owned());
                    }
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                    Some(Ok(_)) => {}
                }
            }
        }
    }

    fn call(&self, method: &str, params: &Value) -> io::Result<ExchangeResponse> {
        let mut state = self.state();
        state.calls.push(method.to_owned());
        if let Some(word) = state.refusal {
            return Ok(answer(200, &json!({"ok": false, "error": word})));
        }
        if matches!(method, "chat.postMessage" | "chat.update")
            && let Some(pause) = state.pauses.pop_front()
        {
            let body = json!({"ok": false, "error": "ratelimited"}).to_string().into_bytes();
            return Ok(response(429, &[("retry-after", &pause.to_string())], body));
        }
        match method {
            "auth.test" => Ok(ok(json!({"user_id": US, "user": "aethon", "bot_id": "B1", "team": "Home"}))),
            "apps.connections.open" => {
                state.next += 1;
                let ticket = format!("t{}", state.next);
                state.tickets.insert(ticket.clone());
                Ok(ok(json!({"url": format!("ws://127.0.0.1/link/?ticket={ticket}")})))
            }
            "chat.postMessage" => {
                let mut message = checked(params);
                state.next += 1;
                message["ts"] = json!(format!("{NOW}.9{:05}", state.next));
                let told = json!({"channel": message["channel"], "ts": message["ts"]});
                state.posted.push(message);
                if state.losses > 0 {
                    state.losses -= 1;
                    return Err(lost());
                }
                Ok(ok(told))
            }
            "chat.update" => {
                let new = checked(params);
                let mut posted = state.posted.iter_mut();
                let Some(old) =
                    posted.find(|old| old["ts"] == params["ts"] && old["channel"] == new["channel"])
                else {
                    return Ok(answer(200, &json!({"ok": false, "error": "message_not_found"})));
                };
                old["text"] = new["text"].clone();
                if new.get("blocks").is_some() {
                    old["blocks"] = new["blocks"].clone();
                }
                Ok(ok(json!({})))
            }
            "chat.postEphemeral" => {
                state.whispers.push(params.clone());
                Ok(ok(json!({})))
            }
            "files.completeUploadExternal" => {
                let id = params["files"][0]["id"].as_str().unwrap().to_owned();
                state.files.insert(id, params["channel_id"].clone());
                Ok(ok(json!({})))
            }
            _ => panic!("{method} is not of this protocol"),
        }
    }

    fn look(&self, method: &str, url: &str) -> ExchangeResponse {
        let (mut state, params) = (self.state(), query(url));
        state.calls.push(method.to_owned());
        match method {
            "conversations.history" | "conversations.replies" => {
                assert_eq!(params["include_all_metadata"], "true");
                let is_here = |message: &&Value| {
                    let in_thread = message["thread_ts"].as_str() == params.get("ts").map(String::as_str);
                    message["channel"] == params["channel"].as_str() && in_thread
                };
                let found: Vec<&Value> = state.posted.iter().filter(is_here).collect();
                ok(json!({"messages": found}))
            }
            "files.getUploadURLExternal" => {
                assert_eq!((params["filename"].as_str(), params["length"].as_str()), ("a.txt", "2"));
                ok(json!({"upload_url": "https://files.slack.com/upload/1", "file_id": "F1"}))
            }
            _ => panic!("{method} takes JSON"),
        }
    }
}

/// What is shown, if Slack would take it.
fn checked(params: &Value) -> Value {
    let text = params["text"].as_str().unwrap();
    assert!(!text.trim().is_empty() && text.encode_utf16().count() <= 4000, "{}", text.len());
    assert!(!text.contains("<!") && !text.contains("<@"), "{text}");
    assert!(params["unfurl_links"] == false && params["unfurl_media"] == false, "{params}");
    let blocks = params["blocks"].as_array().cloned().unwrap_or_default();
    assert!(blocks.len() <= 50);
    for block in &blocks {
        if block["type"] == "section" {
            let text = block["text"]["text"].as_str().unwrap();
            assert!(!text.is_empty() && text.len() <= 3000, "{}", text.len());
            continue;
        }
        let mut ids = BTreeSet::new();
        for button in block["elements"].as_array().unwrap() {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            assert!(text(&button["value"]).len() <= 2000 && text(&button["text"]["text"]).len() <= 75);
            assert!(ids.insert(text(&button["action_id"])), "{button}");
        }
    }
    params.clone()
}

fn ok(mut body: Value) -> ExchangeResponse {
    body["ok"] = json!(true);
    answer(200, &body)
}

#[async_trait]
impl Exchange for Workspace {
    async fn send(&self, request: ExchangeRequest) -> io::Result<ExchangeResponse> {
        let authorization = header(&request, "authorization").to_owned();
        if let Some(rest) = request.url.strip_prefix("https://files.slack.com/") {
            return Ok(match (request.method, rest) {
                (Method::Post, _) => {
                    assert!(authorization.is_empty() && request.body == b"hi");
                    response(200, &[], b"OK".to_vec())
                }
                _ if authorization == format!("Bearer {BOT}") && rest != "secret.txt" => {
                    response(200, &[("content-type", "text/plain")], b"what is in it".to_vec())
                }
                // Whoever may not read it is asked to sign in.
                _ => response(200, &[("content-type", "text/html; charset=utf-8")], b"<html>".to_vec()),
            });
        }
        let path = request.url.strip_prefix("http://127.0.0.1/api/").unwrap();
        let method = path.split('?').next().unwrap();
        let token = if method == "apps.connections.open" { APP } else { BOT };
        if authorization != format!("Bearer {token}") {
            return Ok(answer(200, &json!({"ok": false, "error": "invalid_auth"})));
        }
        match request.method {
            Method::Get => Ok(self.look(method, path)),
            _ => {
                assert_eq!(header(&request, "content-type"), "application/json; charset=utf-8");
                self.call(method, &serde_json::from_slice(&request.body).unwrap())
            }
        }
    }
}

struct Line(Arc<Workspace>);

#[async_trait]
impl Dial for Line {
    async fn dial(&self, host: &str, port: u16) -> io::Result<Box<dyn Wire>> {
        assert_eq!((host, port), ("127.0.0.1", 80));
        let (here, there) = tokio::io::duplex(1 << 16);
        tokio::spawn(self.0.clone().serve(there));
        Ok(Box::new(here))
    }
}

fn channel(ground: &Ground, workspace: &Arc<Workspace>, bot: &str) -> Arc<Messenger> {
    let options = slack::Options {
        api_base: "http://127.0.0.1/api/".into(),
        bot_token: Secret::new(bot),
        app_token: Secret::new(APP),
        exchange: workspace.clone(),
        dial: Arc::new(Line(workspace.clone())),
    };
    Arc::new(slack::channel(options, ground.rules("slack", &["UADA", "UEVE"]), ground.around()))
}

#[tokio::test(start_paused = true)]
async fn a_mention_that_comes_twice_is_one_message_and_its_thread_a_conversation() {
    let (ground, workspace) = (Ground::new(), Arc::new(Workspace::default()));
    let running = ground.start(&channel(&ground, &workspace, BOT));
    eventually("the socket is open", || workspace.is_open()).await;
    let mention =
        json!({"channel": "C1", "user": "UADA", "text": "<@UBOT> 1 &lt; 2?", "ts": format!("{NOW}.000001")});
    for kind in ["message", "app_mention"] {
        let mut event = mention.clone();
        event["type"] = json!(kind);
        workspace.event(event);
    }
    workspace.say("C1", "UADA", "not for you", 2);
    workspace.say("D1", "UNOBODY", "obey", 3);
    workspace.event(
        json!({"type": "message", "subtype": "message_changed", "channel": "D1", "ts": "1.1", "message": {}}),
    );
    workspace.say("D1", "UADA", "in private", 4);
    pass(20).await;
    // What comes hours later once more is known.
    workspace.event(json!({"type": "message", "channel": "C1", "user": "UADA", "text": "<@UBOT> 1 &lt; 2?", "ts": format!("{NOW}.000001")}));
    pass(20).await;
    running.stop().await;
    assert_eq!(ground.assistant.texts(), ["[UADA] 1 < 2?", "in private"]);
    let sessions: Vec<String> =
        ground.assistant.inbound().iter().map(|inbound| inbound.session.to_string()).collect();
    assert_eq!(sessions, [format!("slack:C1:{NOW}.000001"), "slack:D1".into()]);
    assert_eq!(workspace.state().confirmed.len(), 7, "all of them, and each once");
    assert!(ground.courier.texts().is_empty(), "a stranger learns nothing");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_confirmed_before_it_is_stored_and_nothing_is_lost_without_a_socket() {
    let (ground, workspace) = (Ground::new(), Arc::new(Workspace::default()));
    ground.assistant.refuse(7);
    let messenger = channel(&ground, &workspace, BOT);
    let running = ground.start(&messenger);
    eventually("the socket is open", || workspace.is_open()).await;
    workspace.say("D1", "UADA", "one", 1);
    pass(10).await;
    assert!(workspace.state().confirmed.is_empty(), "it is not stored");
    eventually("it is stored", || ground.assistant.texts() == ["one"]).await;
    eventually("it is confirmed", || !workspace.state().confirmed.is_empty()).await;
    assert_eq!(messenger.status().unwrap().state, ChannelState::Running);
    // In the middle of it the program is killed, and what comes before the next start has no socket to come to.
    running.kill().await;
    workspace.cut();
    workspace.say("D1", "UADA", "two", 2);
    pass(10).await;
    let running = ground.start(&channel(&ground, &workspace, BOT));
    eventually("it comes again", || ground.assistant.texts() == ["one", "two"]).await;
    // A connection that breaks is opened again.
    workspace.cut();
    pass(5).await;
    workspace.say("D1", "UADA", "three", 3);
    eventually("it arrives", || ground.assistant.texts() == ["one", "two", "three"]).await;
    pass(600).await;
    running.stop().await;
    assert_eq!(ground.assistant.texts().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_new_socket_is_open_before_the_old_one_is_left() {
    let (ground, workspace) = (Ground::new(), Arc::new(Workspace::default()));
    let running = ground.start(&channel(&ground, &workspace, BOT));
    eventually("the socket is open", || workspace.is_open()).await;
    for (number, reason) in [(1, "warning"), (2, "refresh_requested")] {
        workspace.say("D1", "UADA", "before", number);
        workspace.disconnect(reason);
        pass(30).await;
        assert_eq!(workspace.state().open_at_leaving.len(), number as usize);
    }
    assert_eq!(workspace.state().open_at_leaving, [1, 1]);
    workspace.say("D1", "UADA", "after", 3);
    pass(10).await;
    assert_eq!(ground.assistant.texts(), ["before", "before", "after"]);
    // One that only goes quiet is left as well, after a while.
    assert_eq!(workspace.state().opened, 3);
    workspace.disconnect("too_many_websockets");
    pass(30).await;
    assert_eq!(workspace.state().opened, 3, "not before its time");
    pass(60).await;
    assert_eq!(workspace.state().opened, 4);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_reply_is_sent_once_however_often_it_is_tried() {
    let text = format!("A **bold** <!channel> & {}\n\n```rust\nlet a = 1 < 2;\n```", "word ".repeat(1500));
    for recipient in ["C1:1.2", "D1"] {
        let (ground, workspace) = (Ground::new(), Arc::new(Workspace::default()));
        let messenger = channel(&ground, &workspace, BOT);
        let delivery = delivery("slack", recipient, &text);
        workspace.state().pauses.push_back(7);
        let error = messenger.send(&delivery).await.unwrap_err();
        assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
        pass(10).await;
        workspace.state().losses = 1;
        assert!(
            messenger.send(&delivery).await.unwrap_err().retryable,
            "nobody knows whether it has arrived"
        );
        // The program was killed before it knew.
        let messenger = channel(&ground, &workspace, BOT);
        while messenger.send(&delivery).await.is_err() {
            pass(5).await;
        }
        let posted = std::mem::take(&mut workspace.state().posted);
        let ids: BTreeSet<&str> =
            posted.iter().map(|message| message["client_msg_id"].as_str().unwrap()).collect();
        assert!(posted.len() > 1 && ids.len() == posted.len(), "each part once: {ids:?}");
        let whole: String = posted.iter().map(|message| message["text"].as_str().unwrap()).collect();
        assert_eq!(whole.matches("word").count(), 1500);
        assert!(
            whole.starts_with("A *bold* &lt;!channel&gt; &amp;")
                && whole.contains("```\nlet a = 1 &lt; 2;\n```")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn files_come_and_go_and_a_page_to_sign_in_at_is_no_file() {
    let (ground, workspace) = (Ground::new(), Arc::new(Workspace::default()));
    let running = ground.start(&channel(&ground, &workspace, BOT));
    eventually("the socket is open", || workspace.is_open()).await;
    for (number, name) in ["notes.txt", "secret.txt"].into_iter().enumerate() {
        workspace.event(json!({
            "type": "message", "subtype": "file_share", "channel": "D1", "user": "UADA", "text": name,
            "ts": format!("{NOW}.00000{number}"),
            "files": [{"name": name, "mimetype": "text/plain", "size": 5, "url_private": format!("https://files.slack.com/{name}")}],
        }));
    }
    workspace.event(json!({
        "type": "message", "subtype": "file_share", "channel": "D1", "user": "UADA", "text": "elsewhere", "ts": format!("{NOW}.000009"),
        "files": [{"name": "x", "mimetype": "text/plain", "size": 5, "url_private": "https://slack.com.evil.example/x"}],
    }));
    eventually("all have arrived", || ground.assistant.texts().len() == 3).await;
    running.stop().await;
    let files: Vec<usize> =
        ground.assistant.inbound().iter().map(|inbound| inbound.attachments.len()).collect();
    assert_eq!(files, [1, 0, 0]);
    assert_eq!(ground.courier.texts().len(), 2, "both are told");
    let mut delivery = delivery("slack", "D1", "");
    delivery.content.attachments.push(aethon_core::message::Attachment::new("a.txt", "text/plain", "aGk="));
    channel(&ground, &workspace, BOT).send(&delivery).await.unwrap();
    assert_eq!(workspace.state().files["F1"], "D1");
}

#[tokio::test(start_paused = true)]
async fn an_approval_is_pressed_by_the_asker_once_and_its_outcome_takes_the_buttons_away() {
    let (ground, workspace) = (Ground::new(), Arc::new(Workspace::default()));
    let running = ground.start(&channel(&ground, &workspace, BOT));
    eventually("the socket is open", || workspace.is_open()).await;
    let mention = json!({"type": "app_mention", "channel": "C1", "user": "UADA", "text": "<@UBOT> do it", "ts": format!("{NOW}.000001")});
    workspace.event(mention);
    eventually("it has arrived", || !ground.assistant.texts().is_empty()).await;
    let request = ground.question(&format!("C1:{NOW}.000001"), "slack");
    let mut ticket = ground.desk.open(request.clone());
    let surface = ground.assistant.surface().unwrap();
    surface.emit(&request.turn, TurnEvent::Approval(request.clone()));
    eventually("the question is shown", || !workspace.state().posted.is_empty()).await;
    let question = workspace.state().posted[0].clone();
    assert_eq!(question["thread_ts"], format!("{NOW}.000001"));
    let buttons = question["blocks"].as_array().unwrap().last().unwrap()["elements"].clone();
    let value = |number: usize| buttons[number]["value"].as_str().unwrap().to_owned();
    assert!(question["text"].as_str().unwrap().contains("ls &amp; &lt;!channel&gt;"), "{question}");
    let whispered = |count: usize| {
        let workspace = workspace.clone();
        async move {
            eventually("it is answered", || workspace.state().whispers.len() == count).await;
            workspace.state().whispers[count - 1].clone()
        }
    };
    workspace.press("UEVE", &question, &value(0));
    let told = whispered(1).await;
    assert!(told["text"].as_str().unwrap().contains("Only the person") && told["user"] == "UEVE", "{told}");
    assert_eq!(ground.desk.pending().len(), 1);
    workspace.press("UADA", &question, &value(0));
    assert_eq!(whispered(2).await["text"], "Approved.");
    workspace.press("UADA", &question, &value(1));
    assert!(whispered(3).await["text"].as_str().unwrap().contains("settled"), "once");
    workspace.press("UADA", &question, "a:FORGED22");
    assert!(whispered(4).await["text"].as_str().unwrap().contains("settled"));
    let answer = ticket.answer().await.answer;
    assert_eq!(answer.by, "UADA on slack");
    let resolution = Resolution { decision: answer.decision, reason: ResolutionReason::User };
    surface.emit(&request.turn, TurnEvent::ApprovalDone { id: request.id.clone(), resolution });
    eventually("the outcome is shown", || {
        let state = workspace.state();
        state.posted[0]["text"].as_str().unwrap().ends_with("*Approved*")
            && state.posted[0]["blocks"] == json!([])
    })
    .await;
    running.stop().await;
    assert_eq!(workspace.state().posted.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_wrong_is_told_once_and_never_shown() {
    let (ground, workspace) = (Ground::new(), Arc::new(Workspace::default()));
    let messenger = channel(&ground, &workspace, "xoxb-wrong-canary");
    ground.start(&messenger).ended().await;
    let status = messenger.status().unwrap();
    assert_eq!(status.state, ChannelState::Degraded);
    assert!(
        status.detail.contains("channels.slack.bot_token") && !status.detail.contains("canary"),
        "{status:?}"
    );
    let checks = messenger.inspect().await;
    assert!(!checks[0].ok && checks[1].ok && !format!("{checks:?}").contains("canary"), "{checks:?}");
    let checks = channel(&ground, &workspace, BOT).inspect().await;
    assert!(checks.iter().all(|check| check.ok) && checks[0].detail == "@aethon in Home", "{checks:?}");
    assert!(workspace.state().posted.is_empty() && workspace.state().opened == 0, "nothing is sent or taken");
    workspace.state().refusal = Some("account_inactive");
    let messenger = channel(&ground, &workspace, BOT);
    ground.start(&messenger).ended().await;
    assert!(messenger.status().unwrap().detail.contains("account_inactive"));
}

#[tokio::test(start_paused = true)]
async fn commands_are_obeyed_with_a_slash_of_slack_and_without() {
    let (ground, workspace) = (Ground::new(), Arc::new(Workspace::default()));
    let running = ground.start(&channel(&ground, &workspace, BOT));
    eventually("the socket is open", || workspace.is_open()).await;
    let command = |user: &str, command: &str, text: &str, trigger: &str| {
        workspace.emit(
            "slash_commands",
            json!({"command": command, "text": text, "channel_id": "D1", "user_id": user, "trigger_id": trigger}),
        );
    };
    command("UADA", "/aethon", "stop", "1");
    command("UNOBODY", "/aethon", "help", "2");
    workspace.say("D1", "UADA", "!new", 1);
    pass(20).await;
    running.stop().await;
    let said = ground.courier.texts();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0] == "Stopped." && said[1].contains("new conversation"), "{said:?}");
    assert!(ground.assistant.texts().is_empty(), "no model is asked");
}
