//! Webhooks delivered twice, and replies delivered elsewhere (docs/api.md).

use std::thread;

use aethon_tests::{Request, Response, Server, eventually, home, server::server_command};
use serde_json::{Value, json};

fn send(server: &Server, key: &str, target: &str, body: &Value) -> Response {
    server.send(&Request::post(target, body).header("Idempotency-Key", key))
}

#[test]
fn repeated_key_runs_once() {
    let server = Server::start(&[]);
    let body = json!({"text": "!tool current_time {}"});
    let first = send(&server, "k1", "/webhook/garden", &body);
    let again = send(&server, "k1", "/webhook/garden", &body);
    assert_eq!((first.status, again.status), (200, 200));
    assert_eq!(first.text(), again.text(), "the stored response");
    assert_eq!(server.said("webhook:garden").iter().filter(|(role, _)| role == "user").count(), 1);
    assert_eq!(send(&server, "k2", "/webhook/garden", &body).status, 200);
    assert_eq!(server.said("webhook:garden").iter().filter(|(role, _)| role == "user").count(), 2);

    let trigger = json!({"text": "!say hello"});
    for _ in 0..3 {
        assert_eq!(send(&server, "k3", "/webhook/trigger", &trigger).json()["response"], "hello");
    }
    assert_eq!(server.get("/api/sessions").json()["count"], 2, "one session for three deliveries");
}

#[test]
fn repeated_key_with_another_body_is_422() {
    let server = Server::start(&[]);
    for target in ["/webhook/garden", "/webhook/trigger"] {
        assert_eq!(send(&server, "k1", target, &json!({"text": "!say one"})).status, 200);
        for other in [json!({"text": "!say two"}), json!({"text": "!say one", "x": 1})] {
            let answer = send(&server, "k1", target, &other);
            assert_eq!(
                (answer.status, answer.problem()),
                (422, "idempotency_mismatch".to_owned()),
                "{target}"
            );
        }
    }
}

#[test]
fn repeated_key_waits_for_the_running_request() {
    let server = Server::start(&[]);
    let address = server.address;
    let body = json!({"text": "!sleep 1000\n!tool current_time {}"});
    let request = Request::post("/webhook/garden", &body).header("Idempotency-Key", "k1");
    let answers: Vec<_> = (0..4)
        .map(|_| {
            let request = request.clone();
            thread::spawn(move || request.send(address))
        })
        .collect();
    let answers: Vec<Response> = answers.into_iter().map(|answer| answer.join().unwrap()).collect();
    for answer in &answers {
        assert_eq!((answer.status, answer.text()), (200, answers[0].text()));
    }
    assert_eq!(server.said("webhook:garden").iter().filter(|(role, _)| role == "user").count(), 1);
}

#[test]
fn idempotency_keys_survive_a_restart() {
    let server = Server::start(&[]);
    let body = json!({"text": "!tool current_time {}"});
    let first = send(&server, "k1", "/webhook/garden", &body);
    let home = server.home();
    server.terminate();
    let server = Server::start_in(home, &[]);
    assert_eq!(send(&server, "k1", "/webhook/garden", &body).text(), first.text());
    let server = Server::start_in(server.kill(), &[]);
    assert_eq!(send(&server, "k1", "/webhook/garden", &body).text(), first.text());
    let mismatch = send(&server, "k1", "/webhook/garden", &json!({"text": "!say other"}));
    assert_eq!(mismatch.problem(), "idempotency_mismatch");
    assert_eq!(server.said("webhook:garden").iter().filter(|(role, _)| role == "user").count(), 1);
}

