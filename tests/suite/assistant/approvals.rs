//! Approvals: `approval.*`, `/api/approvals*` and their frames (docs/approvals.md).

use std::time::{Duration, Instant};

use aethon_tests::socket::of_type;
use aethon_tests::{Request, Server, Socket, eventually};
use serde_json::{Value, json};

const READ: &str = "!tool file_read {\"path\": \"notes.txt\"}";

fn asking(more: &[&str]) -> Server {
    let mut settings = vec!["approval.enabled=true", "approval.requires_approval=[\"file_read\"]"];
    settings.extend_from_slice(more);
    let server = Server::start(&settings);
    std::fs::write(server.home().path().join("workspace/notes.txt"), "milk and honey\n").unwrap();
    server
}

/// Sends the message and waits for the question.
fn asked(chat: &mut Socket, id: &str, text: &str) -> Value {
    chat.send_json(&json!({"type": "message", "id": id, "text": text}));
    chat.until("approval").pop().unwrap()
}

fn decide(chat: &mut Socket, question: &Value, decision: &str) -> Vec<Value> {
    chat.send_json(&json!({"type": "approval", "id": question["id"], "decision": decision}));
    chat.until("done")
}

fn state(frames: &[Value]) -> &str {
    of_type(frames, "tool").last().and_then(|tool| tool["state"].as_str()).expect("a tool frame")
}

fn settled(frames: &[Value]) -> (&str, &str) {
    let done = of_type(frames, "approval_done")[0];
    (done["decision"].as_str().unwrap(), done["reason"].as_str().unwrap())
}

#[test]
fn approval_shows_the_exact_arguments() {
    let server = asking(&[]);
    let mut chat = server.chat("default");
    let question = asked(&mut chat, "m1", READ);
    assert_eq!((&question["tool"], &question["input"]), (&json!("file_read"), &json!({"path": "notes.txt"})));
    assert!(question["id"].is_string() && !question["summary"].as_str().unwrap().is_empty(), "{question}");
    assert!(question["expires_at"].as_str().unwrap().ends_with('Z'), "{question}");
    assert!(question["seq"].is_u64() && question["turn"].is_string());

    let pending = server.get("/api/approvals").json()["approvals"].clone();
    assert_eq!(pending.as_array().unwrap().len(), 1);
    for name in ["id", "tool", "input", "summary", "expires_at"] {
        assert_eq!(pending[0][name], question[name], "{name}");
    }
    decide(&mut chat, &question, "deny");
}

#[test]
fn call_approved_by_a_frame_runs_once() {
    let server = asking(&[]);
    let mut chat = server.chat("default");
    let question = asked(&mut chat, "m1", READ);
    let frames = decide(&mut chat, &question, "approve");
    assert_eq!((state(&frames), settled(&frames)), ("ok", ("approve", "user")));
    assert!(frames.last().unwrap()["text"].as_str().unwrap().contains("milk and honey"));
    // It is settled: a second answer finds nothing, and the next call asks again.
    chat.send_json(&json!({"type": "approval", "id": question["id"], "decision": "approve"}));
    assert_eq!(chat.frame()["type"], "error");
    let next = asked(&mut chat, "m2", READ);
    assert_ne!(next["id"], question["id"], "an answer is for one call");
    assert_eq!(settled(&decide(&mut chat, &next, "deny")).0, "deny");
}

#[test]
fn call_denied_by_a_frame_does_not_run() {
    let server = asking(&[]);
    let mut chat = server.chat("default");
    let question = asked(&mut chat, "m1", READ);
    let frames = decide(&mut chat, &question, "deny");
    assert_eq!((state(&frames), settled(&frames)), ("denied", ("deny", "user")));
    let done = frames.last().unwrap();
    assert_eq!(done["stop_reason"], "end", "the model is told and goes on");
    assert!(!done["text"].as_str().unwrap().contains("milk and honey"), "{done}");
}

