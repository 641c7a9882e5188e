//! Changes of files by tools are listed and taken back (docs/api.md, "Changes of files").

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use aethon_tests::socket::of_type;
use aethon_tests::{Request, Server, Socket, eventually};
use serde_json::{Value, json};

const TEMPORARY: &str = "temporary-0123456789abcdef0123456789abcdef";

fn workspace(home: &Path, name: &str) -> PathBuf {
    home.join("workspace").join(name)
}

fn text(home: &Path, name: &str) -> Option<String> {
    fs::read_to_string(workspace(home, name)).ok()
}

fn put(home: &Path, name: &str, content: &str) {
    fs::write(workspace(home, name), content).unwrap();
}

fn tool(name: &str, input: &Value) -> String {
    format!("!tool {name} {input}\n!then\n!say done")
}

/// Has a tool change a file, and returns the turn.
fn change(chat: &mut Socket, id: &str, name: &str, input: &Value) -> Value {
    let frames = chat.say(id, &tool(name, input));
    assert_eq!(of_type(&frames, "tool").last().unwrap()["state"], "ok", "{frames:?}");
    of_type(&frames, "done")[0]["turn"].clone()
}

fn write(chat: &mut Socket, id: &str, path: &str, content: &str) -> Value {
    change(chat, id, "file_write", &json!({"path": path, "content": content}))
}

fn files_of(session: &str) -> String {
    format!("/api/sessions/webchat:{session}/file-changes")
}

fn list(server: &Server, session: &str) -> Value {
    server.get(&files_of(session)).json()
}

/// Takes changes back, and returns each file with what happened to it.
fn undo(server: &Server, session: &str, turn: &Value) -> Vec<(String, String)> {
    // A turn has shown its end a moment before it is over.
    let answer = eventually("the turn is over", || {
        let answer = server.post(&format!("{}/undo", files_of(session)), &json!({"turn": turn}));
        (answer.status != 409).then_some(answer)
    });
    assert_eq!(answer.status, 200, "{}", answer.text());
    outcomes(&answer.json())
}

fn outcomes(answer: &Value) -> Vec<(String, String)> {
    let text = |file: &Value, key: &str| file[key].as_str().unwrap().to_owned();
    let files = answer["files"].as_array().unwrap();
    files.iter().map(|file| (text(file, "path"), text(file, "outcome"))).collect()
}

fn told(path: &str, outcome: &str) -> (String, String) {
    (path.to_owned(), outcome.to_owned())
}

fn records(home: &Path) -> usize {
    fs::read_dir(home.join("changes")).map_or(0, Iterator::count)
}

