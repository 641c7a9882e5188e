//! Several instances on one PostgreSQL database, as their clients see them: what runs at one is seen, stopped and answered at
//! the others.

use std::sync::Arc;
use std::time::{Duration, Instant};

use aethon_postgres::testkit;
use aethon_tests::http::Request;
use aethon_tests::socket::{of_type, rendered, spoken};
use aethon_tests::{Server, eventually, home};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a stop or an answer may take to reach another instance, besides a busy machine.
const SOON: Duration = Duration::from_secs(1);
const BUSY: Duration = Duration::from_secs(4);

const ASKING: [&str; 2] = ["approval.enabled=true", "approval.requires_approval=[\"file_read\"]"];
const READ: &str = "!tool file_read {\"path\": \"missing.txt\"}\n!say read";

/// A home whose data is in this database.
pub(super) fn home_on(url: &str) -> Arc<TempDir> {
    let home = home();
    let config = format!("[model]\nprovider = \"fake\"\n[storage]\nurl = \"{url}\"\n");
    std::fs::write(home.path().join("config.toml"), config).expect("the configuration is written");
    home
}

/// Two instances that know each other.
fn two(settings: &[&str]) -> (Server, Server) {
    let url = testkit::database_blocking();
    let (one, two) = (Server::start_in(home_on(&url), settings), Server::start_in(home_on(&url), settings));
    // Whether they hear each other shows in the list of conversations.
    one.chat("greeting").say("g1", "!say hello");
    let mut watcher = two.chat("watching");
    watcher.send_json(&json!({"type": "watch"}));
    let mut number = 0;
    eventually("they hear each other", || {
        number += 1;
        let mut chat = one.chat("greeting");
        chat.send_json(
            &json!({"type": "message", "id": format!("h{number}"), "text": "!sleep 300\n!say hello"}),
        );
        let begun = Instant::now();
        let is_busy = || two.get("/api/sessions/webchat:greeting").json()["busy"] == true;
        let mut heard = false;
        while !heard && begun.elapsed() < Duration::from_millis(400) {
            heard = is_busy();
        }
        chat.until("done");
        heard.then_some(())
    });
    (one, two)
}

fn said(server: &Server, session: &str) -> Vec<String> {
    server.said(session).into_iter().map(|(_, text)| text).collect()
}

fn seqs(frames: &[Value]) -> Vec<u64> {
    frames.iter().filter_map(|frame| frame["seq"].as_u64()).collect()
}

fn words(count: usize) -> String {
    (1..=count).map(|number| format!("token{number} ")).collect::<String>().trim_end().to_owned()
}

#[test]
fn turn_is_streamed_to_readers_of_another_instance() {
    let (one, two) = two(&[]);
    let mut near = one.chat("talk");
    let mut far = two.chat("talk");
    far.settle();
    for round in 0..3 {
        let text = "!tool current_time {}\n!then\n!stream 60 5";
        near.send_json(&json!({"type": "message", "id": format!("m{round}"), "text": text}));
        let (here, there) = (near.until("done"), far.until("done"));
        assert_eq!(spoken(&there), spoken(&here), "{there:?}");
        assert!(spoken(&there).contains(&words(60)), "{there:?}");
        assert_eq!(rendered(&there), rendered(&here));
        let kinds = |frames: &[Value]| -> Vec<String> {
            let kinds = frames.iter().map(|frame| frame["type"].as_str().unwrap_or_default().to_owned());
            let mut kinds: Vec<_> = kinds.filter(|kind| kind != "delta" && kind != "blocks").collect();
            kinds.dedup();
            kinds
        };
        assert_eq!(kinds(&there), kinds(&here), "{there:?}");
        assert_eq!(of_type(&there, "done")[0]["html"], of_type(&here, "done")[0]["html"]);
        let seqs = seqs(&there);
        assert!(seqs.windows(2).all(|pair| pair[0] < pair[1]), "{seqs:?}");
    }
    // In the other direction, too.
    far.send_json(&json!({"type": "message", "id": "back", "text": "!stream 20 5"}));
    assert!(spoken(&far.until("done")).contains(&words(20)));
    assert!(spoken(&near.until("done")).contains(&words(20)));
    assert_eq!(said(&one, "webchat:talk"), said(&two, "webchat:talk"));
}

