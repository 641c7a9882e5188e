//! The owner on Matrix in a group (docs/channels.md), against a homeserver that keeps to the client-server API.

use aethon_tests::matrix::Matrix;
use aethon_tests::{Server, eventually, home};
use serde_json::json;

const ROOM: &str = "!group:test";

#[test]
fn commands_and_replies_work_behind_any_mention_in_a_group() {
    let (matrix, home) = (Matrix::start(), home());
    matrix.room(ROOM, "@ada:test");
    matrix.crowd(ROOM);
    let mut settings = matrix.settings();
    settings.push("security.allowed_senders.matrix=[\"@ada:test\"]".into());
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let server = Server::start_in(home, &settings);
    matrix.await_sync();
    let pill = "<a href=\"https://matrix.to/#/@aethon:test\">Aethon Helper</a>: /help";
    let mentions = json!({"user_ids": ["@aethon:test"]});
    for (count, content) in [
        json!({"msgtype": "m.text", "body": "Aethon Helper: /help", "m.mentions": mentions}),
        json!({"msgtype": "m.text", "body": "Aethon Helper: /help", "format": "org.matrix.custom.html", "formatted_body": pill}),
        json!({"msgtype": "m.text", "body": "aethon: /help"}),
        json!({"msgtype": "m.text", "body": "@aethon:test /help."}),
    ]
    .into_iter()
    .enumerate()
    {
        matrix.put(ROOM, content);
        eventually("the help comes", || {
            let posted = matrix.posted(ROOM);
            let is_help = posted.iter().all(|posted| posted.text().contains("begins a new conversation"));
            (posted.len() == count + 1 && is_help).then_some(())
        });
    }
    let link = "the report is <a href=\"https://example.org/x\">here</a>";
    let theirs = matrix.put(
        ROOM,
        json!({"msgtype": "m.text", "body": "the report is here", "format": "org.matrix.custom.html", "formatted_body": link}),
    );
    matrix.put(
        ROOM,
        json!({
            "msgtype": "m.text", "body": "Aethon Helper: read it", "m.mentions": mentions,
            "m.relates_to": {"m.in_reply_to": {"event_id": theirs}},
        }),
    );
    eventually("it is a turn", || {
        let is_there = server.get("/api/sessions/matrix:!group:test").status == 200;
        let said = if is_there { server.said("matrix:!group:test") } else { Vec::new() };
        said.iter()
            .any(|(_, text)| text.contains("read it") && text.contains("here (https://example.org/x)"))
            .then_some(())
    });
    let asked = server.said("matrix:!group:test").into_iter().filter(|(role, _)| role == "user");
    let asked: Vec<String> = asked.map(|(_, text)| text).collect();
    assert!(asked.iter().all(|text| !text.contains("/help")), "no model was asked: {asked:?}");
}
