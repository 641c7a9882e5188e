//! The web tools: `security.egress_allowed_hosts` and `security.taint_requires_approval` (docs/web-tools.md).

use aethon_tests::server::server_command;
use aethon_tests::socket::of_type;
use aethon_tests::stub::{Stub, ok};
use aethon_tests::{Server, home};
use serde_json::{Value, json};

const PAGE: &str = "<html><head><title>Invoices</title></head><body><nav>Menu</nav><h1>March</h1>\
    <p>The total is 47.11, see <a href='/more'>more</a>.</p><script>evil()</script></body></html>";

fn page() -> Stub {
    Stub::start(vec![ok("text/html; charset=utf-8", PAGE)])
}

fn fetch(stub: &Stub) -> String {
    format!("!tool web_fetch {{\"url\": \"http://{}/invoices\"}}", stub.address)
}

fn allowing(stub: &Stub, more: &[&str]) -> Server {
    let allowed = format!("security.egress_allowed_hosts=[\"{}\"]", stub.address);
    let settings: Vec<&str> = [allowed.as_str()].into_iter().chain(more.iter().copied()).collect();
    Server::start(&settings)
}

/// How the tools of these frames ended: name, state, output.
fn ended(frames: &[Value]) -> Vec<(String, String, String)> {
    let tools = of_type(frames, "tool").into_iter().filter(|tool| tool["state"] != "running");
    let word = |tool: &Value, name: &str| tool[name].as_str().unwrap_or_default().to_owned();
    tools.map(|tool| (word(tool, "name"), word(tool, "state"), word(tool, "output"))).collect()
}

#[test]
fn page_is_fetched_from_allowed_hosts_only() {
    let stub = page();
    let closed = Server::start(&[]);
    let frames = closed.chat("default").say("m1", &fetch(&stub));
    let (_, state, output) = ended(&frames).remove(0);
    assert_eq!(state, "denied");
    assert!(output.contains("security.egress_allowed_hosts"), "{output}");
    assert!(stub.requests().is_empty());

    let server = allowing(&stub, &[]);
    let frames = server.chat("default").say("m1", &fetch(&stub));
    let (_, state, output) = ended(&frames).remove(0);
    assert_eq!(state, "ok", "{output}");
    assert!(
        output.contains("Title: Invoices") && output.contains("# March") && output.contains("47.11"),
        "{output}"
    );
    assert!(output.contains(&format!("[more](http://{}/more)", stub.address)), "{output}");
    assert!(
        !output.contains("evil") && !output.contains("Menu") && !output.contains("UNTRUSTED"),
        "{output}"
    );
    let transcript = server.get("/api/sessions/webchat:default").json();
    let blocks = transcript["messages"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|message| message["content"].as_array().cloned().unwrap_or_default());
    let result = blocks.into_iter().find(|block| block["type"] == "tool_result").unwrap();
    assert_eq!(result["untrusted"], true, "{result}");
    // Its own port is closed, whatever is allowed.
    let server = Server::start(&["security.egress_allowed_hosts=[\"127.0.0.1\", \"localhost\"]"]);
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("http://{host}:{}/api/status", server.address.port());
        let frames = server.chat(host).say("m1", &format!("!tool web_fetch {{\"url\": \"{url}\"}}"));
        let (_, state, output) = ended(&frames).remove(0);
        assert!(state == "denied" && output.contains("own port"), "{output}");
    }
}

