//! The assistant: tools, approvals, memory, agents, workflows and recordings.

mod agents;
mod approvals;
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
mod tools;
mod web_tools;
mod workflows;
mod workspace;
