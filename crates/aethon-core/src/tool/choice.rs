//! Which tools of many a service gets: it may take only so many, and it may have refused some.
//!
//! The engine chooses by this before it estimates a request, and a provider once more before it sends one, so that a
//! fallback with other limits gets what it takes, too. The feature board reports the same choice.

use std::collections::BTreeMap;

use super::spec::ToolSpec;

/// The tools that come first when not all of them fit; the others follow in their usual order.
const FIRST: [&str; 8] = [
    "shell",
    "file_read",
    "current_time",
    "web_fetch",
    "file_write",
    "manage_memory",
    "search_history",
    "file_edit",
];

/// Separates the name of a server from that of its tool.
const OF_SERVER: &str = "__";

/// A tool that a service has refused, and that is therefore set aside for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedTool {
    /// Its name.
    pub name: String,
    /// What was refused. A tool that has changed is offered again.
    digest: u64,
}

impl RefusedTool {
    /// A tool as it is now.
    pub fn of(spec: &ToolSpec) -> Self {
        Self { name: spec.name.clone(), digest: digest(spec) }
    }

    /// Returns whether this tool, unchanged, was refused.
    pub fn is(&self, spec: &ToolSpec) -> bool {
        self.name == spec.name && self.digest == digest(spec)
    }
}

fn digest(spec: &ToolSpec) -> u64 {
    fnv(format!("{}\n{}", spec.description, spec.parameters).as_bytes())
}

/// FNV-1a, which is the same in every run.
fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// Returns the server whose tool this is; `None` for a built-in one.
pub fn server_of(tool: &str) -> Option<&str> {
    tool.split_once(OF_SERVER).map(|(server, _)| server).filter(|server| !server.is_empty())
}

/// Returns the places of the tools in the order in which they are kept: the most useful built-in ones, the other built-in
/// ones, and then one of each server in turn, so that no server takes the room of all others.
pub fn by_importance(specs: &[ToolSpec]) -> Vec<usize> {
    let mut of_server: BTreeMap<&str, usize> = BTreeMap::new();
    let mut ranked: Vec<(usize, usize)> = Vec::with_capacity(specs.len());
    for (at, spec) in specs.iter().enumerate() {
        let rank = match server_of(&spec.name) {
            None => FIRST.iter().position(|name| *name == spec.name).unwrap_or(FIRST.len()),
            Some(server) => {
                let round = of_server.entry(server).or_default();
                *round += 1;
                FIRST.len() + *round
            }
        };
        ranked.push((rank, at));
    }
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, at)| at).collect()
}

/// Returns which of the tools a service gets that takes at most `most` of them and has refused some.
pub fn choose(specs: &[ToolSpec], most: Option<usize>, refused: &[RefusedTool]) -> Vec<bool> {
    let mut chosen = vec![false; specs.len()];
    let mut left = most.unwrap_or(usize::MAX);
    for at in by_importance(specs) {
        let (Some(spec), Some(is_chosen)) = (specs.get(at), chosen.get_mut(at)) else { continue };
        *is_chosen = left > 0 && !refused.iter().any(|tool| tool.is(spec));
        left -= usize::from(*is_chosen);
    }
    chosen
}

/// Returns whether model providers accept this as the name of a tool.
pub fn is_plain_name(name: &str, most: usize) -> bool {
    let first = name.as_bytes().first().copied().unwrap_or_default();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    name.len() <= most && (first.is_ascii_alphabetic() || first == b'_') && name.bytes().all(is_plain)
}

/// Returns a name in characters that model providers accept, of at most `most` bytes, that ends in a digest of the
/// original one. Two names never become one, and a name is the same in every run.
pub fn digested_name(name: &str, most: usize) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let digest = format!("_{:08x}", fnv(name.as_bytes()) >> 32);
    let mut short: String = name.chars().map(plain).collect();
    if !short.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        short.insert(0, '_');
    }
    short.truncate(most.saturating_sub(digest.len()));
    short + &digest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn specs(names: &[&str]) -> Vec<ToolSpec> {
        names.iter().map(|name| ToolSpec::new(*name, "x", json!({"type": "object"}))).collect()
    }

    #[test]
    fn built_in_tools_come_first_and_then_one_of_each_server_in_turn() {
        let specs = specs(&["think", "a__1", "a__2", "a__3", "b__1", "shell", "c__1", "c__2"]);
        let kept = |most| -> Vec<&str> {
            let chosen = choose(&specs, Some(most), &[]);
            specs.iter().zip(chosen).filter(|(_, is)| *is).map(|(spec, _)| spec.name.as_str()).collect()
        };
        assert_eq!(kept(0), [""; 0]);
        assert_eq!(kept(1), ["shell"]);
        assert_eq!(kept(2), ["think", "shell"]);
        assert_eq!(kept(5), ["think", "a__1", "b__1", "shell", "c__1"]);
        assert_eq!(kept(7), ["think", "a__1", "a__2", "b__1", "shell", "c__1", "c__2"]);
        assert_eq!(choose(&specs, None, &[]), [true; 8]);
    }

    #[test]
    fn refused_tool_is_set_aside_until_it_changes() {
        let before = specs(&["a__1", "a__2"]);
        let refused = [RefusedTool::of(&before[0])];
        assert_eq!(choose(&before, None, &refused), [false, true]);
        let mut after = before;
        after[0].parameters = json!({"type": "object", "properties": {}});
        assert_eq!(choose(&after, None, &refused), [true, true]);
    }

    #[test]
    fn digested_names_are_short_plain_and_different() {
        for name in ["a.b", "a b", "größe", "日本語", "3d", "", &"x".repeat(300)] {
            let short = digested_name(name, 64);
            assert!(is_plain_name(&short, 64), "{short}");
            assert_eq!(short, digested_name(name, 64));
        }
        assert_ne!(digested_name("a.b", 64), digested_name("a b", 64));
        assert_eq!(digested_name(&"x".repeat(300), 64).len(), 64);
        assert!(!is_plain_name("3d", 64) && !is_plain_name("", 64) && !is_plain_name("a.b", 64));
    }
}
