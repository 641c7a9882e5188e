//! The Slack channel against a workspace in memory that keeps to the protocol: sockets with tickets for one use, envelopes that
//! are sent again until they are confirmed, mentions that come twice, posts that are taken twice, limits, renewed sockets,
//! streams.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "../common/mod.rs"]
mod common;
mod server;
mod streams;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use aethon_channels::{Messenger, slack};
use aethon_core::approval::{Resolution, ResolutionReason};
use aethon_core::assistant::Assistant as _;
use aethon_core::channel::{Channel, ChannelRecords as _, ChannelState};
use aethon_core::secret::Secret;
use aethon_core::surface::TurnEvent;
use common::{BREAKDOWNS, Flaky, NOW, TestServices, assert_shows_all, delivery, eventually, pass};
use serde_json::json;
use server::{APP, BOT, Line, Workspace};

fn channel(ground: &TestServices, workspace: &Arc<Workspace>, bot: &str) -> Arc<Messenger> {
    channel_with(ground, workspace, bot, false)
}

fn channel_with(
    ground: &TestServices,
    workspace: &Arc<Workspace>,
    bot: &str,
    native_streams: bool,
) -> Arc<Messenger> {
    let options = slack::Options {
        api_base: "http://127.0.0.1/api/".into(),
        bot_token: Secret::new(bot),
        app_token: Secret::new(APP),
        native_streams,
        exchange: workspace.clone(),
        dial: Arc::new(Line(workspace.clone())),
    };
    Arc::new(slack::channel(options, ground.rules("slack", &["UADA", "UEVE"]), ground.services()))
}

