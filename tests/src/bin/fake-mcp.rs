//! A small MCP server for the black-box tests, over standard input and output. Its tools report what it received, and end it.

use std::io::{BufRead, Write};

use serde_json::{Value, json};

fn main() {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        if message["id"].is_null() {
            continue;
        }
        let (name, body) = match message["method"].as_str().unwrap_or_default() {
            "initialize" => ("result", initialized(&message)),
            "tools/list" => ("result", tools()),
            "tools/call" if message["params"]["name"] == "die" => return,
            "tools/call" => ("result", called(&message)),
            method => ("error", json!({"code": -32601, "message": format!("no method {method}")})),
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], name: body});
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            return;
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
    json!({"tools": [echo, tool("environment"), tool("die")]})
}

fn called(message: &Value) -> Value {
    let text = match message["params"]["name"].as_str().unwrap_or_default() {
        "environment" => environment(),
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