#[test]
fn command_in_the_background_is_found_at_its_instance_only() {
    let (one, two) = two(&[]);
    let mut near = one.chat("work");
    near.say("m1", "!tool shell {\"command\": \"sleep 60\", \"background\": true}");
    let name = one.get("/api/instances").json()["instances"]
        .as_array()
        .and_then(|all| all.iter().find(|instance| instance["this"] == true))
        .and_then(|this| this["name"].as_str().map(str::to_owned))
        .expect("it has a name");
    let path = "/api/sessions/webchat:work/commands";
    let elsewhere = two.post(&format!("{path}/1/stop"), &json!({}));
    assert_eq!(elsewhere.status, 404);
    assert!(elsewhere.text().contains(&format!("at another instance, {name}")), "{}", elsewhere.text());
    let mut far = two.chat("work");
    let frames = far.say("m2", "!tool background_commands {\"action\": \"read\", \"id\": 1}");
    let output = of_type(&frames, "tool").last().unwrap()["output"].to_string();
    assert!(output.contains(&name), "{output}");
    let nowhere = two.post(&format!("{path}/2/stop"), &json!({})).text();
    assert!(nowhere.contains("no command 2 in the background"), "{nowhere}");
    assert_eq!(one.get(path).json()["commands"][0]["state"], "running");
    // Removing the conversation at the other one ends it.
    assert_eq!(two.send(&Request::new("DELETE", "/api/sessions/webchat:work")).status, 200);
    eventually("it ended", || {
        let rows = one.get("/api/audit?action=command").json();
        let outcome = rows["audit"][0]["outcome"].as_str()?.to_owned();
        outcome.starts_with("was stopped by the end of its conversation").then_some(())
    });
}

#[test]
fn reader_who_comes_later_sees_the_running_turn_from_its_start() {
    let (one, two) = two(&[]);
    let mut near = one.chat("late");
    near.send_json(&json!({"type": "message", "id": "m1", "text": "!stream 100 30"}));
    near.until("delta");
    let mut far = two.chat("late");
    far.send_json(&json!({"type": "read"}));
    let there = far.until("done");
    assert_eq!(spoken(&there).trim_end(), words(100));
    assert!(rendered(&there).contains("token100"), "{there:?}");
    near.until("done");
}

#[test]
fn large_frames_cross_and_keep_their_order() {
    let (one, two) = two(&[]);
    let (mut near, mut far) = (one.chat("large"), two.chat("large"));
    far.settle();
    let long = format!("# Title\n\n{}", "ünïcödé words and more of them 😀 ".repeat(2_000));
    near.send_json(
        &json!({"type": "message", "id": "m1", "text": format!("!say {}", long.replace('\n', " "))}),
    );
    let (here, there) = (near.until("done"), far.until("done"));
    let text = |frames: &[Value]| of_type(frames, "done")[0]["text"].as_str().unwrap_or_default().to_owned();
    assert!(text(&here).len() > 60_000, "{}", text(&here).len());
    assert!(text(&there) == text(&here), "{} {}", text(&there).len(), text(&here).len());
}

#[test]
fn client_resumes_at_another_instance_without_a_gap() {
    let (one, two) = two(&[]);
    let mut near = one.chat("moving");
    near.send_json(&json!({"type": "message", "id": "m1", "text": "!stream 120 30"}));
    let mut seen = near.until("delta");
    for _ in 0..20 {
        seen.push(near.frame());
    }
    let after = *seqs(&seen).last().expect("frames have numbers");
    drop(near);
    let mut far = two.chat("moving");
    far.send_json(&json!({"type": "resume", "session": "moving", "after": after}));
    let rest = far.until("done");
    assert!(of_type(&rest, "error").is_empty(), "{rest:?}");
    assert!(seqs(&rest).iter().all(|seq| *seq > after), "{rest:?}");
    seen.extend(rest);
    assert_eq!(spoken(&seen).trim_end(), words(120), "nothing twice, and nothing missing");
    // A number that nobody knows is a gap there as well.
    far.send_json(&json!({"type": "resume", "session": "moving", "after": after - 1_000_000_000}));
    assert_eq!(far.until("error").pop().map(|error| error["code"].clone()), Some(json!("resume_gap")));
}