#[test]
fn approval_is_answered_over_the_api() {
    let server = asking(&[]);
    let mut chat = server.chat("default");
    for (id, decision, expected) in [("m1", "approve", "ok"), ("m2", "deny", "denied")] {
        let question = asked(&mut chat, id, READ);
        let target = format!("/api/approvals/{}", question["id"].as_str().unwrap());
        assert_eq!(server.post(&target, &json!({"decision": decision})).status / 100, 2);
        let frames = chat.until("done");
        assert_eq!((state(&frames), settled(&frames)), (expected, (decision, "user")));
        assert_eq!(server.post(&target, &json!({"decision": decision})).status, 404, "answered once");
        assert_eq!(server.get("/api/approvals").json()["approvals"], json!([]));
    }
}

#[test]
fn unanswered_approval_expires_as_denied() {
    let server = asking(&["approval.timeout_seconds=1"]);
    let mut chat = server.chat("default");
    let begun = Instant::now();
    asked(&mut chat, "m1", READ);
    let frames = chat.until("done");
    assert_eq!((state(&frames), settled(&frames)), ("denied", ("deny", "timeout")));
    assert!(begun.elapsed() >= Duration::from_millis(900) && begun.elapsed() < Duration::from_secs(5));
    assert_eq!(server.get("/api/approvals").json()["approvals"], json!([]));
}

#[test]
fn call_without_an_approver_is_denied_at_once() {
    let server = asking(&[]);
    let begun = Instant::now();
    let mut plain = server.socket("/ws/chat?session=plain");
    plain.send(READ);
    let told = plain.text();
    assert!(!told.contains("milk and honey"), "{told}");
    let answer = server.post("/webhook/trigger", &json!({"text": READ}));
    assert_eq!(answer.status, 200);
    assert!(!answer.text().contains("milk and honey"), "{}", answer.text());
    assert!(begun.elapsed() < Duration::from_secs(10), "without waiting for a time-out");
    assert_eq!(server.get("/api/approvals").json()["approvals"], json!([]));
}

#[test]
fn call_of_an_unattended_turn_is_denied_at_once() {
    let done = "!then\n!tool tasks {\"action\": \"done\", \"evidence\": \"tried\"}";
    let ambient = format!("{READ}\n{done}");
    let server = asking(&[
        "work.enabled=true",
        "work.ambient.enabled=true",
        "work.ambient.idle_minutes=0",
        &format!("work.ambient.prompt={ambient:?}"),
    ]);
    let job = json!({"job_id": "reader", "cron": "@yearly", "prompt": READ});
    assert_eq!(server.post("/api/scheduler/jobs", &job).status, 201);
    assert_eq!(server.send(&Request::new("POST", "/api/scheduler/jobs/reader/run")).status, 201);
    let task = json!({"title": "read", "detail": ambient, "acceptance": ["it is read"]});
    let planned = server.post("/api/work", &json!({"goal": "to read", "tasks": [task]}));
    assert_eq!(planned.status, 201, "{}", planned.text());
    eventually("the job has run", || {
        let runs = server.get("/api/scheduler/jobs/reader/runs").json();
        (runs["runs"][0]["status"] == "ok").then_some(())
    });
    eventually("what was planned and what is done in idle time are over", || {
        let works = server.get("/api/work").json()["work"].as_array()?.clone();
        let over = works.iter().filter(|work| work["state"] == "done").count();
        (over == 2).then_some(())
    });
    let rows = server.get("/api/audit?action=approval").json()["audit"].as_array().unwrap().clone();
    let of = |channel: &str| -> Vec<&Value> {
        let is_of = |row: &&Value| row["session_id"].as_str().is_some_and(|id| id.starts_with(channel));
        rows.iter().filter(is_of).collect()
    };
    assert_eq!((rows.len(), of("work:").len()), (3, 2), "each asked once: {rows:?}");
    for row in &rows {
        assert_eq!((&row["subject"], &row["outcome"]), (&json!("file_read"), &json!("deny")), "{row}");
        assert!(row["by"].as_str().unwrap().contains("this channel cannot ask for one"), "{row}");
    }
    assert_eq!(server.get("/api/approvals").json()["approvals"], json!([]));
    // The job's and the work's messages to the owner hold nothing of the file.
    for session in server.get("/api/sessions?limit=100").json()["sessions"].as_array().unwrap() {
        let id = session["session_id"].as_str().unwrap();
        let kept = server.get(&format!("/api/sessions/{id}")).text();
        assert!(!kept.contains("milk and honey"), "{kept}");
    }
}

