//! Long-term memory: stored once, found, corrected, forgotten.

use super::stage::*;
use crate::memory::{
    Correction, MemoryEntry, MemoryId, MemoryListing, MemoryQuery, MemoryVector, NewMemory, Purpose,
    QueryVector, Reach, Scope,
};
use crate::order::{MemoryField, Order};
use crate::version::Expected;

impl Stage {
    async fn remember(&self, content: &str, category: &str) -> MemoryEntry {
        let memory = NewMemory::new(content, category, "api").unwrap();
        let stored = self.storage.memory.store(memory).await.unwrap();
        assert!(stored.is_new, "{content:?} was there");
        self.advance(1);
        stored.entry
    }

    /// The contents that are found, best first.
    async fn recall(&self, text: &str) -> Vec<String> {
        let hits = self.storage.memory.search(MemoryQuery::new(text, 5)).await.unwrap();
        hits.into_iter().map(|hit| hit.entry.content).collect()
    }

    async fn listed(&self, words: &str) -> Vec<String> {
        let listing = MemoryListing::newest(10).with_words(words);
        let page = self.storage.memory.list(listing).await.unwrap();
        assert_eq!(page.count, page.entries.len() as u64);
        page.entries.into_iter().map(|entry| entry.content).collect()
    }
}

pub async fn a_memory_is_kept_and_found_by_its_words(stage: Stage) {
    let rent = stage.remember("The rent is paid on the 5th of each month.", "money").await;
    stage.remember("Ada is allergic to walnuts.", "").await;
    assert_eq!((rent.category.as_str(), rent.source.as_str()), ("money", "api"));
    assert_eq!((rent.created_at, rent.updated_at, rent.last_recalled_at), (start(), start(), None));
    let hits = stage.storage.memory.search(MemoryQuery::new("walnuts?", 5)).await.unwrap();
    assert_eq!(hits.len(), 1, "{hits:?}");
    assert_eq!(hits[0].entry.category, "general");
    assert!(hits[0].score > 0.0 && hits[0].score <= 1.0 && hits[0].why.contains("walnuts"), "{hits:?}");
    assert_eq!(stage.recall("rent month").await, ["The rent is paid on the 5th of each month."]);
    assert!(stage.recall("zebra").await.is_empty());
    assert!(stage.recall("").await.is_empty());
    let money = MemoryQuery::new("walnuts rent", 5).in_category(Some("money".into()));
    let hits = stage.storage.memory.search(money).await.unwrap();
    assert_eq!(hits.iter().map(|hit| hit.entry.id).collect::<Vec<_>>(), [rent.id]);
    // What another program stores is found as well.
    let record = stage.beside.memory.show(&Reach::default(), rent.id).await.unwrap().unwrap();
    assert_eq!((record.entry, record.history.len()), (rent, 0));
}

pub async fn what_says_the_same_is_kept_once(stage: Stage) {
    let first = stage.remember("I take my tea without sugar.", "food").await;
    for same in
        ["i take my tea without sugar", " I take my TEA,\nwithout sugar!! ", "I take my tea without sugar."]
    {
        let again = stage.storage.memory.store(NewMemory::new(same, "other", "cli").unwrap()).await.unwrap();
        assert!(!again.is_new, "{same:?}");
        assert_eq!(again.entry, first);
    }
    assert_eq!(stage.listed("").await.len(), 1);
    stage.remember("I take my tea with sugar.", "food").await;
    stage.remember("The flat costs 1.5 thousand.", "").await;
    stage.remember("The flat costs 15 thousand.", "").await;
}

pub async fn a_correction_takes_the_place_and_leaves_history(stage: Stage) {
    let memory = &stage.storage.memory;
    let old = stage.remember("Ada lives in Lisbon.", "people").await;
    let reach = Reach::default();
    let correction = Correction::new(Some("Ada lives in Porto."), None, "webchat:a").unwrap();
    let new = memory.correct(&reach, old.id, correction.clone()).await.unwrap();
    assert_eq!(
        (new.id, new.content.as_str(), new.category.as_str()),
        (old.id, "Ada lives in Porto.", "people")
    );
    assert_eq!((new.created_at, new.source.as_str()), (old.created_at, "webchat:a"));
    assert!(new.updated_at > old.updated_at);
    assert!(stage.recall("Lisbon").await.is_empty(), "what is not true any more is not found");
    assert_eq!(stage.recall("Porto").await, ["Ada lives in Porto."]);
    let moved = Correction::new(None, Some("friends"), "").unwrap();
    assert_eq!(memory.correct(&reach, old.id, moved).await.unwrap().category, "friends");
    let again = memory.correct(&reach, old.id, Correction::default()).await.unwrap();
    assert_eq!(again.category, "friends");
    let history = memory.show(&reach, old.id).await.unwrap().unwrap().history;
    let said: Vec<_> = history.iter().map(|was| (was.content.as_str(), was.category.as_str())).collect();
    assert_eq!(said, [("Ada lives in Porto.", "people"), ("Ada lives in Lisbon.", "people")]);
    // The same text in different letters is still a correction, but one that says what another memory says is not.
    let louder = Correction::new(Some("ADA lives in Porto!"), None, "").unwrap();
    assert_eq!(memory.correct(&reach, old.id, louder).await.unwrap().content, "ADA lives in Porto!");
    let other = stage.remember("Ada has a dog.", "people").await;
    let twin = Correction::new(Some("ada lives in porto"), None, "").unwrap();
    assert!(memory.correct(&reach, other.id, twin).await.unwrap_err().is_invalid());
    let nobody = memory.correct(&reach, MemoryId(999), correction).await.unwrap_err();
    assert!(nobody.is_not_found());
    // Its former text may be stored again.
    stage.remember("Ada lives in Lisbon.", "people").await;
}