#[test]
fn turn_is_stopped_through_another_instance() {
    let (one, two) = two(&[]);
    let (mut near, mut far) = (one.chat("stopped"), two.chat("stopped"));
    let check = |near: &mut aethon_tests::socket::Socket, stop: &mut dyn FnMut(&Value)| {
        near.send_json(
            &json!({"type": "message", "id": format!("{:?}", Instant::now()), "text": "!stream 5000 20"}),
        );
        let frame = near.until("delta").pop().expect("a word");
        let begun = Instant::now();
        stop(&frame["turn"]);
        let done = near.until("done").pop().expect("an end");
        assert_eq!(done["stop_reason"], "stopped", "{done}");
        assert!(begun.elapsed() < SOON + BUSY, "{:?}", begun.elapsed());
    };
    check(&mut near, &mut |turn| far.send_json(&json!({"type": "stop", "turn": turn, "session": "stopped"})));
    check(&mut near, &mut |_| far.send_json(&json!({"type": "stop"})));
    check(&mut near, &mut |_| {
        let stopped = two.post("/api/sessions/webchat:stopped/stop", &json!({}));
        assert_eq!((stopped.status, &stopped.json()["stopped"]), (200, &json!(1)), "{}", stopped.text());
    });
    // Removing a conversation ends what runs in it elsewhere, and nothing of it comes back.
    check(&mut near, &mut |_| {
        let removed = two.send(&Request::new("DELETE", "/api/sessions/webchat:stopped"));
        assert!(removed.status < 300, "{}", removed.text());
    });
    for server in [&one, &two] {
        assert_eq!(server.get("/api/sessions/webchat:stopped").status, 404);
    }
    near.say("after", "!say anew");
    assert_eq!(said(&two, "webchat:stopped"), ["!say anew", "anew"]);
}

#[test]
fn approval_is_listed_and_answered_at_another_instance() {
    let (one, two) = two(&ASKING);
    let (mut near, mut far) = (one.chat("asked"), two.chat("asked"));
    let mut dashboard = two.socket("/ws/dashboard");
    dashboard.send_json(&json!({"channel": "subscribe", "topics": ["approvals"]}));
    far.settle();
    let pending = |server: &Server| server.get("/api/approvals").json()["approvals"].clone();
    let ask = |near: &mut aethon_tests::socket::Socket, id: &str| -> Value {
        near.send_json(&json!({"type": "message", "id": id, "text": READ}));
        near.until("approval").pop().expect("a question")
    };
    // By a frame of the chat.
    let question = ask(&mut near, "m1");
    let shown = far.until("approval").pop().expect("the question");
    assert_eq!((&shown["id"], &shown["input"]), (&question["id"], &question["input"]));
    eventually("it is listed", || (pending(&two).as_array().map(Vec::len) == Some(1)).then_some(()));
    assert_eq!(pending(&two)[0]["id"], question["id"]);
    assert_eq!(two.get("/api/sessions/webchat:asked").json()["waiting"], 1);
    let opened = dashboard.frame();
    assert_eq!((&opened["channel"], &opened["data"]["id"]), (&json!("approvals"), &question["id"]));
    let begun = Instant::now();
    far.send_json(&json!({"type": "approval", "id": question["id"], "decision": "approve"}));
    for frames in [near.until("done"), far.until("done")] {
        let done = of_type(&frames, "approval_done")[0];
        assert_eq!((&done["decision"], &done["reason"]), (&json!("approve"), &json!("user")), "{frames:?}");
    }
    assert!(begun.elapsed() < SOON + BUSY, "{:?}", begun.elapsed());
    eventually("it is gone", || (pending(&two) == json!([])).then_some(()));
    assert_eq!(dashboard.frame()["data"]["state"], "done");
    // By the API, and only once.
    let question = ask(&mut near, "m2");
    let target = format!("/api/approvals/{}", question["id"].as_str().unwrap_or_default());
    // Whoever sees it can answer it, though the list may learn of it a moment later.
    far.until("approval");
    assert_eq!(two.post(&target, &json!({"decision": "deny"})).status, 200);
    assert_eq!(of_type(&near.until("done"), "approval_done")[0]["decision"], "deny");
    assert_eq!(two.post(&target, &json!({"decision": "approve"})).status, 404);
}

