//! The bin: what was deleted is gone for everybody, and comes back whole.

use super::stage::*;
use crate::history::MessageQuery;
use crate::ids::TurnId;
use crate::session::{Accepted, BinId, BinQuery, Binned, Clear, Discard, SessionQuery, TurnPhase};
use crate::storage::Retention;
use crate::version::Expected;

const S: &str = "webchat:default";

const ALL: BinQuery = BinQuery { limit: 10, before: None };

async fn delete(stage: &Stage, id: &str) {
    let gone = stage.storage.transcripts.clear(&session(id), Clear::Bin(Expected::Anything)).await.unwrap();
    assert!(gone, "{id}");
}

/// The ids of what lies in the bin, last deleted first.
async fn bin(stage: &Stage) -> Vec<String> {
    let page = stage.storage.transcripts.binned(ALL).await.unwrap();
    assert_eq!((page.count, page.has_more), (page.sessions.len() as u64, false));
    page.sessions.iter().map(|binned| binned.summary.session_id.to_string()).collect()
}

async fn hits(stage: &Stage, words: &str) -> usize {
    let query = MessageQuery { words: words.into(), session: None, before: None, limit: 9 };
    stage.storage.history.find(query).await.unwrap().hits.len()
}

pub async fn a_session_in_the_bin_is_gone_and_comes_back_whole(stage: Stage) {
    let (transcripts, id) = (&stage.storage.transcripts, session(S));
    let first = TurnId::fresh();
    let inbound = say_as(S, "the plan of Ada", "k", Some(3600));
    stage.storage.turns.accept(&first, &inbound, Some(begin("the plan of Ada"))).await.unwrap();
    stage.storage.turns.finish(finish(&first, S, "noted: zebra")).await.unwrap();
    let again = TurnId::fresh();
    let retry = replacing("the plan of Ada", &first);
    stage.storage.turns.accept(&again, &say(S, "the plan of Ada"), Some(retry)).await.unwrap();
    stage.storage.turns.finish(finish(&again, S, "noted: heron")).await.unwrap();
    let before = transcripts.session(&id).await.unwrap().unwrap();
    let messages = transcripts.messages(&id, None, 9).await.unwrap();
    let versions = stage.storage.history.versions(&id).await.unwrap();
    assert_eq!((versions.len(), hits(&stage, "heron").await), (1, 1));

    let other = Expected::OneOf(Vec::new());
    assert!(transcripts.clear(&id, Clear::Bin(other)).await.unwrap_err().is_changed_elsewhere());
    delete(&stage, S).await;
    assert!(!transcripts.clear(&id, Clear::Bin(Expected::Anything)).await.unwrap(), "it is gone already");
    assert!(transcripts.session(&id).await.unwrap().is_none());
    assert!(transcripts.messages(&id, None, 9).await.unwrap().is_empty());
    assert_eq!(transcripts.sessions(SessionQuery::newest(9)).await.unwrap().count, 0);
    assert_eq!(hits(&stage, "heron").await, 0);
    assert!(stage.storage.turns.turn(&again).await.unwrap().is_none());
    let Accepted::Known(record) = stage.storage.turns.accept(&TurnId::fresh(), &inbound, None).await.unwrap()
    else {
        panic!("it would run again");
    };
    assert_eq!((record.phase, record.inbound.text.as_str()), (TurnPhase::Done, ""));
    assert_eq!(record.reply.unwrap().text, "", "the answer is gone like the question");
    let retry = stage.storage.turns.accept(&TurnId::fresh(), &say(S, ""), Some(replacing("x", &again))).await;
    assert!(retry.unwrap_err().is_not_found());

    let page = stage.beside.transcripts.binned(ALL).await.unwrap();
    assert_eq!((page.count, page.sessions[0].deleted_at), (1, start()));
    assert_eq!(page.sessions[0].summary.title, before.title);
    assert_eq!(page.sessions[0].summary.message_count, before.message_count);
    let place = page.sessions[0].bin_id;
    assert_eq!(transcripts.restore(Binned::Place(BinId(place.0 + 1000))).await.unwrap(), None);
    assert_eq!(transcripts.restore(Binned::Place(place)).await.unwrap(), Some(id.clone()));
    assert_eq!(transcripts.restore(Binned::Place(place)).await.unwrap(), None, "it was taken out");
    assert_eq!(transcripts.session(&id).await.unwrap(), Some(before));
    assert_eq!(transcripts.messages(&id, None, 9).await.unwrap(), messages);
    assert_eq!(stage.storage.history.versions(&id).await.unwrap(), versions);
    assert_eq!(hits(&stage, "heron").await, 1);
    assert!(bin(&stage).await.is_empty());
    stage.storage.history.switch(&id, &first).await.unwrap();
    assert_eq!(
        texts(&transcripts.messages(&id, None, 9).await.unwrap()),
        ["the plan of Ada", "noted: zebra"]
    );
}

