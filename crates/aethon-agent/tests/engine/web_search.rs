//! Web searches by the model's provider: when they are allowed, and what follows from them.

use aethon_agent::Options;
use aethon_core::message::{Block, Inbound, TurnEnd};
use aethon_core::model::{ModelEvent, ProviderSearch, StopReason};
use aethon_core::surface::{ToolPhase, TurnEvent};
use aethon_core::testkit::Step;
use aethon_core::web_search::{Source, WebSearch};

use crate::harness::{House, Plan, quiet, says, session};

fn plan(searches: bool) -> Plan {
    let options = Options::default().with(|options| options.searches_beside_outside_text = searches);
    Plan { options, web_search: ProviderSearch::On, ..Plan::default() }
}

fn found() -> WebSearch {
    let source = Source::new("https://a.example/x", "A page").unwrap();
    WebSearch { query: "cats".into(), sources: vec![source], opaque: None }
}

fn searches_and_says(text: &str) -> Vec<Step> {
    vec![Step::Event(ModelEvent::Search(found())), Step::say(text), Step::finish(StopReason::End)]
}

#[tokio::test]
async fn a_search_is_shown_kept_and_its_pages_are_listed() {
    let harness = House::with([searches_and_says("Cats."), says("ok")], plan(true));
    let surface = quiet();
    let submitted = harness.submit(Inbound::say(session("a"), "Cats?"), surface.clone()).await;
    let reply = submitted.reply.wait().await.unwrap();
    let listed = "Cats.\n\nSources:\n\n- [A page](<https://a.example/x>)";
    assert_eq!((reply.end, reply.text.as_str()), (TurnEnd::End, listed));
    let events = surface.events();
    let tools = events.iter().filter_map(|(_, event)| match event {
        TurnEvent::Tool(tool) => Some((tool.name.as_str(), tool.phase)),
        _ => None,
    });
    assert_eq!(
        tools.collect::<Vec<_>>(),
        [("web_search", ToolPhase::Running), ("web_search", ToolPhase::Ok)]
    );
    harness.ask(&session("a"), "And?").await;
    let kept = &harness.model.requests()[1].messages[1].content;
    assert_eq!(kept[0], Block::Search(found()));
    assert!(kept[0].outside().is_some(), "it is text from outside");
}

#[tokio::test]
async fn searches_are_for_turns_that_the_owner_began() {
    let check = async |inbound: Inbound, searches: bool, expected: bool| {
        let harness = House::with([says("ok")], plan(searches));
        harness.submit(inbound.clone(), quiet()).await.reply.wait().await.unwrap();
        assert_eq!(harness.model.requests()[0].web_search, expected, "{inbound:?} {searches}");
    };
    let say = || Inbound::say(session("a"), "hi");
    check(say(), true, true).await;
    check(say(), false, true).await;
    check(say().with_untrusted(true), true, false).await;
    check(say().via("webhook"), true, false).await;
    let file = aethon_core::message::Attachment::new("a.txt", "text/plain", "aGk=");
    check(say().with_attachments(vec![file.clone()]), true, true).await;
    check(say().with_attachments(vec![file]), false, false).await;
}

#[tokio::test]
async fn search_results_do_not_end_the_search() {
    let harness = House::with([searches_and_says("Cats."), says("ok")], plan(false));
    for _ in 0..2 {
        harness.ask(&session("a"), "Cats?").await;
    }
    assert!(harness.model.requests().iter().all(|request| request.web_search));
}

#[tokio::test]
async fn a_model_that_cannot_search_is_reported_once() {
    let harness =
        House::with([says("ok"), says("ok")], Plan { web_search: ProviderSearch::Lacking, ..plan(true) });
    let surface = quiet();
    for _ in 0..2 {
        let submitted = harness.submit(Inbound::say(session("a"), "Cats?"), surface.clone()).await;
        submitted.reply.wait().await.unwrap();
    }
    let events = surface.events();
    let notices = events
        .iter()
        .filter(|(_, event)| matches!(event, TurnEvent::Notice { code, .. } if code == "no_web_search"));
    assert_eq!(notices.count(), 1);
}
