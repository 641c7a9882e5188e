//! Starting and stopping: INTERFACE section 1, specification 5.1 and 7.

use aethon_tests::{Server, run_server};

#[test]
fn stdout_carries_one_line_that_says_where_it_listens() {
    let server = Server::start(&[]);
    assert_eq!(server.greeting, format!("aethon 0.3.0 listening on http://{}", server.address));
    assert_eq!(server.get("/health").json(), serde_json::json!({"status": "ok"}));
    assert_eq!(server.terminate().code(), Some(0));
}

#[test]
fn a_second_server_on_the_same_home_is_refused() {
    let server = Server::start(&[]);
    let output = run_server(server.home().path(), &["--set", "channels.webchat.port=0"]);
    assert_eq!(output.status.code(), Some(2));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("another aethon-server"), "{words}");
    assert_eq!(server.get("/health").status, 200);
}
