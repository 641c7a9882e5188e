//! Replies in streams of Slack's own: by appending, once, and as edits wherever there can be no stream.

use std::sync::Arc;
use std::time::Duration;

use aethon_channels::Messenger;
use aethon_core::channel::{Channel, Delivery};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Reply, TurnEnd};
use aethon_core::surface::{Surface, ToolPhase, ToolState, TurnEvent};
use serde_json::{Value, json};

use super::channel_with;
use crate::common::{NOW, Running, TestServices, delivery, eventually, pass};
use crate::server::{BOT, Workspace};

/// A person has asked, and the reply begins.
struct Stage {
    ground: TestServices,
    workspace: Arc<Workspace>,
    messenger: Arc<Messenger>,
    running: Option<Running>,
    surface: Arc<dyn Surface>,
    turn: TurnId,
    chat: String,
}

impl Stage {
    /// A person writes in this channel: in private, or with a mention.
    async fn new(channel: &str) -> Self {
        let text = if channel.starts_with('D') { "hi" } else { "<@UBOT> hi" };
        Self::asked(json!({"channel": channel, "text": text})).await
    }

    async fn asked(mut event: Value) -> Self {
        let (ground, workspace) = (TestServices::new(), Arc::new(Workspace::default()));
        let messenger = channel_with(&ground, &workspace, BOT, true);
        let running = Some(ground.start(&messenger));
        eventually("the socket is open", || workspace.is_open()).await;
        (event["type"], event["user"], event["ts"]) =
            (json!("message"), json!("UADA"), json!(format!("{NOW}.000001")));
        workspace.event(event);
        eventually("it has arrived", || !ground.assistant.texts().is_empty()).await;
        let surface = ground.assistant.surface().unwrap();
        let chat = ground.assistant.inbound()[0].deliver_to.clone().unwrap().recipient.unwrap();
        let turn = TurnId::fresh();
        Self { ground, workspace, messenger, running, surface, turn, chat }
    }

    /// The model continues.
    async fn write(&self, words: &str) {
        self.surface.emit(&self.turn, TurnEvent::Text(words.into()));
        pass(3).await;
    }

    /// Another turn, in answer to another message.
    fn next_turn(&mut self) {
        self.turn = TurnId::fresh();
    }

    /// The program is killed, and started again.
    async fn restart(&mut self) {
        self.running.take().unwrap().kill().await;
        self.messenger = channel_with(&self.ground, &self.workspace, BOT, true);
    }

    fn reply(&self, text: &str) -> Delivery {
        let mut reply = delivery("slack", &self.chat, text);
        reply.turn = self.turn.clone();
        reply
    }

    /// Delivers the reply, however often that takes.
    async fn deliver(&self, text: &str) {
        let reply = self.reply(text);
        for _ in 0..20 {
            match self.messenger.send(&reply).await {
                Ok(()) => return,
                Err(error) => {
                    assert!(error.retryable, "{error:?}");
                    tokio::time::sleep(error.retry_after.unwrap_or(Duration::from_secs(2))).await;
                }
            }
        }
        panic!("it was never delivered");
    }

    /// What stands there.
    fn shown(&self) -> Vec<String> {
        let state = self.workspace.state();
        state.posted.iter().map(|message| message["text"].as_str().unwrap().to_owned()).collect()
    }

    /// The calls that showed it, without their common prefix.
    fn calls(&self) -> Vec<String> {
        let state = self.workspace.state();
        state.calls.iter().filter_map(|call| call.strip_prefix("chat.")).map(str::to_owned).collect()
    }

    fn is_over(&self) -> bool {
        self.workspace.state().streams.is_empty()
    }
}

