//! Shared resources carry an `ETag`, and a change meant for another version is refused with 412 and the current version.
//! Without `If-Match` the last writer wins.

use std::sync::Barrier;
use std::thread;

use aethon_tests::Server;
use aethon_tests::http::{Request, Response};
use serde_json::{Value, json};

const SOP: &str = "# Own\n## Overview\nx\n## Steps\n### 1. a\nDo it.\n";

/// Something that can be changed and removed.
struct Resource {
    address: String,
    /// The method and a body that changes it; the number makes each one different.
    change: fn(u32) -> (&'static str, Value),
    /// Whether it can be removed.
    is_removable: bool,
    /// Which member of it shows the change; as JSON pointer.
    shows: &'static str,
}

fn sop(number: u32) -> String {
    SOP.replace("Do it", &format!("Do it {number} times"))
}

fn things(server: &Server) -> Vec<Resource> {
    let memory = server.post("/api/memory", &json!({"content": "The cat is Momo."}));
    assert_eq!(memory.status, 201);
    let job = json!({"job_id": "tea", "cron": "0 4 * * *", "prompt": "Tea?"});
    assert_eq!(server.post("/api/scheduler/jobs", &job).status, 201);
    let job = json!({"job_id": "coffee", "cron": "0 5 * * *", "prompt": "Coffee?"});
    assert_eq!(server.post("/api/scheduler/jobs", &job).status, 201);
    server.chat("talk").say("1", "hello");
    assert_eq!(send(server, "PUT", "/api/sops/own", &json!({ "content": sop(0) }), None).status, 200);
    vec![
        Resource {
            address: format!("/api/memory/{}", memory.json()["id"].as_str().unwrap()),
            change: |number| ("PUT", json!({"content": format!("The cat is {number}.")})),
            is_removable: true,
            shows: "/content",
        },
        Resource {
            address: "/api/scheduler/jobs/tea".to_owned(),
            change: |number| ("PATCH", json!({"enabled": number % 2 == 0})),
            is_removable: true,
            shows: "/enabled",
        },
        Resource {
            address: "/api/scheduler/jobs/coffee".to_owned(),
            change: |number| ("PUT", json!({"prompt": format!("Coffee {number}?")})),
            is_removable: true,
            shows: "/prompt",
        },
        Resource {
            address: "/api/sessions/webchat:talk".to_owned(),
            change: |number| ("PATCH", json!({"title": format!("Talk {number}")})),
            is_removable: true,
            shows: "/title",
        },
        Resource {
            address: "/api/sops/own".to_owned(),
            change: |number| ("PUT", json!({"content": sop(number)})),
            is_removable: true,
            shows: "/content",
        },
        Resource {
            address: "/api/config".to_owned(),
            change: |number| ("PATCH", json!({"agent.loop_limit": number + 2})),
            is_removable: false,
            shows: "/agent/loop_limit",
        },
    ]
}

fn send(server: &Server, method: &str, target: &str, body: &Value, expected: Option<&str>) -> Response {
    let mut request = Request::new(method, target).header("Content-Type", "application/json");
    if let Some(expected) = expected {
        request = request.header("If-Match", expected);
    }
    if method != "DELETE" {
        request = request.body(body.to_string());
    }
    server.send(&request)
}

fn change(server: &Server, thing: &Resource, number: u32, expected: Option<&str>) -> Response {
    let (method, body) = (thing.change)(number);
    send(server, method, &thing.address, &body, expected)
}

fn tag(answer: &Response) -> String {
    let tag = answer.header("etag").unwrap_or_else(|| panic!("no ETag: {}", answer.text())).to_owned();
    assert!(tag.starts_with('"') && tag.ends_with('"'), "a strong tag: {tag}");
    tag
}

fn assert_changed(answer: &Response, thing: &Resource) -> Value {
    assert_eq!(answer.status, 412, "{}: {}", thing.address, answer.text());
    let problem = answer.json();
    assert_eq!(problem["code"], "changed_elsewhere", "{}", thing.address);
    problem["current"].clone()
}

#[test]
fn outdated_change_is_refused_with_the_current_version() {
    let server = Server::start(&["model.provider=echo"]);
    for thing in things(&server) {
        let seen = server.get(&thing.address);
        let old = tag(&seen);
        let changed = change(&server, &thing, 1, Some(&old));
        assert_eq!(changed.status, 200, "{}: {}", thing.address, changed.text());
        let new = tag(&changed);
        let present = server.get(&thing.address);
        assert_eq!((tag(&present), new != old), (new.clone(), true), "{}", thing.address);

        let refused = change(&server, &thing, 2, Some(&old));
        let current = assert_changed(&refused, &thing);
        assert_eq!(tag(&refused), new, "{}", thing.address);
        let shown = present.json().pointer(thing.shows).cloned();
        assert_eq!(current.pointer(thing.shows).cloned(), shown, "{}: {current}", thing.address);
        assert_eq!(server.get(&thing.address).json().pointer(thing.shows).cloned(), shown);

        for (expected, is_met) in [
            ("\"nope\"".to_owned(), false),
            (format!("W/{new}"), false),
            (format!("\"nope\", {new}"), true),
            ("*".to_owned(), true),
        ] {
            let answer = change(&server, &thing, 1, Some(&expected));
            assert_eq!(answer.status, if is_met { 200 } else { 412 }, "{} {expected}", thing.address);
        }
        assert_eq!(change(&server, &thing, 2, None).status, 200, "{}: the last writer wins", thing.address);
    }
}

#[test]
fn resource_removed_elsewhere_is_neither_changed_nor_removed_again() {
    let server = Server::start(&["model.provider=echo"]);
    for thing in things(&server).into_iter().filter(|thing| thing.is_removable) {
        let seen = tag(&server.get(&thing.address));
        assert_eq!(change(&server, &thing, 1, None).status, 200);
        let refused = send(&server, "DELETE", &thing.address, &Value::Null, Some(&seen));
        assert!(assert_changed(&refused, &thing).is_object(), "{}", thing.address);
        let present = tag(&server.get(&thing.address));
        let removed = send(&server, "DELETE", &thing.address, &Value::Null, Some(&present));
        assert!(matches!(removed.status, 200 | 204), "{}: {}", thing.address, removed.text());
        for expected in [present.as_str(), "*"] {
            assert!(assert_changed(&change(&server, &thing, 3, Some(expected)), &thing).is_null());
            let again = send(&server, "DELETE", &thing.address, &Value::Null, Some(expected));
            assert!(assert_changed(&again, &thing).is_null(), "{}", thing.address);
        }
        assert_eq!(server.get(&thing.address).status, 404, "{}", thing.address);
    }
}

#[test]
fn of_two_changes_of_the_same_version_exactly_one_succeeds() {
    let server = Server::start(&["model.provider=echo"]);
    for thing in things(&server) {
        for round in 0..4 {
            let (seen, start) = (tag(&server.get(&thing.address)), Barrier::new(4));
            let statuses: Vec<u16> = thread::scope(|scope| {
                let writer = |number: u32| {
                    let (server, thing, seen, start) = (&server, &thing, &seen, &start);
                    scope.spawn(move || {
                        start.wait();
                        // A pause has two states only, so all of its writers want the other one.
                        let number = if thing.shows == "/enabled" { round + 1 } else { 10 * round + number };
                        change(server, thing, number, Some(seen)).status
                    })
                };
                let writers: Vec<_> = (0..4).map(|number| writer(number + 3)).collect();
                writers.into_iter().map(|writer| writer.join().unwrap()).collect()
            });
            let taken = statuses.iter().filter(|status| **status == 200).count();
            assert_eq!(taken, 1, "{} in round {round}: {statuses:?}", thing.address);
            assert!(statuses.iter().all(|status| matches!(status, 200 | 412)), "{statuses:?}");
        }
    }
}

#[test]
fn malformed_if_match_is_400_and_reading_another_version_412() {
    let server = Server::start(&["model.provider=echo"]);
    for thing in things(&server) {
        let read = |tag: &str| server.send(&Request::get(&thing.address).header("If-Match", tag));
        for malformed in [change(&server, &thing, 1, Some("nope")), read("nope")] {
            assert_eq!(
                (malformed.status, &*malformed.problem()),
                (400, "malformed_if_match"),
                "{}",
                thing.address
            );
        }
        let other = read("\"nope\"");
        assert_eq!((other.status, &*other.problem()), (412, "changed_elsewhere"), "{}", thing.address);
        let present = tag(&server.get(&thing.address));
        assert_eq!((read(&present).status, read("*").status), (200, 200), "{}", thing.address);
    }
}

#[test]
fn if_match_on_an_unversioned_resource_fails() {
    let server = Server::start(&["model.provider=echo"]);
    for address in ["/api/outbox/1", "/api/sign-ins/x", "/api/pairings/telegram/1"] {
        let refused = send(&server, "DELETE", address, &Value::Null, Some("\"seen\""));
        assert_eq!((refused.status, refused.problem().as_str()), (412, "changed_elsewhere"), "{address}");
        assert_eq!(send(&server, "DELETE", address, &Value::Null, None).status, 404, "{address}");
    }
}

#[test]
fn sop_keeps_twenty_versions_and_its_removal_can_be_undone() {
    let server = Server::start(&["model.provider=echo"]);
    let save = |number: u32| {
        let answer = send(&server, "PUT", "/api/sops/own", &json!({ "content": sop(number) }), None);
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    let versions = || {
        let answer = server.get("/api/sops/own/versions");
        assert_eq!(answer.status, 200, "{}", answer.text());
        let texts = answer.json()["versions"].as_array().unwrap().clone();
        texts.into_iter().map(|one| one["content"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(server.get("/api/sops/own/versions").status, 404);
    save(0);
    assert!(versions().is_empty(), "nothing was replaced yet");
    save(0);
    assert!(versions().is_empty(), "nothing was changed");
    // Written by hand, and kept when the page replaces it.
    std::fs::write(server.home().path().join("workspace/sops/own.sop.md"), sop(1)).unwrap();
    (2..30).for_each(save);
    let kept: Vec<String> = (9..29).rev().map(sop).collect();
    assert_eq!(versions(), kept);
    assert_eq!(send(&server, "DELETE", "/api/sops/own", &Value::Null, None).status, 204);
    assert_eq!(server.get("/api/sops/own").status, 404);
    assert_eq!(versions()[0], sop(29), "what was removed is there to be put back");
    save(29);
    assert_eq!(server.get("/api/sops/own").json()["content"], json!(sop(29)));
}

#[test]
fn corrected_memory_keeps_the_text_of_a_concurrent_correction() {
    let server = Server::start(&["model.provider=echo"]);
    let made = server.post("/api/memory", &json!({"content": "The cat is Momo."})).json();
    let address = format!("/api/memory/{}", made["id"].as_str().unwrap());
    for text in ["The cat is Mimi.", "The cat is Mira."] {
        assert_eq!(send(&server, "PUT", &address, &json!({ "content": text }), None).status, 200);
    }
    let record = server.get(&address).json();
    assert_eq!(record["content"], "The cat is Mira.");
    let before: Vec<&str> =
        record["history"].as_array().unwrap().iter().map(|one| one["content"].as_str().unwrap()).collect();
    assert_eq!(before, ["The cat is Mimi.", "The cat is Momo."]);
}

#[test]
fn half_written_sop_file_counts_as_changed() {
    let server = Server::start(&["model.provider=echo"]);
    for name in ["own", "pdd"] {
        let (address, file) = (format!("/api/sops/{name}"), format!("workspace/sops/{name}.sop.md"));
        let file = server.home().path().join(file);
        let saved = send(&server, "PUT", &address, &json!({ "content": sop(0) }), None);
        let half = "# Half\n";
        std::fs::write(&file, half).unwrap();
        for (method, body) in [("PUT", json!({ "content": sop(1) })), ("DELETE", Value::Null)] {
            let refused = send(&server, method, &address, &body, Some(&tag(&saved)));
            let problem = refused.json();
            assert_eq!((refused.status, &problem["code"]), (412, &json!("changed_elsewhere")), "{name}");
            let current = &problem["current"];
            assert_eq!((&current["content"], &current["type"]), (&json!(half), &json!("custom")), "{name}");
            assert!(!current["faults"].as_array().unwrap().is_empty(), "{name}: {current}");
            let there = server.get(&format!("{address}?invalid=true"));
            assert_eq!((tag(&there), &there.json()), (tag(&refused), current), "{name}");
            let again = send(&server, method, &address, &body, Some(&tag(&refused)));
            assert!(matches!(again.status, 200 | 204), "{name}: {}", again.text());
            if method == "PUT" {
                std::fs::write(&file, half).unwrap();
            }
        }
        assert!(!file.exists(), "{name}");
        let kept = server.get(&format!("{address}/versions")).json();
        assert_eq!(kept["versions"][0]["content"], half, "{name}");
    }
}

#[test]
fn new_sop_replaces_no_existing_one() {
    let server = Server::start(&["model.provider=echo"]);
    let make = |name: &str, number: u32| {
        let request = Request::new("PUT", &format!("/api/sops/{name}")).header("If-None-Match", "*");
        let body = json!({ "content": sop(number) }).to_string();
        server.send(&request.header("Content-Type", "application/json").body(body))
    };
    assert_eq!(make("own", 0).status, 200);
    let refused = make("own", 1);
    assert_eq!((refused.status, refused.json()["code"].as_str()), (412, Some("changed_elsewhere")));
    assert_eq!(refused.json()["current"]["content"], json!(sop(0)));
    assert_eq!(tag(&refused), tag(&server.get("/api/sops/own")));
    assert_eq!(make("pdd", 1).status, 412, "a built-in one counts as one");
    std::fs::write(server.home().path().join("workspace/sops/half.sop.md"), "# Half\n").unwrap();
    assert_eq!(make("half", 1).json()["current"]["content"], "# Half\n");
}