#[test]
fn changed_file_is_put_back_with_its_mode_and_created_one_is_removed() {
    let server = Server::start(&[]);
    let home = server.home();
    let home = home.path();
    put(home, "notes.md", "one\ntwo\n");
    fs::set_permissions(workspace(home, "notes.md"), fs::Permissions::from_mode(0o750)).unwrap();
    let mut chat = server.chat("plans");
    chat.say("m0", "!say hello");
    let edit = json!({"path": "notes.md", "old": "two", "new": "three"});
    let first = change(&mut chat, "m1", "file_edit", &edit);
    let append = json!({"path": "notes.md", "content": "four\n", "append": true});
    let second = change(&mut chat, "m2", "file_write", &append);
    write(&mut chat, "m3", "made/new.md", "new");
    change(&mut chat, "m4", "shell", &json!({"command": "echo five >> other.md"}));

    let listed = list(&server, "plans");
    let changes = listed["changes"].as_array().unwrap();
    let seen: Vec<_> =
        changes.iter().map(|change| (&change["path"], &change["kind"], &change["state"])).collect();
    let (notes, made, left) = (json!("notes.md"), json!("made/new.md"), json!("as_left"));
    let (changed, created) = (json!("changed"), json!("created"));
    assert_eq!(seen, [(&notes, &changed, &left), (&notes, &changed, &left), (&made, &created, &left)]);
    assert_eq!((&changes[0]["turn"], &changes[0]["tool"]), (&first, &json!("file_edit")));
    let since = server.get(&format!("{}?turn={}", files_of("plans"), second.as_str().unwrap())).json();
    assert_eq!((since["changes"].as_array().unwrap().len(), &since["commands"]), (2, &json!(1)));
    assert!(!listed.to_string().contains("two"), "no content is shown: {listed}");
    let folder = fs::metadata(home.join("changes")).unwrap();
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);

    let both = [told("notes.md", "restored"), told("made/new.md", "removed")];
    assert_eq!(undo(&server, "plans", &second), both);
    assert_eq!(text(home, "notes.md").as_deref(), Some("one\nthree\n"));
    assert_eq!(text(home, "made/new.md"), None);
    assert_eq!(text(home, "other.md").as_deref(), Some("five\n"), "commands are not covered");
    let audit = server.get("/api/audit?action=files&limit=1").json()["audit"][0].clone();
    assert_eq!((&audit["subject"], &audit["outcome"]), (&json!("2 files"), &json!("put_back")), "{audit}");
    assert!(audit["detail"].as_str().unwrap().contains("\"made/new.md\": removed"), "{audit}");
    assert_eq!(undo(&server, "plans", &first)[0], told("notes.md", "restored"));
    assert_eq!(text(home, "notes.md").as_deref(), Some("one\ntwo\n"));
    let mode = fs::metadata(workspace(home, "notes.md")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o750);
    assert_eq!(undo(&server, "plans", &first), [told("notes.md", "already"), told("made/new.md", "already")]);

    // Taking back is undone step by step.
    assert_eq!(list(&server, "plans")["redoable"], json!(["notes.md"]));
    let redo = || outcomes(&server.post(&format!("{}/redo", files_of("plans")), &json!({})).json());
    assert_eq!(redo(), [told("notes.md", "restored")]);
    assert_eq!(text(home, "notes.md").as_deref(), Some("one\nthree\n"));
    assert_eq!(redo(), [told("notes.md", "restored"), told("made/new.md", "restored")]);
    assert_eq!(text(home, "notes.md").as_deref(), Some("one\nthree\nfour\n"));
    assert_eq!(text(home, "made/new.md").as_deref(), Some("new"));
    assert_eq!(redo(), []);
}

#[test]
fn file_that_was_changed_since_is_left_alone_and_told() {
    let server = Server::start(&[]);
    let home = server.home();
    let home = home.path();
    let (mut mine, mut other) = (server.chat("mine"), server.chat("other"));
    put(home, "a.md", "one");
    let turn = write(&mut mine, "m1", "a.md", "two");
    write(&mut mine, "m2", "b.md", "new");
    put(home, "a.md", "by hand");
    assert_eq!(undo(&server, "mine", &turn), [told("a.md", "changed_since"), told("b.md", "removed")]);
    assert_eq!(text(home, "a.md").as_deref(), Some("by hand"));
    assert_eq!(list(&server, "mine")["changes"][0]["state"], "changed_since");

    // Two conversations on one file: the later change first.
    put(home, "c.md", "one");
    let first = write(&mut mine, "m3", "c.md", "two");
    let second = write(&mut other, "m4", "c.md", "three");
    assert_eq!(undo(&server, "mine", &first), [told("c.md", "changed_since")]);
    assert_eq!(undo(&server, "other", &second), [told("c.md", "restored")]);
    assert_eq!(undo(&server, "mine", &first), [told("c.md", "restored")]);
    assert_eq!(text(home, "c.md").as_deref(), Some("one"));
}

#[test]
fn nothing_is_put_back_through_a_link() {
    let server = Server::start(&[]);
    let home = server.home();
    let home = home.path();
    let mut chat = server.chat("links");
    put(home, "a.md", "one");
    fs::create_dir(workspace(home, "folder")).unwrap();
    let turn = write(&mut chat, "m1", "a.md", "two");
    write(&mut chat, "m2", "folder/b.md", "two");
    let outside = tempfile::tempdir().unwrap();
    for name in ["a.md", "b.md"] {
        fs::write(outside.path().join(name), "two").unwrap();
    }
    fs::remove_file(workspace(home, "a.md")).unwrap();
    symlink(outside.path().join("a.md"), workspace(home, "a.md")).unwrap();
    fs::remove_dir_all(workspace(home, "folder")).unwrap();
    symlink(outside.path(), workspace(home, "folder")).unwrap();
    let done = undo(&server, "links", &turn);
    assert_eq!(done, [told("a.md", "failed"), told("folder/b.md", "failed")]);
    for name in ["a.md", "b.md"] {
        assert_eq!(fs::read_to_string(outside.path().join(name)).unwrap(), "two", "{name}");
    }
}