fn tool() -> ToolState {
    ToolState {
        call: "c1".into(),
        name: "shell".into(),
        phase: ToolPhase::Ok,
        input: None,
        output: None,
        blocks: Vec::new(),
        milliseconds: None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_grows_by_what_is_appended_and_is_whole_once() {
    for channel in ["D1", "C1"] {
        let stage = Stage::new(channel).await;
        stage.write("One **two** ").await;
        assert_eq!(stage.shown(), ["One **two**"]);
        stage.write("three <!chan").await;
        assert_eq!(stage.shown(), ["One **two** three"]);
        stage.write("nel>\n\n| a | b |").await;
        assert_eq!(stage.shown(), ["One **two** three <\u{200B}!channel>\n\n| a | b |"]);
        stage.deliver("One **two** three <!channel>\n\n| a | b |\n|---|---|\n").await;
        assert_eq!(stage.shown(), ["One **two** three <\u{200B}!channel>\n\n| a | b |\n|---|---|"]);
        assert_eq!(stage.calls(), ["startStream", "appendStream", "appendStream", "stopStream"]);
        assert!(stage.is_over() && stage.workspace.state().faults.is_empty());
        let message = stage.workspace.state().posted[0].clone();
        assert_eq!(message["thread_ts"], format!("{NOW}.000001"));
        let recipient = (message["recipient_user_id"].clone(), message["recipient_team_id"].clone());
        match channel {
            "D1" => assert_eq!(recipient, (Value::Null, Value::Null)),
            _ => assert_eq!(recipient, (json!("UADA"), json!("T1"))),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_reply_is_sent_once_and_a_whole_one_only_ended() {
    let stage = Stage::new("D1").await;
    stage.deliver("short").await;
    assert_eq!(stage.calls(), ["postMessage"]);
    let stage = Stage::new("D1").await;
    stage.write("All of it.").await;
    stage.deliver("All of it.").await;
    assert_eq!(stage.calls(), ["startStream", "stopStream"]);
    assert_eq!(stage.shown(), ["All of it."]);
}

#[tokio::test(start_paused = true)]
async fn a_reply_in_private_stands_in_the_thread_of_its_question() {
    let stage = Stage::asked(json!({"channel": "D1", "text": "hi", "thread_ts": "1800.000001"})).await;
    stage.write("Growing").await;
    assert_eq!(stage.workspace.state().posted[0]["thread_ts"], "1800.000001", "a reply begins no thread");
}

#[tokio::test(start_paused = true)]
async fn text_with_a_changed_beginning_is_edited_without_duplicates() {
    let stage = Stage::new("C1").await;
    stage.write("I will look.").await;
    stage.surface.emit(&stage.turn, TurnEvent::Tool(tool()));
    stage.write("It is **there**").await;
    assert_eq!(stage.shown(), ["It is *there* …"]);
    stage.write(", I think").await;
    stage.deliver("It is **there**, I think.").await;
    assert_eq!(stage.shown(), ["It is **there**, I think."]);
    assert_eq!(stage.calls(), ["startStream", "stopStream", "update", "update", "update"]);
    // So is a delivery that says something else in the end.
    let stage = Stage::new("C1").await;
    stage.write("I will look.").await;
    stage.deliver("Something else").await;
    assert_eq!(stage.shown(), ["Something else"]);
    assert_eq!(stage.calls(), ["startStream", "stopStream", "update"]);
}

#[tokio::test(start_paused = true)]
async fn a_reply_for_which_there_is_no_stream_is_edited() {
    let passing =
        ["method_not_supported_for_channel_type", "channel_type_not_supported", "missing_recipient_user_id"];
    for word in passing.into_iter().chain(["unknown_method"]) {
        let mut stage = Stage::new("C1").await;
        stage.workspace.state().refused = Some(("chat.startStream", word));
        stage.write("One ").await;
        assert_eq!(stage.shown(), ["One …"], "{word}");
        stage.write("**two** ").await;
        stage.deliver("One **two** three").await;
        assert_eq!(stage.shown(), ["One *two* three"], "{word}");
        assert_eq!(stage.calls(), ["startStream", "postMessage", "update", "update"], "{word}");
        // Where Slack knows no streams at all it is not asked again; otherwise the next reply is another matter.
        stage.workspace.state().refused = None;
        stage.next_turn();
        stage.write("Next").await;
        let begun = stage.calls().iter().filter(|call| *call == "startStream").count();
        assert_eq!(begun, if word == "unknown_method" { 1 } else { 2 }, "{word}");
        assert_eq!(stage.shown().len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn restart_completes_the_same_message() {
    for channel in ["D1", "C1"] {
        let mut stage = Stage::new(channel).await;
        stage.write("One ").await;
        stage.write("two ").await;
        stage.restart().await;
        stage.deliver("One two **three**").await;
        assert_eq!(stage.shown(), ["One two **three**"]);
        assert!(stage.is_over());
        // The same when it was killed before it knew that there is a stream, or in the middle of its end.
        let mut stage = Stage::new(channel).await;
        stage.workspace.state().lost.push_back("chat.startStream");
        stage.surface.emit(&stage.turn, TurnEvent::Text("One ".into()));
        eventually("it is begun", || !stage.shown().is_empty()).await;
        stage.restart().await;
        stage.deliver("One two").await;
        assert_eq!(stage.shown(), ["One two"]);
        let mut stage = Stage::new(channel).await;
        stage.write("One ").await;
        stage.workspace.state().lost.push_back("chat.stopStream");
        assert!(stage.messenger.send(&stage.reply("One two")).await.unwrap_err().retryable);
        let reply = stage.reply("One two");
        stage.restart().await;
        stage.messenger.send(&reply).await.unwrap();
        assert_eq!(stage.shown(), ["One two"]);
        assert!(stage.is_over());
    }
}

#[tokio::test(start_paused = true)]
async fn lost_response_duplicates_nothing() {
    for lost in ["chat.startStream", "chat.appendStream", "chat.stopStream"] {
        let stage = Stage::new("D1").await;
        stage.workspace.state().lost.push_back(lost);
        for word in ["One ", "two ", "three ", "four "] {
            stage.write(word).await;
        }
        stage.deliver("One two three four five").await;
        assert_eq!(stage.shown(), ["One two three four five"], "{lost}");
        assert!(stage.is_over(), "{lost}");
    }
}

#[tokio::test(start_paused = true)]
async fn rate_limit_pauses_are_observed() {
    let stage = Stage::new("C1").await;
    stage.workspace.state().pauses.extend([10]);
    stage.write("One ").await;
    assert!(stage.shown().is_empty());
    pass(10).await;
    assert_eq!(stage.shown(), ["One"]);
    stage.workspace.state().pauses.extend([10]);
    stage.write("two ").await;
    stage.write("three ").await;
    assert_eq!((stage.shown(), stage.calls().len()), (vec!["One".to_owned()], 3), "nothing before its time");
    pass(8).await;
    assert_eq!(stage.shown(), ["One two three"]);
    stage.workspace.state().pauses.extend([10]);
    let error = stage.messenger.send(&stage.reply("One two three.")).await.unwrap_err();
    assert_eq!(error.retry_after, Some(Duration::from_secs(10)));
    stage.deliver("One two three.").await;
    assert_eq!(stage.shown(), ["One two three."]);
    assert!(!stage.calls().contains(&"update".to_owned()), "it was a stream all along");
}

#[tokio::test(start_paused = true)]
async fn stream_ended_by_slack_continues_as_edits() {
    let stage = Stage::new("C1").await;
    stage.write("One ").await;
    stage.workspace.state().streams.clear();
    stage.write("two ").await;
    assert_eq!(stage.shown(), ["One two …"]);
    stage.deliver("One two **three**").await;
    assert_eq!(stage.shown(), ["One two **three**"]);
    // Or only at the end of it.
    let stage = Stage::new("C1").await;
    stage.write("One ").await;
    stage.workspace.state().streams.clear();
    stage.deliver("One two").await;
    assert_eq!(stage.shown(), ["One two"]);
    assert_eq!(stage.calls(), ["startStream", "stopStream", "update"]);
}

#[tokio::test(start_paused = true)]
async fn reply_longer_than_a_stream_continues_in_ordinary_messages() {
    let stage = Stage::new("C1").await;
    let text: String = (0..1500).map(|number| format!("- line {number}\n")).collect();
    for part in text.as_bytes().chunks(2500) {
        stage.write(std::str::from_utf8(part).unwrap()).await;
    }
    let whole = |shown: &[String]| -> String { shown.join("\n") };
    assert_eq!(stage.shown().len(), 1, "it grows in one message");
    stage.deliver(&text).await;
    let shown = stage.shown();
    assert!(shown.len() > 1 && shown[0].chars().count() > 9000, "{}", shown.len());
    for number in 0..1500 {
        let line = format!("line {number}");
        assert_eq!(whole(&shown).lines().filter(|shown| shown.ends_with(&line)).count(), 1, "{line}");
    }
    assert!(stage.is_over() && stage.workspace.state().faults.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_stopped_ends_its_stream() {
    let stage = Stage::new("D1").await;
    stage.write("One two").await;
    let reply = Reply {
        turn: stage.turn.clone(),
        session: SessionId::of("slack", "D1").unwrap(),
        text: "One two".into(),
        end: TurnEnd::Stopped,
        model: "m".into(),
        usage: aethon_core::model::Usage::default(),
        failure: None,
    };
    stage.surface.emit(&stage.turn, TurnEvent::Done(Arc::new(reply)));
    pass(3).await;
    assert_eq!(stage.shown(), ["One two … (stopped)"]);
    assert!(stage.is_over());
}
