//! Conversations: what people see of them, and what is left when they are removed.

use super::stage::*;
use crate::ids::{MessageId, TurnId};
use crate::import::NewSession;
use crate::message::{Block, Message, Role};
use crate::model::Effort;
use crate::order::{Order, SessionField};
use crate::session::{
    Accepted, Clear, Finish, MAX_PAGE_BYTES, SessionPage, SessionPatch, SessionQuery, SessionSettings,
    TurnDefaults, TurnPhase,
};
use crate::version::Expected;

const S: &str = "webchat:default";

pub async fn a_session_says_who_when_and_how_much(stage: Stage) {
    stage.advance(5);
    stage.turn(S, "  \nWhat is\tthis?\nsecond line", "that").await;
    stage.advance(5);
    stage.turn(S, "and that?", "this").await;
    let summary = stage.storage.transcripts.session(&session(S)).await.unwrap().unwrap();
    assert_eq!((summary.channel.as_str(), summary.sender.as_str()), ("webchat", "owner"));
    assert_eq!((summary.title.as_str(), summary.message_count), ("What is this?", 4));
    assert_eq!(summary.updated_at.as_second() - summary.created_at.as_second(), 5);
    assert!(!summary.agent_name.is_empty());
    assert!(stage.storage.transcripts.session(&session("webchat:none")).await.unwrap().is_none());
}

pub async fn a_title_comes_from_the_first_message_until_a_person_gives_one(stage: Stage) {
    let title = async || stage.storage.transcripts.session(&session(S)).await.unwrap().unwrap().title;
    let first = stage.turn(S, "first", "1").await;
    stage.turn(S, "second", "2").await;
    assert_eq!(title().await, "first");
    let edit = TurnId::fresh();
    stage.storage.turns.accept(&edit, &say(S, "edited"), Some(replacing("edited", &first))).await.unwrap();
    assert_eq!(title().await, "edited");
    assert!(
        stage
            .storage
            .transcripts
            .patch(&session(S), &crate::session::SessionPatch::title("Mine"), Expected::Anything)
            .await
            .unwrap()
    );
    let edit_again = TurnId::fresh();
    stage.storage.turns.accept(&edit_again, &say(S, "x"), Some(replacing("x", &edit))).await.unwrap();
    assert_eq!(title().await, "Mine");
    assert!(
        !stage
            .storage
            .transcripts
            .patch(&session("webchat:none"), &crate::session::SessionPatch::title("x"), Expected::Anything)
            .await
            .unwrap()
    );
}

pub async fn a_turn_begins_with_what_its_session_sets(stage: Stage) {
    let (transcripts, id) = (&stage.storage.transcripts, session(S));
    let settings = async || transcripts.session(&id).await.unwrap().unwrap().settings;
    stage.turn(S, "first", "1").await;
    assert_eq!(settings().await, SessionSettings::default());
    let mut patch = SessionPatch::model(Some("fast".into()));
    patch.effort = Some(Some(Effort::High));
    patch.instructions = Some(Some("Speak plainly.".into()));
    (patch.pinned, patch.archived, patch.folder) = (Some(true), Some(true), Some(Some("work".into())));
    assert!(transcripts.patch(&id, &patch, Expected::Anything).await.unwrap());
    assert!(!transcripts.patch(&session("webchat:none"), &patch, Expected::Anything).await.unwrap());
    let set = settings().await;
    assert_eq!((set.pinned, set.archived, set.folder.as_deref()), (true, true, Some("work")));
    let expected = TurnDefaults {
        model: Some("fast".into()),
        effort: Some(Effort::High),
        instructions: Some("Speak plainly.".into()),
    };
    assert_eq!(set.turns, expected);

    // However a turn begins: at once, after having waited, with the end of the one before it, and once more.
    let running = TurnId::fresh();
    let accepted = stage.storage.turns.accept(&running, &say(S, "a"), Some(begin("a"))).await.unwrap();
    let Accepted::New(Some(begun)) = accepted else { panic!("{accepted:?}") };
    assert_eq!(begun.defaults.as_deref(), Some(&expected));
    let next = TurnId::fresh();
    stage.storage.turns.accept(&next, &say(S, "b"), None).await.unwrap();
    let end = Finish { next: Some((next.clone(), begin("b"))), ..finish(&running, S, "1") };
    let begun = stage.storage.turns.finish(end).await.unwrap().next.unwrap();
    assert_eq!(begun.defaults.as_deref(), Some(&expected));
    let again = stage.storage.turns.begin(&next, begin("b")).await.unwrap();
    assert_eq!(again.defaults.as_deref(), Some(&expected));
    stage.storage.turns.finish(finish(&next, S, "2")).await.unwrap();

    assert!(transcripts.clear(&id, Clear::Reset).await.unwrap());
    assert_eq!(settings().await, set, "an emptied conversation keeps its settings");
    let unset = SessionPatch::model(None);
    assert!(transcripts.patch(&id, &unset, Expected::Anything).await.unwrap());
    assert_eq!(settings().await.turns.model, None);
    assert!(settings().await.pinned, "fields that a patch leaves out stay");
}

