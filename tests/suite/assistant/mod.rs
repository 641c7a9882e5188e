//! The assistant: tools, approvals, memory, agents, workflows and recordings.

mod agents;
mod approvals;
mod background_commands;
mod builtin_sops;
mod documents;
mod many_jobs;
mod mcp;
mod mcp_address;
mod mcp_extras;
mod mcp_sign_in;
mod mcp_tools;
mod memory;
mod recordings;
mod shell;
mod temporary;
mod tools;
mod transcribe;
mod web_tools;
mod workflows;
mod workspace;

use aethon_tests::{Server, eventually};
use serde_json::json;

/// Waits for the row of the MCP servers to say this.
fn wait_for_notice(server: &Server, words: &str) -> String {
    eventually(words, || {
        server.feature("mcp")["detail"].as_str().filter(|detail| detail.contains(words)).map(str::to_owned)
    })
}

/// Returns the answer to a message of another program.
fn ask(server: &Server, text: &str) -> String {
    let answer = server.post("/webhook/trigger", &json!({"text": text}));
    answer.json()["response"].as_str().unwrap_or_else(|| panic!("{}", answer.text())).to_owned()
}