#[test]
fn lists_of_conversations_show_what_other_instances_do() {
    let (one, two) = two(&[]);
    let mut watcher = two.chat("elsewhere");
    watcher.send_json(&json!({"type": "watch"}));
    watcher.settle();
    let mut until = |what: &str, is_it: &dyn Fn(&Value) -> bool| {
        let begun = Instant::now();
        loop {
            let frame = watcher.until("session").pop().expect("a frame");
            if is_it(&frame) {
                return begun.elapsed();
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "{what}: {frame}");
        }
    };
    let mut near = one.chat("worked");
    near.send_json(&json!({"type": "message", "id": "m1", "text": "!stream 40 50"}));
    near.until("ack");
    let is = |frame: &Value| frame["session_id"] == "webchat:worked";
    until("it is busy", &|frame| is(frame) && frame["busy"] == true);
    near.until("done");
    until("it is free", &|frame| is(frame) && frame["busy"] == false);
    let body = json!({"title": "A name"});
    let request = Request::new("PATCH", "/api/sessions/webchat:worked");
    let renamed = one.send(&request.header("Content-Type", "application/json").body(body.to_string()));
    assert_eq!(renamed.status, 200, "{}", renamed.text());
    let took = until("it has a name", &|frame| is(frame) && frame["title"] == "A name");
    assert!(took < SOON + BUSY, "{took:?}");
    assert!(one.send(&Request::new("DELETE", "/api/sessions/webchat:worked")).status < 300);
    until("it is gone", &|frame| is(frame) && frame["removed"] == true);
}

#[test]
fn reader_at_another_instance_sees_the_end_of_a_turn_whose_instance_was_killed() {
    let (one, two) = two(&[]);
    let mut near = one.chat("killed");
    let mut far = two.chat("killed");
    far.settle();
    near.send_json(&json!({"type": "message", "id": "m1", "text": "!stream 60 100"}));
    far.until("delta");
    let killed = Instant::now();
    one.kill();
    let rest = far.until("done");
    assert!(killed.elapsed() < Duration::from_secs(20 + 6), "{:?}", killed.elapsed());
    let done = rest.last().expect("an end");
    assert_eq!(done["text"].as_str().map(str::trim_end), Some(words(60).as_str()), "{done}");
    let said = said(&two, "webchat:killed");
    assert_eq!((said.len(), said[1].trim_end()), (2, words(60).as_str()), "{said:?}");
    assert_eq!(two.get("/api/sessions/webchat:killed").json()["busy"], false);
}

#[test]
fn sign_in_is_good_at_every_instance_and_ends_at_all() {
    const TOKEN: &str = "a token of thirty characters or so";
    let url = testkit::database_blocking();
    let setting = format!("dashboard.auth_token={TOKEN}");
    let (one, two) =
        (Server::start_in(home_on(&url), &[&setting]), Server::start_in(home_on(&url), &[&setting]));
    let signed_in = one.get(&format!("/dashboard?token={}", TOKEN.replace(' ', "%20")));
    let cookie =
        signed_in.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie");
    let sessions =
        |server: &Server| server.send(&Request::get("/api/sessions").header("Cookie", cookie)).status;
    assert_eq!(sessions(&one), 200);
    eventually("the other one admits it", || (sessions(&two) == 200).then_some(()));
    // It knows it after a restart as well.
    let home = two.home();
    assert!(two.terminate().success());
    let two = Server::start_in(home, &[&setting]);
    assert_eq!(sessions(&two), 200);
    let out = Request::post("/api/sign-out", &json!({})).header("Cookie", cookie);
    let out = out.header("Origin", &format!("http://{}", two.address));
    assert_eq!(two.send(&out).status, 200);
    assert_eq!(sessions(&two), 401);
    eventually("it is over there as well", || (sessions(&one) == 401).then_some(()));
}

