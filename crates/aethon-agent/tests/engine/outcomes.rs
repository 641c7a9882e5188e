//! The events of a turn, and their order.

use aethon_core::event::Event;
use aethon_core::message::{Block, Inbound, Opaque, Role, TurnEnd};
use aethon_core::model::{ModelEvent, ModelRequest, StopReason};
use aethon_core::surface::TurnEvent;
use aethon_core::testkit::Step;
use aethon_core::untrusted;
use serde_json::json;

use crate::harness::{House, Plan, TestTool, What, calls, quiet, says, session, shown};

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
    let harness = House::with([thinking, says("It is noon")], Plan { tools, ..Plan::default() });
    let surface = quiet();
    let inbound = Inbound::say(session("a"), "time?");
    let reply = harness.submit(inbound, surface.clone()).await.reply.wait().await.unwrap();
    assert_eq!(reply.text, "It is noon");
    assert_eq!(reply.usage.input_tokens, 20);
    let expected = [
        "started",
        "thought let me ",
        "thought see",
        "thought",
        "text I look",
        "clock running",
        "clock ok",
        "text It is noon",
        "done end",
    ];
    assert_eq!(shown(&surface), expected);
    assert!(matches!(surface.events().last(), Some((_, TurnEvent::Done(_)))));
    let stored = harness.store.transcript(&session("a"));
    let is_timed =
        |block: &Block| matches!(block, Block::Reasoning { text, ms: Some(_), .. } if text == "let me see");
    assert!(stored.iter().flat_map(|message| &message.content).any(is_timed), "how long it thought is kept");
    let last = stored.last().unwrap();
    assert_eq!(last.stop_reason, Some(TurnEnd::End));
    assert_eq!(last.model.as_deref(), Some("scripted-1"));
}

#[tokio::test]
async fn bus_subscribers_see_all_events_of_a_turn() {
    let harness = House::new([]);
    let mut events = harness.bus.subscribe();
    harness.ask(&session("a"), "hi").await;
    let mut seen = Vec::new();
    // The call is announced last.
    while !seen.last().is_some_and(|last: &String| last.ends_with(" tokens")) {
        seen.push(match events.recv().await.unwrap() {
            Event::Message { message, .. } => crate::harness::describe(&message),
            Event::Session { change, .. } => format!("{change:?}"),
            Event::TurnStarted { .. } => "turn".into(),
            Event::TurnEnded { end, .. } => end.as_str().into(),
            Event::Usage { entry, .. } => format!("{} tokens", entry.usage.input_tokens),
            other => format!("{other:?}"),
        });
    }
    assert_eq!(seen, ["turn", "user: hi", "Created", "assistant: ok", "end", "Updated", "10 tokens"]);
}

#[tokio::test]
async fn markers_of_untrusted_content_are_in_no_reply() {
    let repeated = untrusted::wrap("hello", &untrusted::boundary());
    let harness = House::new([says(&repeated)]);
    let surface = quiet();
    let inbound = Inbound::say(session("a"), "say it");
    let reply = harness.submit(inbound, surface.clone()).await.reply.wait().await.unwrap();
    assert_eq!(reply.text, "hello\n");
    assert_eq!(harness.transcript(&session("a"))[1], "assistant: hello\n");
    assert_eq!(shown(&surface)[1], "text hello\n");
}

#[tokio::test]
async fn paused_model_is_asked_to_continue() {
    let pause = |text: &str| vec![Step::say(text), Step::finish(StopReason::Pause)];
    let harness = House::new([pause("first"), says("second")]);
    assert_eq!(harness.ask(&session("a"), "hi").await.text, "firstsecond", "it is one answer");
    assert_eq!(harness.transcript(&session("a")), ["user: hi", "assistant: first", "assistant: second"]);
    let harness = House::new((0..60).map(|_| pause("x")));
    harness.ask(&session("a"), "hi").await;
    assert!(harness.model.requests().len() < 12);
}