pub async fn a_memory_is_corrected_and_forgotten_only_as_expected(stage: Stage) {
    let (memory, reach) = (&stage.storage.memory, Reach::default());
    let seen = stage.remember("Ada lives in Lisbon.", "people").await;
    let correction =
        |text: &str, expected: Expected| Correction::new(Some(text), None, "").unwrap().expecting(expected);
    let as_seen = || Expected::OneOf(vec![seen.version()]);
    stage.recall("Ada").await;
    let porto = memory.correct(&reach, seen.id, correction("Ada lives in Porto.", as_seen())).await.unwrap();
    assert_ne!(porto.version(), seen.version());
    let late = memory.correct(&reach, seen.id, correction("Ada lives in Rome.", as_seen())).await;
    assert!(late.unwrap_err().is_changed_elsewhere());
    assert!(memory.forget(&reach, seen.id, as_seen()).await.unwrap_err().is_changed_elsewhere());
    assert_eq!(memory.show(&reach, seen.id).await.unwrap().unwrap().entry.content, "Ada lives in Porto.");
    assert!(memory.forget(&reach, seen.id, Expected::OneOf(vec![porto.version()])).await.unwrap());
    assert!(memory.forget(&reach, seen.id, Expected::Existing).await.unwrap_err().is_changed_elsewhere());
    let gone = memory.correct(&reach, seen.id, correction("x y", Expected::Existing)).await;
    assert!(gone.unwrap_err().is_changed_elsewhere());
}

pub async fn a_memory_that_is_forgotten_is_gone(stage: Stage) {
    let (memory, reach) = (&stage.storage.memory, Reach::default());
    let entry = stage.remember("The spare key lies under the flowerpot.", "").await;
    let correction = Correction::new(Some("The spare key is with Ada."), None, "").unwrap();
    memory.correct(&reach, entry.id, correction).await.unwrap();
    assert!(memory.forget(&reach, entry.id, Expected::Anything).await.unwrap());
    assert!(!memory.forget(&reach, entry.id, Expected::Anything).await.unwrap());
    assert!(memory.show(&reach, entry.id).await.unwrap().is_none());
    assert!(stage.recall("spare key flowerpot").await.is_empty());
    assert!(stage.listed("").await.is_empty());
    assert_eq!(memory.stats(&reach).await.unwrap().versions, 0);
    let again = stage.remember("The spare key is with Ada.", "").await;
    assert_ne!(again.id, entry.id, "an id is never given twice");
}

