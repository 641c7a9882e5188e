//! MCP and language servers in containers: nothing that runs code goes round the docker sandbox (decision 0105).
//!
//! The daemon is a stand-in that runs what it is given, so this tests the requests to docker and the conversation.
//! Results with a real daemon are in `docs/verification.md`.

use std::time::{Duration, Instant};

use aethon_tests::docker::{Docker, variables};
use aethon_tests::http::TIMEOUT;
use aethon_tests::server::server_command;
use aethon_tests::{Server, eventually, home};
use serde_json::{Value, json};

/// The servers' rows of the features list.
fn servers(server: &Server) -> String {
    server.feature("mcp")["detail"].as_str().unwrap_or_default().to_owned()
}

/// Waits until the features list says this of the servers.
fn until(server: &Server, expected: &str) {
    let end = Instant::now() + TIMEOUT;
    loop {
        let told = servers(server);
        if told.contains(expected) {
            return;
        }
        assert!(Instant::now() < end, "waited in vain for {expected:?}: {told}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn mcp_and_language_servers_run_in_containers_only() {
    let (docker, home) = (Docker::start(), home());
    let fake = env!("CARGO_BIN_EXE_fake-mcp");
    let own = format!("mcp.servers.own={{ command = {fake:?}, image = \"there\", network = \"bridge\" }}");
    let given =
        format!("mcp.servers.given={{ command = {fake:?}, env = {{ GIVEN = \"canary-0123456789\" }} }}");
    let outside = format!("mcp.servers.outside={{ command = {fake:?}, sandbox = false }}");
    let settings = [
        "security.sandbox=docker",
        "security.sandbox_image=there",
        &own,
        &given,
        &outside,
        "mcp.servers.absent.command=no-such-program",
        "mcp.servers.nowhere={ command = \"x\", image = \"not-there\" }",
        "security.guest_tools=[\"own__*\"]",
        "lsp.enabled=true",
        "lsp.servers.tiny={ command = \"no-such-server\", extensions = [\"tiny\"] }",
    ];
    let mut command = server_command(home.path(), &settings);
    command.env("DOCKER_HOST", docker.host());
    let server = Server::start_command(home, command);
    for expected in [
        "own: connected, 3 tools",
        "given: connected, 3 tools",
        "outside: connected, 3 tools",
        "absent: failing",
        "nowhere: failing",
    ] {
        until(&server, expected);
    }
    let told = servers(&server);
    assert!(told.contains("has to be in the image, which is there"), "what to do about it: {told}");
    assert!(told.contains("the image not-there"), "{told}");

    let ask = |text: &str| server.post("/webhook/trigger", &json!({"text": text})).text();
    assert!(ask("!tool own__echo {\"word\": \"borrowed\"}").contains("borrowed"));
    let environment = ask("!tool given__environment {}");
    assert!(environment.contains("GIVEN=***") && !environment.contains("PATH="), "{environment}");
    assert!(ask("!tool outside__environment {}").contains("PATH="), "kept outside by its owner");

    // The same walls as for commands, and a network for the one whose owner says so.
    let made = docker.made();
    let of_fake: Vec<&Value> = made.iter().filter(|(word, _)| word == fake).map(|(_, made)| made).collect();
    assert_eq!(of_fake.len(), 2, "the third one runs outside");
    for document in of_fake {
        let walls = &document["HostConfig"];
        let has_network = !variables(document).contains("GIVEN");
        let network = if has_network { "bridge" } else { "none" };
        assert_eq!(
            (&walls["ReadonlyRootfs"], &walls["CapDrop"], &walls["NetworkMode"]),
            (&json!(true), &json!(["ALL"]), &json!(network)),
            "{document}"
        );
        assert_eq!((&document["OpenStdin"], &document["StdinOnce"]), (&json!(true), &json!(true)));
    }

    // A language server is a program like them.
    std::fs::write(server.home().path().join("workspace/a.tiny"), "x\n").unwrap();
    const DIAGNOSTICS: &str = "!tool lsp {\"action\": \"diagnostics\", \"path\": \"a.tiny\"}";
    let frames = server.chat("default").say("m1", DIAGNOSTICS);
    let answered = frames.last().expect("an end")["text"].as_str().expect("a text").to_owned();
    assert!(answered.contains("no-such-server") && answered.contains("image"), "{answered}");
    assert!(ask(DIAGNOSTICS).contains("the owner's own words"), "it runs what the files of a project say");

    assert_eq!(server.terminate().code(), Some(0));
    eventually("an end of every container", || (!docker.has_left()).then_some(()));
}