#[test]
fn approval_for_a_conversation_is_not_repeated() {
    let server = asking(&[]);
    std::fs::write(server.home().path().join("workspace/other.txt"), "bread\n").unwrap();
    let (mut chat, mut elsewhere) = (server.chat("default"), server.chat("elsewhere"));
    let question = asked(&mut chat, "m1", READ);
    assert!(question["session_scope"].as_str().is_some_and(|scope| !scope.is_empty()), "{question}");
    chat.send_json(
        &json!({"type": "approval", "id": question["id"], "decision": "approve", "scope": "session"}),
    );
    assert_eq!(state(&chat.until("done")), "ok");
    let frames = chat.say("m2", READ);
    assert_eq!((state(&frames), of_type(&frames, "approval").len()), ("ok", 0), "{frames:?}");
    // Another file, and another conversation, are other questions.
    let other = asked(&mut chat, "m3", "!tool file_read {\"path\": \"other.txt\"}");
    decide(&mut chat, &other, "deny");
    let question = asked(&mut elsewhere, "m1", READ);
    let target = format!("/api/approvals/{}", question["id"].as_str().unwrap());
    let nonsense = json!({"decision": "approve", "scope": "for ever"});
    assert_eq!(server.post(&target, &nonsense).status, 422);
    let kept = json!({"decision": "approve", "scope": "session"});
    assert_eq!(server.post(&target, &kept).status / 100, 2);
    assert_eq!(state(&elsewhere.until("done")), "ok");
    assert_eq!(of_type(&elsewhere.say("m2", READ), "approval").len(), 0);
    let grants = server.get("/api/audit?action=grant").json()["audit"].as_array().unwrap().len();
    assert_eq!(grants, 2);
}

#[test]
fn edited_arguments_run_and_stay_subject_to_the_rules() {
    let server =
        Server::start(&["approval.enabled=true", "approval.requires_approval=[\"file_read\", \"shell\"]"]);
    std::fs::write(server.home().path().join("workspace/notes.txt"), "milk and honey\n").unwrap();
    std::fs::write(server.home().path().join("workspace/other.txt"), "bread\n").unwrap();
    let mut chat = server.chat("default");
    let question = asked(&mut chat, "m1", READ);
    let edit = |input: Value| json!({"type": "approval", "id": question["id"], "decision": "approve", "input": input});
    for wrong in [json!({"path": 7}), json!({})] {
        chat.send_json(&edit(wrong.clone()));
        let refused = chat.frame();
        assert_eq!(
            (&refused["type"], &refused["code"]),
            (&json!("error"), &json!("bad_edit")),
            "{wrong}: {refused}"
        );
    }
    let target = format!("/api/approvals/{}", question["id"].as_str().unwrap());
    let over_api = json!({"decision": "approve", "input": {"path": 7}});
    assert_eq!(server.post(&target, &over_api).status, 422);
    assert_eq!(
        server.get("/api/approvals").json()["approvals"].as_array().unwrap().len(),
        1,
        "it stays open"
    );
    chat.send_json(&edit(json!({"path": "other.txt"})));
    let frames = chat.until("done");
    assert_eq!(state(&frames), "ok");
    assert_eq!(of_type(&frames, "approval_done")[0]["edited"], json!({"path": "other.txt"}));
    let text = frames.last().unwrap()["text"].as_str().unwrap();
    assert!(text.contains("bread") && !text.contains("milk and honey"), "{text}");
    let stored = json!(server.messages("webchat:default")).to_string();
    assert!(stored.contains("other.txt"), "what ran is what is kept: {stored}");

    let question = asked(&mut chat, "m2", READ);
    let target = format!("/api/approvals/{}", question["id"].as_str().unwrap());
    let changed = json!({"decision": "approve", "input": {"path": "other.txt"}});
    assert_eq!(server.post(&target, &changed).status / 100, 2);
    assert!(chat.until("done").last().unwrap()["text"].as_str().unwrap().contains("bread"));

    // A rule that a person can break by an edit holds for the edit.
    let question = asked(&mut chat, "m3", "!tool shell {\"command\": \"echo one\"}");
    let input = json!({"command": "sudo ls"});
    chat.send_json(&json!({"type": "approval", "id": question["id"], "decision": "approve", "input": input}));
    let refused = chat.frame();
    assert_eq!(refused["code"], "bad_edit", "{refused}");
    assert!(refused.to_string().contains("security.blocked_commands"), "{refused}");
    decide(&mut chat, &question, "deny");
}

