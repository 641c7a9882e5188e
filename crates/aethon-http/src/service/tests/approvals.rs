//! Answers to questions for approval.

use aethon_core::approval::{ApprovalRequest, Decision};
use aethon_core::ids::{SessionId, TurnId};
use jiff::Timestamp;
use serde_json::json;

use super::TestApp;
use crate::options::Options;

#[tokio::test]
async fn approval_is_answered_once() {
    let app = TestApp::new(Options::default());
    let request = ApprovalRequest {
        id: "a1".into(),
        tool: "shell".into(),
        input: json!({"command": "ls"}),
        summary: "run ls".into(),
        preview: None,
        reason: String::new(),
        session_scope: String::new(),
        session_id: SessionId::parse("webchat:a").unwrap(),
        turn: TurnId::fresh(),
        created_at: Timestamp::UNIX_EPOCH,
        expires_at: Timestamp::UNIX_EPOCH,
    };
    let mut ticket = app.app.deps.chat.approvals.open(request);
    assert_eq!(app.get("/api/approvals", &[]).await.json()["approvals"][0]["input"]["command"], "ls");
    for body in [
        r#"{"decision": "perhaps"}"#,
        r#"{"decision": "approve", "scope": "for ever"}"#,
        r#"{"decision": "approve", "input": "ls"}"#,
        r#"{"decision": "deny", "scope": "session"}"#,
        r#"{"decision": "deny", "input": {}}"#,
    ] {
        assert_eq!(app.post("/api/approvals/a1", body).await.status, 422, "{body}");
    }
    assert_eq!(app.post("/api/approvals/a1", r#"{"decision": "approve"}"#).await.status, 200);
    assert_eq!(ticket.answer().await.answer.decision, Decision::Approve);
    assert_eq!(app.post("/api/approvals/a1", r#"{"decision": "deny"}"#).await.code(), "not_found");
}
