//! What MCP servers have besides tools: instructions, resources, prompts, questions and progress (docs/mcp.md).

use aethon_tests::socket::of_type;
use aethon_tests::{Request, Server, Socket, eventually};
use serde_json::{Value, json};

fn server(settings: &[&str]) -> Server {
    let command = format!("mcp.servers.rich.command={:?}", env!("CARGO_BIN_EXE_rich-mcp"));
    let mut all = vec![command.as_str(), "mcp.servers.rich.sandbox=false"];
    all.extend_from_slice(settings);
    let server = Server::start(&all);
    eventually("it is connected", || {
        server.feature("mcp")["detail"]
            .as_str()
            .filter(|detail| detail.contains("connected, 4 tools"))
            .map(|_| ())
    });
    server
}

fn asked(chat: &mut Socket, id: &str, text: &str) -> Value {
    chat.send_json(&json!({"type": "message", "id": id, "text": text}));
    chat.until("approval").pop().unwrap()
}

fn answered(chat: &mut Socket, question: &Value, decision: &Value) -> String {
    let mut frame = json!({"type": "approval", "id": question["id"]});
    decision.as_object().unwrap().iter().for_each(|(name, value)| frame[name] = value.clone());
    chat.send_json(&frame);
    chat.until("done").pop().unwrap()["text"].as_str().unwrap().to_owned()
}

#[test]
fn instructions_resources_and_prompts_are_tools_that_read() {
    let server = server(&[]);
    let mut chat = server.chat("default");
    let mut ask = |id: &str, line: &str| {
        let frames = chat.say(id, line);
        frames.last().unwrap()["text"].as_str().unwrap().to_owned()
    };
    let said = ask("m1", "!tool rich__instructions {}");
    assert!(said.contains("Memos are written in verse.") && !said.contains('\u{202e}'), "{said}");
    let listed = ask("m2", "!tool rich__list_resources {}");
    for words in ["memo:///one", "The first memo", "memo:///{name}", "page-2"] {
        assert!(listed.contains(words), "{words}: {listed}");
    }
    assert!(ask("m3", "!tool rich__read_resource {\"uri\": \"memo:///two\"}").contains("the memo at"));
    assert!(ask("m4", "!tool rich__list_prompts {}").contains("greet"));
    let prompt = ask("m5", "!tool rich__get_prompt {\"name\": \"greet\", \"arguments\": {\"who\": \"Ada\"}}");
    assert!(prompt.contains("Ada") && prompt.contains("warmly"), "{prompt}");
    // The same by a person's own hand.
    assert!(ask("m6", "/mcp").contains("`rich`") && ask("m7", "/mcp rich").contains("greet"));
    assert!(ask("m8", "/mcp nowhere").contains("no connected MCP server"));
    let followed = ask("m9", "/mcp rich greet who=\"Ada L.\"");
    assert!(!followed.contains("NAME=VALUE"), "{followed}");
    let said = server.said("webchat:default");
    let (_, asked) = said.iter().rev().find(|(role, _)| role == "user").unwrap();
    assert!(asked.contains("Ada L.") && asked.contains("warmly"), "{asked}");
}

#[test]
fn question_of_a_server_is_answered_on_an_approval_card() {
    let server = server(&[]);
    let mut chat = server.chat("default");
    let question = asked(&mut chat, "m1", "!tool rich__form {}");
    assert_eq!(question["tool"], "rich__form");
    assert_eq!(question["input"], json!({"colour": "red", "count": 1}));
    let summary = question["summary"].as_str().unwrap();
    assert!(summary.contains("`rich`") && summary.contains("Which colour?"), "{summary}");

    // What does not fit the form leaves the question open.
    let target = format!("/api/approvals/{}", question["id"].as_str().unwrap());
    let wrong = json!({"decision": "approve", "input": {"colour": "green"}});
    let refused = server.send(&Request::post(&target, &wrong));
    assert_eq!(refused.status, 422, "{}", refused.text());
    let entered = json!({"decision": "approve", "input": {"colour": "blue", "count": 2}});
    let text = answered(&mut chat, &question, &entered);
    assert!(text.contains("\"action\":\"accept\"") && text.contains("\"colour\":\"blue\""), "{text}");

    let question = asked(&mut chat, "m2", "!tool rich__form {}");
    let text = answered(&mut chat, &question, &json!({"decision": "deny"}));
    assert!(text.contains("\"action\":\"decline\""), "{text}");

    let question = asked(&mut chat, "m3", "!tool rich__visit {}");
    assert_eq!(question["input"], json!({"url": "https://agree.example/terms"}));
    let text = answered(&mut chat, &question, &json!({"decision": "approve"}));
    assert!(text.contains("\"action\":\"accept\"") && !text.contains("content\":{"), "{text}");

    // A question is over with its turn.
    let question = asked(&mut chat, "m4", "!tool rich__form {}");
    chat.send_json(&json!({"type": "stop"}));
    chat.until("done");
    eventually("it is withdrawn", || {
        let open = server.get("/api/approvals").json()["approvals"].clone();
        (!open.as_array().unwrap().iter().any(|open| open["id"] == question["id"])).then_some(())
    });
}

#[test]
fn unanswered_question_is_cancelled() {
    let server = server(&["approval.timeout_seconds=1"]);
    let mut chat = server.chat("default");
    let frames = chat.say("m1", "!tool rich__form {}");
    let text = frames.last().unwrap()["text"].as_str().unwrap();
    assert!(text.contains("\"action\":\"cancel\""), "no one answered in time: {text}");
}

#[test]
fn progress_of_a_server_is_shown_while_its_call_runs() {
    let server = server(&["logging.level=debug"]);
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "!tool rich__slow {}"}));
    let frames = chat.until("approval");
    let shown: Vec<&str> =
        of_type(&frames, "tool").iter().filter_map(|tool| tool["output"].as_str()).collect();
    assert!(shown.iter().any(|output| output.contains("1 of 3: one third is done")), "{shown:?}");
    eventually("its log is in ours", || server.stderr().contains("the slow tool has begun").then_some(()));
}