#[test]
fn web_tools_ignore_proxy_variables() {
    let proxy = Stub::start(vec![ok("text/html", "<p>from the proxy</p>")]);
    let stub = Stub::answering(|seen| {
        if seen.line.starts_with("GET") {
            return ok("text/html", "<p>own way</p>");
        }
        let answer = json!({"jsonrpc": "2.0", "id": seen.json()["id"], "result": 1, "data": {"viewer": {}}});
        ok("application/json", &answer.to_string())
    });
    let home = home();
    let settings = [
        format!("security.egress_allowed_hosts=[\"{}\", \"{}\"]", stub.address, proxy.address),
        format!("tools.github.api_base=\"http://{}/api\"", stub.address),
        "tools.github.token=\"token-4711\"".to_owned(),
    ];
    let mut command = server_command(home.path(), &settings.each_ref().map(String::as_str));
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        let address = format!("http://{}", proxy.address);
        command.env(name, &address).env(name.to_lowercase(), &address);
    }
    let server = Server::start_command(home, command);
    let mut chat = server.chat("default");
    let rpc = format!("!tool jsonrpc {{\"url\": \"http://{}/rpc\", \"method\": \"look\"}}", stub.address);
    let query = "!tool github {\"query\": \"{ viewer { login } }\"}".to_owned();
    for (id, text) in [("m1", fetch(&stub)), ("m2", rpc), ("m3", query)] {
        let ended = ended(&chat.say(id, &text));
        assert_eq!(ended[0].1, "ok", "{ended:?}");
    }
    assert_eq!(stub.requests().len(), 3, "each went its own way");
    assert!(proxy.requests().is_empty(), "{:?}", proxy.requests());
}

#[test]
fn fetched_content_makes_commands_wait_for_approval() {
    let stub = page();
    let server = allowing(&stub, &["security.taint_requires_approval=true"]);
    let mut chat = server.chat("default");
    let frames = chat.say("m1", "!tool shell {\"command\": \"echo before\"}");
    assert_eq!(ended(&frames)[0].1, "ok", "nothing came from outside yet: {frames:?}");

    let mut chat = server.chat("other");
    let text = format!("{}\n!then\n!tool shell {{\"command\": \"echo after\"}}", fetch(&stub));
    chat.send_json(&json!({"type": "message", "id": "m1", "text": text}));
    let question = chat.until("approval").pop().unwrap();
    assert_eq!((&question["tool"], &question["input"]["command"]), (&json!("shell"), &json!("echo after")));
    chat.send_json(&json!({"type": "approval", "id": question["id"], "decision": "deny"}));
    let frames = chat.until("done");
    let (name, state, output) = ended(&frames).pop().unwrap();
    assert_eq!((name.as_str(), state.as_str()), ("shell", "denied"), "{output}");
    assert!(output.contains("security.taint_requires_approval"), "{output}");

    let text = "!tool shell {\"command\": \"echo hooked\"}\n!tool current_time {}";
    let answer = server.post("/webhook/garden", &json!({ "text": text })).text();
    assert!(
        answer.contains("security.taint_requires_approval") && !answer.contains("exit status"),
        "{answer}"
    );
    assert!(answer.contains("UTC"), "what only reads goes on: {answer}");
}

#[test]
fn graphql_mutation_waits_for_approval_and_query_does_not() {
    let stub = Stub::start(vec![ok("application/json", "{\"data\": {\"viewer\": {\"login\": \"ada\"}}}")]);
    let base = format!("tools.github.api_base=\"http://{}/api\"", stub.address);
    let server = Server::start(&[base.as_str(), "tools.github.token=\"canary-token-4711\""]);
    let query = "!tool github {\"query\": \"{ viewer { login } }\"}";
    let change = "!tool github {\"query\": \"mutation { addStar(input: {}) { x } }\"}";
    let answer = server.post("/webhook/garden", &json!({ "text": format!("{query}\n{change}") })).text();
    assert!(answer.contains("ada") && answer.contains("mutation"), "{answer}");
    assert!(!answer.contains("canary-token"), "{answer}");
    let requests = stub.requests();
    assert_eq!(requests.len(), 1, "the mutation was not sent");
    assert_eq!(requests[0].line, "POST /api/graphql");
    assert_eq!(requests[0].header("authorization"), Some("Bearer canary-token-4711"));
    assert!(!server.get("/api/config").text().contains("canary-token"));
}