#[test]
fn allowance_for_a_conversation_counts_and_is_taken_back_everywhere() {
    let (one, two) = two(&ASKING);
    let granted = |server: &Server| server.get("/api/approvals").json()["granted"].clone();
    let mut near = one.chat("allowed");
    near.send_json(&json!({"type": "message", "id": "m1", "text": READ}));
    let question = near.until("approval").pop().expect("a question");
    let target = format!("/api/approvals/{}", question["id"].as_str().unwrap_or_default());
    let allow = json!({"decision": "approve", "scope": "session"});
    eventually("the question is there", || (two.post(&target, &allow).status == 200).then_some(()));
    near.until("done");
    eventually("it is known there", || (granted(&two) == granted(&one)).then_some(()));
    assert_eq!(granted(&two)[0]["session_id"], "webchat:allowed");
    let frames = two.chat("allowed").say("m2", READ);
    assert!(of_type(&frames, "approval").is_empty(), "nothing is asked at the other one: {frames:?}");
    // It is taken back where it was not given, and is gone when the answer comes.
    let id = granted(&two)[0]["id"].as_str().unwrap_or_default().to_owned();
    let taken_back = two.send(&Request::new("DELETE", &format!("/api/approvals/granted/{id}")));
    assert_eq!(taken_back.status, 204, "{}", taken_back.text());
    assert_eq!((granted(&one), granted(&two)), (json!([]), json!([])));
    near.send_json(&json!({"type": "message", "id": "m3", "text": READ}));
    let question = near.until("approval").pop().expect("a question");
    let target = format!("/api/approvals/{}", question["id"].as_str().unwrap_or_default());
    // An instance that comes later learns of it; when the one that gave it is gone, it ends.
    assert_eq!(one.post(&target, &json!({"decision": "approve", "scope": "session"})).status, 200);
    near.until("done");
    let home = two.home();
    assert!(two.terminate().success());
    let two = Server::start_in(home, &ASKING);
    eventually("it is known after a start", || (granted(&two) == granted(&one)).then_some(()));
    one.kill();
    eventually("it has ended", || (granted(&two) == json!([])).then_some(()));
}

#[test]
fn wrong_tokens_count_at_every_instance_and_a_code_signs_in_at_one() {
    const TOKEN: &str = "t0ken-of-the-owner";
    let url = testkit::database_blocking();
    let setting = format!("dashboard.auth_token={TOKEN}");
    let (one, two) =
        (Server::start_in(home_on(&url), &[&setting]), Server::start_in(home_on(&url), &[&setting]));
    let code = || {
        let wanted = Request::post("/api/sign-in-codes", &json!({"address": "https://home.example/"}));
        let made = one.send(&wanted.bearer(TOKEN)).json();
        made["url"].as_str().and_then(|url| url.split_once("#sign-in=")).expect("a code").1.to_owned()
    };
    let show = |server: &Server, code: &str| {
        server.send(&Request::get("/dashboard").header("X-Aethon-Code", code)).status
    };
    for _ in 0..5 {
        let code = code();
        let signed_in: usize = std::thread::scope(|scope| {
            let servers = [&one, &two, &one, &two];
            let racers = servers.map(|server| {
                let code = &code;
                scope.spawn(move || usize::from(show(server, code) == 200))
            });
            racers.into_iter().map(|racer| racer.join().expect("an answer")).sum()
        });
        assert_eq!(signed_in, 1, "once, wherever it is shown");
    }
    let guess = |server: &Server| server.send(&Request::get("/api/status").bearer("wrong")).status;
    eventually("they hear each other, and the other one has counted", || {
        for _ in 0..12 {
            guess(&one);
        }
        (guess(&two) == 429).then_some(())
    });
    assert_eq!(two.send(&Request::get("/api/status").bearer(TOKEN)).status, 200, "the right one works");
}