pub async fn memories_are_listed_newest_first_in_pages(stage: Stage) {
    for number in 1..=7 {
        stage.remember(&format!("Fact number {number}."), if number == 3 { "odd" } else { "" }).await;
    }
    let reach = Reach::default();
    let third = stage.listed("3").await;
    assert_eq!(third, ["Fact number 3."]);
    let mut cursor = None;
    let mut seen = Vec::new();
    loop {
        let listing = MemoryListing::newest(3).from_cursor(cursor);
        let page = stage.storage.memory.list(listing).await.unwrap();
        assert_eq!(page.count, 7);
        seen.extend(page.entries.into_iter().map(|entry| entry.content));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    let expected: Vec<String> = (1..=7).rev().map(|number| format!("Fact number {number}.")).collect();
    assert_eq!(seen, expected);
    assert_eq!(stage.listed("fact numb").await.len(), 7, "the last word need not be whole");
    assert!(stage.listed("fact zebra").await.is_empty(), "all words have to be there");
    let odd = MemoryListing::newest(3).in_category(Some("odd".into()));
    assert_eq!(stage.storage.memory.list(odd).await.unwrap().count, 1);
    let stats = stage.storage.memory.stats(&reach).await.unwrap();
    assert_eq!(stats.entries, 7);
    assert_eq!(stats.categories, [("general".to_owned(), 6), ("odd".to_owned(), 1)]);
    let nonsense = MemoryListing::newest(3).from_cursor(Some("nonsense".into()));
    assert!(stage.storage.memory.list(nonsense).await.unwrap_err().is_invalid());
}

pub async fn memories_are_sorted_by_any_field_in_stable_pages(stage: Stage) {
    let memory = &stage.storage.memory;
    let mut ids = Vec::new();
    for (content, category, scope) in [
        ("pears", "fruit", "ben"),
        ("Apples", "fruit", "shared"),
        ("bread", "Baking", "ben"),
        ("ärger", "mood", "shared"),
    ] {
        let new = NewMemory::new(content, category, "api").unwrap().of(Scope::named(scope));
        ids.push(memory.store(new).await.unwrap().entry.id);
        stage.advance(1);
    }
    let corrected = Correction::new(Some("pears and plums"), None, "chat").unwrap();
    memory.correct(&Reach::All, ids[0], corrected).await.unwrap();
    let listing =
        |order, cursor| MemoryListing::newest(1).of(Reach::All).from_cursor(cursor).in_order(Some(order));
    let read = async |order, words: &str| {
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let page = memory.list(listing(order, cursor).with_words(words)).await.unwrap();
            seen.extend(page.entries.iter().map(|entry| ids.iter().position(|id| *id == entry.id).unwrap()));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break (seen, page.count);
            }
        }
    };
    let check = async |by, up: [usize; 4]| {
        let mut down = up;
        down.reverse();
        assert_eq!(read(Order::ascending(by), "").await, (up.to_vec(), 4), "{by:?}");
        assert_eq!(read(Order::descending(by), "").await, (down.to_vec(), 4), "{by:?}");
    };
    check(MemoryField::Updated, [1, 2, 3, 0]).await;
    check(MemoryField::Created, [0, 1, 2, 3]).await;
    check(MemoryField::Content, [1, 2, 0, 3]).await;
    check(MemoryField::Category, [2, 0, 1, 3]).await;
    assert_eq!(read(Order::ascending(MemoryField::Content), "pears").await, (vec![0], 1));

    let order = Order::ascending(MemoryField::Content);
    let first = memory.list(listing(order, None)).await.unwrap();
    memory.forget(&Reach::All, ids[1], Expected::Anything).await.unwrap();
    let second = memory.list(listing(order, first.next_cursor.clone())).await.unwrap();
    assert_eq!((second.entries[0].id, second.count), (ids[2], 3));
    let other = Order::descending(MemoryField::Content);
    assert!(memory.list(listing(other, first.next_cursor)).await.unwrap_err().is_invalid());
}

pub async fn memories_of_somebody_else_are_not_seen(stage: Stage) {
    let (memory, scope) = (&stage.storage.memory, Scope::named("ben"));
    let reach = Reach::from(scope.clone());
    let own = stage.remember("The oven is from Bosch.", "").await;
    let theirs = NewMemory::new("The oven is from Bosch.", "", "api").unwrap().of(scope.clone());
    let theirs = memory.store(theirs).await.unwrap();
    assert!(theirs.is_new && theirs.entry.id != own.id && theirs.entry.scope == scope);
    let query = MemoryQuery::new("oven", 5).of(scope.clone());
    let hits = memory.search(query).await.unwrap();
    assert_eq!(hits.iter().map(|hit| hit.entry.id).collect::<Vec<_>>(), [theirs.entry.id]);
    assert_eq!(memory.list(MemoryListing::newest(5).of(scope.clone())).await.unwrap().count, 1);
    assert!(memory.show(&reach, own.id).await.unwrap().is_none());
    assert!(!memory.forget(&reach, own.id, Expected::Anything).await.unwrap());
    assert!(memory.correct(&reach, own.id, Correction::default()).await.unwrap_err().is_not_found());
    assert_eq!(stage.recall("oven").await.len(), 1);
}