#[tokio::test]
async fn the_number_of_steps_is_limited() {
    let tools = vec![TestTool::new("next", What::Count) as _];
    let options = aethon_agent::Options::default().with(|options| options.max_iterations = 5);
    let harness = House::with((0..9).map(|_| calls(&["next"])), Plan { tools, options, ..Plan::default() });
    let reply = harness.ask(&session("a"), "go").await;
    assert_eq!(harness.model.requests().len(), 5);
    assert_eq!((reply.end, reply.failure.as_ref().unwrap().code.as_str()), (TurnEnd::Limit, "iterations"));
    assert!(reply.text.contains("agent.max_iterations"), "{}", reply.text);
    harness.assert_well_formed(&session("a"));
}

#[tokio::test]
async fn the_last_step_asks_for_a_closing_answer() {
    let closing = |request: &ModelRequest| {
        let last = request.messages.last().unwrap();
        last.role == Role::User && last.text().contains("last step")
    };
    let tool = TestTool::new("next", What::Count);
    let options = || aethon_agent::Options::default().with(|options| options.max_iterations = 3);
    let plan = || Plan { tools: vec![tool.clone()], options: options(), ..Plan::default() };
    let harness =
        House::with([calls(&["next"]), calls(&["next"]), says("two of three are done"), says("hi")], plan());
    let reply = harness.ask(&session("a"), "go").await;
    assert_eq!(reply.end, TurnEnd::Limit);
    assert_eq!(reply.text, "two of three are done\n\nStopped: after 3 steps (`agent.max_iterations`).");
    harness.ask(&session("a"), "next").await;
    let requests = harness.model.requests();
    assert_eq!(requests.iter().map(closing).collect::<Vec<_>>(), [false, false, true, false]);
    assert!(requests.iter().all(|request| request.tools.len() == 1), "the prefix stays the same");
    let transcript = harness.transcript(&session("a"));
    assert_eq!(transcript[5], "assistant: two of three are done | (iterations)");
    assert!(
        !transcript.iter().any(|line| line.contains("last step")),
        "the note is not stored: {transcript:?}"
    );

    // A model that keeps calling tools is ended, and its text is kept.
    let both =
        vec![Step::say("so far"), Step::call("c9", "next", json!({})), Step::finish(StopReason::ToolUse)];
    let harness = House::with([calls(&["next"]), calls(&["next"]), both], plan());
    let before = tool.ran();
    let reply = harness.ask(&session("a"), "go").await;
    assert_eq!((reply.end, tool.ran() - before), (TurnEnd::Limit, 2));
    assert!(reply.text.starts_with("so far"), "{}", reply.text);
    harness.assert_well_formed(&session("a"));
}

#[tokio::test]
async fn single_step_turn_gets_no_closing_note() {
    let options = aethon_agent::Options::default().with(|options| options.max_iterations = 1);
    let harness = House::with([says("hi")], Plan { options, ..Plan::default() });
    let reply = harness.ask(&session("a"), "hello").await;
    assert_eq!((reply.end, reply.text.as_str()), (TurnEnd::End, "hi"));
}

#[tokio::test]
async fn a_picture_of_the_model_is_an_answer_and_is_shown_and_kept() {
    let image = |opaque| ModelEvent::Image { mime: "image/png".into(), data: "iVBORw0KGgo=".into(), opaque };
    let opaque = Some(Opaque { dialect: "gemini".into(), data: serde_json::json!({}) });
    let drawn = vec![Step::Event(image(opaque.clone())), Step::finish(StopReason::End)];
    let harness = House::new([drawn]);
    let surface = quiet();
    let inbound = Inbound::say(session("a"), "Draw.");
    let reply = harness.submit(inbound, surface.clone()).await.reply.wait().await.unwrap();
    assert_eq!(
        (reply.end, reply.text.as_str()),
        (TurnEnd::End, "*(A picture, image/png; the page shows it.)*")
    );
    let events = surface.events();
    let pictures = events.iter().filter(|(_, event)| matches!(event, TurnEvent::Image { .. }));
    assert_eq!(pictures.count(), 1);
    harness.ask(&session("a"), "Again.").await;
    let seen = &harness.model.requests()[1].messages[1].content;
    let kept = Block::Image { mime: "image/png".into(), data: "iVBORw0KGgo=".into(), opaque };
    assert_eq!(*seen, [kept]);
}
