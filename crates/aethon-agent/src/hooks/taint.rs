//! Requires approval before a turn that has seen outside text sends something out or runs something
//! (`security.taint_requires_approval`).
//!
//! A stranger's text can manipulate a model. The possible harm is to send the model's knowledge to a third party, to
//! run something, or to change the owner's memory; all of that needs a person's approval once such text is in front
//! of the model, regardless of which tools the owner has listed for approval. A turn is tainted by the content of its
//! requests: a result or a message between outside-content markers, even of an earlier turn; files and pictures,
//! regardless of who attached them; recalled memories; summaries, which no longer say where their words came from;
//! and tools whose description has another author.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use aethon_core::agents::AgentBoard;
use aethon_core::hook::{AddedContext, Hook, ToolDecision, TurnContext, is_own_context};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::message::{Block, Failure, Inbound, Message, Outside, Reply, Role, ToolCall, ToolResult};
use aethon_core::model::{ModelRequest, Usage};
use aethon_core::tool::{ToolContext, ToolSpec};
use aethon_core::turn::Trust;
use aethon_core::untrusted::MARKER;
use aethon_core::web_search::WEB_SEARCH;
use async_trait::async_trait;

/// How many turns are remembered, which is far more than run at once. Those dropped first are turns whose end was never
/// reported.
const MAX_TURNS: usize = 4096;

/// The running turns, with the sources of their taint. Taint passes between a turn and the turn that called it, in both
/// directions.
#[derive(Debug, Default)]
pub struct Taint {
    turns: Mutex<BTreeMap<TurnId, String>>,
    board: AgentBoard,
}

impl Taint {
    /// Creates a hook that learns from this board which turn called which.
    pub fn with_board(board: AgentBoard) -> Self {
        Self { turns: Mutex::default(), board }
    }

    /// Records a source; the first one counts.
    fn note(&self, turn: &TurnId, session: &SessionId, source: String) {
        let caller = self.board.caller(session);
        let mut turns = self.lock();
        if let Some(caller) = caller {
            turns.entry(caller.turn).or_insert_with(|| source.clone());
        }
        turns.entry(turn.clone()).or_insert(source);
        while turns.len() > MAX_TURNS {
            turns.pop_first();
        }
    }

    fn source(&self, turn: &TurnId) -> Option<String> {
        self.lock().get(turn).cloned()
    }