pub async fn what_the_assistant_said_is_unread_until_a_person_has_seen_it(stage: Stage) {
    let (transcripts, id) = (&stage.storage.transcripts, session(S));
    let is_unread = async || {
        let summary = transcripts.session(&id).await.unwrap().unwrap();
        let page = transcripts.sessions(SessionQuery::newest(5)).await.unwrap();
        assert_eq!(page.sessions[0].unread, summary.unread);
        summary.unread
    };
    let turn = stage.open_turn(S, "first").await;
    assert!(!is_unread().await, "a question of the person's own is known to them");
    stage.storage.turns.finish(finish(&turn, S, "1")).await.unwrap();
    assert!(is_unread().await);
    assert!(stage.beside.transcripts.mark_read(&id).await.unwrap());
    assert!(!is_unread().await, "every program sees the mark");
    assert!(!transcripts.mark_read(&id).await.unwrap(), "it was known");
    let message = Message::new(Role::Assistant, vec![Block::text("by the way")], start());
    transcripts.post(&id, "k", message).await.unwrap().unwrap();
    assert!(is_unread().await);
    assert!(transcripts.clear(&id, Clear::Reset).await.unwrap());
    assert!(!is_unread().await, "nothing is left to read");
    stage.turn(S, "second", "2").await;
    assert!(is_unread().await);
    assert!(!transcripts.mark_read(&session("webchat:none")).await.unwrap());
}

pub async fn a_session_is_renamed_and_removed_only_as_expected(stage: Stage) {
    let (transcripts, id) = (&stage.storage.transcripts, session(S));
    let version = async || transcripts.session(&id).await.unwrap().map(|summary| summary.version());
    stage.turn(S, "first", "1").await;
    let seen = Expected::OneOf(version().await.into_iter().collect());
    stage.turn(S, "second", "2").await;
    assert!(
        transcripts.patch(&id, &crate::session::SessionPatch::title("Mine"), seen.clone()).await.unwrap(),
        "messages make no other version"
    );
    assert!(
        transcripts
            .patch(&id, &crate::session::SessionPatch::title("Late"), seen.clone())
            .await
            .unwrap_err()
            .is_changed_elsewhere()
    );
    assert!(transcripts.clear(&id, Clear::DeleteIf(seen)).await.unwrap_err().is_changed_elsewhere());
    assert_eq!(transcripts.session(&id).await.unwrap().unwrap().title, "Mine");
    assert_eq!(transcripts.session(&id).await.unwrap().unwrap().message_count, 4);
    let present = Expected::OneOf(version().await.into_iter().collect());
    assert!(transcripts.clear(&id, Clear::DeleteIf(present.clone())).await.unwrap());
    for gone in [present, Expected::Existing] {
        assert!(
            transcripts
                .patch(&id, &crate::session::SessionPatch::title("x"), gone.clone())
                .await
                .unwrap_err()
                .is_changed_elsewhere()
        );
        assert!(transcripts.clear(&id, Clear::DeleteIf(gone)).await.unwrap_err().is_changed_elsewhere());
    }
}

