//! The Discord channel against a gateway and a REST interface in memory that keep to the protocol: sessions that are resumed and
//! replayed, heartbeats, close codes, names of messages, limits by route.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "../common/mod.rs"]
mod common;
mod server;

use std::sync::Arc;
use std::time::Duration;

use aethon_channels::{Messenger, discord};
use aethon_core::approval::{Resolution, ResolutionReason};
use aethon_core::channel::{Channel, ChannelState};
use aethon_core::messenger::GroupMode;
use aethon_core::secret::Secret;
use aethon_core::surface::TurnEvent;
use common::{BREAKDOWNS, Flaky, TestServices, assert_shows_all, delivery, eventually, pass};
use jiff::Timestamp;
use serde_json::json;
use server::{ADA, DM, Discord, EVE, Line, Order, ROOM, THREAD, TOKEN};

fn channel_with(
    ground: &TestServices,
    discord: &Arc<Discord>,
    token: &str,
    groups: GroupMode,
) -> Arc<Messenger> {
    let options = discord::Options {
        api_base: "http://127.0.0.1/api/v10".into(),
        token: Secret::new(token),
        message_content: groups == GroupMode::All,
        exchange: discord.clone(),
        dial: Arc::new(Line(discord.clone())),
    };
    let rules = aethon_channels::Rules { groups, ..ground.rules("discord", &[ADA, EVE]) };
    Arc::new(discord::channel(options, rules, ground.services()))
}

fn channel(ground: &TestServices, discord: &Arc<Discord>) -> Arc<Messenger> {
    channel_with(ground, discord, TOKEN, GroupMode::Mention)
}

