//! Replies on Telegram against a Bot API in memory as strict as the real one: drafts and rich messages, and replies
//! on a server that supports neither.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod common;

use std::io;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use aethon_channels::{Messenger, telegram};
use aethon_core::channel::{Channel, Delivery};
use aethon_core::exchange::{Exchange, ExchangeRequest, ExchangeResponse};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Attachment, Destination, Inbound};
use aethon_core::secret::Secret;
use aethon_core::session::{TurnPhase, TurnRecord};
use aethon_core::surface::{Surface, TurnEvent};
use async_trait::async_trait;
use common::{BREAKDOWNS, Flaky, NOW, TestServices, assert_shows_all, bot_answer, delivery, lost, pass};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

const TABLE: &str = "# Prices\n\n| tea | 3 |\n|---|---|\n| cake | 4 |";
const WITHOUT_TABLES: &str = "Prices\n\ntea  | 3\n-----+--\ncake | 4";

/// A Bot API server.
#[derive(Default)]
struct Server(Mutex<State>);

#[derive(Default)]
struct State {
    /// What stands in the chats: the chat, and the text or the Markdown.
    messages: Vec<(i64, String)>,
    /// The drafts that were shown: when, the number, the text.
    drafts: Vec<(Instant, i64, String)>,
    calls: Vec<String>,
    /// With what drafts, and rich messages, are refused.
    draft_refusal: Option<(u16, &'static str)>,
    rich_refusal: Option<(u16, &'static str)>,
    /// Rich messages that are taken, and whose answers get lost.
    losses: u32,
}

impl State {
    fn count(&self, method: &str) -> usize {
        self.calls.iter().filter(|call| *call == method).count()
    }

    fn answer(&mut self, method: &str, params: &Value) -> Result<Value, (u16, String)> {
        let chat = params["chat_id"].as_i64().unwrap_or_default();
        let bad = |words: &str| (400, format!("Bad Request: {words}"));
        let text = params["text"].as_str().unwrap_or_default();
        let is_long = text.encode_utf16().count() > 4096;
        match method {
            "sendChatAction" => Ok(json!(true)),
            "sendMessageDraft" => {
                if let Some((status, words)) = self.draft_refusal {
                    return Err((status, words.to_owned()));
                }
                let number = params["draft_id"].as_i64().unwrap_or_default();
                match () {
                    () if chat <= 0 => return Err(bad("TEXTDRAFT_PEER_INVALID")),
                    () if number == 0 => return Err(bad("draft_id must be non-zero")),
                    () if text.trim().is_empty() => return Err(bad("message text is empty")),
                    () if is_long => return Err(bad("message is too long")),
                    () => self.drafts.push((Instant::now(), number, text.to_owned())),
                }
                Ok(json!(true))
            }
            "sendRichMessage" => {
                let markdown = self.markdown(params)?;
                self.messages.push((chat, markdown));
                Ok(self.message(self.messages.len() - 1))
            }
            "editMessageText" => {
                let id = usize::try_from(params["message_id"].as_i64().unwrap()).unwrap();
                let shown = match params.get("rich_message") {
                    Some(_) => self.markdown(params)?,
                    None if text.trim().is_empty() => return Err(bad("message text is empty")),
                    None => text.to_owned(),
                };
                if self.messages[id].1 == shown {
                    return Err(bad("message is not modified"));
                }
                self.messages[id].1 = shown;
                Ok(self.message(id))
            }
            "sendMessage" if text.trim().is_empty() => Err(bad("message text is empty")),
            "sendMessage" if is_long => Err(bad("message is too long")),
            "sendMessage" => {
                self.messages.push((chat, text.to_owned()));
                Ok(self.message(self.messages.len() - 1))
            }
            "sendDocument" => {
                self.messages.push((0, "a file".into()));
                Ok(self.message(self.messages.len() - 1))
            }
            _ => Err((404, "Not Found".into())),
        }
    }

    fn markdown(&self, params: &Value) -> Result<String, (u16, String)> {
        if let Some((status, words)) = self.rich_refusal {
            return Err((status, words.to_owned()));
        }
        let rich = &params["rich_message"];
        let markdown = rich["markdown"].as_str().filter(|text| !text.trim().is_empty());
        let markdown =
            markdown.filter(|_| rich.get("html").is_none() && rich["skip_entity_detection"] == true);
        let fits = markdown.filter(|markdown| markdown.chars().count() <= 32_768);
        fits.map(str::to_owned).ok_or((400, "Bad Request: RICH_MESSAGE_INVALID".into()))
    }

    fn message(&self, id: usize) -> Value {
        json!({"message_id": id, "date": NOW, "chat": {"id": self.messages[id].0, "type": "private"}})
    }
}

impl Server {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// What stands in the chats.
    fn shown(&self) -> Vec<String> {
        self.state().messages.iter().map(|(_, text)| text.clone()).collect()
    }
}

#[async_trait]
impl Exchange for Server {
    async fn send(&self, request: ExchangeRequest) -> io::Result<ExchangeResponse> {
        let method = request.url.strip_prefix("http://bots/bot1:token/").unwrap();
        let params = serde_json::from_slice(&request.body).unwrap_or_default();
        let mut state = self.state();
        state.calls.push(method.to_owned());
        let done = state.answer(method, &params);
        if method == "sendRichMessage" && done.is_ok() && state.losses > 0 {
            state.losses -= 1;
            return Err(lost());
        }
        Ok(bot_answer(done))
    }
}

struct Stage {
    ground: TestServices,
    server: Arc<Server>,
    drafts: bool,
    rich: bool,
}

impl Stage {
    fn new(drafts: bool, rich: bool) -> Self {
        Self { ground: TestServices::new(), server: Arc::default(), drafts, rich }
    }

    /// Creates the channel. A second call stands in for a restart after a crash.
    fn channel(&self) -> Messenger {
        let ground = &self.ground;
        let options = telegram::Options {
            api_base: "http://bots".into(),
            token: Secret::new("1:token"),
            drafts: self.drafts,
            rich: self.rich,
            messages_a_second: 30,
            exchange: self.server.clone(),
            polling: self.server.clone(),
        };
        telegram::channel(options, ground.rules("telegram", &["7"]), ground.services())
    }
}

/// The surface that watches a turn in this chat.
fn surface(messenger: &Messenger, chat: &str, turn: &TurnId) -> Arc<dyn Surface> {
    let to = Destination { channel: "telegram".into(), recipient: Some(chat.into()) };
    let inbound = Inbound::say(SessionId::of("telegram", chat).unwrap(), "hi")
        .via("telegram")
        .from_sender("7")
        .delivered_to(Some(to));
    let at = Timestamp::from_second(NOW).unwrap();
    messenger.watcher(&TurnRecord::new(turn.clone(), inbound, TurnPhase::Running, at)).unwrap()
}

async fn grow(messenger: &Messenger, chat: &str, turn: &TurnId, words: &[&str]) {
    let surface = surface(messenger, chat, turn);
    for word in words {
        surface.emit(turn, TurnEvent::Text((*word).into()));
        pass(3).await;
    }
}

fn reply(chat: &str, turn: &TurnId, text: &str) -> Delivery {
    let mut delivery = delivery("telegram", chat, text);
    delivery.turn = turn.clone();
    static NEXT: AtomicI64 = AtomicI64::new(1);
    delivery.id = NEXT.fetch_add(1, Ordering::Relaxed);
    delivery
}

/// Delivers, as often as it takes.
async fn deliver(messenger: &Messenger, delivery: &Delivery) {
    for _ in 0..4 {
        match messenger.send(delivery).await {
            Ok(()) => return,
            Err(error) => assert!(error.retryable, "{error:?}"),
        }
        pass(5).await;
    }
    panic!("it was not delivered");
}

#[tokio::test(start_paused = true)]
async fn a_reply_grows_as_a_draft_and_arrives_as_one_message() {
    let stage = Stage::new(true, false);
    let (messenger, turn) = (stage.channel(), TurnId::fresh());
    grow(&messenger, "7", &turn, &["One ", "**two** ", "three."]).await;
    {
        let state = stage.server.state();
        let texts: Vec<&str> = state.drafts.iter().map(|(_, _, text)| text.as_str()).collect();
        assert_eq!(texts, ["One …", "One two …", "One two three. …"]);
        let number = state.drafts[0].1;
        assert!(number != 0 && state.drafts.iter().all(|draft| draft.1 == number), "{:?}", state.drafts);
        assert!(state.messages.is_empty(), "{:?}", state.messages);
    }
    let whole = reply("7", &turn, "One **two** three.");
    deliver(&messenger, &whole).await;
    // As after a crash: another channel, the same storage.
    deliver(&stage.channel(), &whole).await;
    assert_eq!(stage.server.shown(), ["One two three."]);
    assert_eq!(stage.server.state().count("editMessageText"), 0);
    let other = TurnId::fresh();
    grow(&messenger, "7:3", &other, &["In a topic"]).await;
    let state = stage.server.state();
    assert_ne!(state.drafts[0].1, state.drafts.last().unwrap().1, "another reply is another draft");
}

#[tokio::test(start_paused = true)]
async fn draft_is_renewed_while_a_tool_runs_at_the_allowed_rate() {
    let stage = Stage::new(true, false);
    let (messenger, turn) = (stage.channel(), TurnId::fresh());
    grow(&messenger, "7", &turn, &["Looking it up."]).await;
    pass(120).await;
    let surface = surface(&messenger, "7", &turn);
    for _ in 0..100 {
        surface.emit(&turn, TurnEvent::Text("x".into()));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let state = stage.server.state();
    let gaps = state.drafts.windows(2).map(|pair| pair[1].0 - pair[0].0);
    let gaps: Vec<Duration> = gaps.collect();
    assert!(gaps.len() > 10 && gaps.iter().all(|gap| *gap < Duration::from_secs(30)), "{gaps:?}");
    assert!(gaps.iter().all(|gap| *gap >= Duration::from_secs(1)), "{gaps:?}");
    assert_eq!(state.count("sendChatAction"), 0, "the draft says it: {:?}", state.calls);
}

#[tokio::test(start_paused = true)]
async fn in_a_group_a_reply_grows_by_edits() {
    let stage = Stage::new(true, false);
    let (messenger, turn) = (stage.channel(), TurnId::fresh());
    grow(&messenger, "-7", &turn, &["One ", "two"]).await;
    assert_eq!(stage.server.shown(), ["One two …"]);
    deliver(&messenger, &reply("-7", &turn, "One two three.")).await;
    assert_eq!(stage.server.shown(), ["One two three."]);
    assert_eq!(stage.server.state().count("sendMessageDraft"), 0);
}

#[tokio::test(start_paused = true)]
async fn crash_leaves_no_draft_behind() {
    let stage = Stage::new(true, false);
    let turn = TurnId::fresh();
    grow(&stage.channel(), "7", &turn, &["One "]).await;
    let messenger = stage.channel();
    grow(&messenger, "7", &turn, &["Anew "]).await;
    deliver(&messenger, &reply("7", &turn, "One two.")).await;
    assert_eq!(stage.server.shown(), ["One two."]);
}

#[tokio::test(start_paused = true)]
async fn replies_grow_by_edits_if_the_server_refuses_drafts() {
    for refusal in [(404, "Not Found"), (400, "Bad Request: TEXTDRAFT_PEER_INVALID")] {
        let stage = Stage::new(true, false);
        stage.server.state().draft_refusal = Some(refusal);
        let messenger = stage.channel();
        for text in ["first", "second"] {
            let turn = TurnId::fresh();
            grow(&messenger, "7", &turn, &["grows ", "on"]).await;
            assert_eq!(stage.server.shown().last().unwrap(), "grows on …");
            deliver(&messenger, &reply("7", &turn, text)).await;
            pass(10).await;
        }
        assert_eq!(stage.server.shown(), ["first", "second"]);
        assert_eq!(stage.server.state().count("sendMessageDraft"), 1, "{refusal:?}");
    }
    // A pause and a chat that is gone say nothing about the server.
    for refusal in [(429, "Too Many Requests"), (403, "Forbidden: bot was blocked by the user")] {
        let stage = Stage::new(true, false);
        stage.server.state().draft_refusal = Some(refusal);
        let messenger = stage.channel();
        grow(&messenger, "7", &TurnId::fresh(), &["grows"]).await;
        assert!(stage.server.shown().is_empty());
        stage.server.state().draft_refusal = None;
        pass(10).await;
        grow(&messenger, "7", &TurnId::fresh(), &["grows"]).await;
        assert!(!stage.server.state().drafts.is_empty(), "{refusal:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_with_a_table_is_a_rich_message_if_the_owner_wants_it() {
    let shown = async |rich: bool, text: &str, is_reply: bool| {
        let stage = Stage::new(false, rich);
        let mut delivery = reply("7", &TurnId::fresh(), text);
        delivery.content.is_reply = is_reply;
        deliver(&stage.channel(), &delivery).await;
        let calls = stage.server.state().calls.clone();
        (calls.first().cloned().unwrap_or_default(), stage.server.shown())
    };
    let check = async |rich: bool, text: &str, expected: (&str, &str)| {
        let (method, messages) = shown(rich, text, true).await;
        assert_eq!((method.as_str(), messages.join("|").as_str()), expected, "{text}");
    };
    let written = "# Prices\n\n| tea | 3 |\n| --- | --- |\n| cake | 4 |";
    check(true, TABLE, ("sendRichMessage", written)).await;
    check(false, TABLE, ("sendMessage", WITHOUT_TABLES)).await;
    check(true, "**plain**\n\n- a", ("sendMessage", "plain\n\n• a")).await;
    assert_eq!(shown(true, TABLE, false).await.0, "sendMessage", "what is no reply");
    let long = format!("# Long\n\n{}", "word ".repeat(7000));
    let (method, parts) = shown(true, &long, true).await;
    assert!(method == "sendMessage" && parts.len() > 8, "{method} {}", parts.len());
    let (_, messages) = shown(true, "# a\n\n[x](tg://user?id=7) ![y](https://a.b/c)", true).await;
    assert_eq!(messages, ["# a\n\nx (tg\\://user?id\\=7\\) [y](https://a.b/c)"]);
}

#[tokio::test(start_paused = true)]
async fn rich_message_replaces_the_growing_one_and_files_follow() {
    let stage = Stage::new(false, true);
    let (messenger, turn) = (stage.channel(), TurnId::fresh());
    grow(&messenger, "7", &turn, &["# Prices"]).await;
    assert_eq!(stage.server.shown(), ["Prices …"]);
    let mut whole = reply("7", &turn, TABLE);
    whole.content.attachments = vec![Attachment::new("a.txt", "text/plain", "eA==")];
    deliver(&messenger, &whole).await;
    deliver(&stage.channel(), &whole).await;
    let shown = stage.server.shown();
    assert!(shown.len() == 2 && shown[0].contains("| tea |") && shown[1] == "a file", "{shown:?}");
}

#[tokio::test(start_paused = true)]
async fn refused_rich_message_is_sent_once_in_the_ordinary_form() {
    let refused = async |refusal: (u16, &'static str), has_grown: bool| {
        let stage = Stage::new(false, true);
        stage.server.state().rich_refusal = Some(refusal);
        let messenger = stage.channel();
        for _ in 0..2 {
            let turn = TurnId::fresh();
            if has_grown {
                grow(&messenger, "7", &turn, &["# Prices"]).await;
            }
            let whole = reply("7", &turn, TABLE);
            // In the same delivery.
            messenger.send(&whole).await.unwrap();
            messenger.send(&whole).await.unwrap();
            pass(10).await;
        }
        assert_eq!(stage.server.shown(), [WITHOUT_TABLES, WITHOUT_TABLES], "{refusal:?}");
        let state = stage.server.state();
        (state.count("sendRichMessage"), state.count("editMessageText"))
    };
    let invalid = (400, "Bad Request: RICH_MESSAGE_EMAIL_INVALID");
    assert_eq!(refused(invalid, false).await, (2, 0), "the next one may be right");
    assert_eq!(refused(invalid, true).await, (0, 4));
    assert_eq!(refused((404, "Not Found"), false).await, (1, 0), "never asked again");
    assert_eq!(refused((404, "Not Found: method not found"), false).await, (1, 0));
    assert_eq!(refused((400, "Bad Request: message text is empty"), true).await, (0, 3));
}

#[tokio::test(start_paused = true)]
async fn a_doubtful_rich_message_is_repeated_once() {
    let stage = Stage::new(false, true);
    stage.server.state().losses = 3;
    let (messenger, whole) = (stage.channel(), reply("7", &TurnId::fresh(), TABLE));
    assert!(messenger.send(&whole).await.unwrap_err().retryable);
    // The second attempt finds a server that knows none: nothing but the ordinary form is sent, and once.
    stage.server.state().rich_refusal = Some((404, "Not Found"));
    messenger.send(&whole).await.unwrap();
    let shown = stage.server.shown();
    assert!(shown.len() == 2 && shown[1] == WITHOUT_TABLES, "{shown:?}");
    stage.server.state().rich_refusal = None;
    let messenger = stage.channel();
    let other = reply("7", &TurnId::fresh(), TABLE);
    assert!(messenger.send(&other).await.unwrap_err().retryable);
    assert!(messenger.send(&other).await.unwrap_err().retryable);
    assert!(!messenger.send(&other).await.unwrap_err().retryable);
    assert_eq!(stage.server.shown().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn approval_prompt_shows_the_whole_command() {
    let stage = Stage::new(true, false);
    let (messenger, request) = (stage.channel(), stage.ground.question("7", "telegram"));
    let surface = surface(&messenger, "7", &request.turn);
    surface.emit(&request.turn, TurnEvent::Approval(request.clone()));
    pass(30).await;
    let shown = stage.server.shown().concat();
    assert_shows_all(&shown);
    assert!(shown.contains("``` ‹U+202E›") && shown.contains("</code></pre>\\n‹U+E0041›"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn failing_proxy_loses_nothing_and_doubles_just_doubtful_messages() {
    for (status, is_done) in BREAKDOWNS {
        let stage = Stage::new(false, false);
        let front = Flaky::before(stage.server.clone(), |request| request.url.ends_with("/sendMessage"));
        let options = telegram::Options {
            api_base: "http://bots".into(),
            token: Secret::new("1:token"),
            drafts: false,
            rich: false,
            messages_a_second: 30,
            exchange: front.clone(),
            polling: front.clone(),
        };
        let rules = stage.ground.rules("telegram", &["7"]);
        let messenger = telegram::channel(options, rules, stage.ground.services());
        front.fail(status, is_done);
        common::deliver(&messenger, &reply("7", &TurnId::fresh(), "once")).await;
        // A front's 502 and 503 say that the server behind it was not reached, which can be wrong; Telegram knows no second one.
        let most = if is_done { 2 } else { 1 };
        let shown = stage.server.shown();
        assert!(front.is_over() && (1..=most).contains(&shown.len()), "{status} {is_done}: {shown:?}");
    }
}
