//! Recordings of sessions from end to end (docs/recordings.md).

use std::path::Path;

use aethon_tests::server::run_cli;
use aethon_tests::{Request, Server, eventually};
use serde_json::{Value, json};

const ON: &[&str] = &["session_recorder.enabled=true"];
const SESSION: &str = "webchat:default";

fn recordings(server: &Server) -> Vec<Value> {
    server.get("/api/sessions/recordings").json()["recordings"].as_array().unwrap().clone()
}

/// The files of the recordings that end like this.
fn files(home: &Path, ending: &str) -> Vec<std::path::PathBuf> {
    let folder = std::fs::read_dir(home.join("recordings")).unwrap().flatten();
    folder.map(|file| file.path()).filter(|path| path.to_string_lossy().ends_with(ending)).collect()
}

fn parsed(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// It has no recording yet that could be opened, and says so.
fn it_is_listed_as_running(server: &Server) {
    let listed = server.get("/api/sessions/recordings").json();
    assert_eq!((&listed["recordings"], &listed["running"][0]["session_id"]), (&json!([]), &json!(SESSION)));
    let running = listed["running"][0]["name"].as_str().unwrap();
    let refused = server.get(&format!("/api/sessions/recordings/{running}"));
    assert_eq!(refused.status, 404);
    assert!(refused.json()["detail"].as_str().unwrap().contains("still being written"));
}

fn it_is_downloaded_in_parts(server: &Server, target: &str) {
    let download = server.get(target);
    assert_eq!((download.status, download.header("content-type")), (200, Some("application/zip")));
    assert!(download.body.starts_with(b"PK"));
    assert_eq!(download.header("accept-ranges"), Some("bytes"));
    let size = download.body.len();
    assert_eq!(download.header("content-length"), Some(&*size.to_string()));
    let rest = server.send(&Request::get(target).header("Range", "bytes=10-"));
    let range = format!("bytes 10-{}/{size}", size - 1);
    assert_eq!((rest.status, rest.header("content-range")), (206, Some(&*range)));
    assert_eq!(rest.body, download.body[10..], "a download that was cut off goes on");
}

#[test]
fn recording_survives_a_kill_and_continues_from_each_turn() {
    let server = Server::start(ON);
    let mut chat = server.chat("default");
    chat.say("m1", "!say one");
    chat.say("m2", "!tool current_time {}\n!then\n!say two, password=hunter2x");
    chat.say("m3", "!say three, Bearer abcdef1234567890");
    let whole = server.said(SESSION);
    // Written a moment after the turn, without an end of the session.
    eventually("the journal of three turns", || {
        let journal = std::fs::read_to_string(files(server.home().path(), ".journal").first()?).ok()?;
        (journal.matches("\"type\":\"turn_ended\"").count() == 3).then_some(())
    });
    it_is_listed_as_running(&server);
    let server = Server::start_in(server.kill(), ON);
    let listed = recordings(&server);
    assert_eq!(listed.len(), 1, "{listed:?}");
    let name = listed[0]["name"].as_str().unwrap();
    let keys = ["session_id", "snapshots_count", "valid"].map(|key| &listed[0][key]);
    assert_eq!(keys, [&json!(SESSION), &json!(3), &json!(true)]);
    let at = |rest: &str| format!("/api/sessions/recordings/{name}{rest}");

    let about = server.get(&at("")).json();
    assert_eq!(
        (&about["has_resumable_state"], &about["metadata"]["format_version"]),
        (&json!(true), &json!(1))
    );
    assert!(about["duration"].is_number() && about["events_count"].as_u64() > Some(10), "{about}");
    let events = server.get(&at("/events?layer=tool")).json();
    let kinds: Vec<&str> =
        events["events"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["tool_call", "tool_result"]);
    let seq = events["events"][0]["seq"].as_u64().unwrap();
    let after = server.get(&at(&format!("/events?layer=tool&after={seq}&limit=1"))).json();
    assert_eq!(after["events"][0]["type"], "tool_result");
    assert_eq!(server.get(&at("/events?layer=none")).status, 422);
    assert_eq!(server.get(&at("/snapshots/4")).problem(), "not_found");

    let everything = server.get(&at("/events?limit=1000")).text() + &server.get(&at("/snapshots/3")).text();
    assert!(everything.contains("password=***") && everything.contains("Bearer ***"), "{everything}");
    assert!(!everything.contains("hunter2x") && !everything.contains("abcdef1234567890"));

    let snapshots = server.get(&at("/snapshots")).json()["snapshots"].clone();
    for n in 1..=3 {
        let count = snapshots[n - 1]["message_count"].as_u64().unwrap() as usize;
        let sessions = server.get("/api/sessions").json()["count"].clone();
        let preview = server.post(&at(&format!("/replay/{n}")), &json!({}));
        assert_eq!((preview.status, preview.json()["messages"].as_array().unwrap().len()), (200, count));
        assert_eq!(server.get("/api/sessions").json()["count"], sessions, "a preview changes nothing");
        let made = server.post(&at(&format!("/resume/{n}")), &json!({}));
        assert_eq!(made.status, 201, "{}", made.text());
        let session = made.json()["session_id"].as_str().unwrap().to_owned();
        let said = server.said(&session);
        assert_eq!(said.len(), count);
        let clean = |text: &str| text.replace("hunter2x", "***").replace("abcdef1234567890", "***");
        for (there, expected) in said.iter().zip(&whole) {
            assert_eq!(
                (there.0.as_str(), there.1.as_str()),
                (expected.0.as_str(), clean(&expected.1).as_str())
            );
        }
        let mut chat = server.chat(session.strip_prefix("webchat:").unwrap());
        assert_eq!(chat.say("go-on", "!say on we go").pop().unwrap()["text"], "on we go");
        assert_eq!(server.said(&session).len(), count + 2);
    }
    let difference = server.get(&at("/diff?from=1&to=2")).json();
    assert_eq!((&difference["unchanged"], &difference["removed"]), (&json!(2), &json!([])));

    it_is_downloaded_in_parts(&server, &at("/download"));
    assert_eq!(server.get(&at("/verify")).json()["valid"], true);
    let home = server.home();
    let cli = |arguments: &[&str]| run_cli(home.path(), &[&["recordings"], arguments].concat(), None);
    let list = parsed(&cli(&["list", "--json"]));
    assert!(list["recordings"].as_array().unwrap().iter().any(|recording| recording["name"] == name));
    assert_eq!(parsed(&cli(&["show", name, "--json"]))["snapshots"].as_array().unwrap().len(), 3);
    assert_eq!(cli(&["verify", name]).status.code(), Some(0));
    assert!(server.terminate().success());
    // The same without a daemon.
    let resumed = parsed(&cli(&["resume", name, "2", "--json"]));
    assert!(resumed["session_id"].as_str().unwrap().starts_with("webchat:"), "{resumed}");
    assert!(files(home.path(), ".journal").is_empty(), "the sessions of this run are recordings now");
    assert!(parsed(&cli(&["list", "--json"]))["count"].as_u64() > Some(1));
}

#[test]
fn recording_ends_with_its_session_and_hostile_files_are_refused() {
    let server = Server::start(ON);
    let mut news = server.socket("/ws/dashboard");
    news.send_json(&json!({"channel": "subscribe", "topics": ["recordings"]}));
    server.chat("gone").say("m1", "!say hello");
    assert_eq!(server.send(&Request::new("DELETE", "/api/sessions/webchat:gone")).status, 200);
    let listed = recordings(&server);
    assert_eq!((listed.len(), &listed[0]["session_id"]), (1, &json!("webchat:gone")), "{listed:?}");
    let name = listed[0]["name"].as_str().unwrap().to_owned();
    let at = |name: &str, rest: &str| format!("/api/sessions/recordings/{name}{rest}");
    // Events from before the subscription are of any topic.
    let frames = std::iter::from_fn(|| serde_json::from_str::<Value>(&news.text()).ok());
    let changes: Vec<Value> = frames.filter(|frame| frame["channel"] == "recordings").take(2).collect();
    assert_eq!([&changes[0]["data"]["change"], &changes[1]["data"]["change"]], ["began", "ended"]);
    assert!(changes.iter().all(|frame| frame["channel"] == "recordings" && frame["data"]["name"] == *name));

    let folder = server.home().path().join("recordings");
    let good = std::fs::read(folder.join(format!("{name}.zip"))).unwrap();
    let changed = |from: &str, to: &str| {
        let mut bytes = good.clone();
        let places = (0..good.len() - from.len()).filter(|&at| &good[at..at + from.len()] == from.as_bytes());
        places.for_each(|at| bytes[at..at + to.len()].copy_from_slice(to.as_bytes()));
        bytes
    };
    let mut flipped = good.clone();
    flipped[60] ^= 0x55;
    let hostile = [
        ("nothing", b"nothing".to_vec()),
        ("cut", good[..good.len() / 2].to_vec()),
        ("flipped", flipped),
        ("climbing", changed("events.jsonl", "../../x.json")),
        ("absolute", changed("events.jsonl", "/tmp/x.jsonl")),
        ("backslash", changed("events.jsonl", "..\\x.jsonl\\")),
        ("without", changed("manifest.json", "manifesto.jso")),
        ("many", [&good[..good.len() - 14], &[0x10, 0x27, 0x10, 0x27], &good[good.len() - 10..]].concat()),
    ];
    for (name, bytes) in &hostile {
        std::fs::write(folder.join(format!("{name}.zip")), bytes).unwrap();
    }
    let listed = recordings(&server);
    assert_eq!(listed.len(), hostile.len() + 1);
    for (name, _) in &hostile {
        let row = listed.iter().find(|row| row["name"] == *name).unwrap();
        assert_eq!((&row["valid"], &row["code"]), (&json!(false), &json!("bad_recording")), "{row}");
        for rest in ["", "/events", "/snapshots", "/snapshots/1", "/download", "/verify", "/diff?from=1&to=1"]
        {
            let refused = server.get(&at(name, rest));
            assert_eq!((refused.status, refused.problem().as_str()), (422, "bad_recording"), "{name}{rest}");
        }
        for rest in ["/replay/1", "/resume/1"] {
            assert_eq!(server.post(&at(name, rest), &json!({})).problem(), "bad_recording", "{name}{rest}");
        }
        let cli = run_cli(server.home().path(), &["recordings", "verify", name, "--json"], None);
        assert_eq!((cli.status.code(), &parsed(&cli)["valid"]), (Some(1), &json!(false)));
        assert_eq!(server.send(&Request::new("DELETE", &at(name, ""))).status, 204);
    }
    for name in ["none", "..%2f..%2fconfig", "%2e%2e", "a%5cb"] {
        assert_eq!(server.get(&at(name, "")).problem(), "not_found", "{name}");
    }
    assert_eq!(recordings(&server).len(), 1);
    assert_eq!(server.send(&Request::new("DELETE", &at(&name, ""))).status, 204);
    assert_eq!(server.feature("session_recorder")["state"], "on");
}
