//! Compares the current state with the state that the owner knows, and reports the changes in one sentence.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::known::{Known, SERVER, Unknown};
use crate::prompt::Prompt;
use aethon_core::instructions::{Instructions, Observations};

/// How many names a notice has at most.
const MAX_NAMES: usize = 10;

/// The things to compare, and where the owner's knowledge is kept.
pub struct Sources {
    /// The workspace, for the words of notices.
    pub workspace: PathBuf,
    /// The folder of the files with the state that the owner knows: `pages.json` and `instructions.json`.
    pub kept_in: PathBuf,
    /// The prompt of the main agent.
    pub prompt: Arc<Prompt>,
    /// Everything else. Names of servers begin with `mcp/`.
    pub others: Vec<Arc<dyn Instructions>>,
}

/// Finds the changes to report to the owner.
pub struct Changes {
    sources: Sources,
    state: Mutex<State>,
}

struct State {
    /// The texts of the pages.
    pages: Known,
    /// The digests of everything else.
    others: Known,
    /// The observations of the last comparison.
    last: Vec<Arc<Observations>>,
}

impl Changes {
    /// Compares these.
    pub fn new(sources: Sources) -> Self {
        let kept = |name: &str| Known::new(sources.kept_in.join(name));
        let state = State { pages: kept("pages.json"), others: kept("instructions.json"), last: Vec::new() };
        Self { state: Mutex::new(state), sources }
    }

    /// Returns a sentence naming the changes since the last report to the owner. Each change is named once. Blocks.
    pub fn news(&self) -> Option<String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let pages = self.sources.prompt.observe();
        let now: Vec<_> = self.sources.others.iter().map(|source| source.observe()).chain([pages]).collect();
        let is_same = |one: &Arc<Observations>, other: &Arc<Observations>| Arc::ptr_eq(one, other);
        if now.len() == state.last.len()
            && now.iter().zip(&state.last).all(|(one, other)| is_same(one, other))
        {
            return None;
        }
        let all: Vec<&Observations> = now.iter().map(|one| &**one).collect();
        let (others, pages) = all.split_at(all.len().saturating_sub(1));
        let Unknown { mut changed, mut unused } = state.pages.compare(pages);
        let more = state.others.compare(others);
        changed.extend(more.changed);
        unused.extend(more.unused);
        state.last = now;
        sentence(&changed, &unused, &self.sources.workspace)
    }
}

fn sentence(
    changed: &BTreeSet<String>,
    unused: &BTreeMap<String, String>,
    workspace: &Path,
) -> Option<String> {
    let (servers, files): (Vec<&String>, Vec<&String>) =
        changed.iter().partition(|name| name.starts_with(SERVER));
    let mut parts = Vec::new();
    if !files.is_empty() {
        tracing::warn!(
            files = listed(&files),
            "what shapes the assistant has changed since the owner was last told"
        );
        parts.push(format!(
            "Changed since we last talked: {} in {}. What stands there shapes how I act; look at it if you did not change it \
             yourself.",
            listed(&files),
            workspace.display()
        ));
    }
    if !servers.is_empty() {
        let names: Vec<String> = servers.iter().map(|name| name.replacen(SERVER, "", 1)).collect();
        let names = listed(&names.iter().collect::<Vec<_>>());
        tracing::warn!(
            servers = names,
            "what MCP servers say of their tools has changed since the owner was last told"
        );
        parts.push(format!(
            "What these MCP servers say of their tools has changed: {names}. It shapes how I use them; look at it if you do \
             not trust whoever runs them."
        ));
    }
    if !unused.is_empty() {
        let each: Vec<String> = unused.iter().map(|(name, why)| format!("{name} ({why})")).collect();
        let each = listed(&each.iter().collect::<Vec<_>>());
        tracing::warn!(files = each, "files of the workspace that would shape the assistant are not used");
        parts.push(format!("Not used, in {}: {each}.", workspace.display()));
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn listed(names: &[&String]) -> String {
    let shown: Vec<&str> = names.iter().take(MAX_NAMES).map(|name| name.as_str()).collect();
    let rest = names.len().saturating_sub(MAX_NAMES);
    let rest = if rest == 0 { String::new() } else { format!(" and {rest} more") };
    format!("{}{rest}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::PromptOptions;

    #[test]
    fn the_owner_reads_one_notice_with_bounded_length() {
        let home = tempfile::tempdir().unwrap();
        let workspace = home.path().join("workspace");
        std::fs::create_dir(&workspace).unwrap();
        let options = PromptOptions { name: "Aethon".into(), workspace: workspace.clone(), persona: None };
        let prompt = Arc::new(Prompt::new(options));
        let sources = Sources {
            workspace: workspace.clone(),
            kept_in: home.path().to_owned(),
            prompt,
            others: Vec::new(),
        };
        let changes = Changes::new(sources);
        assert_eq!(changes.news(), None);
        std::fs::write(workspace.join("SOUL.md"), "You are a pirate.").unwrap();
        std::os::unix::fs::symlink("/etc/hostname", workspace.join("TOOLS.md")).unwrap();
        let told = changes.news().unwrap();
        for part in ["Changed since we last talked: SOUL.md in ", "Not used", "TOOLS.md (this is a link"] {
            assert!(told.contains(part), "{told}");
        }
        assert_eq!(changes.news(), None);
        let many: BTreeSet<String> = (10..1_000).map(|number| format!("sops/{number}.sop.md")).collect();
        let told = sentence(&many, &BTreeMap::new(), &workspace).unwrap();
        assert!(told.contains(" and 980 more in ") && told.len() < 1_000, "{told}");
    }
}
