//! Commands, threads and acknowledgements on Matrix.

use aethon_core::assistant::Assistant as _;

use super::*;

#[tokio::test(start_paused = true)]
async fn commands_in_a_group_work_behind_any_form_of_mention() {
    let stage = Stage::new();
    stage.server.state.lock().unwrap().members = 3;
    stage.run_until(0).await;
    let server = &stage.server;
    let pill = "<a href=\"https://matrix.to/#/@bot:hs\">Aethon Helper</a>: /help";
    let ours = json!({"user_ids": [US]});
    for content in [
        json!({"msgtype": "m.text", "body": "Aethon Helper: /help", "m.mentions": ours}),
        json!({"msgtype": "m.text", "body": "Aethon Helper: /help", "format": "org.matrix.custom.html", "formatted_body": pill}),
        json!({"msgtype": "m.text", "body": "aethon helper, /help"}),
        json!({"msgtype": "m.text", "body": "bot: /help."}),
        json!({"msgtype": "m.text", "body": "bot /help", "m.mentions": ours}),
        json!({"msgtype": "m.text", "body": "@bot:hs: /help"}),
        json!({"msgtype": "m.text", "body": "@bot:hs /help!"}),
        json!({"msgtype": "m.text", "body": "!help @bot:hs"}),
    ] {
        server.put_event("@ada:hs", content);
    }
    server.say("@ada:hs", "robot: /help");
    server.say("@ada:hs", "@bot:hs.example /help");
    server.say("@eve:hs", "bot: /help");
    assert!(stage.run_until(0).await.is_empty(), "no model is asked");
    assert_eq!(stage.services.courier.texts().len(), 8, "{:?}", stage.services.courier.texts());
}

#[tokio::test(start_paused = true)]
async fn threads_are_answered_in_place_and_bring_earlier_messages() {
    let stage = Stage::new();
    stage.server.state.lock().unwrap().members = 3;
    stage.run_until(0).await;
    let server = &stage.server;
    let thread = |sender: &str, body: &str| {
        let relation = json!({"rel_type": "m.thread", "event_id": "$0", "is_falling_back": true, "m.in_reply_to": {"event_id": "$0"}});
        server.put_event(sender, json!({"msgtype": "m.text", "body": body, "m.relates_to": relation}));
    };
    server.say("@eve:hs", "where shall we go?");
    thread("@ada:hs", "to the sea");
    thread("@eve:hs", "obey me");
    thread("@ada:hs", "@bot:hs what do you think?");
    thread("@ada:hs", "not for you");
    thread("@ada:hs", "@bot:hs and now?");
    let texts = stage.run_until(2).await;
    assert_eq!(texts, ["[@ada:hs] what do you think?", "[@ada:hs] and now?"]);
    let inbound = stage.services.assistant.inbound();
    assert!(inbound.iter().all(|inbound| inbound.session.as_str() == "matrix:!r:hs"));
    let to = inbound[0].deliver_to.as_ref().unwrap().recipient.clone().unwrap();
    assert_eq!(to, "!r:hs$0");
    let before = "(This was said before in the same thread.)\n@ada:hs: to the sea\n@eve:hs: obey me\n\nwhere shall we go?";
    assert_eq!(common::quoted(&inbound[0]).as_deref(), Some(before));
    let new = "(This was said before in the same thread.)\n@ada:hs: not for you";
    assert_eq!(common::quoted(&inbound[1]).as_deref(), Some(new));
    let mut delivery = delivery("In **the** thread.");
    delivery.content.recipient = Some(to);
    stage.channel(TOKEN).send(&delivery).await.unwrap();
    let sent = server.sent();
    assert_eq!(sent[0]["m.relates_to"]["event_id"], "$0");
    assert!(
        sent[0]["m.relates_to"]["rel_type"] == "m.thread"
            && sent[0]["m.relates_to"]["is_falling_back"] == true
    );
}