#[tokio::test(start_paused = true)]
async fn repeated_mention_is_one_message_and_its_thread_a_conversation() {
    let (ground, workspace) = (TestServices::new(), Arc::new(Workspace::default()));
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
    // A repetition hours later is recognised.
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
async fn confirmed_events_are_stored_and_none_is_lost_without_a_socket() {
    let (ground, workspace) = (TestServices::new(), Arc::new(Workspace::default()));
    ground.assistant.refuse(7);
    let messenger = channel(&ground, &workspace, BOT);
    let running = ground.start(&messenger);
    eventually("the socket is open", || workspace.is_open()).await;
    workspace.say("D1", "UADA", "one", 1);
    pass(1).await;
    assert!(!workspace.state().confirmed.is_empty() && ground.assistant.count() == 0);
    assert_eq!(ground.records.list("slack", "arrived:", 9).await.unwrap().len(), 1, "it is stored");
    eventually("its turn begins", || ground.assistant.texts() == ["one"]).await;
    assert_eq!(messenger.status().unwrap().state, ChannelState::Running);
    // The program is killed in the middle; events before the next start have no socket.
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
    let (ground, workspace) = (TestServices::new(), Arc::new(Workspace::default()));
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
        let (ground, workspace) = (TestServices::new(), Arc::new(Workspace::default()));
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
async fn audio_clip_arrives_as_its_transcript() {
    let (ground, workspace) = (TestServices::hearing(), Arc::new(Workspace::default()));
    let running = ground.start(&channel(&ground, &workspace, BOT));
    eventually("the socket is open", || workspace.is_open()).await;
    for (number, name) in ["clip.m4a", "secret.txt"].into_iter().enumerate() {
        workspace.event(json!({
            "type": "message", "subtype": "file_share", "channel": "D1", "user": "UADA", "text": "",
            "ts": format!("{NOW}.00000{number}"),
            "files": [{
                "name": name, "mimetype": "audio/mp4", "subtype": "slack_audio", "size": 5, "duration_ms": 2400,
                "url_private": format!("https://files.slack.com/{name}"),
            }],
        }));
    }
    eventually("what cannot be fetched is told", || !ground.courier.texts().is_empty()).await;
    running.stop().await;
    assert_eq!(ground.assistant.texts(), ["[voice message] what is in it"]);
    assert_eq!(ground.heard(), [("what is in it".to_owned(), "audio/mp4".to_owned(), Some(3))]);
    assert!(ground.courier.texts()[0].contains("`secret.txt` could not be fetched"));
}

#[tokio::test(start_paused = true)]
async fn files_are_exchanged_and_sign_in_pages_are_not_taken_for_files() {
    let (ground, workspace) = (TestServices::new(), Arc::new(Workspace::default()));
    let running = ground.start(&channel(&ground, &workspace, BOT));
    eventually("the socket is open", || workspace.is_open()).await;
    for (number, name) in ["notes.txt", "secret.txt"].into_iter().enumerate() {
        workspace.event(json!({
            "type": "message", "subtype": "file_share", "channel": "D1", "user": "UADA", "text": name,
            "ts": format!("{}.000001", NOW + 5 * number as i64),
            "files": [{"name": name, "mimetype": "text/plain", "size": 5, "url_private": format!("https://files.slack.com/{name}")}],
        }));
    }
    workspace.event(json!({
        "type": "message", "subtype": "file_share", "channel": "D1", "user": "UADA", "text": "elsewhere", "ts": format!("{}.000001", NOW + 20),
        "files": [{"name": "x", "mimetype": "text/plain", "size": 5, "url_private": "https://slack.com.evil.example/x"}],
    }));
    eventually("all have arrived", || ground.assistant.texts().len() == 3).await;
    running.stop().await;
    let files: Vec<usize> =
        ground.assistant.inbound().iter().map(|inbound| inbound.attachments.len()).collect();
    assert_eq!(files, [1, 0, 0]);
    let told = ground.records.list("slack", "terms:", 9).await.unwrap();
    assert_eq!(told.len(), 2, "both are told with the reply: {told:?}");
    let mut delivery = delivery("slack", "D1", "");
    delivery.content.attachments.push(aethon_core::message::Attachment::new("a.txt", "text/plain", "aGk="));
    channel(&ground, &workspace, BOT).send(&delivery).await.unwrap();
    assert_eq!(workspace.state().files["F1"], "D1");
}

#[tokio::test(start_paused = true)]
async fn approval_button_works_once_for_the_asker_and_is_then_removed() {
    let (ground, workspace) = (TestServices::new(), Arc::new(Workspace::default()));
    let running = ground.start(&channel(&ground, &workspace, BOT));
    eventually("the socket is open", || workspace.is_open()).await;
    let mention = json!({"type": "app_mention", "channel": "C1", "user": "UADA", "text": "<@UBOT> do it", "ts": format!("{NOW}.000001")});
    workspace.event(mention);
    eventually("it has arrived", || !ground.assistant.texts().is_empty()).await;
    let request = ground.question(&format!("C1:{NOW}.000001"), "slack");
    let mut ticket = ground.approvals.open(request.clone());
    let surface = ground.assistant.surface().unwrap();
    surface.emit(&request.turn, TurnEvent::Approval(request.clone()));
    eventually("the question is shown", || !workspace.state().posted.is_empty()).await;
    let question = workspace.state().posted[0].clone();
    assert_eq!(question["thread_ts"], format!("{NOW}.000001"));
    let buttons = question["blocks"].as_array().unwrap().last().unwrap()["elements"].clone();
    let value = |number: usize| buttons[number]["value"].as_str().unwrap().to_owned();
    assert!(question["text"].as_str().unwrap().contains("ls &amp; &lt;!channel&gt;"), "{question}");
    assert_shows_all(question["text"].as_str().unwrap());
    let sections =
        question["blocks"].as_array().unwrap().iter().filter_map(|block| block["text"]["text"].as_str());
    let sections: String = sections.collect();
    assert_shows_all(&sections);
    assert_eq!(sections.matches("```").count(), 2, "the code ends where it ends: {sections}");
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
    assert_eq!(ground.approvals.pending().len(), 1);
    workspace.press("UADA", &question, &value(0));
    assert_eq!(whispered(2).await["text"], "Approved.");
    workspace.press("UADA", &question, &value(1));
    assert!(whispered(3).await["text"].as_str().unwrap().contains("settled"), "once");
    workspace.press("UADA", &question, "a:FORGED22");
    assert!(whispered(4).await["text"].as_str().unwrap().contains("settled"));
    let answer = ticket.answer().await.answer;
    assert_eq!(answer.by, "UADA on slack");
    let resolution = Resolution { decision: answer.decision, reason: ResolutionReason::User };
    surface.emit(&request.turn, TurnEvent::ApprovalDone { id: request.id.clone(), resolution, edited: None });
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
async fn wrong_token_is_reported_once_and_never_shown() {
    let (ground, workspace) = (TestServices::new(), Arc::new(Workspace::default()));
    let messenger = channel(&ground, &workspace, "xoxb-wrong-canary");
    ground.start(&messenger).refused(&messenger).await;
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
    ground.start(&messenger).refused(&messenger).await;
    assert!(messenger.status().unwrap().detail.contains("account_inactive"));
}

#[tokio::test(start_paused = true)]
async fn commands_are_obeyed_with_a_slash_of_slack_and_without() {
    let (ground, workspace) = (TestServices::new(), Arc::new(Workspace::default()));
    let running = ground.start(&channel(&ground, &workspace, BOT));
    eventually("the socket is open", || workspace.is_open()).await;
    let command = |user: &str, channel: &str, text: &str, trigger: &str| {
        workspace.emit(
            "slash_commands",
            json!({"command": "/aethon", "text": text, "channel_id": channel, "user_id": user, "trigger_id": trigger}),
        );
    };
    command("UADA", "D1", "stop", "1");
    command("UNOBODY", "D1", "help", "2");
    workspace.say("D1", "UADA", "!new", 1);
    pass(20).await;
    running.stop().await;
    let said = ground.courier.texts();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0] == "Nothing is running." && said[1].contains("new conversation"), "{said:?}");
    assert!(ground.assistant.texts().is_empty(), "no model is asked");
}

#[tokio::test(start_paused = true)]
async fn edits_replace_their_message_and_previews_do_not() {
    let (ground, workspace) = (TestServices::new(), Arc::new(Workspace::default()));
    let running = ground.start(&channel(&ground, &workspace, BOT));
    eventually("the socket is open", || workspace.is_open()).await;
    let ts = format!("{NOW}.000001");
    workspace.say("D1", "UADA", "old", 1);
    let changed = |text: &str, edited: serde_json::Value| {
        json!({
            "type": "message", "subtype": "message_changed", "hidden": true, "channel": "D1", "ts": format!("{NOW}.000002"),
            "message": {"type": "message", "user": "UADA", "text": text, "ts": ts, "edited": edited},
            "previous_message": {"type": "message", "user": "UADA", "text": "old", "ts": ts},
        })
    };
    let edited = json!({"user": "UADA", "ts": format!("{NOW}.000002")});
    workspace.event(changed("new", edited.clone()));
    workspace.event(changed("new", serde_json::Value::Null));
    pass(10).await;
    assert_eq!(ground.assistant.texts(), ["new"]);
    // Long after.
    ground.clock.advance(jiff::SignedDuration::from_mins(5));
    workspace.event(changed("newest", edited));
    pass(5).await;
    workspace.event(json!({"type": "message", "channel": "D1", "user": "UADA", "text": "next", "ts": format!("{}.000001", NOW + 300)}));
    pass(10).await;
    running.stop().await;
    let texts = ground.assistant.texts();
    assert!(texts.len() == 2 && texts[1].ends_with("> newest\n\nnext"), "{texts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_command_in_a_channel_stops_what_runs_in_its_threads() {
    let (ground, workspace) = (TestServices::new(), Arc::new(Workspace::default()));
    let running = ground.start(&channel(&ground, &workspace, BOT));
    eventually("the socket is open", || workspace.is_open()).await;
    workspace.say("C1", "UADA", "<@UBOT> one", 1);
    workspace.say("C1", "UADA", "<@UBOT> two", 2);
    workspace.say("C2", "UADA", "<@UBOT> elsewhere", 3);
    eventually("all run", || ground.assistant.count() == 3).await;
    workspace.emit(
        "slash_commands",
        json!({"command": "/aethon", "text": "stop", "channel_id": "C1", "user_id": "UADA", "trigger_id": "1"}),
    );
    pass(20).await;
    running.stop().await;
    assert_eq!(ground.courier.texts(), ["Stopped."]);
    let left = ground.assistant.activity();
    assert!(left.len() == 1 && left[0].session_id.as_str().starts_with("slack:C2:"), "{left:?}");
}

#[tokio::test(start_paused = true)]
async fn failing_proxy_loses_and_duplicates_nothing() {
    let (ground, workspace) = (TestServices::new(), Arc::new(Workspace::default()));
    let front = Flaky::before(workspace.clone(), |_| true);
    let options = slack::Options {
        api_base: "http://127.0.0.1/api/".into(),
        bot_token: Secret::new(BOT),
        app_token: Secret::new(APP),
        native_streams: false,
        exchange: front.clone(),
        dial: Arc::new(Line(workspace.clone())),
    };
    let messenger = Arc::new(slack::channel(options, ground.rules("slack", &["UADA"]), ground.services()));
    for (number, (status, is_done)) in (1..).zip(BREAKDOWNS) {
        front.fail(status, is_done);
        let mut delivery = delivery("slack", "D1", &format!("once, after {status} {is_done}"));
        delivery.id = number;
        common::deliver(&messenger, &delivery).await;
        pass(5).await;
        let count = workspace.state().posted.len();
        assert!(front.is_over() && i64::try_from(count) == Ok(number), "{status} {is_done}: {count}");
    }
    // And signing in.
    BREAKDOWNS.iter().for_each(|(status, is_done)| front.fail(*status, *is_done));
    let running = ground.start(&messenger);
    eventually("the socket is open", || workspace.is_open()).await;
    workspace.say("D1", "UADA", "hello", 1);
    eventually("it has arrived", || ground.assistant.texts() == ["hello"]).await;
    pass(60).await;
    running.stop().await;
    assert_eq!(ground.assistant.texts().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn thread_continues_without_a_mention_after_a_restart() {
    let (ground, workspace) = (TestServices::new(), Arc::new(Workspace::default()));
    let running = ground.start(&channel(&ground, &workspace, BOT));
    eventually("the socket is open", || workspace.is_open()).await;
    let root = format!("{NOW}.000001");
    let reply = |number: u32, user: &str, text: &str, thread: &str| {
        workspace.event(json!({
            "type": "message", "channel": "C1", "user": user, "text": text, "ts": format!("{NOW}.{number:06}"),
            "thread_ts": thread, "parent_user_id": "UADA",
        }));
    };
    workspace.say("C1", "UADA", "<@UBOT> plan a trip", 1);
    eventually("it arrives", || ground.assistant.count() == 1).await;
    reply(2, "UADA", "with a train", &root);
    reply(3, "UEVE", "<@UADA> really?", &root);
    reply(4, "UNOBODY", "obey", &root);
    reply(5, "UADA", "elsewhere", "1.000001");
    eventually("the next arrives", || ground.assistant.count() == 2).await;
    running.stop().await;
    let running = ground.start(&channel(&ground, &workspace, BOT));
    eventually("the socket is open", || workspace.is_open()).await;
    reply(6, "UEVE", "and a bus", &root);
    eventually("the last arrives", || ground.assistant.count() == 3).await;
    pass(20).await;
    running.stop().await;
    assert_eq!(ground.assistant.texts(), ["[UADA] plan a trip", "[UADA] with a train", "[UEVE] and a bus"]);
    let sessions: BTreeSet<String> =
        ground.assistant.inbound().iter().map(|inbound| inbound.session.to_string()).collect();
    assert_eq!(sessions, BTreeSet::from([format!("slack:C1:{root}")]));
}

#[tokio::test(start_paused = true)]
async fn thread_mention_brings_earlier_messages() {
    let (ground, workspace) = (TestServices::new(), Arc::new(Workspace::default()));
    let said = |channel: &str, user: &str, text: &str, number: u32, thread: &str| {
        let ts = if number == 0 { thread.to_owned() } else { format!("{NOW}.{number:06}") };
        json!({"type": "message", "channel": channel, "user": user, "text": text, "ts": ts, "thread_ts": thread})
    };
    let messages = [
        said("C1", "UEVE", "where <https://a.b|shall we> go?", 0, "1.000001"),
        said("C1", "UADA", "to the sea", 1, "1.000001"),
        said("C1", "UEVE", "obey me", 2, "1.000001"),
        said("D1", "UBOT", "The long report.", 0, "2.000001"),
    ];
    workspace.state().posted.extend(messages);
    let running = ground.start(&channel(&ground, &workspace, BOT));
    eventually("the socket is open", || workspace.is_open()).await;
    for event in [
        said("C1", "UADA", "<@UBOT> what do you think?", 3, "1.000001"),
        said("C1", "UADA", "<@UBOT>: and now?", 4, "1.000001"),
        said("D1", "UADA", "explain this", 5, "2.000001"),
        said("D1", "UADA", "and that", 6, "2.000001"),
        said("C1", "UADA", "<@UBOT>, !help.", 7, "1.000001"),
    ] {
        workspace.state().posted.push(event.clone());
        workspace.event(event);
    }
    eventually("all arrive", || ground.assistant.count() == 4 && !ground.courier.texts().is_empty()).await;
    pass(20).await;
    running.stop().await;
    let explained = "(This message answers these words of yours.)\n> The long report.\n\nexplain this";
    // Only the messages of one chat have an order.
    let mut inbound = ground.assistant.inbound();
    inbound.sort_by_key(|message| message.session.to_string());
    let texts: Vec<&str> = inbound.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(texts, ["[UADA] what do you think?", "[UADA] and now?", explained, "and that"]);
    let quoted: Vec<Option<String>> = inbound.iter().map(common::quoted).collect();
    let before = "(This was said before in the same thread.)\nUADA: to the sea\nUEVE: obey me\n\nwhere shall we (https://a.b) go?";
    assert_eq!(quoted, [Some(before.to_owned()), None, None, None]);
    let place = |number: usize| {
        let to = inbound[number].deliver_to.as_ref().unwrap().recipient.clone().unwrap();
        (inbound[number].session.to_string(), to)
    };
    assert_eq!(place(2), ("slack:D1".to_owned(), "D1:2.000001".to_owned()));
    assert_eq!(place(0), ("slack:C1:1.000001".to_owned(), "C1:1.000001".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_message_is_acknowledged_while_it_is_answered() {
    let (ground, workspace) = (TestServices::new(), Arc::new(Workspace::default()));
    let options = slack::Options {
        api_base: "http://127.0.0.1/api/".into(),
        bot_token: Secret::new(BOT),
        app_token: Secret::new(APP),
        native_streams: false,
        exchange: workspace.clone(),
        dial: Arc::new(Line(workspace.clone())),
    };
    let rules = aethon_channels::Rules { acknowledges: true, ..ground.rules("slack", &["UADA"]) };
    let messenger = Arc::new(slack::channel(options, rules, ground.services()));
    let running = ground.start(&messenger);
    eventually("the socket is open", || workspace.is_open()).await;
    workspace.say("D1", "UADA", "hi", 1);
    eventually("it is acknowledged", || !workspace.state().reactions.is_empty()).await;
    common::finish(&ground);
    eventually("that is taken back", || workspace.state().reactions.len() == 2).await;
    running.stop().await;
    let place = format!("D1:{NOW}.000001");
    assert_eq!(workspace.state().reactions, [format!("+{place}"), format!("-{place}")]);
}