pub async fn a_whole_conversation_is_made_at_once_or_not_at_all(stage: Stage) {
    stage.turn(S, "q1", "a1").await;
    stage.turn(S, "q2", "a2").await;
    let (storage, made) = (&stage.storage, session("webchat:made"));
    let messages = storage.transcripts.messages(&session(S), None, 10).await.unwrap();
    let (from, to) = (messages[0].id.0.to_string(), messages[1].id.0.to_string());
    let folded = Block::Folded { messages: 2, from, to, summary: "so far".into() };
    let mut summary = Message::new(Role::System, vec![folded], messages[3].created_at);
    summary.id = MessageId(messages[3].id.0 + 1);
    let mut all = messages.clone();
    all.push(summary);
    let new = NewSession { id: made.clone(), title: "Again".into(), sender: "owner".into(), messages: all };
    assert!(storage.imports().import(new.clone()).await.unwrap());
    let there = storage.transcripts.messages(&made, None, 10).await.unwrap();
    assert_eq!(texts(&there)[..4], ["q1", "a1", "q2", "a2"]);
    assert!(there.iter().zip(&messages).all(|(one, other)| one.turn != other.turn && one.id != other.id));
    let Block::Folded { to, .. } = &there[4].content[0] else { panic!("{:?}", there[4]) };
    assert_eq!(*to, there[1].id.0.to_string(), "a summary names the new messages");
    assert_eq!(texts(&storage.turns.window(&made, 10).await.unwrap())[..2], ["q2", "a2"]);
    let row = storage.transcripts.session(&made).await.unwrap().unwrap();
    assert_eq!((row.title.as_str(), row.message_count), ("Again", 5));
    assert!(!storage.imports().import(new).await.unwrap(), "there is one already");

    // A retry works there, and the session continues like any other.
    let turn = there[2].turn.clone().unwrap();
    assert!(storage.turns.turn(&turn).await.unwrap().is_some_and(|record| record.phase == TurnPhase::Done));
    let retry = TurnId::fresh();
    storage.turns.accept(&retry, &say("webchat:made", "q3"), Some(replacing("q3", &turn))).await.unwrap();
    let there = storage.transcripts.messages(&made, None, 10).await.unwrap();
    assert_eq!(texts(&there), ["q1", "a1", "q3"]);
    assert!(storage.turns.unfinished().await.unwrap().iter().all(|record| record.turn == retry));
}

pub async fn messages_are_paged_backwards(stage: Stage) {
    for n in 0..4 {
        stage.turn(S, &format!("q{n}"), &format!("a{n}")).await;
    }
    let page = stage.storage.transcripts.messages(&session(S), None, 3).await.unwrap();
    assert_eq!(texts(&page), ["a2", "q3", "a3"]);
    let page = stage.storage.transcripts.messages(&session(S), Some(page[0].id), 3).await.unwrap();
    assert_eq!(texts(&page), ["q1", "a1", "q2"]);
    assert!(stage.storage.transcripts.messages(&session("webchat:none"), None, 3).await.unwrap().is_empty());
}

pub async fn a_page_of_large_messages_has_fewer_of_them(stage: Stage) {
    let large = "x".repeat(MAX_PAGE_BYTES / 2);
    for n in 0..3 {
        stage.turn(S, &format!("q{n}"), &large).await;
    }
    let (mut before, mut seen) = (None, 0);
    loop {
        let page = stage.storage.transcripts.messages(&session(S), before, 100).await.unwrap();
        let Some(first) = page.first() else { break };
        assert!(page.len() <= 3, "{} messages are on one page", page.len());
        seen += page.len();
        before = Some(first.id);
    }
    assert_eq!(seen, 6, "none is left out");
}

