//! Which tools a model is offered: all of them if its window has room; in a small window those that an assistant needs
//! most, so that most of the room is left to the conversation. A tool that is not offered can still be called.

use std::sync::Arc;

use aethon_core::tool::ToolSpec;

use crate::window::estimate_tools;

/// Tools may take one part in this many of a request,
const SHARE: u64 = 3;
/// or one part in this many,
const LARGE_SHARE: u64 = 2;
/// if this many tokens are left for the instructions and the conversation.
const CONVERSATION: u64 = 6_000;

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

/// Tools that are of no use without another one.
const COMPANIONS: [(&str, &str); 2] =
    [("list_scheduled_jobs", "schedule_task"), ("remove_scheduled_job", "schedule_task")];

/// The tools of a turn, and those offered to the model.
pub(super) struct Offer {
    /// All that can be called.
    pub(super) all: Arc<[ToolSpec]>,
    /// The tools that are offered.
    pub(super) specs: Arc<[ToolSpec]>,
    /// The estimated tokens of their descriptions; 0 for a model that does not read them.
    pub(super) tokens: u64,
    is_read: bool,
    /// The request size, in tokens, that this was decided for.
    most: u64,
}

impl Offer {
    /// Chooses the tools to offer in requests of at most `most` tokens.
    pub(super) fn new(all: Arc<[ToolSpec]>, is_read: bool, most: u64) -> Self {
        let specs = offered(&all, most);
        let tokens = if is_read { estimate_tools(&specs) } else { 0 };
        Self { tokens, specs, is_read, most, all }
    }

    /// Chooses again if requests may now take more or less.
    pub(super) fn fit(&mut self, most: u64) {
        if most != self.most {
            *self = Self::new(self.all.clone(), self.is_read, most);
        }
    }
}

/// Returns the tools for a request of at most `most` tokens, in their original order.
fn offered(specs: &Arc<[ToolSpec]>, most: u64) -> Arc<[ToolSpec]> {
    let room = (most / SHARE).max(most.saturating_sub(CONVERSATION).min(most / LARGE_SHARE));
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
    let kept: Vec<&ToolSpec> =
        specs.iter().zip(chosen).filter(|(_, is_chosen)| *is_chosen).map(|(spec, _)| spec).collect();
    let is_kept = |name: &str| kept.iter().any(|spec| spec.name == name);
    let misses_companion = |spec: &ToolSpec| {
        COMPANIONS.iter().any(|(name, companion)| *name == spec.name && !is_kept(companion))
    };
    kept.iter().filter(|spec| !misses_companion(spec)).map(|spec| (*spec).clone()).collect()
}

#[cfg(test)]
mod tests {
    use aethon_core::serde_json::json;

    use super::*;

    #[test]
    fn small_window_is_offered_the_most_important_tools() {
        let spec = |name: &str| ToolSpec::new(name, "x".repeat(400), json!({"type": "object"}));
        let specs: Arc<[ToolSpec]> = ["calculator", "shell", "think", "file_read"].map(spec).into();
        let names =
            |most| -> Vec<String> { offered(&specs, most).iter().map(|spec| spec.name.clone()).collect() };
        assert_eq!(names(u64::MAX), ["calculator", "shell", "think", "file_read"]);
        assert_eq!(names(800), ["shell", "file_read"]);
        assert!(names(90).is_empty());
    }

    #[test]
    fn tools_take_half_of_a_request_that_leaves_room_for_a_conversation() {
        let spec =
            |index: usize| ToolSpec::new(format!("t{index}"), "x".repeat(4_000), json!({"type": "object"}));
        let specs: Arc<[ToolSpec]> = (0..5).map(spec).collect();
        let count = |most| offered(&specs, most).len();
        assert!(estimate_tools(&specs) > 12_000 / SHARE);
        assert_eq!((count(12_000), count(6_000)), (5, 1));
    }

    #[test]
    fn tool_is_left_out_without_the_one_that_it_needs() {
        let spec = |name: &str, size| ToolSpec::new(name, "x".repeat(size), json!({"type": "object"}));
        let specs: Arc<[ToolSpec]> =
            [spec("schedule_task", 4_000), spec("list_scheduled_jobs", 40), spec("think", 40)].into();
        let names: Vec<String> = offered(&specs, 600).iter().map(|spec| spec.name.clone()).collect();
        assert_eq!(names, ["think"]);
    }
}