#[tokio::test(start_paused = true)]
async fn messages_arrive_once_despite_disconnects_restarts_and_replays() {
    let (ground, discord) = (TestServices::new(), Arc::new(Discord::default()));
    discord.say_quietly(DM, ADA, "before the first start");
    let messenger = channel(&ground, &discord);
    let running = ground.start(&messenger);
    eventually("it is signed in", || messenger.status().unwrap().state == ChannelState::Running).await;
    discord.say(DM, ADA, "one");
    discord.say(ROOM, ADA, "not for you");
    discord.say(ROOM, ADA, "<@99> two");
    discord.say(DM, "3", "obey");
    discord.say(DM, "99", "our own");
    pass(5).await;
    // The connection breaks, or Discord asks us to reconnect: each time the session is resumed.
    discord.order(Order::Cut);
    discord.say(DM, ADA, "three");
    pass(10).await;
    discord.order(Order::Send(json!({"op": 7})));
    pass(10).await;
    discord.say(DM, ADA, "four");
    pass(10).await;
    discord.order(Order::Close(4000));
    pass(10).await;
    assert_eq!(ground.assistant.texts(), ["one", "[user1] two", "three", "four"]);
    // A restart resumes the session as well, and so does a start after the program was killed.
    running.stop().await;
    assert_eq!(discord.state().left.last(), Some(&Some(4000)), "1000 would end the session");
    discord.say(DM, ADA, "five");
    let running = ground.start(&channel(&ground, &discord));
    eventually("five arrives", || ground.assistant.texts().len() == 5).await;
    running.kill().await;
    discord.say(DM, ADA, "six");
    let running = ground.start(&channel(&ground, &discord));
    eventually("six arrives", || ground.assistant.texts().len() == 6).await;
    pass(300).await;
    running.stop().await;
    assert_eq!(ground.assistant.texts()[4..], ["five", "six"]);
    let state = discord.state();
    assert_eq!(state.identified, 1, "one session all the time");
    assert!(state.resumed.len() >= 5 && state.beats > 5, "{:?} {}", state.resumed, state.beats);
    assert_eq!(state.commands.len(), 1, "registered once");
    let names: Vec<&str> = state.commands[0]
        .as_array()
        .unwrap()
        .iter()
        .map(|command| command["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["start", "help", "new", "stop"], "every command of the chat is there to be chosen");
    assert!(ground.courier.texts().is_empty(), "a stranger learns nothing");
}

#[tokio::test(start_paused = true)]
async fn messages_missed_by_a_lost_session_are_fetched_in_order() {
    let (ground, discord) = (TestServices::new(), Arc::new(Discord::default()));
    let running = ground.start(&channel(&ground, &discord));
    eventually("it is signed in", || discord.state().identified == 1).await;
    discord.say(DM, ADA, "one");
    discord.say(ROOM, ADA, "<@99> two");
    pass(5).await;
    running.stop().await;
    discord.lose_session();
    let more: Vec<String> = (0..150).map(|number| format!("number {number}")).collect();
    for text in &more {
        discord.say_quietly(DM, ADA, text);
    }
    discord.say_quietly(ROOM, ADA, "not for you");
    discord.say_quietly(ROOM, ADA, "<@99> three");
    let running = ground.start(&channel(&ground, &discord));
    eventually("all have arrived", || ground.assistant.texts().len() == 153).await;
    discord.say(DM, ADA, "last");
    pass(10).await;
    // Discord does not know the session while it runs.
    discord.lose_session();
    discord.order(Order::Send(json!({"op": 9, "d": false})));
    pass(1).await;
    discord.say_quietly(DM, ADA, "meanwhile");
    eventually("that is fetched", || ground.assistant.texts().len() == 155).await;
    running.stop().await;
    let texts = ground.assistant.texts();
    assert_eq!(texts[2..152], more);
    assert_eq!(texts[152..], ["[user1] three", "last", "meanwhile"]);
    assert_eq!(discord.state().identified, 3);
}

#[tokio::test(start_paused = true)]
async fn unanswered_heartbeats_close_the_socket_and_resume() {
    let (ground, discord) = (TestServices::new(), Arc::new(Discord::default()));
    let running = ground.start(&channel(&ground, &discord));
    eventually("it is signed in", || discord.state().identified == 1).await;
    discord.state().is_deaf = true;
    eventually("it was left", || !discord.state().left.is_empty()).await;
    discord.state().is_deaf = false;
    assert_eq!(discord.state().left[0], Some(4000));
    discord.say(DM, ADA, "are you there?");
    eventually("it comes back", || ground.assistant.texts() == ["are you there?"]).await;
    assert_eq!(discord.state().identified, 1);
    // Some codes end the session, and the next one is new.
    discord.order(Order::Close(4009));
    eventually("a new session", || discord.state().identified == 2).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn permanent_failures_are_reported_once() {
    let (ground, discord) = (TestServices::new(), Arc::new(Discord::default()));
    let messenger = channel_with(&ground, &discord, "wrong-canary", GroupMode::Mention);
    ground.start(&messenger).refused(&messenger).await;
    let status = messenger.status().unwrap();
    assert_eq!(status.state, ChannelState::Degraded);
    assert!(
        status.detail.contains("channels.discord.token") && !status.detail.contains("canary"),
        "{status:?}"
    );
    assert!(!messenger.inspect().await[0].ok);
    let checks = channel(&ground, &discord).inspect().await;
    assert!(checks.iter().all(|check| check.ok) && checks.len() == 2, "{checks:?}");
    discord.state().forbids_content = true;
    let messenger = channel_with(&ground, &discord, TOKEN, GroupMode::All);
    ground.start(&messenger).refused(&messenger).await;
    assert!(messenger.status().unwrap().detail.contains("channels.discord.message_content"));
    let identified = discord.state().identified;
    let messenger = channel(&ground, &discord);
    let running = ground.start(&messenger);
    eventually("it needs no privilege", || discord.state().identified > identified).await;
    assert_eq!(discord.state().intents, 1 << 9 | 1 << 12);
    discord.order(Order::Close(4004));
    running.refused(&messenger).await;
    assert!(discord.state().posted.is_empty(), "nothing is sent");
}

#[tokio::test(start_paused = true)]
async fn a_reply_is_sent_once_and_limits_are_kept_to_the_moment() {
    let (ground, discord) = (TestServices::new(), Arc::new(Discord::default()));
    let messenger = channel(&ground, &discord);
    let text = format!(
        "A **bold** @everyone [link](https://a.b/c)\n\n```rust\n{}```\n\n{}",
        "let a_b = 1 < 2;\n".repeat(150),
        "snake_case and *stars* ".repeat(200)
    );
    let delivery = delivery("discord", DM, &text);
    discord.state().pauses.push_back(1.25);
    let error = messenger.send(&delivery).await.unwrap_err();
    assert_eq!(error.retry_after, Some(Duration::from_millis(1250)));
    pass(2).await;
    discord.state().losses = 2;
    assert!(messenger.send(&delivery).await.unwrap_err().retryable, "nobody knows whether it has arrived");
    pass(3).await;
    // The program was killed before it knew.
    let messenger = channel(&ground, &discord);
    assert!(messenger.send(&delivery).await.unwrap_err().retryable);
    pass(3).await;
    discord.state().left_in_bucket = Some(2);
    let mut pauses = 0;
    while let Err(error) = messenger.send(&delivery).await {
        pauses += 1;
        tokio::time::sleep(error.retry_after.unwrap_or(Duration::from_secs(1))).await;
        discord.state().left_in_bucket = Some(2);
    }
    let state = discord.state();
    assert!(pauses > 0 && state.overdrawn == 0, "a route that is used up is not asked: {}", state.overdrawn);
    let whole: Vec<&str> = state.posted.iter().map(|posted| posted["content"].as_str().unwrap()).collect();
    let whole = whole.join("\n");
    assert_eq!(whole.matches("let a_b").count(), 150);
    assert_eq!(whole.matches("snake\\_case").count(), 200);
    assert!(whole.starts_with("A **bold** @everyone [link](<https://a.b/c>)"), "{whole}");
}

#[tokio::test(start_paused = true)]
async fn approval_button_works_once_for_the_asker_and_commands_run() {
    let (ground, discord) = (TestServices::new(), Arc::new(Discord::default()));
    let running = ground.start(&channel(&ground, &discord));
    eventually("it is signed in", || discord.state().identified == 1).await;
    discord.say(DM, ADA, "do it");
    eventually("it has arrived", || !ground.assistant.texts().is_empty()).await;
    let request = ground.question(DM, "discord");
    let mut ticket = ground.approvals.open(request.clone());
    let surface = ground.assistant.surface().unwrap();
    surface.emit(&request.turn, TurnEvent::Approval(request.clone()));
    eventually("the question is shown", || !discord.state().posted.is_empty()).await;
    let question = discord.state().posted[0].clone();
    assert!(
        question["content"].as_str().unwrap().contains("\"ls & <!channel> `\u{200B}`\u{200B}` ‹"),
        "{question}"
    );
    let content = question["content"].as_str().unwrap();
    assert_shows_all(content);
    assert_eq!(content.matches("```").count(), 2, "the code ends where it ends: {content}");
    let button =
        |number: usize| json!({"custom_id": question["components"][0]["components"][number]["custom_id"]});
    let answered = |count: usize| {
        let discord = discord.clone();
        async move {
            eventually("it is answered", || discord.state().answers.len() == count).await;
            discord.state().answers[count - 1]["data"]["content"].as_str().unwrap().to_owned()
        }
    };
    discord.interact(3, EVE, DM, button(0));
    assert!(answered(1).await.contains("Only the person"));
    assert_eq!(ground.approvals.pending().len(), 1);
    discord.interact(3, ADA, DM, button(0));
    assert_eq!(answered(2).await, "Approved.");
    discord.interact(3, ADA, DM, button(1));
    assert!(answered(3).await.contains("settled"), "once");
    discord.interact(3, ADA, ROOM, json!({"custom_id": "x"}));
    assert!(answered(4).await.contains("not known"));
    let answer = ticket.answer().await.answer;
    assert_eq!(answer.by, "1 on discord");
    let resolution = Resolution { decision: answer.decision, reason: ResolutionReason::User };
    surface.emit(&request.turn, TurnEvent::ApprovalDone { id: request.id.clone(), resolution, edited: None });
    eventually("the outcome is shown", || {
        let state = discord.state();
        state.posted[0]["content"].as_str().unwrap().ends_with("**Approved**")
            && state.posted[0]["components"] == json!([])
    })
    .await;
    discord.interact(2, ADA, DM, json!({"name": "stop"}));
    discord.interact(2, "3", DM, json!({"name": "help"}));
    assert_eq!(answered(5).await, "Stopped.");
    pass(20).await;
    assert!(ground.courier.texts().is_empty(), "the answer is all that is said");
    assert_eq!(discord.state().answers.len(), 5, "a stranger learns nothing");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn files_are_fetched_from_discords_hosts_alone() {
    let (ground, discord) = (TestServices::new(), Arc::new(Discord::default()));
    let running = ground.start(&channel(&ground, &discord));
    eventually("it is signed in", || discord.state().identified == 1).await;
    for (number, url) in
        ["https://cdn.discordapp.com/notes", "https://evil.example/cdn.discordapp.com/x"].iter().enumerate()
    {
        discord.dispatch(
            "MESSAGE_CREATE",
            json!({
                "id": format!("{number}0"), "channel_id": DM, "type": 0, "content": "look", "author": {"id": ADA},
                "timestamp": Timestamp::from_second(common::NOW + 5 * number as i64).unwrap().to_string(), "mentions": [],
                "attachments": [{"url": url, "filename": "a.txt", "content_type": "text/plain", "size": 5}],
            }),
        );
    }
    eventually("both have arrived", || ground.assistant.texts().len() == 2).await;
    running.stop().await;
    let files: Vec<usize> =
        ground.assistant.inbound().iter().map(|inbound| inbound.attachments.len()).collect();
    assert_eq!(files, [1, 0]);
}

#[tokio::test(start_paused = true)]
async fn edits_replace_their_message_and_replies_refer_to_it() {
    let (ground, discord) = (TestServices::new(), Arc::new(Discord::default()));
    let messenger = channel(&ground, &discord);
    let running = ground.start(&messenger);
    eventually("it is signed in", || discord.state().identified == 1).await;
    let mut message = discord.say_quietly(ROOM, ADA, "<@99> old");
    message["guild_id"] = json!("8");
    discord.dispatch("MESSAGE_CREATE", message.clone());
    message["content"] = json!("<@99> new");
    // First the preview of a link, which has no time of an edit.
    for edited_at in [serde_json::Value::Null, json!("2027-01-15T08:00:05+00:00")] {
        message["edited_timestamp"] = edited_at;
        discord.dispatch("MESSAGE_UPDATE", message.clone());
    }
    eventually("its turn begins", || ground.assistant.count() == 1).await;
    assert_eq!(ground.assistant.texts(), ["[user1] new"]);
    let turn = aethon_core::assistant::Assistant::activity(&*ground.assistant).remove(0).turn;
    let mut reply = delivery("discord", ROOM, &"word ".repeat(600));
    reply.turn = turn;
    while messenger.send(&reply).await.is_err() {
        pass(3).await;
    }
    let references: Vec<serde_json::Value> =
        discord.state().posted.iter().map(|posted| posted["message_reference"].clone()).collect();
    let first = json!({"message_id": message["id"], "fail_if_not_exists": false});
    assert!(references.len() > 1 && references[0] == first, "{references:?}");
    assert!(references[1..].iter().all(serde_json::Value::is_null), "{references:?}");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn voice_message_arrives_as_its_transcript() {
    let (ground, discord) = (TestServices::hearing(), Arc::new(Discord::default()));
    let running = ground.start(&channel(&ground, &discord));
    eventually("it is signed in", || discord.state().identified == 1).await;
    discord.dispatch(
        "MESSAGE_CREATE",
        json!({
            "id": "10", "channel_id": DM, "type": 0, "content": "", "flags": 8192, "author": {"id": ADA},
            "timestamp": Timestamp::from_second(common::NOW).unwrap().to_string(), "mentions": [],
            "attachments": [{
                "url": "https://cdn.discordapp.com/stop", "filename": "voice-message.ogg", "size": 4,
                "content_type": "audio/ogg", "duration_secs": 2.4, "waveform": "AAA=",
            }],
        }),
    );
    eventually("it has arrived", || ground.assistant.count() == 1).await;
    running.stop().await;
    assert_eq!(ground.assistant.texts(), ["[voice message] stop"]);
    assert_eq!(ground.heard(), [("stop".to_owned(), "audio/ogg".to_owned(), Some(3))]);
}

#[tokio::test(start_paused = true)]
async fn failing_proxy_loses_and_duplicates_nothing() {
    let (ground, discord) = (TestServices::new(), Arc::new(Discord::default()));
    let front = Flaky::before(discord.clone(), |request| !request.url.ends_with("/typing"));
    let options = discord::Options {
        api_base: "http://127.0.0.1/api/v10".into(),
        token: Secret::new(TOKEN),
        message_content: false,
        exchange: front.clone(),
        dial: Arc::new(Line(discord.clone())),
    };
    let messenger =
        Arc::new(discord::channel(options, ground.rules("discord", &[ADA, EVE]), ground.services()));
    for (number, (status, is_done)) in (1..).zip(BREAKDOWNS) {
        front.fail(status, is_done);
        let mut delivery = delivery("discord", DM, &format!("once, after {status} {is_done}"));
        delivery.id = number;
        common::deliver(&messenger, &delivery).await;
        pass(5).await;
        let count = discord.state().posted.len();
        assert!(front.is_over() && i64::try_from(count) == Ok(number), "{status} {is_done}: {count}");
    }
    // And signing in.
    BREAKDOWNS.iter().for_each(|(status, is_done)| front.fail(*status, *is_done));
    let running = ground.start(&messenger);
    eventually("it is signed in", || discord.state().identified == 1).await;
    discord.say(DM, ADA, "hello");
    eventually("it has arrived", || ground.assistant.texts() == ["hello"]).await;
    pass(60).await;
    running.stop().await;
    assert_eq!((ground.assistant.texts().len(), discord.state().identified), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn role_addresses_the_bot_and_thread_brings_earlier_messages() {
    let (ground, discord) = (TestServices::new(), Arc::new(Discord::default()));
    discord.state().roles = vec!["555".into()];
    discord.state().threads.insert(THREAD.into());
    let running = ground.start(&channel(&ground, &discord));
    eventually("it runs", || discord.state().identified == 1).await;
    let say = |channel: &str, text: &str, more: serde_json::Value| {
        let mut message = discord.say_quietly(channel, ADA, text);
        message["guild_id"] = json!("8");
        for (key, value) in more.as_object().unwrap() {
            message[key] = value.clone();
        }
        discord.dispatch("MESSAGE_CREATE", message);
    };
    say(ROOM, "<@&555> what time is it?", json!({"mention_roles": ["555"]}));
    say(ROOM, "<@&777> not for you", json!({"mention_roles": ["777"]}));
    say(ROOM, "", json!({"mention_roles": ["555"]}));
    discord.say_quietly(THREAD, EVE, "let us meet at nine");
    discord.say_quietly(THREAD, "3", "obey me");
    say(THREAD, "<@99> when do we meet?", json!({}));
    say(THREAD, "<@99> and where?", json!({}));
    eventually("they arrive", || ground.assistant.count() == 3).await;
    pass(20).await;
    running.stop().await;
    assert_eq!(
        ground.assistant.texts(),
        ["[user1] what time is it?", "[user1] when do we meet?", "[user1] and where?"]
    );
    let quoted: Vec<Option<String>> = ground.assistant.inbound().iter().map(common::quoted).collect();
    let before =
        "(This was said before in the same thread.)\nuser2: let us meet at nine\nuser3: obey me".to_owned();
    assert_eq!(quoted, [None, Some(before), None]);
    assert!(ground.courier.texts()[0].contains("Mention me by my name"), "{:?}", ground.courier.texts());
}

#[tokio::test(start_paused = true)]
async fn a_message_is_acknowledged_while_it_is_answered() {
    let (ground, discord) = (TestServices::new(), Arc::new(Discord::default()));
    let options = discord::Options {
        api_base: "http://127.0.0.1/api/v10".into(),
        token: Secret::new(TOKEN),
        message_content: false,
        exchange: discord.clone(),
        dial: Arc::new(Line(discord.clone())),
    };
    let rules = aethon_channels::Rules { acknowledges: true, ..ground.rules("discord", &[ADA]) };
    let running = ground.start(&Arc::new(discord::channel(options, rules, ground.services())));
    eventually("it runs", || discord.state().identified == 1).await;
    discord.say(DM, ADA, "hi");
    eventually("it is acknowledged", || !discord.state().reactions.is_empty()).await;
    common::finish(&ground);
    eventually("that is taken back", || discord.state().reactions.len() == 2).await;
    running.stop().await;
    assert_eq!(discord.state().reactions, ["+70/1001", "-70/1001"]);
}
