//! Which tools a model is offered. All of them, where its window has room; where it is small, those that an assistant needs
//! most, so that the conversation keeps the greater part of it. A tool that is not offered can still be called.

use std::sync::Arc;

use aethon_core::tool::ToolSpec;

use crate::window::estimate_tools;

/// The part of a request that tools may take.
const SHARE: u64 = 3;

/// What comes first where not all of them fit; the rest follows in its order.
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

/// The tools of a turn, and those of them that the model is offered.
pub(super) struct Offer {
    /// All that can be called.
    pub(super) all: Arc<[ToolSpec]>,
    /// What is offered.
    pub(super) specs: Arc<[ToolSpec]>,
    /// What the descriptions of these are estimated at; nothing for a model that does not read them.
    pub(super) tokens: u64,
    is_read: bool,
    /// For requests of how many tokens that was decided.
    most: u64,
}

impl Offer {
    /// What is offered in requests of so many tokens at most.
    pub(super) fn new(all: Arc<[ToolSpec]>, is_read: bool, most: u64) -> Self {
        let specs = offered(&all, most);
        let tokens = if is_read { estimate_tools(&specs) } else { 0 };
        Self { tokens, specs, is_read, most, all }
    }

    /// Chooses anew where requests may take more or less than before.
    pub(super) fn fit(&mut self, most: u64) {
        if most != self.most {
            *self = Self::new(self.all.clone(), self.is_read, most);
        }
    }
}

/// The tools for a request of so many tokens at most, in the order in which they were.
fn offered(specs: &Arc<[ToolSpec]>, most: u64) -> Arc<[ToolSpec]> {
    let room = most / SHARE;
    if estimate_tools(specs) <= room {
        return specs.clone();
    }
    let rank = |spec: &ToolSpec| FIRST.iter().position(|name| *name == spec.name).unwrap_or(FIRST.len());
    let mut by_rank: Vec<usize> = (0..specs.len()).collect();
    by_rank.sort_by_key(|at| specs.get(*at).map(rank));
    let mut left = room;
    let mut chosen = vec![false; specs.len()];
    for at in by_rank {
        let (Some(spec), Some(is_chosen)) = (specs.get(at), chosen.get_mut(at)) else { continue };
        let tokens = estimate_tools(std::slice::from_ref(spec));
        *is_chosen = tokens <= left;
        if *is_chosen {
            left -= tokens;
        }
    }
    let kept = specs.iter().zip(chosen).filter(|(_, is_chosen)| *is_chosen);
    kept.map(|(spec, _)| spec.clone()).collect()
}

#[cfg(test)]
mod tests {
    use aethon_core::serde_json::json;

    use super::*;

    #[test]
    fn a_small_window_gets_what_matters_most() {
        let spec = |name: &str| ToolSpec::new(name, "x".repeat(400), json!({"type": "object"}));
        let specs: Arc<[ToolSpec]> = ["calculator", "shell", "think", "file_read"].map(spec).into();
        let names =
            |most| -> Vec<String> { offered(&specs, most).iter().map(|spec| spec.name.clone()).collect() };
        assert_eq!(names(u64::MAX), ["calculator", "shell", "think", "file_read"]);
        assert_eq!(names(800), ["shell", "file_read"]);
        assert!(names(90).is_empty());
    }
}