#[test]
fn keyed_request_interrupted_by_a_crash_runs_once() {
    let server = Server::start(&[]);
    let address = server.address;
    let body = json!({"text": "!sleep 700\n!say done"});
    let request = Request::post("/webhook/garden", &body).header("Idempotency-Key", "k1");
    let lost = {
        let request = request.clone();
        // The connection breaks with the server.
        thread::spawn(move || std::panic::catch_unwind(|| request.send(address)).is_err())
    };
    eventually("it is stored", || (server.get("/api/sessions").json()["count"] == 1).then_some(()));
    let server = Server::start_in(server.kill(), &[]);
    assert!(lost.join().unwrap());
    let answer = server.send(&request);
    assert_eq!((answer.status, &answer.json()["response"]), (200, &json!("done")));
    let said = server.said("webhook:garden");
    assert_eq!(said.iter().filter(|(role, _)| role == "user").count(), 1, "{said:?}");
    assert_eq!(said.iter().filter(|(_, text)| text == "done").count(), 1, "{said:?}");
}

#[test]
fn refused_request_consumes_no_key() {
    let server = Server::start(&[]);
    assert_eq!(send(&server, "k1", "/webhook/garden", &json!({})).status, 422);
    assert_eq!(
        send(&server, "k1", "/webhook/garden", &json!({"text": "!say now"})).json()["response"],
        "now"
    );
}

#[test]
fn unusual_idempotency_keys_work_or_are_refused() {
    let server = Server::start(&[]);
    for key in ["a b c", "\u{fc}", "'; drop table turns; --", &"k".repeat(200)] {
        let body = json!({"text": format!("!say {}", key.len())});
        let statuses = [0, 1].map(|_| send(&server, key, "/webhook/odd", &body).status);
        assert!(statuses == [200, 200] || statuses[0] / 100 == 4, "{key}: {statuses:?}");
    }
    let long = send(&server, &"k".repeat(8000), "/webhook/odd", &json!({"text": "!say x"})).status;
    assert!(long < 500, "{long}");
}

#[test]
fn a_reply_is_pushed_to_the_channel_too() {
    let server = Server::start(&[]);
    let mut chat = server.chat("kitchen");
    chat.say("m1", "!say before");
    let body = json!({"text": "!say dinner is ready", "channel": "webchat", "recipient": "kitchen"});
    let answer = send(&server, "k1", "/webhook/trigger", &body);
    assert_eq!(answer.json()["response"], "dinner is ready");
    let said = eventually("it is delivered", || {
        let said = server.said("webchat:kitchen");
        (said.len() == 3).then_some(said)
    });
    assert_eq!(said[2], ("assistant".into(), "dinner is ready".into()));
    // Once, however often the request comes, and over a restart.
    send(&server, "k1", "/webhook/trigger", &body);
    drop(chat);
    let server = Server::start_in(server.kill(), &[]);
    send(&server, "k1", "/webhook/trigger", &body);
    server.chat("kitchen").say("m2", "!say after");
    let texts: Vec<String> = server.said("webchat:kitchen").into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["!say before", "before", "dinner is ready", "!say after", "after"]);
}

#[test]
fn a_delivery_without_a_recipient_goes_to_the_default() {
    let server = Server::start(&[]);
    let body = json!({"text": "!say hello all", "channel": "webchat"});
    assert_eq!(send(&server, "k1", "/webhook/trigger", &body).status, 200);
    eventually("it is delivered", || {
        let answer = server.get("/api/sessions/webchat:default");
        (answer.status == 200 && answer.text().contains("hello all")).then_some(())
    });
}

#[test]
fn a_channel_that_does_not_run_is_422_before_anything_runs() {
    let server = Server::start(&[]);
    for channel in ["telegram", "no-such-channel", "webhook", "x y"] {
        let answer = server.post("/webhook/trigger", &json!({"text": "!say x", "channel": channel}));
        assert_eq!(
            (answer.status, &answer.json()["errors"][0]["field"]),
            (422, &json!("channel")),
            "{channel}"
        );
    }
    assert_eq!(server.get("/api/sessions").json()["count"], 0);
}

#[test]
fn without_the_webchat_there_is_nothing_to_post_to() {
    // The routes are mounted on the application of the webchat; without it nothing listens.
    let home = home();
    let command = server_command(home.path(), &["channels.webchat.enabled=false"]);
    let server = Server::start_command(home, command);
    assert_eq!(server.greeting, "aethon 0.3.0 running without a listener");
}
