//! `/api/prompts`: prompts that a person keeps, as files of the workspace.

use aethon_tests::{Request, Server};
use serde_json::{Value, json};

fn put(name: &str, content: &Value) -> Request {
    let body = json!({"content": content}).to_string();
    Request::new("PUT", &format!("/api/prompts/{name}")).header("Content-Type", "application/json").body(body)
}

#[test]
fn prompts_are_kept_as_files_of_the_workspace_and_survive_a_restart() {
    let server = Server::start(&[]);
    assert_eq!(server.get("/api/prompts").json(), json!({"prompts": [], "count": 0}));
    let saved = server.send(&put("daily", &json!(" Plan {{day}}.\n")));
    assert_eq!((saved.status, saved.json()), (200, json!({"name": "daily", "content": "Plan {{day}}."})));
    let etag = saved.header("etag").expect("it has a version").to_owned();
    let path = server.home().path().join("workspace/prompts/daily.md");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "Plan {{day}}.");
    std::fs::write(path.with_file_name("by-hand.md"), "Written by hand").unwrap();

    let home = server.home();
    assert!(server.terminate().success());
    let server = Server::start_in(home, &[]);
    let listed = server.get("/api/prompts").json();
    assert_eq!(listed["count"], 2, "{listed}");
    assert_eq!(listed["prompts"][0], json!({"name": "by-hand", "content": "Written by hand"}));
    assert_eq!(server.get("/api/prompts/daily").header("etag"), Some(etag.as_str()), "the same version");

    let stale = put("daily", &json!("x")).header("If-Match", "\"other\"");
    let refused = server.send(&stale);
    assert_eq!((refused.status, refused.json()["code"].as_str()), (412, Some("changed_elsewhere")));
    assert_eq!(refused.json()["current"]["content"], "Plan {{day}}.");
    let again = put("daily", &json!("x")).header("If-None-Match", "*");
    assert_eq!(server.send(&again).status, 412, "a new one replaces nothing");
    let removal = Request::new("DELETE", "/api/prompts/daily").header("If-Match", &etag);
    assert_eq!(server.send(&removal).status, 204);
    assert_eq!(server.send(&Request::new("DELETE", "/api/prompts/daily")).status, 404);
    assert_eq!(server.get("/api/prompts/daily").json()["code"], "unknown_prompt");
}

#[test]
fn bad_names_and_texts_of_prompts_are_refused_in_words() {
    let server = Server::start(&[]);
    let check = |name: &str, content: Value, field: &str| {
        let answer = server.send(&put(name, &content));
        let body = answer.json();
        assert_eq!(
            (answer.status, body["errors"][0]["field"].as_str()),
            (422, Some(field)),
            "{name}: {body}"
        );
    };
    check("Daily", json!("x"), "name");
    check("a%2f..%2fsoul", json!("x"), "name");
    check("daily", json!(" \n"), "content");
    check("daily", json!("x".repeat(65 * 1024)), "content");
    check("daily", json!(7), "content");
    assert!(!server.home().path().join("workspace/prompts/daily.md").exists());
}
