//! Lookups: passages of a conversation, and facts learnt about models.

use super::stage::*;
use crate::history::{HistoryQuery, MessageQuery, PassageSource};
use crate::ids::{MessageId, TurnId};
use crate::learned::{ModelFact, ModelKey};
use crate::message::{Message, Role};

const S: &str = "webchat:default";

pub async fn a_passage_of_the_session_is_found_again(stage: Stage) {
    stage.turn(S, "My daughter Ada is allergic to walnuts.", "I will remember that.").await;
    stage.turn(S, "The staging database listens on port 6543.", "Noted.").await;
    stage.turn("webchat:other", "walnuts elsewhere", "ok").await;
    let asking = stage.open_turn(S, "walnuts?").await;
    let search = async |words: &str| {
        let query = HistoryQuery { words: words.into(), except: Some(asking.clone()), limit: 5, chars: 200 };
        stage.storage.history.search(&session(S), query).await.unwrap()
    };
    let found = search("walnuts").await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].source, PassageSource::Person);
    assert!(found[0].text.contains("Ada"), "{found:?}");
    assert!(search("staging port").await[0].text.contains("6543"));
    assert!(search("zebra").await.is_empty());
    assert!(search("").await.is_empty());
}

pub async fn a_message_is_found_in_all_conversations_newest_first(stage: Stage) {
    let first = stage.turn(S, "Where is the Café in Zürich?", "By the lake.").await;
    stage.turn("webchat:other", "A cafeteria, please", "The cafe is closed.").await;
    stage.turn(S, "Something else", "Nothing of the kind").await;
    let find = async |words: &str, session: Option<&str>, before: Option<MessageId>, limit: usize| {
        let session = session.map(crate::testkit::conformance::stage::session);
        let query = MessageQuery { words: words.into(), session, before, limit };
        stage.storage.history.find(query).await.unwrap()
    };
    let all = find("CAFE", None, None, 9).await;
    let told: Vec<_> = all.hits.iter().map(|hit| (hit.session_id.as_str(), hit.role)).collect();
    let expected = [("webchat:other", Role::Assistant), ("webchat:other", Role::User), (S, Role::User)];
    assert_eq!((told.as_slice(), all.has_more), (expected.as_slice(), false));
    let hit = &all.hits[2];
    assert_eq!((hit.turn.as_ref(), hit.title.as_str()), (Some(&first), "Where is the Café in Zürich?"));
    let marked: Vec<&str> = hit.snippet.iter().filter(|part| part.hit).map(|part| part.text.trim()).collect();
    assert_eq!(marked, ["Café"]);
    let text: String = hit.snippet.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(text, "Where is the Café in Zürich?");
    let page = find("cafe", None, None, 2).await;
    assert!(page.has_more && page.hits == all.hits[..2]);
    let next = find("cafe", None, Some(page.hits[1].message_id), 2).await;
    assert!(!next.has_more && next.hits == all.hits[2..]);
    assert_eq!(find("cafe zurich", Some(S), None, 9).await.hits.len(), 1, "all words, in one session");
    assert!(find("cafe zurich", Some("webchat:other"), None, 9).await.hits.is_empty());
    assert!(find("cafe", Some("webchat:none"), None, 9).await.hits.is_empty());
    for nothing in ["", "\" OR 1=1 --", "***", "zzz"] {
        assert!(find(nothing, None, None, 9).await.hits.is_empty(), "{nothing}");
    }
    stage.turn("webchat:other", "Николай, ёлка и Αθήνα", "да").await;
    for words in ["Николай", "ёлка", "αθήνα"] {
        assert_eq!(find(words, None, None, 9).await.hits.len(), 1, "{words}");
    }
    let edit = TurnId::fresh();
    stage.storage.turns.accept(&edit, &say(S, "x"), Some(replacing("x", &first))).await.unwrap();
    assert!(find("zurich", None, None, 9).await.hits.is_empty(), "what was replaced is not found");
}

pub async fn messages_after_one_are_read_on(stage: Stage) {
    for number in 0..3 {
        stage.turn(S, &format!("question {number}"), &format!("answer {number}")).await;
    }
    let all = stage.storage.transcripts.messages(&session(S), None, 99).await.unwrap();
    let after = async |id: MessageId, limit: usize| {
        stage.storage.history.messages_after(&session(S), id, limit).await.unwrap()
    };
    let ids = |messages: &[Message]| messages.iter().map(|message| message.id).collect::<Vec<_>>();
    assert_eq!(ids(&after(MessageId(0), 99).await), ids(&all));
    assert_eq!(ids(&after(all[1].id, 2).await), ids(&all[2..4]));
    assert!(after(all[5].id, 2).await.is_empty());
    let elsewhere = stage.storage.history.messages_after(&session("webchat:none"), MessageId(0), 9).await;
    assert!(elsewhere.unwrap().is_empty());
}

pub async fn what_was_learnt_last_about_a_model_counts(stage: Stage) {
    let key = |model: &str| ModelKey { provider: "p".into(), host: String::new(), model: model.into() };
    let models = &stage.storage.models;
    models.remember(&key("a"), ModelFact::ContextWindow(1000)).await.unwrap();
    models.remember(&key("a"), ModelFact::TokenRatio(1.5)).await.unwrap();
    models.remember(&key("b"), ModelFact::ContextWindow(3000)).await.unwrap();
    models.remember(&key("a"), ModelFact::ContextWindow(2000)).await.unwrap();
    let mut known = models.recall().await.unwrap();
    known.sort_by_key(|(key, fact)| (key.clone(), matches!(fact, ModelFact::TokenRatio(_))));
    let expected = [
        (key("a"), ModelFact::ContextWindow(2000)),
        (key("a"), ModelFact::TokenRatio(1.5)),
        (key("b"), ModelFact::ContextWindow(3000)),
    ];
    assert_eq!(known, expected);
}

