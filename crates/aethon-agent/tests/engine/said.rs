//! Calls that a model says in words, and arguments that are no JSON.

use aethon_core::message::{Inbound, TurnEnd};
use aethon_core::model::{ModelError, ModelErrorKind, StopReason};
use aethon_core::testkit::Step;
use serde_json::json;

use crate::house::{House, Plan, TestTool, What, calls, quiet, says, session, shown};

fn in_pieces(text: &str) -> Vec<Step> {
    let pieces: Vec<char> = text.chars().collect();
    let pieces = pieces.chunks(3).map(|piece| Step::say(&piece.iter().collect::<String>()));
    pieces.chain([Step::finish(StopReason::End)]).collect()
}

fn clock() -> Plan {
    Plan { tools: vec![TestTool::new("clock", What::Say("noon")) as _], ..Plan::default() }
}

#[tokio::test]
async fn a_said_call_runs_and_its_words_are_not_shown() {
    for said in [
        "```json\n{\"name\": \"clock\", \"arguments\": {}}\n```",
        "<tool_call>\n{\"name\": \"clock\", \"arguments\": {}}\n</tool_call>",
        "<function=clock>{}</function>",
        "[TOOL_CALLS][{\"name\": \"clock\", \"arguments\": {}}]",
        "<|python_tag|>{\"name\": \"clock\", \"parameters\": {}}",
    ] {
        let house = House::with([in_pieces(said), says("It is noon.")], clock());
        let surface = quiet();
        let inbound = Inbound::say(session("a"), "what time is it?");
        let reply = house.submit(inbound, surface.clone()).await.reply.wait().await.unwrap();
        assert_eq!(reply.text, "It is noon.");
        let expected = ["started", "clock running", "clock ok", "text It is noon.", "done end"];
        assert_eq!(shown(&surface), expected, "{said}");
        assert_eq!(house.told(&session("a"))[1..3], ["assistant: call clock", "tool: result noon"]);
        house.assert_well_formed(&session("a"));
    }
}

#[tokio::test]
async fn what_only_looks_like_one_is_shown_as_it_was_said() {
    let plain = "```json\n{\"name\": \"clock\", \"arguments\": {}}\n```";
    let check = async |question: &str, said: &str, plan: Plan| {
        let house = House::with([in_pieces(said)], plan);
        let surface = quiet();
        let reply = house
            .submit(Inbound::say(session("a"), question), surface.clone())
            .await
            .reply
            .wait()
            .await
            .unwrap();
        assert_eq!(reply.text, said);
        let told: String = shown(&surface).iter().filter_map(|word| word.strip_prefix("text ")).collect();
        assert_eq!(told, said);
        assert_eq!(house.model.requests().len(), 1);
    };
    check("show me a call as JSON", plain, clock()).await;
    check("what time is it?", plain, Plan::default()).await;
    check("what time is it?", &format!("{plain}\nThat is how."), clock()).await;
    check("what time is it?", "<tool_call>{\"name\": \"gong\", \"arguments\": {}}</tool_call>", clock())
        .await;
    check("what time is it?", "{\"name\": \"Ann\", \"arguments\": {}}", clock()).await;
    check("what time is it?", "```", clock()).await;
}

#[tokio::test]
async fn a_model_that_makes_proper_calls_is_not_doubted() {
    let plain = "```json\n{\"name\": \"clock\", \"arguments\": {}}\n```";
    let house = House::with([calls(&["clock"]), in_pieces(plain)], clock());
    assert_eq!(house.ask(&session("a"), "what time is it?").await.text, plain);
}

#[tokio::test(start_paused = true)]
async fn what_was_held_back_is_neither_lost_nor_shown_twice() {
    let broken = || {
        let error = ModelError::new(ModelErrorKind::Network, "gone");
        vec![Step::say("<tool_call>{\"na"), Step::Fail(error)]
    };
    let house = House::with([broken(), in_pieces("<function=clock>{}</function>"), says("noon")], clock());
    let surface = quiet();
    house.submit(Inbound::say(session("a"), "time?"), surface.clone()).await.reply.wait().await.unwrap();
    assert_eq!(shown(&surface)[1..], ["clock running", "clock ok", "text noon", "done end"]);

    let house = House::with((0..9).map(|_| broken()), clock());
    let reply = house.ask(&session("a"), "time?").await;
    assert_eq!(reply.text, "<tool_call>{\"na\n\ngone");
}

#[tokio::test]
async fn arguments_that_are_no_json_may_be_repaired_once() {
    let garbled =
        |id: &str| vec![Step::call(id, "clock", json!("{\"a\": ")), Step::finish(StopReason::ToolUse)];
    let house = House::with([garbled("1"), calls(&["clock"]), garbled("2"), says("noon")], clock());
    assert_eq!(house.ask(&session("a"), "time?").await.text, "noon");

    let house = House::with([garbled("1"), garbled("2"), says("never")], clock());
    let reply = house.ask(&session("a"), "time?").await;
    assert_eq!((reply.end, reply.failure.as_ref().unwrap().code.as_str()), (TurnEnd::Error, "malformed"));
    assert!(reply.text.contains("`clock`"), "{}", reply.text);
    assert_eq!(house.model.requests().len(), 2);
    house.assert_well_formed(&session("a"));
}