#[test]
fn signed_webhook_is_accepted_by_one_instance() {
    let url = testkit::database_blocking();
    let settings = ["webhook.enabled=true", "webhook.secret=of-webhooks"];
    let (one, two) = (Server::start_in(home_on(&url), &settings), Server::start_in(home_on(&url), &settings));
    let body = json!({"text": "!say once", "session": "replayed"}).to_string();
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let time = time.as_secs().to_string();
    let signed = format!("v2\n{time}\n\n{body}");
    let signature = format!("v2={}", aethon_tests::signature("of-webhooks", signed.as_bytes()));
    let send = |server: &Server| {
        let request = Request::new("POST", "/webhook/trigger").header("Content-Type", "application/json");
        let request = request.header("X-Aethon-Timestamp", &time).header("X-Aethon-Signature", &signature);
        server.send(&request.body(body.clone()))
    };
    let first = send(&one);
    assert_eq!(first.status, 200, "{}", first.text());
    let replayed = send(&two);
    assert_eq!(replayed.status, 403, "{}", replayed.text());
    let sessions = two.get("/api/sessions").json()["sessions"].clone();
    let count: Option<u64> =
        sessions.as_array().expect("a list").iter().map(|one| one["message_count"].as_u64()).sum();
    assert_eq!(count, Some(2), "one question and its answer: {sessions}");
}

#[test]
fn new_settings_at_one_instance_have_the_others_read_their_files() {
    let (one, two) = two(&[]);
    let file = two.home().path().join("config.toml");
    let text = std::fs::read_to_string(&file).expect("its configuration");
    std::fs::write(&file, format!("{text}[logging]\nlevel = \"warn\"\n")).expect("it is written");
    let level = || two.get("/api/config").json()["logging"]["level"].clone();
    assert_ne!(level(), "warn");
    let edit = Request::new("PATCH", "/api/config").header("Content-Type", "application/json");
    let edited = one.send(&edit.body(json!({"logging.level": "debug"}).to_string()));
    assert_eq!(edited.status, 200, "{}", edited.text());
    eventually("it has read its file", || (level() == "warn").then_some(()));
}

#[test]
fn recordings_outputs_and_uploads_in_the_database_are_everywhere() {
    const LONG: &str = "!tool shell {\"command\": \"seq 1 40000\"}\n!say long";
    let settings = [
        "storage.files=database",
        "session_recorder.enabled=true",
        "approval.enabled=false",
        "tools.shell.enabled=true",
    ];
    let (one, two) = two(&settings);
    let recordings = |server: &Server| -> Vec<String> {
        let listed = server.get("/api/sessions/recordings").json();
        let listed = listed["recordings"].as_array().cloned().unwrap_or_default();
        listed.iter().map(|one| one["name"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let of = |server: &Server| recordings(server).into_iter().find(|name| name.contains("recorded"));
    // A recording ends with its session.
    one.chat("recorded").say("m1", "!say recorded");
    assert!(one.send(&Request::new("DELETE", "/api/sessions/webchat:recorded")).status < 300);
    let name = eventually("it is recorded", || of(&one));
    eventually("it is there as well", || of(&two));
    let target = format!("/api/sessions/recordings/{name}");
    let shown = two.get(&target);
    assert_eq!(shown.status, 200, "{}", shown.text());
    assert!(two.send(&Request::new("DELETE", &target)).status < 300);
    eventually("it is gone at both", || (of(&one).or(of(&two)).is_none()).then_some(()));
    // Long output is read by its handle at the other one.
    let frames = one.chat("long").say("m1", LONG);
    let output = of_type(&frames, "tool").last().expect("a call")["output"].to_string();
    let handle = output.split_once("output:").map(|(_, rest)| &rest[..12]).expect("a handle").to_owned();
    let read = format!("!tool file_read {{\"path\": \"output:{handle}\"}}\n!say read");
    let frames = two.chat("long").say("m2", &read);
    let output = of_type(&frames, "tool").last().expect("a call")["output"].to_string();
    assert!(output.contains("1\\n2\\n3"), "{output}");
    // A file that was uploaded at one goes with a message to the other.
    let upload = Request::new("PUT", "/api/uploads?name=notes.txt").header("Content-Type", "text/plain");
    let uploaded = one.send(&upload.body("remember the milk".to_owned()));
    assert_eq!(uploaded.status, 200, "{}", uploaded.text());
    let mut chat = two.chat("uploaded");
    let attachments = json!([{"upload": uploaded.json()["id"]}]);
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "!echo", "attachments": attachments}));
    let frames = chat.until("done");
    assert!(of_type(&frames, "error").is_empty(), "{frames:?}");
    let stored = two.messages("webchat:uploaded")[0].to_string();
    assert!(stored.contains("notes.txt") && stored.contains("remember the milk"), "{stored}");
}
