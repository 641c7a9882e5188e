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
