//! Rooms that are joined, rooms that are upgraded, and rooms of strangers.

use super::*;

impl Homeserver {
    /// Puts a tombstone into the room, as a state event or as a message that looks like one.
    fn bury(&self, sender: &str, is_state: bool) {
        let mut state = self.state.lock().unwrap();
        let id = state.events.len();
        let content = json!({"body": "This room has been replaced", "replacement_room": NEW});
        let mut event = json!({
            "type": "m.room.tombstone", "event_id": format!("${id}"), "sender": sender,
            "origin_server_ts": 1_800_000_000_000i64, "content": content,
        });
        if is_state {
            event["state_key"] = json!("");
            state.upgrade.tombstone = Some(content);
        }
        state.events.push(event);
        drop(state);
        self.changed.notify_waiters();
    }
}

#[tokio::test(start_paused = true)]
async fn rooms_of_allowed_inviters_are_joined_and_groups_need_a_mention() {
    let stage = Stage::new();
    stage.server.state.lock().unwrap().members = 3;
    stage.server.state.lock().unwrap().invites =
        vec![("!eve:hs".into(), "@eve:hs".into()), ("!ada:hs".into(), "@ada:hs".into())];
    let (trigger, shutdown) = ShutdownTrigger::pair();
    let running = stage.start(shutdown);
    tokio::time::sleep(Duration::from_secs(5)).await;
    stage.server.say("@ada:hs", "not for you");
    stage.server.say("@ada:hs", "@bot:hs for you");
    tokio::time::sleep(Duration::from_secs(5)).await;
    trigger.trigger();
    running.await.unwrap().unwrap();
    assert_eq!(stage.server.state.lock().unwrap().joined, ["/_matrix/client/v3/rooms/%21ada%3Ahs/join"]);
    let texts: Vec<String> = stage.services.assistant.texts();
    assert_eq!(texts, ["[@ada:hs] for you"]);
}