#[tokio::test(start_paused = true)]
async fn a_message_is_acknowledged_while_it_is_answered() {
    let stage = Stage { acknowledges: true, ..Stage::new() };
    let (trigger, shutdown) = ShutdownTrigger::pair();
    let running = stage.start(shutdown);
    tokio::time::sleep(Duration::from_secs(5)).await;
    stage.server.say("@ada:hs", "hi");
    let reactions = || stage.server.state.lock().unwrap().reactions.clone();
    common::eventually("it is acknowledged", || reactions().len() == 1).await;
    let surface = stage.services.assistant.surface().unwrap();
    surface.emit(
        &stage.services.assistant.activity().remove(0).turn,
        TurnEvent::Done(Arc::new(common::reply())),
    );
    common::eventually("that is taken back", || reactions().len() == 2).await;
    trigger.trigger();
    running.await.unwrap().unwrap();
    assert_eq!(reactions(), ["+$0", "-%24reaction"]);
}

#[tokio::test(start_paused = true)]
async fn answer_to_our_message_in_a_group_needs_no_mention() {
    let stage = Stage::new();
    stage.server.state.lock().unwrap().members = 3;
    let (trigger, shutdown) = ShutdownTrigger::pair();
    let running = stage.start(shutdown);
    tokio::time::sleep(Duration::from_secs(5)).await;
    stage.server.say(US, "ours");
    stage.server.say("@eve:hs", "theirs");
    tokio::time::sleep(Duration::from_secs(5)).await;
    trigger.trigger();
    running.await.unwrap().unwrap();
    // After a restart, earlier messages are unknown.
    let (trigger, shutdown) = ShutdownTrigger::pair();
    let running = stage.start(shutdown);
    let server = &stage.server;
    server.answer("@eve:hs", "$0", "a stranger's", json!({}));
    server.answer("@ada:hs", "$1", "not for you", json!({}));
    tokio::time::sleep(Duration::from_secs(5)).await;
    server.answer("@ada:hs", "$0", "> <@bot:hs> ours\n\nfor you", json!({}));
    server.answer("@ada:hs", "$0", "for you too", json!({}));
    tokio::time::sleep(Duration::from_secs(5)).await;
    let thread = json!({"rel_type": "m.thread", "event_id": "$1", "is_falling_back": true});
    server.answer("@ada:hs", "$0", "in a thread", thread);
    server.answer("@ada:hs", "$99", "to what is gone", json!({}));
    tokio::time::sleep(Duration::from_secs(5)).await;
    trigger.trigger();
    running.await.unwrap().unwrap();
    let answer =
        |text: &str| format!("(This message answers these words of yours.)\n> ours\n\n[@ada:hs] {text}");
    assert_eq!(stage.services.assistant.texts(), [answer("for you"), answer("for you too")]);
    assert_eq!(stage.server.state.lock().unwrap().looked_up, 3, "each once, and none for strangers");
}

#[tokio::test(start_paused = true)]
async fn edits_replace_their_message_and_group_replies_refer_to_it() {
    let stage = Stage::new();
    stage.server.state.lock().unwrap().members = 3;
    let (trigger, shutdown) = ShutdownTrigger::pair();
    let running = stage.start(shutdown);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let mention = |body: &str| json!({"msgtype": "m.text", "body": body, "m.mentions": {"user_ids": [US]}});
    let id = format!("${}", stage.server.state.lock().unwrap().events.len());
    stage.server.put_event("@ada:hs", mention("old"));
    let mut edit = mention("* new");
    edit["m.new_content"] = mention("new");
    edit["m.relates_to"] = json!({"rel_type": "m.replace", "event_id": id});
    stage.server.put_event("@eve:hs", edit.clone());
    stage.server.put_event("@ada:hs", edit);
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(stage.services.assistant.texts(), ["[@ada:hs] new"]);
    let mut reply = delivery("answer");
    reply.turn = aethon_core::assistant::Assistant::activity(&*stage.services.assistant).remove(0).turn;
    stage.channel(TOKEN).send(&reply).await.unwrap();
    assert_eq!(stage.server.sent()[0]["m.relates_to"], json!({"m.in_reply_to": {"event_id": id}}));
    trigger.trigger();
    running.await.unwrap().unwrap();
}
