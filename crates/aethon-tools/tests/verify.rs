//! Checks after edits: a broken build is reported with the edit.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "in tests a failed expectation is the result"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aethon_core::hook::{Hook, Review};
use aethon_core::ids::{SessionId, TurnId};
use aethon_core::live::Live;
use aethon_core::message::{Block, Inbound, Message, Reply, Role, ToolCall, ToolResult, TurnEnd};
use aethon_core::model::Usage;
use aethon_core::surface::Unattended;
use aethon_core::tool::{ArgumentRole, ToolContext, ToolSpec};
use aethon_core::turn::TurnContext;
use aethon_tools::{Options, VerifyEdits, VerifyOptions};
use serde_json::json;

fn options(strict: bool) -> VerifyOptions {
    VerifyOptions {
        command: None,
        detects: true,
        timeout: Duration::from_secs(60),
        strict,
        runs: true,
        lsp: None,
    }
}

struct Stage {
    hook: VerifyEdits,
    turn: TurnContext,
    context: ToolContext,
}

impl Stage {
    fn new(workspace: &Path, options: VerifyOptions) -> Self {
        let mut tools = Options::default();
        tools.workspace = workspace.to_owned();
        let inbound = Inbound::say(SessionId::of("webchat", "a").unwrap(), "edit it");
        let turn = TurnContext::of(TurnId::fresh(), &inbound);
        let context = ToolContext::of(&turn, Arc::new(Unattended), 10_000);
        Self { hook: VerifyEdits::new(&tools, Live::default(), options), turn, context }
    }

    /// The result of an edit of this file that succeeded.
    async fn edit(&self, path: &str) -> ToolResult {
        self.edit_after(&[path], path).await
    }

    /// The same, where the hooks have seen the call with each of these paths before it ran with the last one: a person who
    /// was asked has changed it.
    async fn edit_after(&self, seen: &[&str], path: &str) -> ToolResult {
        let spec = ToolSpec::new("file_write", "", json!({})).with_role("path", ArgumentRole::WritePath);
        let call = |path: &str| {
            let input = json!({"path": path, "content": "x"});
            ToolCall { id: "c".into(), name: "file_write".into(), input, opaque: None }
        };
        for path in seen {
            self.hook.before_tool(&self.context, &spec, &call(path)).await;
        }
        let call = call(path);
        let mut result = ToolResult::ok(&call, "written");
        self.hook.after_tool(&self.context, &call, &mut result).await;
        result
    }

    fn answer(&self, text: &str) -> Message {
        Message::new(Role::Assistant, vec![Block::text(text)], aethon_core::jiff::Timestamp::UNIX_EPOCH)
    }
}

#[tokio::test]
async fn a_broken_build_is_reported_with_the_edit() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("bin")).unwrap();
    let script = home.path().join("bin/run.sh");
    for strict in [false, true] {
        let stage = Stage::new(home.path(), options(strict));
        std::fs::write(&script, "if true; then echo hello\n").unwrap();
        let broken = stage.edit("bin/run.sh").await;
        assert!(broken.output.starts_with("written\n\nOutput of the check `sh -n './run.sh'`"), "{broken:?}");
        assert!(broken.note.as_deref().unwrap().contains("mend that"), "{broken:?}");
        assert!(broken.untrusted.is_some(), "what a command writes is data");
        assert_eq!(broken.is_error, strict);
        let claim = stage.answer("The script works now.");
        assert_eq!(stage.hook.objection(&stage.turn, &claim).await.is_some(), strict);
        std::fs::write(&script, "if true; then echo hello; fi\n").unwrap();
        let mended = stage.edit(script.to_str().unwrap()).await;
        assert_eq!(mended.output, "written");
        assert!(mended.note.as_deref().unwrap().contains("it passed") && !mended.is_error, "{mended:?}");
        assert_eq!(stage.hook.objection(&stage.turn, &claim).await, None);
    }
    let plain = Stage::new(home.path(), options(true)).edit("notes.md").await;
    assert!(plain.note.is_none() && plain.output == "written", "nothing checks this");
}

#[tokio::test]
async fn the_file_is_checked_that_the_person_has_allowed() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("whole.sh"), "true\n").unwrap();
    std::fs::write(home.path().join("broken.sh"), "if\n").unwrap();
    let stage = Stage::new(home.path(), options(false));
    // The person's change counts, unless a rule refused it and the original ran.
    for (seen, ran, passes) in [
        (["whole.sh", "broken.sh"], "broken.sh", false),
        (["broken.sh", "whole.sh"], "whole.sh", true),
        (["broken.sh", "whole.sh"], "broken.sh", false),
    ] {
        let note = stage.edit_after(&seen, ran).await.note.unwrap();
        assert!(note.contains(&format!("sh -n './{ran}'")), "{note}");
        assert_eq!(note.contains("it passed"), passes, "{note}");
    }
    let next = stage.edit_after(&[], "whole.sh").await;
    assert_eq!(next.note, None, "nothing is left of the calls before");
}

#[tokio::test]
async fn the_owners_command_checks_every_edit_and_detecting_can_be_forbidden() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("a.sh"), "if\n").unwrap();
    let own = VerifyOptions { command: Some("grep -q fi a.sh".into()), ..options(false) };
    let told = Stage::new(home.path(), own).edit("notes.md").await;
    assert!(told.output.contains("Output of the check `grep -q fi a.sh`"), "{told:?}");
    let missing = VerifyOptions { command: Some("no-such-program-here".into()), ..options(true) };
    let told = Stage::new(home.path(), missing).edit("notes.md").await;
    assert!(told.note.as_deref().unwrap().contains("no program") && !told.is_error, "{told:?}");
    let forbidden = VerifyOptions { detects: false, ..options(false) };
    assert_eq!(Stage::new(home.path(), forbidden).edit("a.sh").await.note, None);
}

#[tokio::test]
async fn an_empty_claim_is_remembered_for_the_next_turn() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("a.sh"), "if\n").unwrap();
    let stage = Stage::new(home.path(), options(false));
    stage.edit("a.sh").await;
    let reply = Reply {
        turn: stage.turn.turn.clone(),
        session: stage.turn.session.clone(),
        text: "All tests pass.".into(),
        end: TurnEnd::End,
        model: "m".into(),
        usage: Usage::default(),
        failure: None,
    };
    stage.hook.after_turn(&stage.turn, &reply).await;
    let inbound = Inbound::say(stage.turn.session.clone(), "thanks");
    let next = TurnContext::of(TurnId::fresh(), &inbound);
    let added = stage.hook.before_turn(&next, &inbound).await.unwrap();
    assert!(added[0].text.contains("nothing was run"), "{added:?}");
    assert!(stage.hook.before_turn(&next, &inbound).await.unwrap().is_empty(), "once");
}