pub async fn pending_turns_are_those_of_the_session(stage: Stage) {
    let running = stage.open_turn(S, "a").await;
    let queued = TurnId::fresh();
    stage.storage.turns.accept(&queued, &say(S, "b"), None).await.unwrap();
    stage.open_turn("webchat:other", "c").await;
    let pending = stage.storage.transcripts.pending(&session(S)).await.unwrap();
    let pending: Vec<_> = pending.into_iter().map(|record| (record.turn, record.phase)).collect();
    assert_eq!(pending, [(running, TurnPhase::Running), (queued, TurnPhase::Queued)]);
    assert!(stage.storage.transcripts.pending(&session("webchat:none")).await.unwrap().is_empty());
}

pub async fn sessions_are_paged_by_last_use_and_stay_stable_when_one_moves(stage: Stage) {
    for n in 0..7 {
        // Three of them at the very same moment.
        if !(3..=5).contains(&n) {
            stage.advance(1);
        }
        stage.turn(&format!("webchat:s{n}"), "x", "y").await;
    }
    stage.turn("cli:other", "x", "y").await;
    let page = async |cursor| {
        let query =
            SessionQuery { limit: 3, cursor, channel: Some("webchat".into()), ..SessionQuery::default() };
        let page = stage.storage.transcripts.sessions(query).await.unwrap();
        assert_eq!(page.count, 7);
        let names: Vec<_> = page.sessions.iter().map(|s| s.session_id.name().to_owned()).collect();
        (names, page.next_cursor)
    };
    let (names, cursor) = page(None).await;
    assert_eq!(names, ["s6", "s5", "s4"]);
    stage.advance(1);
    stage.turn("webchat:s1", "x", "y").await;
    let (names, cursor) = page(cursor).await;
    assert_eq!(names, ["s3", "s2", "s0"]);
    assert_eq!(cursor, None);

    for cursor in ["", "x", "1", "1-", "-", "1-2-3", "zz-zz", "é-1"] {
        let query = SessionQuery { limit: 3, cursor: Some(cursor.into()), ..SessionQuery::default() };
        assert!(stage.storage.transcripts.sessions(query).await.unwrap_err().is_invalid(), "{cursor:?}");
    }
}