#[test]
fn changes_are_taken_back_after_a_kill_and_a_change_that_never_happened_does_no_harm() {
    let server = Server::start(&[]);
    put(server.home().path(), "a.md", "one");
    let mut chat = server.chat("plans");
    let turn = write(&mut chat, "m1", "a.md", "two");
    // As if the program had been killed between the record and the change.
    write(&mut chat, "m2", "a.md", "three");
    put(server.home().path(), "a.md", "two");
    drop(chat);
    let home = server.kill();
    let server = Server::start_in(home, &[]);
    assert_eq!(undo(&server, "plans", &turn), [told("a.md", "restored")]);
    assert_eq!(text(server.home().path(), "a.md").as_deref(), Some("one"));
    // The same between the record of putting back and putting back.
    put(server.home().path(), "a.md", "two");
    let server = Server::start_in(server.kill(), &[]);
    assert_eq!(undo(&server, "plans", &turn), [told("a.md", "restored")]);
    assert_eq!(text(server.home().path(), "a.md").as_deref(), Some("one"));
}

#[test]
fn killed_writer_leaves_a_file_that_can_be_put_back() {
    let server = Server::start(&[]);
    let mut server = Some(server);
    let mut home = server.as_ref().unwrap().home();
    put(home.path(), "a.md", "first");
    let mut turns = Vec::new();
    for round in 0..4 {
        let running = server.take().unwrap_or_else(|| Server::start_in(home.clone(), &[]));
        let mut chat = running.chat("plans");
        // Many calls in one turn, during which the program is killed.
        let calls: String = (0..20)
            .map(|call| {
                let input = json!({"path": "a.md", "content": format!("round {round} call {call}")});
                format!("!tool file_write {input}\n!then\n")
            })
            .collect();
        chat.send_json(
            &json!({"type": "message", "id": format!("m{round}"), "text": format!("{calls}!say done")}),
        );
        turns.push(chat.until("tool").pop().unwrap()["turn"].clone());
        std::thread::sleep(std::time::Duration::from_millis(40 + 30 * round));
        home = running.kill();
    }
    let server = Server::start_in(home, &[]);
    eventually("nothing runs any more", || {
        (server.get("/api/sessions/webchat:plans").json()["busy"] == false).then_some(())
    });
    assert_eq!(undo(&server, "plans", &turns[0]), [told("a.md", "restored")]);
    assert_eq!(text(server.home().path(), "a.md").as_deref(), Some("first"));
}

