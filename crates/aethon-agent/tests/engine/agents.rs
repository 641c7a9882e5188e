//! Several agents over one engine: each with its own prompt, tools and models, all with the same hooks, ledger and storage.

use std::sync::Arc;

use aethon_agent::prompt::Prompt;
use aethon_agent::{Agent, Models};
use aethon_core::assistant::Assistant;
use aethon_core::ids::AgentName;
use aethon_core::ledger::{Price, WorkKind};
use aethon_core::message::Inbound;
use aethon_core::testkit::ScriptedModel;
use aethon_core::tool::FixedTools;
use aethon_core::turn::TurnContext;

use crate::harness::{House, Plan, TestTool, What, calls, quiet, says, session};

fn researcher() -> AgentName {
    AgentName::parse("researcher").unwrap()
}

/// Creates a house with a researcher beside the main agent, which has the tool `look_up` and a model of its own.
fn with_researcher(plan: Plan) -> (House, Arc<ScriptedModel>, Arc<TestTool>) {
    let model = Arc::new(
        ScriptedModel::new([calls(&["look_up"]), says("found it")])
            .with_provider("other")
            .with_name("deep-1"),
    );
    let tool = TestTool::new("look_up", What::Say("forty-two"));
    let prompt = Prompt::fixed("You look things up.");
    let agent = Agent::new(researcher(), Models::one(model.clone()), Arc::new(prompt))
        .with_tools(vec![Arc::new(FixedTools::new("research", vec![tool.clone() as _]))]);
    let house = House::with([says("hello"), says("hello again")], Plan { agents: vec![agent], ..plan });
    (house, model, tool)
}

fn for_researcher(text: &str) -> Inbound {
    Inbound::say(session("research"), text).for_agent(researcher()).of_kind(WorkKind::Delegation)
}

#[tokio::test]
async fn a_second_agent_has_its_own_prompt_tools_and_model() {
    let main_tool = TestTool::new("shell", What::Say("done"));
    let (house, model, tool) = with_researcher(Plan { tools: vec![main_tool], ..Plan::default() });
    let reply = house.submit(for_researcher("look it up"), quiet()).await.reply.wait().await.unwrap();
    assert_eq!((reply.text.as_str(), reply.model.as_str(), tool.ran()), ("found it", "deep-1", 1));
    assert_eq!(house.ask(&session("a"), "hi").await.text, "hello");

    let requests = model.requests();
    let names = |tools: &[aethon_core::tool::ToolSpec]| -> Vec<String> {
        tools.iter().map(|tool| tool.name.clone()).collect()
    };
    assert_eq!(&*requests[0].system, "You look things up.");
    assert_eq!((requests.len(), names(&requests[0].tools)), (2, vec!["look_up".to_owned()]));
    let of_main = house.model.requests();
    assert!(of_main[0].system.contains("Aethon") && !of_main[0].system.contains("look things up"));
    assert_eq!((of_main.len(), names(&of_main[0].tools)), (1, vec!["shell".to_owned()]));
}

#[tokio::test]
async fn hooks_ledger_and_storage_are_the_same_for_all_agents() {
    let price = Some(Price::new(1.0, 1.0));
    let (house, _, tool) =
        with_researcher(Plan { price, ask_for: vec!["look_up".to_owned()], ..Plan::default() });
    let reply = house.submit(for_researcher("look it up"), quiet()).await.reply.wait().await.unwrap();
    assert_eq!((reply.text.as_str(), tool.ran()), ("found it", 0), "the approval hook guards every agent");
    house.ask(&session("a"), "hi").await;
    let booked: Vec<_> =
        house.ledger.entries().into_iter().map(|entry| (entry.provider, entry.model, entry.kind)).collect();
    let own = ("other".to_owned(), "deep-1".to_owned(), WorkKind::Delegation);
    let of_main = ("scripted".to_owned(), "scripted-1".to_owned(), WorkKind::Turn);
    assert_eq!(booked, [own.clone(), own, of_main]);
    assert_eq!(
        house.transcript(&session("research")).len(),
        4,
        "question, call, result and answer are stored"
    );
    house.assert_well_formed(&session("research"));
}

#[tokio::test]
async fn agent_rereads_a_conversation_that_another_agent_had() {
    let (house, model, _) = with_researcher(Plan::default());
    house.ask(&session("a"), "hi").await;
    let inbound = Inbound::say(session("a"), "look it up").for_agent(researcher());
    house.submit(inbound, quiet()).await.reply.wait().await.unwrap();
    let said: Vec<String> = model.requests()[0].messages.iter().map(|message| message.text()).collect();
    assert_eq!(said, ["hi", "hello", "look it up"]);
    assert_eq!(house.ask(&session("a"), "and now?").await.text, "hello again");
    assert_eq!(house.model.requests()[1].messages.len(), 7, "the main agent sees what the other one did");
}

#[tokio::test]
async fn missing_agent_is_reported_with_the_existing_ones() {
    let (house, ..) = with_researcher(Plan::default());
    let nobody = Inbound::say(session("a"), "hi").for_agent(AgentName::parse("nobody").unwrap());
    let error = house.engine.submit(nobody, quiet()).await.unwrap_err();
    assert!(error.is_invalid());
    assert_eq!(error.to_string(), "there is no agent `nobody`; there are: main, researcher");
    assert_eq!(house.store.calls(), Vec::<&str>::new(), "nothing was stored");
}

#[test]
fn tools_and_hooks_know_which_agent_acts() {
    let turn = TurnContext::of(aethon_core::ids::TurnId::fresh(), &for_researcher("x"));
    assert_eq!((turn.agent, turn.kind), (researcher(), WorkKind::Delegation));
}