pub async fn who_sees_several_finds_the_memories_of_each(stage: Stage) {
    let memory = &stage.storage.memory;
    let mut ids = vec![stage.remember("The owner's oven is from Bosch.", "").await.id];
    for name in ["ben", "shared", "cleo"] {
        let theirs = NewMemory::new(&format!("The oven of {name} is from Siemens."), name, "api").unwrap();
        ids.push(memory.store(theirs.of(Scope::named(name))).await.unwrap().entry.id);
        stage.advance(1);
    }
    let both = Reach::Of(vec![Scope::named("ben"), Scope::shared()]);
    let found = async |reach: &Reach, limit: usize| {
        let hits = memory.search(MemoryQuery::new("oven", limit).of(reach.clone())).await.unwrap();
        assert!(hits.windows(2).all(|two| two[0].score >= two[1].score), "{hits:?}");
        let mut found: Vec<_> = hits.iter().map(|hit| hit.entry.id).collect();
        found.sort();
        found
    };
    assert_eq!(found(&both, 5).await, ids[1..3]);
    assert_eq!(found(&both, 1).await.len(), 1);
    assert_eq!(found(&Reach::All, 5).await, ids);
    // The pages cover all of them, in one order.
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let page = memory.list(MemoryListing::newest(1).of(both.clone()).from_cursor(cursor)).await.unwrap();
        assert_eq!(page.count, 2);
        seen.extend(page.entries.into_iter().map(|entry| entry.id));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, [ids[2], ids[1]]);
    let all = memory.list(MemoryListing::newest(10).of(Reach::All).with_words("oven")).await.unwrap();
    assert_eq!((all.count, all.entries[0].scope.as_str()), (4, "cleo"));
    let stats = memory.stats(&both).await.unwrap();
    assert_eq!((stats.entries, stats.categories.len()), (2, 2));
    assert_eq!(memory.stats(&Reach::All).await.unwrap().entries, 4);
    // A memory within reach is changed in place; one out of reach stays.
    let moved = Correction::new(Some("Ben's oven is from Miele."), None, "").unwrap();
    assert_eq!(memory.correct(&both, ids[1], moved).await.unwrap().scope, Scope::named("ben"));
    assert!(!memory.forget(&both, ids[3], Expected::Anything).await.unwrap());
    assert!(memory.forget(&Reach::All, ids[3], Expected::Anything).await.unwrap());
    assert!(memory.show(&Reach::All, ids[1]).await.unwrap().is_some());
}

pub async fn only_a_search_for_a_model_counts_as_recall(stage: Stage) {
    let memory = &stage.storage.memory;
    let entry = stage.remember("The cat is called Momo.", "").await;
    stage.remember("The car is a Fiat.", "").await;
    let recalled =
        async || memory.show(&Reach::default(), entry.id).await.unwrap().unwrap().entry.last_recalled_at;
    memory.search(MemoryQuery::new("cat Momo", 5)).await.unwrap();
    assert_eq!(recalled().await, None);
    for purpose in [Purpose::Ask, Purpose::Recall] {
        stage.advance(60);
        let before = recalled().await;
        let hits = memory.search(MemoryQuery::new("cat called Momo", 5).for_purpose(purpose)).await.unwrap();
        assert!(hits.iter().any(|hit| hit.entry.id == entry.id), "{hits:?}");
        assert!(recalled().await > before, "{purpose:?}");
    }
    assert_eq!(memory.stats(&Reach::default()).await.unwrap().recalled, 1);
}

pub async fn vectors_of_memories_are_made_later(stage: Stage) {
    let memory = &stage.storage.memory;
    let cat = stage.remember("The cat is called Momo.", "").await;
    let car = stage.remember("The car is a Fiat.", "").await;
    let missing = memory.without_vector("m", 10).await.unwrap();
    assert_eq!(missing, [(cat.id, cat.content.clone()), (car.id, car.content.clone())]);
    let vector = |entry: &MemoryEntry, numbers: [f32; 2]| MemoryVector {
        id: entry.id,
        content: entry.content.clone(),
        numbers: numbers.into(),
    };
    let stale = MemoryVector { content: "The car is a Ford.".into(), ..vector(&car, [0.0, 1.0]) };
    memory.put_vectors("m", vec![vector(&cat, [1.0, 0.0]), stale]).await.unwrap();
    assert_eq!(memory.without_vector("m", 10).await.unwrap(), [(car.id, car.content.clone())]);
    memory.put_vectors("m", vec![vector(&car, [0.0, 1.0])]).await.unwrap();
    let near = |numbers: [f32; 2]| {
        let vector = QueryVector { model: "m".into(), numbers: numbers.into() };
        MemoryQuery::new("pet", 1).with_vector(Some(vector))
    };
    let hits = memory.search(near([0.99, 0.1])).await.unwrap();
    assert_eq!(hits.iter().map(|hit| hit.entry.id).collect::<Vec<_>>(), [cat.id], "{hits:?}");
    assert!(hits[0].why.contains("meaning"), "{hits:?}");
    assert_eq!(memory.stats(&Reach::default()).await.unwrap().with_vector, 2);
    assert_eq!(
        memory.without_vector("other", 10).await.unwrap().len(),
        2,
        "another model makes other vectors"
    );
    let correction = Correction::new(Some("The car is a Ford."), None, "").unwrap();
    memory.correct(&Reach::default(), car.id, correction).await.unwrap();
    assert_eq!(memory.without_vector("m", 1).await.unwrap(), [(car.id, "The car is a Ford.".to_owned())]);
}
