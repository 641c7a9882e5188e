//! Which tools a model is offered: all of them if its service takes so many and its window has room. Otherwise those that
//! an assistant needs most, and then one of each server in turn; in a small window, most of the room is left to the
//! conversation. A tool that is not offered can still be called.

use std::sync::Arc;

use aethon_core::model::Capabilities;
use aethon_core::tool::{RefusedTool, ToolSpec, by_importance};

use crate::window::estimate_tools;

/// Tools may take one part in this many of a request,
const SHARE: u64 = 3;
/// or one part in this many,
const LARGE_SHARE: u64 = 2;
/// if this many tokens are left for the instructions and the conversation.
const CONVERSATION: u64 = 6_000;

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
    /// Whether the window alone has room for all of them.
    pub(super) has_room: bool,
    /// The request size, in tokens, that this was decided for.
    most: u64,
    limit: Option<usize>,
    refused: Arc<[RefusedTool]>,
}

impl Offer {
    /// Chooses the tools to offer to this model in requests of at most `most` tokens.
    pub(super) fn new(all: Arc<[ToolSpec]>, model: &Capabilities, most: u64) -> Self {
        let specs = offered(&all, model, most);
        let tokens = if model.tool_terms.are_read { estimate_tools(&specs) } else { 0 };
        let (limit, refused) = (model.tool_terms.limit, model.tool_terms.refused.clone());
        Self { tokens, specs, has_room: estimate_tools(&all) <= room(most), most, limit, refused, all }
    }

    /// Chooses again if requests may now take more or less, or if something was learnt about the tools.
    pub(super) fn fit(&mut self, model: &Capabilities, most: u64) {
        if most != self.most
            || model.tool_terms.limit != self.limit
            || model.tool_terms.refused != self.refused
        {
            *self = Self::new(self.all.clone(), model, most);
        }
    }
}

/// Returns how many tokens of a request of at most `most` tools may take.
fn room(most: u64) -> u64 {
    (most / SHARE).max(most.saturating_sub(CONVERSATION).min(most / LARGE_SHARE))
}

/// Returns the tools for a request of at most `most` tokens, in their original order.
fn offered(specs: &Arc<[ToolSpec]>, model: &Capabilities, most: u64) -> Arc<[ToolSpec]> {
    let is_all = model.choose_tools(specs).iter().all(|is_chosen| *is_chosen);
    let mut left = room(most);
    if is_all && estimate_tools(specs) <= left {
        return specs.clone();
    }
    let mut count = model.tool_terms.limit.unwrap_or(usize::MAX);
    let mut chosen = vec![false; specs.len()];
    for at in by_importance(specs) {
        let (Some(spec), Some(is_chosen)) = (specs.get(at), chosen.get_mut(at)) else { continue };
        let tokens = estimate_tools(std::slice::from_ref(spec));
        let is_refused = model.tool_terms.refused.iter().any(|tool| tool.is(spec));
        *is_chosen = !is_refused && count > 0 && tokens <= left;
        if *is_chosen {
            left -= tokens;
            count -= 1;
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

    fn model() -> Capabilities {
        Capabilities::new("fake", "m")
    }

    #[test]
    fn offered_tools_fit_the_limit_and_the_refusals_of_a_service() {
        let spec = |name: &str| ToolSpec::new(name, "x", json!({"type": "object"}));
        let specs: Arc<[ToolSpec]> = ["a__1", "a__2", "a__3", "b__1", "shell"].map(spec).into();
        let mut model = model();
        let mut offer = Offer::new(specs.clone(), &model, u64::MAX);
        assert_eq!(offer.specs.len(), 5);
        model.tool_terms.limit = Some(3);
        offer.fit(&model, u64::MAX);
        let names =
            |offer: &Offer| -> Vec<String> { offer.specs.iter().map(|spec| spec.name.clone()).collect() };
        assert_eq!(names(&offer), ["a__1", "b__1", "shell"]);
        model.tool_terms.refused = Arc::new([RefusedTool::of(&specs[0])]);
        offer.fit(&model, u64::MAX);
        assert_eq!(names(&offer), ["a__2", "b__1", "shell"]);
        assert!(offer.has_room);
    }

    #[test]
    fn small_window_is_offered_the_most_important_tools() {
        let spec = |name: &str| ToolSpec::new(name, "x".repeat(400), json!({"type": "object"}));
        let specs: Arc<[ToolSpec]> = ["calculator", "shell", "think", "file_read"].map(spec).into();
        let names = |most| -> Vec<String> {
            offered(&specs, &model(), most).iter().map(|spec| spec.name.clone()).collect()
        };
        assert_eq!(names(u64::MAX), ["calculator", "shell", "think", "file_read"]);
        assert_eq!(names(800), ["shell", "file_read"]);
        assert!(names(90).is_empty());
    }

    #[test]
    fn tools_take_half_of_a_request_that_leaves_room_for_a_conversation() {
        let spec =
            |index: usize| ToolSpec::new(format!("t{index}"), "x".repeat(4_000), json!({"type": "object"}));
        let specs: Arc<[ToolSpec]> = (0..5).map(spec).collect();
        let count = |most| offered(&specs, &model(), most).len();
        assert!(estimate_tools(&specs) > 12_000 / SHARE);
        assert_eq!((count(12_000), count(6_000)), (5, 1));
    }

    #[test]
    fn tool_is_left_out_without_the_one_that_it_needs() {
        let spec = |name: &str, size| ToolSpec::new(name, "x".repeat(size), json!({"type": "object"}));
        let specs: Arc<[ToolSpec]> =
            [spec("schedule_task", 4_000), spec("list_scheduled_jobs", 40), spec("think", 40)].into();
        let names: Vec<String> =
            offered(&specs, &model(), 600).iter().map(|spec| spec.name.clone()).collect();
        assert_eq!(names, ["think"]);
    }
}
