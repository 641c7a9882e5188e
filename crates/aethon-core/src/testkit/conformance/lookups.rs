//! Lookups: passages of a conversation, and facts learnt about models.

use super::stage::*;
use crate::history::{HistoryQuery, PassageSource};
use crate::learned::{ModelFact, ModelKey};

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
