//! Agents, specialists and work of several turns from end to end: specification 4.3 (`/api/agents`), INTERFACE section 4.

use aethon_tests::server::run_cli;
use aethon_tests::{Server, eventually};
use serde_json::{Value, json};

fn agents(server: &Server) -> Value {
    server.get("/api/agents").json()
}

#[test]
fn a_specialist_works_is_watched_and_kept_in_the_history() {
    let server = Server::start(&["agent.dynamic_specialists=true"]);
    let standing = agents(&server);
    let names: Vec<&str> =
        standing["agents"].as_array().unwrap().iter().map(|agent| agent["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["main", "analyst", "coder", "planner", "researcher", "scout"]);
    assert_eq!((&standing["active"], &standing["history"]), (&json!([]), &json!([])));

    // One that is put there as a file is there at once.
    let folder = server.home().path().join("workspace/agents");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("notes.agent.md"), "# Writes notes\n\nYou write notes.\n").unwrap();

    let mut events = server.socket("/ws/dashboard");
    events.send(r#"{"channel":"subscribe","topics":["agents"]}"#);
    let mut chat = server.socket("/ws/chat?session=team");
    let task = "!sleep 4000\\n!say the file is fine";
    chat.send(&format!(
        "!tool ask_scout {{\"task\": \"{task}\"}}\n!tool ask_notes {{\"task\": \"!say noted\"}}"
    ));
    let active = eventually("the scout is at work", || {
        let active = server.get("/api/agents/active").json()["active"].as_array().unwrap().clone();
        active.iter().any(|row| row["name"] == "scout").then_some(active)
    });
    let row = |name: &str| active.iter().find(|row| row["name"] == name).unwrap_or(&Value::Null);
    assert_eq!((&row("main")["state"], &row("main")["session_id"]), (&json!("tool"), &json!("webchat:team")));
    assert_eq!(
        (&row("scout")["state"], &row("scout")["parent"]),
        (&json!("thinking"), &row("main")["agent_id"])
    );
    let told = events.text();
    assert!(told.contains("\"channel\":\"agents\"") && told.contains("webchat:team"), "{told}");
    let answer = chat.text();
    assert!(answer.contains("the file is fine") && answer.contains("noted"), "{answer}");

    let history = eventually("all of it is in the history", || {
        let history = server.get("/api/agents/history?limit=9").json()["history"].as_array().unwrap().clone();
        (history.len() == 3).then_some(history)
    });
    let of = |name: &str| history.iter().find(|run| run["name"] == name).unwrap();
    // Side by side, so the shorter one may be noted first.
    let mut used: Vec<&str> =
        of("main")["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    used.sort_unstable();
    assert_eq!((&of("main")["outcome"], used), (&json!("end"), vec!["ask_notes", "ask_scout"]));
    assert!(of("scout")["duration"].as_f64().unwrap() >= 3.0 && of("scout")["kind"] == "delegation");
    let listed = server.get("/api/sessions?channel=agent").json();
    assert_eq!((&listed["count"], &listed["sessions"][0]["sender"]), (&json!(2), &json!("webchat:team")));
    assert_eq!(server.get("/api/sessions?channel=webchat").json()["count"], 1);

    // It survives a restart, and the chat goes on with the scout that it had asked before.
    let first = of("scout")["session_id"].as_str().unwrap().to_owned();
    let server = Server::start_in(server.kill(), &[]);
    assert_eq!(agents(&server)["history"].as_array().unwrap().len(), 3);
    let mut chat = server.socket("/ws/chat?session=team");
    chat.send("!tool ask_scout {\"task\": \"!say still here\", \"continue\": true}");
    let answer = chat.text();
    assert!(answer.contains("still here") && answer.contains(&first), "{first}: {answer}");
    let mut other = server.socket("/ws/chat?session=other");
    other.send("!tool ask_scout {\"task\": \"!say mine\", \"continue\": true}");
    let answer = other.text();
    assert!(answer.contains("no earlier request"), "another chat has none: {answer}");
}

#[test]
fn making_a_specialist_needs_a_persons_word() {
    let server = Server::start(&["agent.dynamic_specialists=true", "approval.enabled=true"]);
    let make = "!tool manage_specialists {\"action\": \"create\", \"name\": \"thief\", \
                \"description\": \"Takes.\", \"prompt\": \"You take.\"}";
    let answer = server.post("/webhook/trigger", &json!({"text": make})).text();
    assert!(answer.contains("approval.requires_approval"), "nobody can be asked there: {answer}");
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": make}));
    let question = chat.until("approval").pop().unwrap();
    assert_eq!(
        (&question["tool"], &question["input"]["name"]),
        (&json!("manage_specialists"), &json!("thief"))
    );
    chat.send_json(&json!({"type": "approval", "id": question["id"], "decision": "deny"}));
    chat.until("done");
    let names = agents(&server)["agents"].to_string();
    assert!(!names.contains("thief"), "{names}");
    assert!(!server.home().path().join("workspace/agents/thief.agent.md").exists());
}

#[test]
fn work_that_is_killed_goes_on_and_repeats_nothing() {
    let on = ["work.enabled=true"];
    let server = Server::start(&on);
    let done = |evidence: &str| format!("!tool tasks {{\"action\": \"done\", \"evidence\": \"{evidence}\"}}");
    let note = |word: &str| format!("!tool shell {{\"command\": \"echo {word} >> done.txt\"}}");
    let first = [note("one"), "!then".into(), done("one was written")].join("\n");
    let second = [note("two"), "!then".into(), "!sleep 3000".into(), done("two was written")].join("\n");
    let task = |title: &str, detail: &str| json!({"title": title, "detail": detail, "acceptance": ["it is written"]});
    let plan = json!({"goal": "two lines", "tasks": [task("first", &first), task("second", &second)]});
    assert_eq!(server.post("/api/work", &json!({"goal": "x", "tasks": []})).status, 422);
    let planned = server.post("/api/work", &plan);
    assert_eq!(planned.status, 201);
    let id = planned.json()["work_id"].as_str().unwrap().to_owned();
    let written = |server: &Server| {
        std::fs::read_to_string(server.home().path().join("workspace/done.txt")).unwrap_or_default()
    };
    eventually("the second task is under way", || (written(&server) == "one\ntwo\n").then_some(()));
    let server = Server::start_in(server.kill(), &on);
    let work = eventually("the end of the work", || {
        let work = server.get(&format!("/api/work/{id}")).json();
        (work["state"] == "done" || work["state"] == "failed").then_some(work)
    });
    assert_eq!((&work["state"], &work["iterations"]), (&json!("done"), &json!(2)), "{work}");
    assert_eq!(written(&server), "one\ntwo\n", "nothing was done twice");
    assert!(work["receipt"].as_str().unwrap().contains("two was written"));
    let told = eventually("the receipt in the chat", || {
        let messages = server.messages("webchat:default");
        messages.last().map(|message| message["content"].to_string()).filter(|text| text.contains("is done"))
    });
    assert!(told.contains("one was written"), "{told}");

    let mut chat = server.socket("/ws/chat?session=default");
    chat.send("/work pause");
    assert!(chat.text().contains("paused"));
    assert_eq!(server.get("/api/work").json()["paused"], true);
    let resumed = run_cli(server.home().path(), &["tasks", "resume"], None);
    assert!(resumed.status.success(), "{resumed:?}");
    assert_eq!(server.get("/api/work").json()["paused"], false);
    let listed = run_cli(server.home().path(), &["tasks", "list"], None);
    assert!(String::from_utf8_lossy(&listed.stdout).contains("2/2"), "{listed:?}");
}