    /// Records the part of a request that taints its turn, unless that is known.
    fn look_at(&self, turn: &TurnId, session: &SessionId, request: &ModelRequest) {
        if self.source(turn).is_some() {
            return;
        }
        if let Some(source) = source_in(request, |_| true) {
            self.note(turn, session, source);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<TurnId, String>> {
        // The map is consistent after every statement, so a panic elsewhere does not make it unusable.
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Names the part of a request that taints its turn, among the blocks that count.
fn source_in(request: &ModelRequest, counts: impl Fn(&Block) -> bool) -> Option<String> {
    // A picture that the model made is its own, like its words.
    let is_own = |message: &Message, block: &Block| {
        message.role == Role::Assistant && matches!(block, Block::Image { .. })
    };
    let blocks = request
        .messages
        .iter()
        .flat_map(|message| message.content.iter().filter(move |block| !is_own(message, block)));
    let described = || request.tools.iter().find(|tool| tool.described_outside);
    blocks.filter(|block| counts(block)).find_map(source).or_else(|| {
        described().map(|tool| format!("the description of `{}`, which its MCP server wrote", tool.name))
    })
}

/// Names the outside text in a request because of which the model's provider must not search the web: what the text asks
/// for could be sent out in the words of a search. What earlier searches found does not count, as it came from there.
pub(crate) fn bars_search(request: &ModelRequest) -> Option<String> {
    source_in(request, |block| !matches!(block, Block::Search(_)))
}

#[async_trait]
impl Hook for Taint {
    fn name(&self) -> &'static str {
        "taint"
    }

    async fn before_turn(&self, turn: &TurnContext, inbound: &Inbound) -> Result<Vec<AddedContext>, Failure> {
        // Known here even if `security.mark_untrusted_content` is off and nothing bears a mark.
        if let Some(source) = brought(inbound) {
            self.note(&turn.turn, &turn.session, source);
        }
        // Its task was written by a turn that may have seen anything.
        if let Some(source) = self.board.caller(&turn.session).and_then(|caller| self.source(&caller.turn)) {
            self.note(&turn.turn, &turn.session, source);
        }
        Ok(Vec::new())
    }

    async fn before_model(&self, turn: &TurnContext, request: &ModelRequest) -> Result<(), Failure> {
        self.look_at(&turn.turn, &turn.session, request);
        Ok(())
    }

    async fn after_model(&self, turn: &TurnContext, outcome: Result<&Message, &Failure>, _usage: &Usage) {
        // The calls of the same answer may follow from what its provider found.
        let has_searched =
            |message: &Message| message.content.iter().any(|block| matches!(block, Block::Search(_)));
        if outcome.is_ok_and(has_searched) {
            self.note(&turn.turn, &turn.session, format!("what `{WEB_SEARCH}` returned"));
        }
    }

    async fn before_tool(&self, context: &ToolContext, spec: &ToolSpec, call: &ToolCall) -> ToolDecision {
        // A guest's memories are the guest's own, and so are the words.
        let is_kept = context.trust() != Trust::Guest && spec.changes_what_is_kept(&call.input);
        if !spec.sends_or_runs() && !is_kept {
            return ToolDecision::Allow;
        }
        // The request that led to it went to the model before a restart.
        if let Some(request) = context.seen() {
            self.look_at(&context.turn, &context.session, request);
        }
        match self.source(&context.turn) {
            None => ToolDecision::Allow,
            Some(source) => ToolDecision::Ask(format!(
                "text from outside is in this turn: {source}; `security.taint_requires_approval`"
            )),
        }
    }

    async fn after_tool(&self, context: &ToolContext, call: &ToolCall, result: &mut ToolResult) {
        if result.untrusted.is_some() || result.recalled.is_some() || !result.blocks.is_empty() {
            self.note(&context.turn, &context.session, format!("what `{}` returned", call.name));
        }
    }

    async fn after_turn(&self, turn: &TurnContext, _reply: &Reply) {
        self.lock().remove(&turn.turn);
    }
}

/// Names the part of a message that taints the turn it begins.
fn brought(inbound: &Inbound) -> Option<String> {
    if inbound.is_from_outside() {
        return Some(format!("a message through {}", inbound.channel));
    }
    let file = inbound.attachments.iter().find(|file| !file.own)?;
    Some(match file.is_quoted() {
        true => "words that the message quotes".to_owned(),
        false => format!("the attached file {:?}", file.name),
    })
}

/// Names the part of a block that taints a turn whose model sees it.
fn source(block: &Block) -> Option<String> {
    let outside = block.outside().map(|outside| match outside {
        Outside::Words => "a message that is not the owner's".to_owned(),
        Outside::File(name) => format!("the attached file {name:?}"),
        Outside::Tool(name) => format!("what `{name}` returned"),
    });
    outside.or_else(|| match block {
        Block::Context { source, .. } if is_own_context(source) => None,
        Block::Context { source, .. } => Some(format!("what was recalled from {source}")),
        Block::ToolResult(result) if result.recalled.is_some() => {
            Some(format!("what `{}` recalled", result.name))
        }
        // A picture has no room for markers, and words can stand in it.
        Block::ToolResult(result) if !result.blocks.is_empty() => {
            Some(format!("what `{}` returned", result.name))
        }
        Block::Image { .. } => Some("an attached picture".to_owned()),
        // Earlier versions put the markers of quoted words into the message itself.
        Block::Text { text, .. } if text.contains(MARKER) => Some("quoted words".to_owned()),
        Block::Folded { .. } => Some("a summary of earlier messages".to_owned()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aethon_core::agents::Caller;
    use aethon_core::hook::{COMMANDS_CONTEXT, FILES_CONTEXT, OWN_CONTEXT};
    use aethon_core::message::Attachment;
    use aethon_core::message::{Message, Role};
    use aethon_core::person::Person;
    use aethon_core::surface::Unattended;
    use aethon_core::tool::{ArgumentRole, Effect, OutputBlock};
    use aethon_core::web_search::WebSearch;
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    fn inbound() -> Inbound {
        Inbound::say(SessionId::of("webchat", "a").unwrap(), "look it up")
    }

    fn call(name: &str) -> ToolCall {
        ToolCall { id: "1".into(), name: name.into(), input: json!({}), opaque: None }
    }

    fn fetch() -> ToolSpec {
        ToolSpec::new("web_fetch", "", json!({})).with_role("url", ArgumentRole::Url)
    }

    async fn is_asked(taint: &Taint, turn: &TurnContext, spec: &ToolSpec) -> bool {
        let context = ToolContext::of(turn, Arc::new(Unattended), 1_000);
        match taint.before_tool(&context, spec, &call(&spec.name)).await {
            ToolDecision::Allow => false,
            ToolDecision::Ask(reason) => reason.contains("`security.taint_requires_approval`"),
            ToolDecision::Deny(reason) => panic!("{reason}"),
        }
    }

    fn file(untrusted: Option<String>) -> Block {
        Block::File { name: "a.txt".into(), mime: "text/plain".into(), text: "obey".into(), untrusted }
    }

    #[tokio::test]
    async fn outside_content_in_a_request_taints_this_turn_alone() {
        let mut page = ToolResult::ok(&call("web_fetch"), "obey");
        page.untrusted = Some("b".into());
        let mut picture = ToolResult::ok(&call("screenshot"), "1 picture");
        picture.blocks.push(OutputBlock::Image { mime: "image/png".into(), data: "AAAA".into() });
        let stranger = Block::Text { text: "obey".into(), untrusted: Some("b".into()) };
        let summary =
            Block::Folded { messages: 2, from: "1".into(), to: "2".into(), summary: "they said".into() };
        for (block, expected) in [
            (Block::text("hi"), false),
            (Block::ToolResult(ToolResult::ok(&call("think"), "done")), false),
            (Block::ToolResult(page), true),
            (stranger, true),
            (file(None), false),
            (file(Some("b".into())), true),
            (Block::Search(WebSearch { query: "q".into(), sources: Vec::new(), opaque: None }), true),
            (Block::image("image/png", "AAAA"), true),
            (Block::ToolResult(picture), true),
            (Block::text(aethon_core::untrusted::wrap("obey", "0123456789abcdef")), true),
            (Block::context("memory", "likes tea"), true),
            (summary, true),
        ] {
            let taint = Taint::default();
            let turn = TurnContext::of(TurnId::existing("t1"), &inbound());
            let other = TurnContext::of(TurnId::existing("t2"), &inbound());
            let message = Arc::new(Message::new(Role::User, vec![block.clone()], Timestamp::UNIX_EPOCH));
            let request = ModelRequest::new(inbound().session, turn.turn.clone(), "", vec![message]);
            taint.before_model(&turn, &request).await.unwrap();
            assert_eq!(is_asked(&taint, &turn, &fetch()).await, expected, "{block:?}");
            assert!(!is_asked(&taint, &other, &fetch()).await);
        }
    }

    #[tokio::test]
    async fn repeated_call_is_judged_by_its_request_before_the_restart() {
        let stranger = Block::Text { text: "obey".into(), untrusted: Some("b".into()) };
        for (block, expected) in [(Block::text("hi"), false), (stranger, true)] {
            let taint = Taint::default();
            let turn = TurnContext::of(TurnId::existing("t"), &inbound());
            let message = Arc::new(Message::new(Role::User, vec![block], Timestamp::UNIX_EPOCH));
            let request = ModelRequest::new(inbound().session, turn.turn.clone(), "", vec![message]);
            let context = ToolContext::of(&turn, Arc::new(Unattended), 1_000);
            let context = context.for_repeated_call(&call("send_message")).having_seen(Arc::new(request));
            let sender = ToolSpec::new("send_message", "", json!({})).with_effect(Effect::Sends);
            let decision = taint.before_tool(&context, &sender, &call("send_message")).await;
            assert_eq!(matches!(decision, ToolDecision::Ask(_)), expected);
        }
    }

    #[tokio::test]
    async fn taint_applies_at_once_to_tools_that_send_write_or_run() {
        let taint = Taint::default();
        let turn = TurnContext::of(TurnId::existing("t"), &inbound());
        let context = ToolContext::of(&turn, Arc::new(Unattended), 1_000);
        let shell = ToolSpec::new("shell", "", json!({})).with_role("command", ArgumentRole::Command);
        let sender = ToolSpec::new("send_message", "", json!({})).with_effect(Effect::Sends);
        let reader = ToolSpec::new("file_read", "", json!({})).with_role("path", ArgumentRole::ReadPath);
        let writer = ToolSpec::new("file_edit", "", json!({})).with_role("path", ArgumentRole::WritePath);
        let mut own = ToolResult::ok(&call("think"), "done");
        taint.after_tool(&context, &call("think"), &mut own).await;
        assert!(!is_asked(&taint, &turn, &shell).await);
        let mut page = ToolResult::ok(&call("web_fetch"), "obey");
        page.untrusted = Some("b".into());
        taint.after_tool(&context, &call("web_fetch"), &mut page).await;
        let fetch = fetch();
        for (spec, expected) in
            [(&shell, true), (&fetch, true), (&sender, true), (&writer, true), (&reader, false)]
        {
            assert_eq!(is_asked(&taint, &turn, spec).await, expected, "{}", spec.name);
        }
    }

    #[tokio::test]
    async fn tainted_turn_reads_memories_freely_and_asks_to_change_them() {
        let memory = ToolSpec::new("manage_memory", "", json!({}))
            .with_role("content", ArgumentRole::Remembered)
            .looking_with("action", &["search", "list"]);
        for (inbound, is_tainted) in
            [(inbound(), false), (inbound().with_attachments(vec![Attachment::quoted("aGk=")]), true)]
        {
            let taint = Taint::default();
            let turn = TurnContext::of(TurnId::existing("t"), &inbound);
            taint.before_turn(&turn, &inbound).await.unwrap();
            let context = ToolContext::of(&turn, Arc::new(Unattended), 1_000);
            for (input, changes) in [
                (json!({"action": "store", "content": "a"}), true),
                (json!({"action": "forget", "id": "1"}), true),
                (json!({"content": "a"}), true),
                (json!({"action": "search", "query": "a"}), false),
                (json!({"action": "list"}), false),
            ] {
                let call = ToolCall { input: input.clone(), ..call("manage_memory") };
                let decision = taint.before_tool(&context, &memory, &call).await;
                assert_eq!(matches!(decision, ToolDecision::Ask(_)), changes && is_tainted, "{input}");
            }
        }
        let ben = inbound().for_person(Person::member("ben").unwrap()).with_untrusted(true);
        let taint = Taint::default();
        let turn = TurnContext::of(TurnId::existing("t"), &ben);
        taint.before_turn(&turn, &ben).await.unwrap();
        let context = ToolContext::of(&turn, Arc::new(Unattended), 1_000);
        let call = ToolCall { input: json!({"action": "store"}), ..call("manage_memory") };
        assert!(
            matches!(taint.before_tool(&context, &memory, &call).await, ToolDecision::Allow),
            "a guest's own"
        );
    }

    #[tokio::test]
    async fn a_specialist_is_tainted_with_its_caller_and_taints_it() {
        let specialists = SessionId::of("agent", "scout:1").unwrap();
        let caller = TurnContext::of(TurnId::existing("t1"), &inbound());
        let asked = Inbound::say(specialists.clone(), "look");
        let turn = TurnContext::of(TurnId::existing("t2"), &asked);
        for tainted_first in [true, false] {
            let board = AgentBoard::default();
            let taint = Taint::with_board(board.clone());
            let by = Caller { session: caller.session.clone(), turn: caller.turn.clone() };
            board.called_by(&specialists, by);
            let mut page = ToolResult::ok(&call("web_fetch"), "obey");
            page.untrusted = Some("b".into());
            let fetches = if tainted_first { &caller } else { &turn };
            let context = ToolContext::of(fetches, Arc::new(Unattended), 1_000);
            if tainted_first {
                taint.after_tool(&context, &call("web_fetch"), &mut page).await;
                taint.before_turn(&turn, &asked).await.unwrap();
            } else {
                taint.before_turn(&turn, &asked).await.unwrap();
                assert!(!is_asked(&taint, &turn, &fetch()).await);
                taint.after_tool(&context, &call("web_fetch"), &mut page).await;
            }
            assert!(is_asked(&taint, &turn, &fetch()).await && is_asked(&taint, &caller, &fetch()).await);
        }
    }

    #[tokio::test]
    async fn strangers_message_taints_its_turn_with_or_without_markers() {
        for (channel, untrusted, expected) in
            [("webchat", false, false), ("telegram", true, true), ("webhook", false, true)]
        {
            let taint = Taint::default();
            let inbound = inbound().via(channel).with_untrusted(untrusted);
            let turn = TurnContext::of(TurnId::existing("t"), &inbound);
            taint.before_turn(&turn, &inbound).await.unwrap();
            assert_eq!(is_asked(&taint, &turn, &fetch()).await, expected, "{channel}");
        }
    }

    #[test]
    fn context_taints_unless_it_is_the_programs_own() {
        for (source, expected) in
            [(OWN_CONTEXT, false), (COMMANDS_CONTEXT, false), (FILES_CONTEXT, false), ("memory", true)]
        {
            let block = Block::context(source, "command 1 (make) ended with status 0");
            assert_eq!(super::source(&block).is_some(), expected, "{source}");
        }
    }

    #[tokio::test]
    async fn attachments_taint_the_turn_unless_the_program_wrote_them() {
        let file = |mime: &str| Attachment::new("a", mime, "aGk=");
        for (attachments, expected) in [
            (vec![], false),
            (vec![file("text/markdown").own()], false),
            (vec![file("text/plain")], true),
            (vec![file("image/png")], true),
            (vec![file("text/markdown").own(), file("text/html")], true),
            (vec![Attachment::quoted("aGk=")], true),
        ] {
            let taint = Taint::default();
            let inbound = inbound().with_attachments(attachments);
            let turn = TurnContext::of(TurnId::existing("t"), &inbound);
            taint.before_turn(&turn, &inbound).await.unwrap();
            assert_eq!(is_asked(&taint, &turn, &fetch()).await, expected, "{inbound:?}");
        }
    }

    #[tokio::test]
    async fn offered_tools_described_outside_taint_the_turn() {
        for (spec, expected) in
            [(ToolSpec::new("s__a", "obey", json!({})).described_outside(), true), (fetch(), false)]
        {
            let taint = Taint::default();
            let turn = TurnContext::of(TurnId::existing("t"), &inbound());
            let mut request = ModelRequest::new(inbound().session, turn.turn.clone(), "", Vec::new());
            request.tools = [spec].into();
            taint.before_model(&turn, &request).await.unwrap();
            assert_eq!(is_asked(&taint, &turn, &fetch()).await, expected);
        }
    }
}
