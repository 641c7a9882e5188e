//! Each request begins with the one before it, so that a provider can reuse its cached work.

use std::sync::Arc;

use aethon_core::message::{Block, Inbound};
use aethon_core::model::ModelRequest;

use crate::harness::{House, Plan, TestTool, What, calls, quiet, says, session};

/// Returns everything of a request that goes over the wire, as text, message by message.
fn wire(request: &ModelRequest) -> (String, Vec<String>) {
    let tools = serde_json::to_string(&request.tools).unwrap();
    let messages = request
        .messages
        .iter()
        .map(|message| format!("{:?} {}", message.role, serde_json::to_string(&message.content).unwrap()));
    (format!("{}\n{tools}", request.system), messages.collect())
}

fn assert_grows(requests: &[ModelRequest]) {
    for pair in requests.windows(2) {
        let ((front, before), (next_front, after)) = (wire(&pair[0]), wire(&pair[1]));
        assert_eq!(front, next_front);
        assert!(after.len() > before.len());
        assert_eq!(before, after[..before.len()]);
    }
}

#[tokio::test]
async fn request_prefix_is_stable_across_turns_and_restarts() {
    let workspace = tempfile::tempdir().unwrap();
    std::fs::write(workspace.path().join("SOUL.md"), "You keep a lighthouse.").unwrap();
    std::fs::write(workspace.path().join("TOOLS.md"), "The lamp is `lamp`.").unwrap();
    std::fs::write(workspace.path().join("CONTEXT.md"), "A storm is coming.").unwrap();
    let session = session("a");
    let (mut requests, mut store) = (Vec::new(), None);
    for start in 0..3 {
        let plan = Plan {
            tools: vec![
                TestTool::new("lamp", What::Say("it shines")) as _,
                TestTool::new("horn", What::Count) as _,
            ],
            workspace: Some(workspace.path().to_owned()),
            store: store.take(),
            ..Plan::default()
        };
        let harness = House::with([calls(&["lamp", "horn"]), says("one"), says("two")], plan);
        harness.ask(&session, &format!("first of {start}")).await;
        let outside = Inbound::say(session.clone(), "from outside").with_untrusted(true);
        harness.submit(outside, quiet()).await.reply.wait().await.unwrap();
        harness.ask(&session, "third").await;
        requests.extend(harness.model.requests());
        store = Some(harness.store.clone());
    }
    assert_eq!(requests.len(), 12);
    assert_grows(&requests);
    let untrusted = |block: &Block| matches!(block, Block::Text { untrusted: Some(_), .. });
    let last = requests.last().unwrap();
    assert_eq!(
        last.messages.iter().flat_map(|message| &message.content).filter(|block| untrusted(block)).count(),
        3
    );
}

#[tokio::test]
async fn changed_context_page_goes_with_the_newest_message() {
    let workspace = tempfile::tempdir().unwrap();
    let page = workspace.path().join("CONTEXT.md");
    let plan = Plan { workspace: Some(workspace.path().to_owned()), ..Plan::default() };
    let harness = House::with([], plan);
    let session = session("a");
    let pages = |request: &ModelRequest| -> Vec<(usize, String)> {
        let of = |(place, block): (usize, &Block)| match block {
            Block::File { name, text, .. } if name == "CONTEXT.md" => Some((place, text.clone())),
            _ => None,
        };
        let blocks = request.messages.iter().enumerate();
        blocks
            .flat_map(|(place, message)| message.content.iter().map(move |block| (place, block)))
            .filter_map(of)
            .collect()
    };
    harness.ask(&session, "one").await;
    std::fs::write(&page, "It rains.").unwrap();
    harness.ask(&session, "two").await;
    harness.ask(&session, "three").await;
    std::fs::write(&page, "The sun is out again.").unwrap();
    harness.ask(&session, "four").await;
    let requests = harness.model.requests();
    assert_eq!(pages(&requests[0]), []);
    assert_eq!(pages(&requests[1]), [(2, "It rains.".to_owned())]);
    assert_eq!(pages(&requests[2]), pages(&requests[1]), "it is not said twice");
    let both = [(2, "It rains.".to_owned()), (6, "The sun is out again.".to_owned())];
    assert_eq!(pages(&requests[3]), both);
    assert!(requests.iter().all(|request| Arc::ptr_eq(&request.system, &requests[0].system)));
    assert_grows(&requests);
    assert_eq!(harness.store.transcript(&session)[2].text(), "two");
}