#[tokio::test(start_paused = true)]
async fn upgraded_room_is_followed_when_both_rooms_say_so() {
    for (what, is_state, creator, predecessor, is_open, expected) in [
        ("an upgrade", true, "@ada:hs", ROOM, true, true),
        ("one that is joined by invitation", true, "@ada:hs", ROOM, false, true),
        ("a message that looks like a tombstone", false, "@ada:hs", ROOM, true, false),
        ("another predecessor", true, "@ada:hs", "!other:hs", true, false),
        ("a creator without power", true, "@eve:hs", ROOM, true, false),
    ] {
        let stage = Stage::new();
        stage.server.state.lock().unwrap().upgrade.created = Some((creator.into(), predecessor.into()));
        stage.server.state.lock().unwrap().upgrade.is_open = is_open;
        let (trigger, shutdown) = ShutdownTrigger::pair();
        let running = stage.start(shutdown);
        tokio::time::sleep(Duration::from_secs(5)).await;
        stage.server.bury("@ada:hs", is_state);
        tokio::time::sleep(Duration::from_secs(5)).await;
        if !is_open {
            // From whomever it comes.
            stage.server.state.lock().unwrap().upgrade.is_open = true;
            stage.server.invite(NEW, "@eve:hs");
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        trigger.trigger();
        running.await.unwrap().unwrap();
        // As after a restart.
        let channel = stage.channel(TOKEN);
        let (trigger, shutdown) = ShutdownTrigger::pair();
        let (running, assistant) = (channel.clone(), stage.services.assistant.clone());
        let running = tokio::spawn(async move { running.run(assistant, shutdown).await });
        tokio::time::sleep(Duration::from_secs(5)).await;
        channel.send(&delivery("hi")).await.unwrap();
        let (old, new, is_left) = {
            let state = stage.server.state.lock().unwrap();
            let is_left = state.left.iter().any(|path| path.contains("new"));
            (state.order.len(), state.upgrade.sent.len(), is_left)
        };
        assert_eq!((old, new), if expected { (0, 1) } else { (1, 0) }, "{what}");
        assert_eq!(is_left, is_state && !expected, "{what}");
        trigger.trigger();
        running.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn upgraded_room_on_a_dead_server_is_joined_later() {
    let stage = Stage::new();
    {
        let upgrade = &mut stage.server.state.lock().unwrap().upgrade;
        upgrade.created = Some(("@ada:hs".into(), ROOM.into()));
        (upgrade.is_open, upgrade.is_down) = (true, true);
    }
    let (trigger, shutdown) = ShutdownTrigger::pair();
    let running = stage.start(shutdown);
    tokio::time::sleep(Duration::from_secs(5)).await;
    stage.server.bury("@ada:hs", true);
    stage.server.say("@ada:hs", "hi");
    tokio::time::sleep(Duration::from_secs(5)).await;
    stage.server.say("@ada:hs", "still there?");
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(stage.services.assistant.texts(), ["hi", "still there?"]);
    assert_eq!(stage.services.records.list("matrix", "moved:", 9).await.unwrap(), []);
    stage.server.state.lock().unwrap().upgrade.is_down = false;
    tokio::time::sleep(Duration::from_secs(400)).await;
    assert_eq!(stage.services.records.list("matrix", "moved:", 9).await.unwrap().len(), 1);
    assert_eq!(stage.services.records.list("matrix", "upgrade:", 9).await.unwrap(), []);
    trigger.trigger();
    running.await.unwrap().unwrap();

    // Threads that began in the new room are answered there; those of the old room have stayed behind.
    let channel = stage.channel(TOKEN);
    let (trigger, shutdown) = ShutdownTrigger::pair();
    let (receiving, assistant) = (channel.clone(), stage.services.assistant.clone());
    let running = tokio::spawn(async move { receiving.run(assistant, shutdown).await });
    tokio::time::sleep(Duration::from_secs(5)).await;
    for (sent_id, root) in [(1, "$began-there"), (2, "$stayed-behind")] {
        let mut delivery = delivery("hi");
        delivery.id = sent_id;
        delivery.content.recipient = Some(format!("{ROOM}{root}"));
        channel.send(&delivery).await.unwrap();
    }
    let sent = stage.server.state.lock().unwrap().upgrade.sent.clone();
    let roots: Vec<&Value> = sent.iter().map(|content| &content["m.relates_to"]["event_id"]).collect();
    assert_eq!(roots, [&json!("$began-there"), &Value::Null]);
    trigger.trigger();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn upgrade_of_a_strangers_room_is_not_followed() {
    let mut stage = Stage::new();
    stage.pairing = Pairing::Invite;
    stage.server.state.lock().unwrap().upgrade.created = Some(("@ada:hs".into(), ROOM.into()));
    stage.server.state.lock().unwrap().upgrade.is_open = true;
    let (trigger, shutdown) = ShutdownTrigger::pair();
    pairing::invite(&*stage.services.records, &*stage.services.clock, "matrix").await.unwrap();
    let running = stage.start(shutdown);
    tokio::time::sleep(Duration::from_secs(5)).await;
    stage
        .services
        .records
        .put("matrix", &format!("strange:{ROOM}"), "1800000000 @eve:hs", None)
        .await
        .unwrap();
    stage.server.bury("@ada:hs", true);
    tokio::time::sleep(Duration::from_secs(5)).await;
    trigger.trigger();
    running.await.unwrap().unwrap();
    assert_eq!(stage.services.records.list("matrix", "moved:", 9).await.unwrap(), []);
    assert_eq!(stage.services.records.list("matrix", "upgrade:", 9).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn strangers_room_is_left_unless_the_open_code_is_used() {
    let mut stage = Stage::new();
    stage.pairing = Pairing::Invite;
    let (trigger, shutdown) = ShutdownTrigger::pair();
    let running = stage.start(shutdown);
    let rooms = || {
        let state = stage.server.state.lock().unwrap();
        (state.joined.len(), state.left.len())
    };
    let a_while = || tokio::time::sleep(Duration::from_secs(40));
    let code = async || {
        pairing::invite(&*stage.services.records, &*stage.services.clock, "matrix").await.unwrap().code
    };
    a_while().await;
    stage.server.invite("!eve:hs", "@eve:hs");
    a_while().await;
    assert_eq!(rooms(), (0, 0), "nobody waits for a stranger");
    code().await;
    a_while().await;
    assert_eq!(rooms(), (1, 0));
    a_while().await;
    assert_eq!(rooms(), (1, 0), "once");
    stage.services.clock.advance(jiff::SignedDuration::from_mins(10));
    a_while().await;
    assert_eq!(rooms(), (1, 1), "the code has expired");
    assert_eq!(stage.server.state.lock().unwrap().left, ["/_matrix/client/v3/rooms/%21eve%3Ahs/leave"]);

    let code = code().await;
    stage.server.invite(ROOM, "@bob:hs");
    a_while().await;
    assert_eq!(rooms(), (2, 1));
    stage.server.say("@bob:hs", "hello?");
    stage.server.say("@bob:hs", &format!("/pair {code}"));
    stage.server.say("@bob:hs", "hi");
    a_while().await;
    stage.services.clock.advance(jiff::SignedDuration::from_mins(20));
    a_while().await;
    assert_eq!((rooms(), stage.services.assistant.texts()), ((2, 1), vec!["hi".to_owned()]));
    trigger.trigger();
    running.await.unwrap().unwrap();
    assert!(stage.services.courier.texts()[0].starts_with("You are connected"));
    assert!(stage.server.sent().is_empty(), "nothing is told to a stranger");
    assert!(stage.services.records.list("matrix", "strange:", 9).await.unwrap().is_empty());
}
