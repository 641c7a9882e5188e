//! A small MCP server for the black-box tests, over standard input and output. Its tools report the input received, and end it.
//!
//! Its argument changes it: `storm` lists 20,000 tools, and announces that they have changed after each time; `slow` takes
//! a second to start, and `hang` never does; `many` has 120 tools; `odd` has odd entries in its list, a tool whose schema
//! every service refuses as it is, one with odd names, and a result that is too large.

use std::io::{BufRead, Write};

use serde_json::{Value, json};

fn main() {
    let mut out = std::io::stdout().lock();
    let has = |word: &str| std::env::args().any(|argument| argument == word);
    let is_storm = has("storm");
    if has("hang") {
        std::thread::sleep(std::time::Duration::from_secs(3_600));
    }
    if has("slow") {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        if message["id"].is_null() {
            continue;
        }
        let (name, body) = match message["method"].as_str().unwrap_or_default() {
            "initialize" => ("result", initialized(&message)),
            "tools/list" if is_storm => ("result", numbered(20_000)),
            "tools/list" if has("many") => ("result", numbered(120)),
            "tools/list" if has("odd") => ("result", odd_tools()),
            "tools/list" => ("result", tools()),
            "tools/call" if message["params"]["name"] == "die" => return,
            "tools/call" => ("result", called(&message)),
            method => ("error", json!({"code": -32601, "message": format!("no method {method}")})),
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], name: body});
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            return;
        }
        if is_storm && message["method"] == "tools/list" {
            let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
            if writeln!(out, "{changed}").and_then(|()| out.flush()).is_err() {
                return;
            }
        }
    }
}

fn initialized(message: &Value) -> Value {
    json!({
        "protocolVersion": message["params"]["protocolVersion"],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "fake", "version": "1"},
    })
}

fn tools() -> Value {
    let tool = |name: &str| json!({"name": name, "description": name, "inputSchema": {"type": "object"}});
    let mut echo = tool("echo");
    if let Some((_, says)) = std::env::vars().find(|(name, _)| name == "ECHO_SAYS") {
        echo["description"] = says.into();
    }
    let mut environment = tool("environment");
    environment["annotations"] = json!({"readOnlyHint": true});
    json!({"tools": [echo, environment, tool("die")]})
}

fn numbered(count: usize) -> Value {
    let tool = |n: usize| json!({"name": format!("tool_{n}"), "description": "x", "inputSchema": {"type": "object"}});
    json!({"tools": (0..count).map(tool).collect::<Vec<_>>()})
}

fn odd_tools() -> Value {
    let schema = json!({"type": "object"});
    let either = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"type": "str"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "$defs": {"A": {"type": "string", "required": true}}});
    let named = json!({"type": "object", "properties": {"größe in cm": {"type": "integer"}}, "required": ["größe in cm"]});
    json!({"tools": [
        {"name": "good", "inputSchema": schema},
        {"name": "bad"},
        {"name": "either", "inputSchema": either},
        {"name": "names", "inputSchema": named},
        {"name": "cursed", "inputSchema": schema},
        {"name": "large", "inputSchema": schema},
        {"name": "a.b", "inputSchema": schema},
        {"name": "a_b", "inputSchema": schema},
    ]})
}

fn called(message: &Value) -> Value {
    let text = match message["params"]["name"].as_str().unwrap_or_default() {
        "environment" => environment(),
        "large" => "x".repeat(9 << 20),
        _ => message["params"]["arguments"].to_string(),
    };
    json!({"content": [{"type": "text", "text": text}]})
}

/// The names of all environment variables, and the values of those that the test sets.
fn environment() -> String {
    let line = |(name, value): (String, String)| match name.as_str() {
        "GIVEN" | "PATH" => format!("{name}={value}"),
        _ => name,
    };
    let mut lines: Vec<String> = std::env::vars().map(line).collect();
    lines.sort();
    lines.join("\n")
}