pub async fn what_was_put_aside_is_read_branch_by_branch(stage: Stage) {
    let storage = &stage.storage;
    let read = async || -> Vec<(bool, String)> {
        let mut all: Vec<(MessageId, Message)> = Vec::new();
        loop {
            let after = all.last().map(|(_, message)| message.id);
            let page = storage.history.aside(&session(S), after, 2).await.unwrap();
            if page.is_empty() {
                break;
            }
            assert!(page.len() <= 2);
            all.extend(page.into_iter().map(|aside| (aside.branch, aside.message)));
        }
        all.iter().map(|(branch, message)| (message.id == *branch, message.text())).collect()
    };
    assert!(read().await.is_empty(), "there is no such session yet");
    let first = stage.turn(S, "one", "1").await;
    stage.turn(S, "after one", "1a").await;
    assert!(read().await.is_empty());
    let mut last = first.clone();
    for (text, reply) in [("two", "2"), ("three", "3")] {
        let by = TurnId::fresh();
        storage.turns.accept(&by, &say(S, text), Some(replacing(text, &last))).await.unwrap();
        storage.turns.finish(finish(&by, S, reply)).await.unwrap();
        last = by;
    }
    let pairs = |all: &[(bool, &str)]| -> Vec<(bool, String)> {
        all.iter().map(|(heads, text)| (*heads, (*text).to_owned())).collect()
    };
    let aside =
        [(true, "one"), (false, "1"), (false, "after one"), (false, "1a"), (true, "two"), (false, "2")];
    assert_eq!(read().await, pairs(&aside));
    storage.history.switch(&session(S), &first).await.unwrap();
    assert_eq!(read().await, pairs(&[(true, "two"), (false, "2"), (true, "three"), (false, "3")]));
}

pub async fn a_version_comes_back_with_what_followed_it(stage: Stage) {
    let storage = &stage.storage;
    let texts = async || -> Vec<String> {
        let messages = storage.transcripts.messages(&session(S), None, 99).await.unwrap();
        messages.iter().map(Message::text).collect()
    };
    let replace = async |turn: &TurnId, text: &str, reply: &str| {
        let by = TurnId::fresh();
        storage.turns.accept(&by, &say(S, text), Some(replacing(text, turn))).await.unwrap();
        storage.turns.finish(finish(&by, S, reply)).await.unwrap();
        by
    };
    let switch = async |turn: &TurnId| storage.history.switch(&session(S), turn).await;
    let shown = async || -> Vec<(TurnId, Vec<TurnId>)> {
        let all = storage.history.versions(&session(S)).await.unwrap();
        all.into_iter().map(|versions| (versions.turn, versions.turns)).collect()
    };
    stage.turn(S, "before", "yes").await;
    let first = stage.turn(S, "one", "1").await;
    let after = stage.turn(S, "after one", "1a").await;
    assert!(shown().await.is_empty());
    let inner = replace(&after, "after one, edited", "1b").await;
    let second = replace(&first, "two", "2").await;
    let third = replace(&second, "three", "3").await;
    let family = vec![first.clone(), second.clone(), third.clone()];
    assert_eq!(texts().await, ["before", "yes", "three", "3"]);
    assert_eq!(shown().await, [(third.clone(), family.clone())]);
    switch(&first).await.unwrap();
    let within = (inner.clone(), vec![after.clone(), inner.clone()]);
    assert_eq!(texts().await, ["before", "yes", "one", "1", "after one, edited", "1b"]);
    assert_eq!(shown().await, [(first.clone(), family.clone()), within.clone()]);
    switch(&second).await.unwrap();
    assert_eq!(texts().await, ["before", "yes", "two", "2"]);
    assert!(switch(&after).await.unwrap_err().is_not_found(), "its question is not in the conversation");
    let window = storage.turns.window(&session(S), 99).await.unwrap();
    assert_eq!(window.len(), 4, "a model sees the live branch only");
    let summary = storage.transcripts.session(&session(S)).await.unwrap().unwrap();
    assert_eq!(summary.message_count, 4);
    // What is said now follows the second version, and a further one joins the others.
    let running = stage.open_turn(S, "after two").await;
    assert!(switch(&first).await.unwrap_err().is_busy());
    storage.turns.finish(finish(&running, S, "2a")).await.unwrap();
    let fourth = replace(&second, "four", "4").await;
    switch(&second).await.unwrap();
    switch(&second).await.unwrap();
    assert_eq!(texts().await, ["before", "yes", "two", "2", "after two", "2a"]);
    switch(&first).await.unwrap();
    switch(&after).await.unwrap();
    assert_eq!(texts().await, ["before", "yes", "one", "1", "after one", "1a"]);
    let family = vec![first.clone(), second, third, fourth.clone()];
    assert_eq!(shown().await, [(first, family), (after, within.1)]);
    switch(&fourth).await.unwrap();
    assert_eq!(texts().await, ["before", "yes", "four", "4"]);
    assert!(switch(&TurnId::fresh()).await.unwrap_err().is_not_found());
    let elsewhere = storage.history.switch(&session("webchat:none"), &fourth).await;
    assert!(elsewhere.unwrap_err().is_not_found());
}