#[test]
fn each_call_of_a_batch_asks() {
    let server = asking(&[]);
    std::fs::write(server.home().path().join("workspace/other.txt"), "bread\n").unwrap();
    let mut chat = server.chat("default");
    let text = format!("{READ}\n!tool file_read {{\"path\": \"other.txt\"}}\n!tool current_time {{}}");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": text}));
    let mut frames = Vec::new();
    let mut answered = 0;
    while frames.last().is_none_or(|frame: &Value| frame["type"] != "done") {
        let frame = chat.frame();
        if frame["type"] == "approval" {
            // The first file may be read, the second may not.
            let decision = if frame["input"]["path"] == "notes.txt" { "approve" } else { "deny" };
            chat.send_json(&json!({"type": "approval", "id": frame["id"], "decision": decision}));
            answered += 1;
        }
        frames.push(frame);
    }
    assert_eq!(answered, 2, "a call that needs none is not asked about");
    let text = frames.last().unwrap()["text"].as_str().unwrap().to_owned();
    assert!(text.contains("milk and honey") && !text.contains("bread"), "{text}");
}

#[test]
fn approval_reaches_every_window_and_any_may_answer() {
    let server = asking(&[]);
    let (mut one, mut two) = (server.chat("default"), server.chat("default"));
    two.settle();
    let question = asked(&mut one, "m1", READ);
    assert_eq!(two.until("approval").pop().unwrap(), question);
    two.send_json(&json!({"type": "approval", "id": question["id"], "decision": "approve"}));
    for socket in [&mut one, &mut two] {
        assert_eq!(settled(&socket.until("done")), ("approve", "user"));
    }
}

#[test]
fn approval_survives_a_reconnect() {
    let server = asking(&[]);
    let mut chat = server.chat("default");
    let question = asked(&mut chat, "m1", READ);
    drop(chat);
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "resume", "session": "default", "after": 0}));
    assert_eq!(chat.until("approval").pop().unwrap(), question);
    assert_eq!(state(&decide(&mut chat, &question, "approve")), "ok");
}

#[test]
fn approvals_switched_off_ask_for_nothing() {
    let server = Server::start(&["approval.requires_approval=[\"current_time\"]"]);
    let frames = server.chat("default").say("m1", "!tool current_time {}");
    assert!(of_type(&frames, "approval").is_empty());
    assert_eq!(state(&frames), "ok");
}

#[test]
fn crash_approves_nothing_by_itself() {
    let server = asking(&[]);
    let mut chat = server.chat("default");
    asked(&mut chat, "m1", READ);
    drop(chat);
    let settings =
        ["approval.enabled=true", "approval.requires_approval=[\"file_read\"]", "approval.timeout_seconds=1"];
    let server = Server::start_in(server.kill(), &settings);
    eventually("the turn has ended", || {
        (server.get("/api/sessions/webchat:default").json()["busy"] == false).then_some(())
    });
    let messages = server.messages("webchat:default");
    assert!(!format!("{messages:?}").contains("milk and honey"), "{messages:?}");
}
