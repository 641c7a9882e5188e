//! MCP servers behind an address (`mcp.servers.NAME.url`), over real sockets (docs/mcp.md).

use std::sync::{Arc, Mutex};

use aethon_tests::Server;
use aethon_tests::stub::{Seen, Stub, failure, ok};
use serde_json::{Value, json};

use super::{ask, wait_for_notice};

/// How a server answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Documents,
    Streams,
}

/// The server's state: the open session, and how many there were.
#[derive(Default)]
struct Sessions {
    open: Option<String>,
    begun: usize,
}

/// A server that insists on the rules of the protocol, with a tool that echoes and one that ends the session.
fn strict(way: Way) -> (Stub, Arc<Mutex<Sessions>>) {
    let sessions: Arc<Mutex<Sessions>> = Arc::default();
    let kept = sessions.clone();
    let stub = Stub::answering(move |seen| {
        let mut sessions = kept.lock().unwrap();
        match seen.line.split(' ').next() {
            Some("POST") => posted(&mut sessions, way, seen),
            Some("DELETE") => failure("200 OK", "", ""),
            _ => failure("405 Method Not Allowed", "", ""),
        }
    });
    (stub, sessions)
}

fn posted(sessions: &mut Sessions, way: Way, seen: &Seen) -> Vec<u8> {
    let accepted = seen.header("accept").unwrap_or_default();
    let is_right = accepted.contains("application/json")
        && accepted.contains("text/event-stream")
        && seen.header("content-type") == Some("application/json")
        && seen.header("authorization") == Some("Bearer canary-of-the-tools");
    if !is_right {
        return failure("400 Bad Request", "", "{}");
    }
    let message = seen.json();
    if message["method"] == "initialize" {
        sessions.begun += 1;
        let session = format!("session-{}", sessions.begun);
        let header = format!("Mcp-Session-Id: {session}\r\n");
        sessions.open = Some(session);
        let result = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "strict", "version": "1"}});
        return encode_reply(way, &message, &header, &result);
    }
    match seen.header("mcp-session-id") {
        None => return failure("400 Bad Request", "", ""),
        known if known != sessions.open.as_deref() => return failure("404 Not Found", "", ""),
        Some(_) => {}
    }
    if message["id"].is_null() {
        return failure("202 Accepted", "", "");
    }
    let tool = |name: &str| json!({"name": name, "description": name, "inputSchema": {"type": "object"}});
    match (message["method"].as_str(), message["params"]["name"].as_str()) {
        (Some("tools/list"), _) => {
            encode_reply(way, &message, "", &json!({"tools": [tool("echo"), tool("forget")]}))
        }
        (Some("tools/call"), Some("forget")) => {
            sessions.open = None;
            encode_reply(way, &message, "", &json!({"content": [{"type": "text", "text": "forgotten"}]}))
        }
        (Some("tools/call"), _) => {
            let text = message["params"]["arguments"].to_string();
            encode_reply(way, &message, "", &json!({"content": [{"type": "text", "text": text}]}))
        }
        _ => failure("400 Bad Request", "", ""),
    }
}

fn encode_reply(way: Way, message: &Value, header: &str, result: &Value) -> Vec<u8> {
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    match way {
        Way::Documents => failure("200 OK", header, &answer.to_string()),
        Way::Streams => {
            let events = format!(": here it comes\n\nevent: message\ndata: {answer}\n\n");
            let bytes = ok("text/event-stream", &events);
            let head = format!("HTTP/1.1 200 OK\r\n{header}");
            [head.as_bytes(), &bytes["HTTP/1.1 200 OK\r\n".len()..]].concat()
        }
    }
}

fn server_of(stub: &Stub) -> Server {
    Server::start(&[
        &format!("mcp.servers.far.url=\"http://{}/mcp\"", stub.address),
        "mcp.servers.far.headers={ Authorization = \"Bearer canary-of-the-tools\" }",
    ])
}

#[test]
fn http_mcp_server_provides_tools_and_lost_session_is_renewed() {
    for way in [Way::Documents, Way::Streams] {
        let (stub, sessions) = strict(way);
        let server = server_of(&stub);
        wait_for_notice(&server, "far: connected, 2 tools");
        assert!(ask(&server, "!tool far__echo {\"word\": \"borrowed\"}").contains("borrowed"));
        assert!(ask(&server, "!tool far__forget {}").contains("forgotten"));
        assert!(ask(&server, "!tool far__echo {\"word\": \"again\"}").contains("again"));
        assert_eq!(sessions.lock().unwrap().begun, 2, "the session that was over began anew");
        assert_eq!(server.terminate().code(), Some(0));
        let ended: Vec<_> =
            stub.requests().into_iter().filter(|seen| seen.line.starts_with("DELETE")).collect();
        let last = ended.last().expect("the session is ended");
        assert_eq!(last.header("mcp-session-id"), Some("session-2"));
    }
}

#[test]
fn refusal_of_an_mcp_server_is_reported_without_its_text() {
    for (status, words) in [("401 Unauthorized", "(status 401)"), ("500 Internal Server Error", "status 500")]
    {
        let stub = Stub::start(vec![failure(
            status,
            "WWW-Authenticate: Bearer\r\n",
            "{\"words\": \"of a stranger\"}",
        )]);
        let server = server_of(&stub);
        let detail = wait_for_notice(&server, words);
        assert!(detail.contains("far: failing") && !detail.contains("stranger"), "{detail}");
        assert!(!detail.contains("canary-of-the-tools"), "{detail}");
        assert!(ask(&server, "!say still here").contains("still here"), "the assistant works without it");
    }
}
