//! A long history under a small model: nothing that leaves the window is lost to it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "in tests a failed expectation is the result")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aethon::{Aethon, Builder};
use aethon_core::ids::SessionId;
use aethon_core::message::{Block, Role};
use aethon_core::model::{
    Capabilities, ModelError, ModelProvider, ModelRequest, ModelStream, Readiness, StopReason,
};
use aethon_core::testkit::{ScriptedModel, Step};
use async_trait::async_trait;
use serde_json::json;

const TURNS: usize = 140;
const FACTS: usize = 30;

/// A scripted model that the test keeps a hold of.
struct Held(Arc<ScriptedModel>);

#[async_trait]
impl ModelProvider for Held {
    fn capabilities(&self) -> Arc<Capabilities> {
        self.0.capabilities()
    }

    fn readiness(&self) -> Readiness {
        self.0.readiness()
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        self.0.stream(request).await
    }

    async fn probe(&self) -> Result<String, ModelError> {
        self.0.probe().await
    }
}

fn is_for_summary(request: &ModelRequest) -> bool {
    request.system.starts_with("You write summaries")
}

/// A model that keeps every fact that a summary asks for, follows requests to search, and says `ok`.
fn ideal(request: &ModelRequest) -> Option<Vec<Step>> {
    let said = |text: &str| Some(vec![Step::say(text), Step::finish(StopReason::End)]);
    let last = request.messages.last()?;
    if is_for_summary(request) {
        let text = last.text();
        let facts = text.lines().filter_map(|line| line.split_once("FACT ")).map(|(_, fact)| fact);
        // The summary so far has them as items; a new one stands in a sentence.
        let mut items: Vec<_> = facts.map(|fact| fact.split('.').next().unwrap_or(fact)).collect();
        items.sort_unstable();
        items.dedup();
        let items: String = items.iter().map(|item| format!("- FACT {item}.\n")).collect();
        return said(&format!("## Numbers, dates and paths\n{items}"));
    }
    if last.role == Role::Tool {
        return said("so it is");
    }
    match last.text().strip_prefix("look up: ") {
        Some(query) => Some(vec![
            Step::call("c", "search_history", json!({"query": query})),
            Step::finish(StopReason::ToolUse),
        ]),
        None => said(&format!("I note all that. {}", "filler ".repeat(110))),
    }
}

async fn open(home: &Path, window: u64) -> (Aethon, Arc<ScriptedModel>) {
    let model = Arc::new(ScriptedModel::new([]).with_aside(ideal).with_context_window(window));
    let builder = Builder::new().home(home).set("model.provider=echo").set("channels.webchat.port=0");
    let assistant = builder.model(Held(model.clone())).load().unwrap().open().await.unwrap();
    (assistant, model)
}

const NAMES: [&str; 6] = ["heron", "kestrel", "osprey", "curlew", "plover", "dunlin"];

/// The planted fact by number: a unique word and an unguessable value.
fn fact(n: usize) -> (String, String) {
    (format!("{} of yard {n}", NAMES[n % NAMES.len()]), format!("{}", 700_000 + n * 7_919))
}

fn message(turn: usize) -> String {
    let planted = (turn % 4 == 1 && turn / 4 < FACTS).then(|| fact(turn / 4));
    let planted = planted.map(|(what, value)| format!("FACT the {what} is {value}.")).unwrap_or_default();
    let filler = format!("turn {turn} and some more words about nothing\n").repeat(12);
    format!("begin-{turn}\n{filler}{planted}\n{filler}end-{turn}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_of_sixty_thousand_tokens_moves_to_a_window_of_eight_thousand() {
    let home = tempfile::tempdir().unwrap();
    let session = SessionId::parse("webchat:a").unwrap();
    let (before, _) = open(home.path(), 1_000_000).await;
    for turn in 0..TURNS {
        before.ask(session.as_str(), message(turn)).await.unwrap();
    }
    let transcript = before.transcripts().messages(&session, None, 10_000).await.unwrap();
    let bytes: usize = transcript.iter().map(|message| message.text().len()).sum();
    assert!(bytes / 4 > 60_000, "{bytes}");
    before.shutdown(Duration::from_secs(10)).await;

    let (after, model) = open(home.path(), 8_000).await;
    assert_eq!(after.ask(session.as_str(), "and now?").await.unwrap().text[..6], *"I note");
    let requests = model.requests();
    let (summaries, asked): (Vec<_>, Vec<_>) = requests.iter().partition(|request| is_for_summary(request));
    let seen: String = summaries.iter().map(|request| request.messages[0].text()).collect();
    let answered = asked.last().unwrap();
    let shown: String = answered.messages.iter().map(|message| message.text()).collect();
    let block = answered.messages[0].content.iter().find_map(|block| match block {
        Block::Folded { messages, from, to, summary } => {
            Some((*messages, from.clone(), to.clone(), summary.clone()))
        }
        _ => None,
    });
    let (messages, from, to, summary) = block.unwrap();

    // A summariser saw every removed message in full, and the summary contains just that.
    let last: i64 = to.parse().unwrap();
    let left = transcript.iter().filter(|message| message.id.0 <= last).count();
    assert_eq!((messages, &from), (left as u64, &transcript[0].id.0.to_string()));
    for turn in 0..TURNS {
        for mark in [format!("begin-{turn}\n"), format!("end-{turn}")] {
            assert!(seen.contains(&mark) || shown.contains(&mark), "{mark}");
        }
    }
    assert!(seen.matches("I note all that").count() + shown.matches("I note all that").count() >= TURNS);
    assert!(summary.len() <= 4_000, "{}", summary.len());

    let in_summary = (0..FACTS).filter(|n| summary.contains(&fact(*n).1)).count();
    assert!(in_summary >= 25, "an ideal summariser keeps them: {in_summary}\n{summary}");
    for n in 0..FACTS {
        let (what, value) = fact(n);
        after.ask(session.as_str(), format!("look up: {what}")).await.unwrap();
        // A summary may stand between them.
        let newest = after.transcripts().messages(&session, None, 6).await.unwrap();
        let found = newest.iter().rev().flat_map(|message| &message.content).find_map(|block| match block {
            Block::ToolResult(result) => Some(result.output.clone()),
            _ => None,
        });
        assert!(found.as_ref().is_some_and(|found| found.contains(&value)), "{what}: {found:?}");
    }
    after.shutdown(Duration::from_secs(10)).await;
}
