//! Has a person asked before the tools that the owner named run.

use aethon_core::hook::{Hook, ToolDecision};
use aethon_core::message::ToolCall;
use aethon_core::tool::{ToolContext, ToolSpec};
use async_trait::async_trait;

/// Which tools need a person's word.
#[derive(Debug, Clone, Default)]
pub struct ApprovalRule {
    /// Whether any does.
    pub enabled: bool,
    /// Their names. A `*` stands for any part of one: `files__*` is every tool of the MCP server `files`.
    pub requires_approval: Vec<String>,
}

#[async_trait]
impl Hook for ApprovalRule {
    fn name(&self) -> &'static str {
        "approval"
    }

    async fn before_tool(&self, _context: &ToolContext, spec: &ToolSpec, _call: &ToolCall) -> ToolDecision {
        if self.enabled && self.requires_approval.iter().any(|pattern| fits(&spec.name, pattern)) {
            return ToolDecision::Ask(format!("`{}` is listed in `approval.requires_approval`", spec.name));
        }
        ToolDecision::Allow
    }
}

/// Whether a name fits a pattern, in which `*` stands for anything.
pub(crate) fn fits(name: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return name == pattern };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        // The earliest place leaves the most for the parts behind it.
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_many_tools() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(fits(name, pattern), expected, "{pattern} {name}");
        };
        check("shell", "shell", true);
        check("shell", "shells", false);
        check("files__*", "files__read", true);
        check("files__*", "files_read", false);
        check("*", "anything", true);
        check("*__write*", "files__write_file", true);
        check("*__write*", "files__read_file", false);
        check("a*b*c", "a__b__b__c", true);
        check("a*b*c", "a__c__b", false);
        check("a*a", "a", false);
        check("", "", true);
        check("", "x", false);
    }
}