pub async fn a_new_session_has_the_name_of_one_in_the_bin_to_itself(stage: Stage) {
    let (transcripts, id) = (&stage.storage.transcripts, session(S));
    stage.turn(S, "old", "1").await;
    delete(&stage, S).await;
    stage.advance(1);
    stage.turn(S, "middle", "2").await;
    delete(&stage, S).await;
    stage.advance(1);
    assert_eq!(bin(&stage).await, [S, S]);
    stage.turn(S, "new", "3").await;
    assert_eq!(texts(&transcripts.messages(&id, None, 9).await.unwrap()), ["new", "3"]);

    let back = transcripts.restore(Binned::Last(id.clone())).await.unwrap().unwrap();
    assert_eq!(back, id.numbered(2), "the name is taken");
    assert_eq!(texts(&transcripts.messages(&back, None, 9).await.unwrap()), ["middle", "2"]);
    let older = transcripts.restore(Binned::Last(id.clone())).await.unwrap().unwrap();
    assert_eq!(older, id.numbered(3));
    let messages = transcripts.messages(&older, None, 9).await.unwrap();
    assert_eq!(texts(&messages), ["old", "1"]);
    assert_eq!(transcripts.restore(Binned::Last(id.clone())).await.unwrap(), None);
    let turn = messages[0].turn.clone().unwrap();
    assert_eq!(stage.storage.turns.turn(&turn).await.unwrap().unwrap().inbound.session, older);
    // Each goes on by itself.
    stage.turn(older.as_str(), "more", "4").await;
    assert_eq!(texts(&transcripts.messages(&older, None, 9).await.unwrap()), ["old", "1", "more", "4"]);
    assert_eq!(texts(&transcripts.messages(&id, None, 9).await.unwrap()), ["new", "3"]);
}

pub async fn the_bin_is_paged_and_emptied(stage: Stage) {
    let transcripts = &stage.storage.transcripts;
    for id in ["webchat:a", "webchat:b", "webchat:c", "webchat:a"] {
        stage.turn(id, "q", "a").await;
        delete(&stage, id).await;
        stage.advance(1);
    }
    let mut found = Vec::new();
    let mut before = None;
    loop {
        let page = transcripts.binned(BinQuery { limit: 3, before }).await.unwrap();
        assert_eq!(page.count, 4);
        found.extend(page.sessions.iter().map(|binned| binned.summary.session_id.to_string()));
        before = page.sessions.last().map(|binned| (binned.deleted_at, binned.bin_id));
        if !page.has_more {
            break;
        }
    }
    assert_eq!(found, ["webchat:a", "webchat:c", "webchat:b", "webchat:a"]);
    assert_eq!(transcripts.discard(Discard::Named(session("webchat:a"))).await.unwrap(), 2);
    assert_eq!(bin(&stage).await, ["webchat:c", "webchat:b"]);
    let place = transcripts.binned(ALL).await.unwrap().sessions[0].bin_id;
    assert_eq!(transcripts.discard(Discard::One(place)).await.unwrap(), 1);
    assert_eq!(transcripts.discard(Discard::One(place)).await.unwrap(), 0);
    stage.turn("webchat:d", "q", "a").await;
    assert_eq!(transcripts.discard(Discard::All).await.unwrap(), 1);
    assert!(bin(&stage).await.is_empty());
    assert_eq!(
        transcripts.sessions(SessionQuery::newest(9)).await.unwrap().count,
        1,
        "what was not deleted stays"
    );
}

pub async fn what_lies_in_the_bin_has_its_time(stage: Stage) {
    const DAY: i64 = 86_400;
    let retention = Retention::of_oneshots(30).with_bin(7);
    for id in ["webchat:a", "webchat:b"] {
        stage.turn(id, "q", "a").await;
        delete(&stage, id).await;
        stage.advance(DAY);
    }
    for _ in 0..5 {
        stage.advance(DAY);
        assert_eq!(stage.storage.upkeep.maintain(retention).await.unwrap().binned, 0);
    }
    stage.advance(DAY / 2);
    assert_eq!(stage.storage.upkeep.maintain(retention).await.unwrap().binned, 1);
    assert_eq!(bin(&stage).await, ["webchat:b"]);
    assert_eq!(stage.storage.upkeep.maintain(retention.with_bin(0)).await.unwrap().binned, 1);
}

pub async fn a_made_title_takes_the_place_of_first_words_only(stage: Stage) {
    let (transcripts, id) = (&stage.storage.transcripts, session(S));
    let title = async || transcripts.session(&id).await.unwrap().unwrap().title;
    assert!(!transcripts.suggest_title(&id, "Nothing").await.unwrap(), "there is no such session");
    let turn = stage.turn(S, "how do I grow plums", "1").await;
    assert!(transcripts.suggest_title(&id, "Growing plums").await.unwrap());
    assert_eq!(title().await, "Growing plums");
    let edit = TurnId::fresh();
    stage
        .storage
        .turns
        .accept(&edit, &say(S, "and pears"), Some(replacing("and pears", &turn)))
        .await
        .unwrap();
    stage.storage.turns.finish(finish(&edit, S, "2")).await.unwrap();
    assert_eq!(title().await, "Growing plums", "it stays");
    assert!(!transcripts.suggest_title(&id, "Once more").await.unwrap());
    let patch = crate::session::SessionPatch::title("Mine");
    transcripts.patch(&id, &patch, Expected::Anything).await.unwrap();
    assert!(!transcripts.suggest_title(&id, "Theirs").await.unwrap());
    assert_eq!(title().await, "Mine");
}
