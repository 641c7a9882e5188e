//! What a turn tells, and in which order.

use aethon_core::event::Event;
use aethon_core::message::{Inbound, TurnEnd};
use aethon_core::model::{ModelEvent, StopReason};
use aethon_core::surface::TurnEvent;
use aethon_core::testkit::Step;
use aethon_core::untrusted;

use crate::house::{House, Plan, TestTool, What, calls, quiet, says, session, shown};

#[tokio::test]
async fn everything_is_shown_as_it_comes_and_the_end_once() {
    let tools = vec![TestTool::new("clock", What::Say("noon")) as _];
    let thinking = vec![
        Step::Event(ModelEvent::Reasoning("let me ".into())),
        Step::Event(ModelEvent::Reasoning("see".into())),
        Step::Event(ModelEvent::ReasoningDone { text: "let me see".into(), opaque: None }),
        Step::say("I look"),
        Step::call("c0", "clock", serde_json::json!({})),
        Step::finish(StopReason::ToolUse),
    ];
    let house = House::with([thinking, says("It is noon")], Plan { tools, ..Plan::default() });
    let surface = quiet();
    let inbound = Inbound::say(session("a"), "time?");
    let reply = house.submit(inbound, surface.clone()).await.reply.wait().await.unwrap();
    assert_eq!(reply.text, "It is noon");
    assert_eq!(reply.usage.input_tokens, 20);
    let expected = [
        "started",
        "thought let me ",
        "thought see",
        "text I look",
        "clock running",
        "clock ok",
        "text It is noon",
        "done end",
    ];
    assert_eq!(shown(&surface), expected);
    assert!(matches!(surface.events().last(), Some((_, TurnEvent::Done(_)))));
    let last = house.store.transcript(&session("a")).pop().unwrap();
    assert_eq!(last.stop_reason, Some(TurnEnd::End));
    assert_eq!(last.model.as_deref(), Some("scripted-1"));
}

#[tokio::test]
async fn those_who_watch_the_whole_are_told_too() {
    let house = House::new([]);
    let mut events = house.bus.subscribe();
    house.ask(&session("a"), "hi").await;
    let mut seen = Vec::new();
    while let Ok(event) = events.try_recv() {
        seen.push(match event {
            Event::Message { message, .. } => crate::house::told(&message),
            Event::Session { change, .. } => format!("{change:?}"),
            Event::TurnStarted { .. } => "turn".into(),
            Event::TurnEnded { end, .. } => end.as_str().into(),
            Event::Usage { entry, .. } => format!("{} tokens", entry.usage.input_tokens),
            other => format!("{other:?}"),
        });
    }
    assert_eq!(seen, ["turn", "user: hi", "Created", "10 tokens", "assistant: ok", "end", "Updated"]);
}

#[tokio::test]
async fn markers_of_untrusted_content_are_in_no_reply() {
    let repeated = untrusted::wrap("hello", &untrusted::boundary());
    let house = House::new([says(&repeated)]);
    let surface = quiet();
    let inbound = Inbound::say(session("a"), "say it");
    let reply = house.submit(inbound, surface.clone()).await.reply.wait().await.unwrap();
    assert_eq!(reply.text, "hello\n");
    assert_eq!(house.told(&session("a"))[1], "assistant: hello\n");
    assert_eq!(shown(&surface)[1], "text hello\n");
}

#[tokio::test]
async fn a_model_that_pauses_is_asked_to_go_on() {
    let pause = |text: &str| vec![Step::say(text), Step::finish(StopReason::Pause)];
    let house = House::new([pause("first"), says("second")]);
    assert_eq!(house.ask(&session("a"), "hi").await.text, "firstsecond", "it is one answer");
    assert_eq!(house.told(&session("a")), ["user: hi", "assistant: first", "assistant: second"]);
    let house = House::new((0..60).map(|_| pause("x")));
    house.ask(&session("a"), "hi").await;
    assert!(house.model.requests().len() < 12);
}

#[tokio::test]
async fn the_number_of_steps_is_limited() {
    let tools = vec![TestTool::new("next", What::Count) as _];
    let options = aethon_agent::Options { max_iterations: 5, ..aethon_agent::Options::default() };
    let house = House::with((0..9).map(|_| calls(&["next"])), Plan { tools, options, ..Plan::default() });
    let reply = house.ask(&session("a"), "go").await;
    assert_eq!(house.model.requests().len(), 5);
    assert_eq!((reply.end, reply.failure.as_ref().unwrap().code.as_str()), (TurnEnd::Limit, "iterations"));
    assert!(reply.text.contains("agent.max_iterations"), "{}", reply.text);
    house.assert_well_formed(&session("a"));
}