pub async fn sessions_are_sorted_by_any_field_in_stable_pages(stage: Stage) {
    // Titles, and how many turns; two are alike but for case, and one title begins with a letter beyond ASCII.
    for (name, title, turns) in [("a", "pears", 1), ("b", "Apples", 3), ("c", "apples", 2), ("d", "Ärger", 1)]
    {
        stage.advance(1);
        for _ in 0..turns {
            stage.turn(&format!("webchat:{name}"), title, "y").await;
        }
    }
    stage.turn("cli:e", "Zebras", "y").await;
    // The oldest is used again, so that its use and its beginning differ.
    stage.advance(1);
    stage.turn("webchat:a", "more", "y").await;
    let transcripts = &stage.storage.transcripts;
    let page = async |order, cursor, search: Option<&str>, limit| {
        let query = SessionQuery { limit, cursor, ..SessionQuery::default() };
        transcripts.sessions(query.in_order(Some(order)).with_search(search.map(Into::into))).await
    };
    let names = |page: &SessionPage| -> String {
        page.sessions.iter().map(|session| session.session_id.name()).collect()
    };
    let read = async |order, search| {
        let (mut seen, mut cursor) = (String::new(), None);
        loop {
            let page = page(order, cursor, search, 2).await.unwrap();
            seen += &names(&page);
            cursor = page.next_cursor;
            if cursor.is_none() {
                break (seen, page.count);
            }
        }
    };
    let check = async |by, up: &str, down: &str| {
        assert_eq!(read(Order::ascending(by), None).await, (up.to_owned(), 5), "{by:?}");
        assert_eq!(read(Order::descending(by), None).await, (down.to_owned(), 5), "{by:?}");
    };
    check(SessionField::Updated, "bcdea", "aedcb").await;
    check(SessionField::Created, "abcde", "edcba").await;
    check(SessionField::Title, "bcaed", "deacb").await;
    check(SessionField::Channel, "eabcd", "dcbae").await;
    check(SessionField::Messages, "deacb", "bcaed").await;
    let found = read(Order::descending(SessionField::Title), Some("apples")).await;
    assert_eq!(found, ("cb".to_owned(), 2));

    // A session that moves, and one that goes, disturb no later page.
    let order = Order::ascending(SessionField::Title);
    let first = page(order, None, None, 2).await.unwrap();
    assert_eq!(names(&first), "bc");
    transcripts.clear(&session("webchat:c"), Clear::Delete).await.unwrap();
    stage.turn("webchat:b", "again", "y").await;
    let second = page(order, first.next_cursor.clone(), None, 2).await.unwrap();
    assert_eq!((names(&second), second.count), ("ae".to_owned(), 4));
    // A cursor belongs to its order.
    for other in [Order::descending(SessionField::Title), Order::ascending(SessionField::Messages)] {
        let refused = page(other, first.next_cursor.clone(), None, 2).await.unwrap_err();
        assert!(refused.is_invalid(), "{refused}");
    }
    let usual = SessionQuery { limit: 2, cursor: first.next_cursor, ..SessionQuery::default() };
    assert!(transcripts.sessions(usual).await.unwrap_err().is_invalid());
}

pub async fn a_post_is_one_message_however_often_it_comes(stage: Stage) {
    let post = async |key| {
        stage.storage.transcripts.post(&session(S), key, message(Role::Assistant, "news")).await.unwrap()
    };
    let first = post("k").await.unwrap();
    assert_eq!(post("k").await, None);
    assert!(post("l").await.unwrap() > first);
    assert_eq!(
        texts(&stage.storage.transcripts.messages(&session(S), None, 9).await.unwrap()),
        ["news", "news"]
    );
    let summary = stage.storage.transcripts.session(&session(S)).await.unwrap().unwrap();
    assert_eq!((summary.message_count, summary.title.as_str(), summary.sender.as_str()), (2, "news", ""));
    stage.turn(S, "thanks", "welcome").await;
    assert_eq!(stage.storage.transcripts.session(&session(S)).await.unwrap().unwrap().sender, "owner");
    // Keys are separate for each session.
    let elsewhere =
        stage.storage.transcripts.post(&session("webchat:b"), "k", message(Role::Assistant, "x")).await;
    assert!(elsewhere.unwrap().is_some());
}

pub async fn the_end_of_a_turn_tells_what_came_between_its_messages(stage: Stage) {
    let ended =
        async |turn: &TurnId| stage.storage.turns.finish(finish(turn, S, "done")).await.unwrap().beside;
    let turn = stage.open_turn(S, "one").await;
    assert!(!ended(&turn).await);
    // Before it, after it, and in another session do not count as in between.
    let post = async |id: &str, key: &str| {
        let message = message(Role::Assistant, "news");
        stage.beside.transcripts.post(&session(id), key, message).await.unwrap().unwrap()
    };
    post(S, "before").await;
    let turn = stage.open_turn(S, "two").await;
    post("webchat:other", "elsewhere").await;
    assert!(!ended(&turn).await);
    let turn = stage.open_turn(S, "three").await;
    post(S, "between").await;
    assert!(ended(&turn).await);
    let turn = stage.open_turn(S, "four").await;
    assert!(!ended(&turn).await, "it counts for the turn that it came into");
}