/// What the model was told about files that were put back, turn by turn.
fn told_to_the_model(server: &Server, session: &str) -> Vec<String> {
    let messages = server.messages(&format!("webchat:{session}"));
    let blocks = messages.iter().flat_map(|message| message["content"].as_array().unwrap());
    let news = blocks.filter(|block| block["type"] == "context" && block["source"] == "files");
    news.map(|block| block["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn model_is_told_once_which_files_were_put_back_and_only_what_its_branch_knows() {
    let server = Server::start(&[]);
    let mut chat = server.chat("told");
    let first = write(&mut chat, "m1", "kept.md", "one");
    let second = write(&mut chat, "m2", "kept.md", "two");
    write(&mut chat, "m3", "made\nby night.md", "new");
    undo(&server, "told", &second);
    // A restart forgets nothing of it.
    let server = Server::start_in(server.kill(), &[]);
    let mut chat = server.chat("told");
    chat.say("m4", "!say four");
    chat.say("m5", "!say five");
    let news = told_to_the_model(&server, "told");
    assert_eq!(news.len(), 1, "once: {news:?}");
    assert!(news[0].ends_with(":\n\"kept.md\"\n\"made\\nby night.md\" (removed)"), "{news:?}");
    // Another version of the first turn knows nothing of any change.
    undo(&server, "told", &first);
    chat.send_json(&json!({"type": "edit", "id": "m6", "turn": first, "text": "!say six"}));
    chat.until("done");
    assert_eq!(told_to_the_model(&server, "told"), [""; 0]);
    // In the version that did, the next turn is told of what was put back since.
    let chosen = server.post("/api/sessions/webchat:told/switch", &json!({"turn": first}));
    assert_eq!(chosen.status, 200, "{}", chosen.text());
    chat.say("m7", "!say seven");
    let news = told_to_the_model(&server, "told");
    assert_eq!(news.len(), 2, "{news:?}");
    assert!(news[1].ends_with(":\n\"kept.md\" (removed)"), "{news:?}");
    // Made again before anybody was told, it is as the model left it.
    let third = write(&mut chat, "m8", "again.md", "text");
    undo(&server, "told", &third);
    server.post(&format!("{}/redo", files_of("told")), &json!({}));
    chat.say("m9", "!say nine");
    assert_eq!(told_to_the_model(&server, "told").len(), 2);
}

#[test]
fn what_a_specialist_does_counts_for_the_message_that_asked_it() {
    let server = Server::start(&[]);
    let mut chat = server.chat("spec");
    let task = "!tool shell {\"command\": \"true\"}\n!then\n!tool file_write {\"path\": \"spec.md\", \"content\": \"one\"}";
    let asks = format!(
        "!tool shell {{\"command\": \"sleep 1\"}}\n!then\n!tool ask_coder {}\n!then\n!say asked",
        json!({"task": task})
    );
    // The second message is accepted before the specialist's turn begins.
    let next = tool("file_write", &json!({"path": "two.md", "content": "two"}));
    for (id, text) in [("m1", &asks), ("m2", &next)] {
        chat.send_json(&json!({"type": "message", "id": id, "text": text}));
    }
    let turns: Vec<Value> = (0..2).map(|_| chat.until("done").last().unwrap()["turn"].clone()).collect();
    let listed = list(&server, "spec");
    let of = |place: usize| (&listed["changes"][place]["path"], &listed["changes"][place]["turn"]);
    assert_eq!((of(0), of(1)), ((&json!("spec.md"), &turns[0]), (&json!("two.md"), &turns[1])));
    let commands = |turn: &Value| {
        server.get(&format!("{}?turn={}", files_of("spec"), turn.as_str().unwrap())).json()["commands"]
            .clone()
    };
    assert_eq!((commands(&turns[0]), commands(&turns[1])), (json!(2), json!(0)));
    assert_eq!(undo(&server, "spec", &turns[1]), [told("two.md", "removed")]);
    assert_eq!(text(server.home().path(), "spec.md").as_deref(), Some("one"));
}

#[test]
fn running_turn_refuses_and_unknown_turns_and_sessions_are_named() {
    let server = Server::start(&[]);
    let mut chat = server.chat("busy");
    let turn = write(&mut chat, "m1", "a.md", "one");
    chat.send_json(&json!({"type": "message", "id": "m2", "text": "!stream 5000 10"}));
    chat.until("delta");
    for act in ["undo", "redo"] {
        let refused = server.post(&format!("{}/{act}", files_of("busy")), &json!({"turn": turn}));
        assert_eq!((refused.status, &refused.json()["code"]), (409, &json!("turn_running")), "{act}");
        assert!(refused.text().contains("wait for its end"), "{}", refused.text());
    }
    chat.send_json(&json!({"type": "stop"}));
    chat.until("done");
    let other = write(&mut server.chat("other"), "m3", "b.md", "one");
    for unknown in [json!("0"), json!("x"), other] {
        let refused = server.post(&format!("{}/undo", files_of("busy")), &json!({"turn": unknown}));
        assert_eq!((refused.status, &refused.json()["code"]), (404, &json!("no_such_turn")), "{unknown}");
    }
    for body in [json!({}), json!({"turn": ""}), json!({"turn": 7})] {
        assert_eq!(server.post(&format!("{}/undo", files_of("busy")), &body).status, 422, "{body}");
    }
    assert_eq!(server.get(&files_of("nobody")).status, 404);
    assert_eq!(server.post(&format!("{}/undo", files_of("nobody")), &json!({"turn": turn})).status, 404);
    assert_eq!(text(server.home().path(), "a.md").as_deref(), Some("one"));
}

#[test]
fn changes_go_with_their_conversation() {
    let server = Server::start(&[]);
    let home = server.home();
    let home = home.path();
    let mut chat = server.chat("plans");
    let turn = write(&mut chat, "m1", "a.md", "one");
    let delete = |path: &str| server.send(&Request::new("DELETE", path)).status;
    // The bin keeps them, and a new conversation of that name has none.
    assert_eq!(delete("/api/sessions/webchat:plans"), 200);
    assert_eq!(records(home), 1);
    chat.say("m2", "!say another");
    assert_eq!(list(&server, "plans")["changes"], json!([]));
    assert_eq!(delete("/api/sessions/webchat:plans?now=true"), 200);
    assert_eq!(records(home), 0, "what had its name went with it");

    write(&mut chat, "m3", "b.md", "one");
    assert_eq!(delete("/api/sessions/webchat:plans"), 200);
    assert_eq!(server.post("/api/sessions/webchat:plans/restore", &json!({})).status, 200);
    assert_eq!(list(&server, "plans")["changes"].as_array().unwrap().len(), 1, "it came back with them");
    assert_eq!(delete("/api/sessions/webchat:plans"), 200);
    assert_eq!(delete("/api/sessions/bin"), 200);
    assert_eq!(records(home), 0, "the bin was emptied");

    write(&mut chat, "m4", "c.md", "one");
    assert_eq!(server.post("/api/sessions/webchat:plans/reset", &json!({})).status, 200);
    assert_eq!(records(home), 0, "its messages are gone");
    assert_eq!(text(home, "a.md").as_deref(), Some("one"), "the files stay");
    let refused = server.post(&format!("{}/undo", files_of("plans")), &json!({"turn": turn}));
    assert_eq!(refused.status, 404, "{}", refused.text());
}

#[test]
fn temporary_conversation_keeps_nothing_of_its_changes() {
    let server = Server::start(&[]);
    let turn = write(&mut server.chat(TEMPORARY), "m1", "a.md", "one");
    assert_eq!(records(server.home().path()), 0);
    assert_eq!(list(&server, TEMPORARY)["changes"], json!([]));
    assert_eq!(undo(&server, TEMPORARY, &turn), []);
    assert_eq!(text(server.home().path(), "a.md").as_deref(), Some("one"));
}

#[test]
fn changes_are_copied_to_the_database_if_files_are_kept_there() {
    let settings = ["storage.files=database"];
    let server = Server::start(&settings);
    put(server.home().path(), "a.md", "one");
    let turn = write(&mut server.chat("plans"), "m1", "a.md", "two");
    let home = server.home();
    assert!(server.terminate().success());
    // As on another instance, or after a move to another machine: the folder is not there.
    fs::remove_dir_all(home.path().join("changes")).unwrap();
    let server = Server::start_in(home, &settings);
    assert_eq!(list(&server, "plans")["changes"][0]["state"], "as_left");
    assert_eq!(undo(&server, "plans", &turn), [told("a.md", "restored")]);
    assert_eq!(text(server.home().path(), "a.md").as_deref(), Some("one"));
    assert_eq!(server.send(&Request::new("DELETE", "/api/sessions/webchat:plans?now=true")).status, 200);
    fs::remove_dir_all(server.home().path().join("changes")).unwrap();
    server.chat("plans").say("m2", "!say again");
    assert_eq!(list(&server, "plans")["changes"], json!([]), "the copies are gone, too");
    assert_eq!(records(server.home().path()), 0);
}

#[test]
fn tools_reach_neither_the_records_nor_take_anything_back() {
    let server = Server::start(&[]);
    put(server.home().path(), "a.md", "one");
    let mut chat = server.chat("plans");
    write(&mut chat, "m1", "a.md", "two");
    let record = fs::read_dir(server.home().path().join("changes")).unwrap().next().unwrap().unwrap().path();
    for (name, input) in [
        ("file_read", json!({"path": record})),
        ("file_write", json!({"path": record, "content": "x"})),
        ("file_list", json!({"path": record.parent()})),
    ] {
        let frames = chat.say(name, &tool(name, &input));
        let state = of_type(&frames, "tool").last().unwrap()["state"].clone();
        assert!(state == "denied" || state == "error", "{name}: {frames:?}");
    }
    let tools = server.get("/api/status").text() + &server.get("/api/features").text();
    assert!(!tools.contains("file_undo") && !tools.contains("put_back"), "{tools}");
}
