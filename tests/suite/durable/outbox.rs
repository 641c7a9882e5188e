//! Deliveries that were given up, tried again and removed by hand (`/api/outbox`, `aethon-cli outbox`; docs/channels.md).

use aethon_tests::telegram::Telegram;
use aethon_tests::{Request, Server, eventually, home, run_cli};
use serde_json::{Value, json};

const OWNER: i64 = 42;

fn failed(server: &Server) -> Vec<Value> {
    server.get("/api/outbox?state=failed").json()["deliveries"].as_array().unwrap().clone()
}

/// Sends a message that no server accepts, and returns the number of its delivery when it was given up.
fn give_up(server: &Server, text: &str) -> String {
    let send = json!({"channel": "telegram", "recipient": OWNER.to_string(), "text": text});
    let answer = server.post("/webhook/trigger", &json!({"text": format!("!tool send_message {send}")}));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let delivery = eventually("the delivery is given up", || {
        failed(server).into_iter().find(|delivery| delivery["text"] == text)
    });
    assert!(delivery["error"].as_str().unwrap().contains("blocked"), "{delivery}");
    delivery["id"].as_str().unwrap().to_owned()
}

fn is_listed(server: &Server, id: &str) -> bool {
    let all = server.get("/api/outbox").json();
    all["deliveries"].as_array().unwrap().iter().any(|delivery| delivery["id"] == id)
}

#[test]
fn failed_delivery_arrives_when_retried_and_never_when_removed() {
    let (telegram, home) = (Telegram::start(), home());
    let settings = telegram.settings();
    let settings: Vec<&str> =
        settings.iter().map(String::as_str).chain(["security.allowed_senders.telegram=[42]"]).collect();
    let server = Server::start_in(home.clone(), &settings);
    telegram.await_poll();
    let retry = |id: &str| server.send(&Request::new("POST", &format!("/api/outbox/{id}/retry")));
    let remove = |id: &str| server.send(&Request::new("DELETE", &format!("/api/outbox/{id}")));
    let cli = |arguments: &[&str]| run_cli(home.path(), arguments, None);

    telegram.block(true);
    let [first, second, third, fourth] =
        ["first", "second", "third", "fourth"].map(|text| give_up(&server, text));
    telegram.block(false);
    let page = server.get("/api/outbox?state=failed&limit=3").json();
    let ids = |page: &Value| -> Vec<Value> {
        page["deliveries"].as_array().unwrap().iter().map(|delivery| delivery["id"].clone()).collect()
    };
    assert_eq!((ids(&page), &page["count"]), (vec![json!(fourth), json!(third), json!(second)], &json!(4)));
    let next = page["next_cursor"].as_str().unwrap();
    let page = server.get(&format!("/api/outbox?state=failed&limit=3&cursor={next}")).json();
    assert_eq!((ids(&page), &page["next_cursor"]), (vec![json!(first)], &Value::Null));
    let retried = retry(&first);
    assert_eq!((retried.status, &retried.json()["id"]), (200, &json!(first)));
    telegram.await_message(OWNER, "the first", |posted| posted.text().contains("first"));
    eventually("it waits no more", || (!is_listed(&server, &first)).then_some(()));
    assert_eq!(retry(&first).problem(), "unknown_delivery", "it has arrived");

    assert_eq!(remove(&second).status, 204);
    assert!(!is_listed(&server, &second));
    assert_eq!(remove(&second).problem(), "unknown_delivery");
    assert_eq!(retry(&second).problem(), "unknown_delivery");
    assert_eq!(retry("none").problem(), "unknown_delivery");

    // The same from the terminal, through the daemon.
    assert!(cli(&["outbox", "retry", &third]).status.success());
    telegram.await_message(OWNER, "the third", |posted| posted.text().contains("third"));
    assert!(!cli(&["outbox", "rm", &fourth]).status.success(), "nobody was there to confirm it");
    assert!(is_listed(&server, &fourth));
    assert!(cli(&["outbox", "rm", &fourth, "--yes"]).status.success());
    assert!(!is_listed(&server, &fourth));
    assert!(!cli(&["outbox", "retry", &fourth]).status.success());

    // And without one: a delivery due then is sent at the next start.
    telegram.block(true);
    let [fifth, sixth] = ["fifth", "sixth"].map(|text| give_up(&server, text));
    telegram.block(false);
    assert_eq!(server.terminate().code(), Some(0));
    let fake = ["--set", "model.provider=fake"];
    assert!(cli(&[&["outbox", "rm", &sixth, "--yes"], &fake[..]].concat()).status.success());
    assert!(cli(&[&["outbox", "retry", &fifth], &fake[..]].concat()).status.success());
    assert!(!cli(&[&["outbox", "retry", &sixth], &fake[..]].concat()).status.success());
    let server = Server::start_in(home, &settings);
    telegram.await_message(OWNER, "the fifth", |posted| posted.text().contains("fifth"));
    let texts: Vec<String> = telegram.chat(OWNER).iter().map(|posted| posted.text().to_owned()).collect();
    let is_so = texts.len() == 3
        && texts.iter().zip(["first", "third", "fifth"]).all(|(text, word)| text.contains(word));
    assert!(is_so, "each once, and nothing that was removed: {texts:?}");
    assert!(failed(&server).is_empty());
}