pub async fn a_message_of_a_removed_session_is_not_run_again(stage: Stage) {
    let turn = TurnId::fresh();
    let inbound = say_as(S, "pay the bill", "k", Some(3600));
    stage.storage.turns.accept(&turn, &inbound, Some(begin("pay the bill"))).await.unwrap();
    stage.storage.transcripts.clear(&session(S), Clear::Delete).await.unwrap();
    // The end of the turn that was cut off has nowhere to go.
    assert!(stage.storage.turns.finish(finish(&turn, S, "paid")).await.unwrap_err().is_not_found());
    let Accepted::Known(record) = stage.storage.turns.accept(&TurnId::fresh(), &inbound, None).await.unwrap()
    else {
        panic!("it would run again");
    };
    assert_eq!((record.phase, record.inbound.text.as_str()), (TurnPhase::Done, ""));
    assert_eq!(record.reply.unwrap().text, "");
    assert!(stage.storage.turns.turn(&turn).await.unwrap().is_none());
    assert!(stage.storage.turns.unfinished().await.unwrap().is_empty());
    assert!(stage.storage.transcripts.session(&session(S)).await.unwrap().is_none());
    stage.advance(3600);
    let accepted = stage.storage.turns.accept(&TurnId::fresh(), &inbound, None).await.unwrap();
    assert!(matches!(accepted, Accepted::New(_)));
}

pub async fn sessions_are_found_by_title_id_and_words(stage: Stage) {
    stage.turn("webchat:alpha", "How tall is the Eiffel tower?", "It is 330 metres tall, grüße.").await;
    stage.advance(1);
    stage.turn("webchat:beta", "Tell me about\nthe tower of Japan", "It stands in Minato.").await;
    stage
        .storage
        .transcripts
        .patch(
            &session("webchat:beta"),
            &crate::session::SessionPatch::title("Towers in Japan"),
            Expected::Anything,
        )
        .await
        .unwrap();
    for (search, expected) in [
        ("TOWER", vec!["beta", "alpha"]),
        ("tow", vec!["beta", "alpha"]),
        ("tall metres", vec!["alpha"]),
        ("eiffel minato", vec![]),
        ("Grüße", vec!["alpha"]),
        ("japan", vec!["beta"]),
        ("chat:alp", vec!["alpha"]),
        ("  ", vec!["beta", "alpha"]),
        ("type", vec![]),
    ] {
        let query = SessionQuery { limit: 9, search: Some(search.into()), ..SessionQuery::default() };
        let page = stage.storage.transcripts.sessions(query).await.unwrap();
        let found: Vec<_> = page.sessions.iter().map(|found| found.session_id.name()).collect();
        assert_eq!((found, page.count), (expected.clone(), expected.len() as u64), "{search:?}");
    }
}

pub async fn a_reset_session_keeps_its_name_and_loses_its_messages(stage: Stage) {
    let turn = stage.turn(S, "my secret plan", "noted: zebra").await;
    assert!(stage.storage.transcripts.clear(&session(S), Clear::Reset).await.unwrap());
    let summary = stage.storage.transcripts.session(&session(S)).await.unwrap().unwrap();
    assert_eq!((summary.title.as_str(), summary.message_count), ("my secret plan", 0));
    assert!(stage.storage.transcripts.messages(&session(S), None, 9).await.unwrap().is_empty());
    assert!(stage.storage.turns.turn(&turn).await.unwrap().is_none());
    let retry = stage.storage.turns.accept(&TurnId::fresh(), &say(S, ""), Some(replacing("x", &turn))).await;
    assert!(retry.unwrap_err().is_not_found());
    stage.turn(S, "new", "old").await;
    let messages = stage.storage.transcripts.messages(&session(S), None, 9).await.unwrap();
    assert_eq!(texts(&messages), ["new", "old"]);
    let summary = stage.storage.transcripts.session(&session(S)).await.unwrap().unwrap();
    assert_eq!((summary.title.as_str(), summary.message_count), ("my secret plan", 2));
    assert!(!stage.storage.transcripts.clear(&session("webchat:none"), Clear::Delete).await.unwrap());
}
