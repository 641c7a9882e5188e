//! An MCP server for the black-box tests that has more than tools: instructions, resources, prompts, questions, progress and a
//! log, over standard input and output.

use std::io::{BufRead, Lines, StdinLock, StdoutLock, Write};

use serde_json::{Value, json};

struct Wire {
    input: Lines<StdinLock<'static>>,
    output: StdoutLock<'static>,
    /// What the client can do.
    client: Value,
}

fn main() {
    let mut wire = Wire {
        input: std::io::stdin().lock().lines(),
        output: std::io::stdout().lock(),
        client: Value::Null,
    };
    while let Some(message) = wire.next() {
        if message["id"].is_null() || message.get("method").is_none() {
            continue;
        }
        let (name, body) = match message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                wire.client = message["params"]["capabilities"].clone();
                ("result", initialized(&message))
            }
            "tools/list" => ("result", tools()),
            "tools/call" => ("result", json!({"content": [{"type": "text", "text": wire.called(&message)}]})),
            "resources/list" => (
                "result",
                json!({"resources": [
                {"uri": "memo:///one", "name": "one", "title": "The first memo", "mimeType": "text/plain"},
            ], "nextCursor": "page-2"}),
            ),
            "resources/templates/list" => (
                "result",
                json!({"resourceTemplates": [
                    {"uriTemplate": "memo:///{name}", "name": "memo"},
                ]}),
            ),
            "resources/read" => {
                let uri = &message["params"]["uri"];
                ("result", json!({"contents": [{"uri": uri, "text": format!("the memo at {uri}")}]}))
            }
            "prompts/list" => (
                "result",
                json!({"prompts": [
                    {"name": "greet", "description": "greets", "arguments": [{"name": "who", "required": true}]},
                ]}),
            ),
            "prompts/get" => {
                let text = format!("Greet {} warmly.", message["params"]["arguments"]["who"]);
                ("result", json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}))
            }
            method => ("error", json!({"code": -32601, "message": format!("no method {method}")})),
        };
        wire.say(&json!({"jsonrpc": "2.0", "id": message["id"], name: body}));
    }
}

impl Wire {
    fn next(&mut self) -> Option<Value> {
        loop {
            let line = self.input.next()?.ok()?;
            if let Ok(message) = serde_json::from_str(&line) {
                return Some(message);
            }
        }
    }

    fn say(&mut self, message: &Value) {
        // A client that no longer reads closes the input, too.
        let _ = writeln!(self.output, "{message}").and_then(|()| self.output.flush());
    }

    fn called(&mut self, message: &Value) -> String {
        match message["params"]["name"].as_str().unwrap_or_default() {
            "form" => self.asked(&form()),
            "visit" => self.asked(&json!({"mode": "url", "message": "Please agree", "elicitationId": "e1",
                "url": "https://agree.example/terms"})),
            "slow" => {
                let token = &message["params"]["_meta"]["progressToken"];
                let progress = json!({"progressToken": token, "progress": 1, "total": 3, "message": "one third is done"});
                self.say(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}));
                let log = json!({"level": "info", "logger": "rich", "data": "the slow tool has begun"});
                self.say(&json!({"jsonrpc": "2.0", "method": "notifications/message", "params": log}));
                // It goes on when the person has seen that.
                self.asked(&form())
            }
            // What the client offers, as it says.
            _ => self.client.to_string(),
        }
    }

    /// Asks the client, and returns what it answers.
    fn asked(&mut self, params: &Value) -> String {
        self.say(&json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params}));
        while let Some(message) = self.next() {
            if message["id"] == "q" && message.get("method").is_none() {
                let answer =
                    if message["error"].is_null() { &message["result"] } else { &message["error"]["code"] };
                return format!("answered {answer}");
            }
        }
        "no answer".into()
    }
}

fn form() -> Value {
    json!({"message": "Which colour?", "requestedSchema": {
    "type": "object", "required": ["colour"], "properties": {
        "colour": {"type": "string", "enum": ["red", "blue"]}, "count": {"type": "integer", "minimum": 1},
    }}})
}

fn initialized(message: &Value) -> Value {
    json!({
        "protocolVersion": message["params"]["protocolVersion"],
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "logging": {}},
        "serverInfo": {"name": "rich", "version": "1"},
        "instructions": "Memos are written in verse.\u{202e}",
    })
}

fn tools() -> Value {
    let tool = |name: &str| json!({"name": name, "description": name, "inputSchema": {"type": "object"}});
    let mut form = tool("form");
    form["title"] = "Colour picker".into();
    form["annotations"] = json!({"destructiveHint": true});
    json!({"tools": [form, tool("visit"), tool("slow"), tool("offered")]})
}
