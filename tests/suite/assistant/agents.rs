//! Agents, specialists and work of several turns from end to end (docs/specialists.md, docs/work.md).

use aethon_tests::server::run_cli;
use aethon_tests::{Server, eventually};
use serde_json::{Value, json};

fn agents(server: &Server) -> Value {
    server.get("/api/agents").json()
}

#[test]
fn specialist_run_is_streamed_and_kept_in_the_history() {
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

    // It survives a restart, and the chat continues with the same scout.
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
fn specialist_calls_need_the_same_approval_as_the_callers() {
    let server = Server::start(&["approval.enabled=true", "approval.requires_approval=[\"shell\"]"]);
    let ran = server.home().path().join("workspace/ran.txt");
    let command = "echo ran >> ran.txt";
    let task = format!("!tool shell {}", json!({"command": command}));
    let delegate = format!("!tool ask_coder {}", json!({"task": task}));
    let mut chat = server.chat("a");
    let mut ask = |id: &str, decision: &str| {
        chat.send_json(&json!({"type": "message", "id": id, "text": delegate}));
        let question = chat.until("approval").pop().unwrap();
        assert_eq!((&question["tool"], &question["input"]["command"]), (&json!("shell"), &json!(command)));
        assert!(!ran.exists(), "nothing runs before the word");
        chat.send_json(&json!({"type": "approval", "id": question["id"], "decision": decision}));
        chat.until("done");
        ran.exists()
    };
    assert!(!ask("m1", "deny"));
    assert!(ask("m2", "approve"));
    std::fs::remove_file(&ran).unwrap();
    // Without a person to ask, it is denied.
    let answer = server.post("/webhook/trigger", &json!({"text": delegate}));
    assert_eq!(answer.status, 200);
    assert!(!ran.exists(), "{}", answer.text());
    let rows = server.get("/api/audit?action=approval").json()["audit"].as_array().unwrap().clone();
    assert_eq!(rows.len(), 3, "{rows:?}");
}

#[test]
fn creating_a_specialist_needs_approval() {
    let server = Server::start(&["agent.dynamic_specialists=true", "approval.enabled=true"]);
    let make = "!tool manage_specialists {\"action\": \"create\", \"name\": \"thief\", \
                \"description\": \"Takes.\", \"prompt\": \"You take.\"}";
    let answer = server.post("/webhook/trigger", &json!({"text": make})).text();
    assert!(answer.contains("owner's own words"), "text from outside makes none at all: {answer}");
    let mut plain = server.socket("/ws/chat");
    plain.send(make);
    let answer = plain.text();
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
fn specialist_is_created_listed_asked_and_removed_without_secrets() {
    let server = Server::start(&["agent.dynamic_specialists=true"]);
    let ask = |text: &str| {
        let mut chat = server.socket("/ws/chat");
        chat.send(text);
        chat.text()
    };
    let manage = |input: Value| ask(&format!("!tool manage_specialists {input}"));
    let list = || manage(json!({"action": "list"}));
    let make = |name: &str, description: &str, prompt: &str| {
        manage(json!({"action": "create", "name": name, "description": description, "prompt": prompt}))
    };
    let file = |name: &str| server.home().path().join(format!("workspace/agents/{name}.agent.md"));
    assert!(list().contains("none was made here yet"));
    let made = make("poet", "Writes rhymes.", "You write short rhymes.");
    assert!(made.contains("`poet` is there"), "{made}");
    let kept = std::fs::read_to_string(file("poet")).unwrap();
    assert!(kept.contains("You write short rhymes."), "{kept}");
    assert!(list().contains("Writes rhymes."));
    assert!(agents(&server)["agents"].to_string().contains("poet"));
    let asked = ask("!tool ask_poet {\"task\": \"!say a rhyme\"}");
    assert!(asked.contains("a rhyme"), "{asked}");

    for (name, description, prompt) in [
        ("leaky", "Knows.", "The password is hunter2Hunter2x, use it."),
        ("leaky", "Uses the password=hunter2Hunter2x.", "You know."),
        ("poet", "Writes.", "The key is sk-abcdefghijklmnopqrstuvwxyz0123456789."),
    ] {
        let refused = make(name, description, prompt);
        assert!(refused.contains("secret") && !refused.contains("is there"), "{refused}");
        assert!(!file("leaky").exists());
        assert_eq!(std::fs::read_to_string(file("poet")).unwrap(), kept, "the one before stays");
    }
    for (name, words) in [("scout", "comes with the program"), ("../poet", "name"), ("", "needs `name`")] {
        let refused = make(name, "Writes.", "You write.");
        assert!(refused.contains(words), "{name:?}: {refused}");
    }

    let remove = || manage(json!({"action": "remove", "name": "poet"}));
    assert!(remove().contains("`poet` is removed"));
    assert!(!file("poet").exists() && list().contains("none was made here yet"));
    assert!(remove().contains("there is no specialist `poet`"));
    let gone = ask("!tool ask_poet {\"task\": \"!say a rhyme\"}");
    assert!(gone.contains("there is no tool `ask_poet`"), "{gone}");
}

#[test]
fn killed_work_resumes_without_repeating_steps() {
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
        // The conversation begins with it.
        let session = server.get("/api/sessions/webchat:default").json();
        let last = session["messages"].as_array()?.last()?.clone();
        Some(last["content"].to_string()).filter(|text| text.contains("is done"))
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

#[test]
fn the_terminal_shows_and_ends_work() {
    let server = Server::start(&["work.enabled=true"]);
    let task = json!({"title": "wait", "detail": "!sleep 60000", "acceptance": ["it is late"]});
    let planned = server.post("/api/work", &json!({"goal": "a long wait", "tasks": [task]})).json();
    let id = planned["work_id"].as_str().unwrap();
    let work = || server.get(&format!("/api/work/{id}")).json();
    eventually("it is worked on", || (work()["state"] == "running").then_some(()));
    let cli = |arguments: &[&str]| run_cli(server.home().path(), arguments, None);
    let shown = cli(&["tasks", "show", id]);
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(text.contains("running  0/1  a long wait") && text.contains("1. wait (running)"), "{shown:?}");
    // People type the end of a name.
    let ended = cli(&["tasks", "cancel", &id[id.len() - 8..]]);
    assert!(ended.status.success(), "{ended:?}");
    assert!(String::from_utf8_lossy(&ended.stdout).contains("(to stop)"), "{ended:?}");
    let over = eventually("it is over", || Some(work()).filter(|work| work["state"] == "stopped"));
    assert!(over["receipt"].as_str().unwrap().contains("was ended by you"), "{over}");
    assert!(!cli(&["tasks", "cancel", id]).status.success(), "it is over");
    assert!(!cli(&["tasks", "show", "nothing-like-it"]).status.success());
}

#[test]
fn edit_that_breaks_a_check_is_reported_in_the_same_turn() {
    let server = Server::start(&["verification.enabled=true", "verification.command=\"sh -n script.sh\""]);
    let write =
        |content: &str| format!("!tool file_write {}", json!({"path": "script.sh", "content": content}));
    let mut chat = server.socket("/ws/chat?session=default");
    // The second call of the same turn mends the fault reported by the first.
    chat.send(
        &[write("if true; then\n"), "!then".into(), write("true\n"), "!then".into(), "!say mended".into()]
            .join("\n"),
    );
    assert!(chat.text().contains("mended"));
    let messages = server.messages("webchat:default");
    let blocks = messages.iter().flat_map(|message| message["content"].as_array().unwrap());
    let results: Vec<&Value> = blocks.filter(|block| block["type"] == "tool_result").collect();
    assert_eq!(results.len(), 2, "{messages:?}");
    let broken = results[0].to_string();
    assert!(broken.contains("Output of the check `sh -n script.sh`"), "{broken}");
    assert!(broken.contains("Syntax error"), "{broken}");
    let mended = results[1].to_string();
    assert!(!mended.contains("Output of the check"), "{mended}");
    let turns = messages.iter().filter(|message| message["role"] == "user").count();
    assert_eq!(turns, 1, "it was one turn");
}
