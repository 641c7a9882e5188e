//! The knowledge about a model: first from the catalogue and the owner, then from its service, and last from the
//! service's refusals.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use aethon_core::model::{Capabilities, SelfReport, WindowSource};
use aethon_core::tool::RefusedTool;
use tokio::time::Instant;

/// How long a service is left alone that leaves something open, for example because its model is not loaded yet. Doubled
/// each time: at first it is only not asked twice in one turn.
const FIRST_REST: Duration = Duration::from_millis(250);
const MAX_REST: Duration = Duration::from_secs(5 * 60);
/// The smallest window to which lack of memory leads.
const MIN_WINDOW: u64 = 4_096;
/// How many refused tools are kept in mind.
const MAX_REFUSED: usize = 512;
/// How long a tool is set aside if it may not have been the reason.
const DOUBT: Duration = Duration::from_secs(60 * 60);

/// The knowledge about one model.
pub(crate) struct LearnedCapabilities {
    capabilities: RwLock<Arc<Capabilities>>,
    owner: OwnerSizes,
    /// Whether nothing was known about the model at first.
    was_unknown: bool,
    report: OnceLock<SelfReport>,
    inquiries: Mutex<Inquiries>,
    doubts: Mutex<Vec<Doubt>>,
}

/// A tool that was set aside although the service refused the request without it as well.
struct Doubt {
    tool: String,
    until: Instant,
}

/// The sizes that the owner has set.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OwnerSizes {
    /// Whether the owner set the context window.
    pub(crate) is_window_set: bool,
    /// Whether the owner set the maximum response.
    pub(crate) is_output_set: bool,
    /// The longest response, which a small window cuts.
    pub(crate) max_output: u64,
}

/// The inquiries that were not fully answered.
#[derive(Debug, Default)]
struct Inquiries {
    count: u32,
    /// The last answer, and until when it is not asked again.
    resting: Option<(SelfReport, Instant)>,
    /// The largest window that was not refused.
    ceiling: Option<u64>,
}

/// A service's response about its model's abilities.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Description {
    pub(crate) report: SelfReport,
    /// Whether asking again later may reveal more.
    pub(crate) is_open: bool,
}

impl LearnedCapabilities {
    pub(crate) fn new(capabilities: Arc<Capabilities>, owner: OwnerSizes, was_unknown: bool) -> Self {
        let capabilities = RwLock::new(capabilities);
        Self {
            capabilities,
            owner,
            was_unknown,
            report: OnceLock::new(),
            inquiries: Mutex::default(),
            doubts: Mutex::default(),
        }
    }

    pub(crate) fn capabilities(&self) -> Arc<Capabilities> {
        self.capabilities.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether the model is only assumed to accept pictures.
    pub(crate) fn are_pictures_assumed(&self) -> bool {
        let said = self.report().and_then(|report| report.images);
        self.was_unknown && said.is_none() && self.capabilities().images
    }

    /// Returns the service's description, once it is complete, or while it is not worth asking for a better one.
    pub(crate) fn report(&self) -> Option<SelfReport> {
        let resting = || {
            let resting = self.inquiries.lock().unwrap_or_else(PoisonError::into_inner).resting;
            resting.filter(|(_, until)| *until > Instant::now()).map(|(report, _)| report)
        };
        self.report.get().copied().or_else(resting)
    }

    /// Applies the service's description. The owner's sizes take precedence, up to what the model is made for.
    pub(crate) fn describe(&self, description: &Description) {
        let Description { report, is_open } = description;
        let ceiling = self.inquiries.lock().unwrap_or_else(PoisonError::into_inner).ceiling;
        let described = report.context_window.map(|window| window.min(ceiling.unwrap_or(u64::MAX)));
        let context_window = match self.owner.is_window_set {
            true => report.longest_window.filter(|longest| *longest < self.capabilities().context_window),
            false => described,
        };
        let max_output = report.max_output.filter(|_| !self.owner.is_output_set);
        // A service that states the context window knows the model.
        let is_known = report.context_window.is_some();
        self.learn(SelfReport { context_window, max_output, ..*report }, is_known);
        if !is_open {
            let _ = self.report.set(*report); // Someone else may have asked at the same time.
            return;
        }
        let mut inquiries = self.inquiries.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = FIRST_REST.saturating_mul(1 << inquiries.count.min(16)).min(MAX_REST);
        inquiries.count = inquiries.count.saturating_add(1);
        inquiries.resting = Some((*report, Instant::now() + rest));
    }

    /// Applies the facts from a refusal, even against the owner's settings, because the service acts on it. This only
    /// ever shrinks the context window.
    pub(crate) fn refused(&self, hint: SelfReport) {
        let known = self.capabilities().context_window;
        let window = hint.context_window.filter(|window| *window < known);
        self.learn(SelfReport { context_window: window, ..hint }, false);
    }

    /// Halves the context window after the service had no memory for it. The owner's own is left alone: the owner reads
    /// why it does not work.
    pub(crate) fn lacks_memory(&self) {
        let window = self.capabilities().context_window;
        if self.owner.is_window_set || window <= MIN_WINDOW {
            return;
        }
        let window = (window / 2).max(MIN_WINDOW);
        self.inquiries.lock().unwrap_or_else(PoisonError::into_inner).ceiling = Some(window);
        self.refused(SelfReport { context_window: Some(window), ..SelfReport::default() });
    }

    /// Sets a tool aside that the service refused. It is offered again once it changes.
    pub(crate) fn refuse_tool(&self, tool: RefusedTool) {
        let mut place = self.capabilities.write().unwrap_or_else(PoisonError::into_inner);
        let mut refused = place.tool_terms.refused.to_vec();
        refused.retain(|other| other.name != tool.name);
        refused.push(tool);
        // The oldest go, whose servers may be gone, too.
        let surplus = refused.len().saturating_sub(MAX_REFUSED);
        refused.drain(..surplus);
        let mut better = Capabilities::clone(&place);
        better.tool_terms.refused = refused.into();
        *place = Arc::new(better);
    }

    /// Notes that the service refused a request without these tools as well: they may not have been the reason, and are offered
    /// again after a while.
    pub(crate) fn doubt(&self, tools: Vec<String>) {
        let until = Instant::now() + DOUBT;
        let mut doubts = self.doubts.lock().unwrap_or_else(PoisonError::into_inner);
        doubts.retain(|doubt| !tools.contains(&doubt.tool));
        doubts.extend(tools.into_iter().map(|tool| Doubt { tool, until }));
    }

    /// Has the tools offered again that were set aside in doubt, after a while.
    pub(crate) fn readmit_tools(&self) {
        let now = Instant::now();
        let mut doubts = self.doubts.lock().unwrap_or_else(PoisonError::into_inner);
        let over: Vec<Doubt> = doubts.extract_if(.., |doubt| doubt.until <= now).collect();
        drop(doubts);
        if over.is_empty() {
            return;
        }
        let mut place = self.capabilities.write().unwrap_or_else(PoisonError::into_inner);
        let mut better = Capabilities::clone(&place);
        let is_over = |tool: &&RefusedTool| over.iter().any(|doubt| doubt.tool == tool.name);
        better.tool_terms.refused =
            place.tool_terms.refused.iter().filter(|tool| !is_over(tool)).cloned().collect();
        *place = Arc::new(better);
    }

    /// Keeps how many tools the service takes. This only ever shrinks the number.
    pub(crate) fn limit_tools(&self, most: usize) {
        let mut place = self.capabilities.write().unwrap_or_else(PoisonError::into_inner);
        if place.tool_terms.limit.is_none_or(|known| most < known) {
            let mut better = Capabilities::clone(&place);
            better.tool_terms.limit = Some(most.max(1));
            *place = Arc::new(better);
        }
    }

    fn learn(&self, report: SelfReport, is_known: bool) {
        let mut place = self.capabilities.write().unwrap_or_else(PoisonError::into_inner);
        let mut better = Capabilities::clone(&place);
        better.context_window = report.context_window.unwrap_or(place.context_window).max(1);
        if report.context_window.is_some() {
            better.window.source = WindowSource::Service;
        }
        better.window.longest = report.longest_window.or(place.window.longest);
        // A window that has grown has room for the whole answer that the smaller one cut.
        let is_cut = place.max_output == place.context_window;
        let max_output = if is_cut { self.owner.max_output.max(place.max_output) } else { place.max_output };
        better.max_output = report.max_output.unwrap_or(max_output).min(better.context_window);
        better.images = report.images.unwrap_or(place.images);
        better.tools = report.tools.unwrap_or(place.tools);
        better.price = report.price.or(place.price);
        better.is_known |= is_known;
        if better != **place {
            let Capabilities { provider, model, images, tools, .. } = &better;
            let window = better.window_in_words();
            tracing::info!(provider, model, images, tools, "learnt the model's abilities: {window}");
            *place = Arc::new(better);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::capabilities;

    fn window(tokens: u64) -> SelfReport {
        SelfReport { context_window: Some(tokens), ..SelfReport::default() }
    }

    fn known(is_window_set: bool) -> LearnedCapabilities {
        let start = capabilities().with_sizes(32_768, 4_096);
        let owner = OwnerSizes { is_window_set, is_output_set: is_window_set, max_output: 4_096 };
        LearnedCapabilities::new(Arc::new(start), owner, false)
    }

    #[tokio::test(start_paused = true)]
    async fn tool_that_was_set_aside_in_doubt_is_offered_again_after_a_while() {
        use aethon_core::tool::ToolSpec;
        let known = known(false);
        let names = || {
            known.readmit_tools();
            let refused = known.capabilities().tool_terms.refused.clone();
            refused.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>()
        };
        for name in ["x__a", "x__b"] {
            known.refuse_tool(RefusedTool::of(&ToolSpec::new(name, "does it", serde_json::json!({}))));
        }
        known.doubt(vec!["x__a".into()]);
        assert_eq!(names(), ["x__a", "x__b"]);
        tokio::time::advance(DOUBT).await;
        assert_eq!(names(), ["x__b"]);
    }

    #[test]
    fn owner_settings_override_descriptions_and_refusals_override_both() {
        let check = |is_window_set, described, refused, expected| {
            let known = known(is_window_set);
            known.describe(&Description { report: window(described), is_open: false });
            known.refused(window(refused));
            let found = known.capabilities();
            assert_eq!((found.context_window, found.max_output), expected);
        };
        check(false, 131_072, 200_000, (131_072, 4_096));
        check(false, 2_048, 200_000, (2_048, 2_048));
        check(true, 131_072, 200_000, (32_768, 4_096));
        check(true, 2_048, 8_192, (8_192, 4_096));
    }

    #[test]
    fn answer_limit_prefers_the_owner_and_fits_the_window() {
        let check = |is_set, told, expected| {
            let known = known(is_set);
            let report = SelfReport { max_output: Some(told), ..SelfReport::default() };
            known.describe(&Description { report, is_open: false });
            assert_eq!(known.capabilities().max_output, expected);
        };
        check(false, 16_000, 16_000);
        check(false, 64_000, 32_768);
        check(true, 16_000, 4_096);
    }

    #[tokio::test(start_paused = true)]
    async fn an_open_answer_is_asked_for_again_less_and_less_often() {
        let known = known(false);
        let mut rest = FIRST_REST;
        for _ in 0..20 {
            known.describe(&Description { report: window(4_096), is_open: true });
            assert_eq!(known.report(), Some(window(4_096)));
            tokio::time::advance(rest).await;
            assert_eq!(known.report(), None, "another look is due");
            rest = (rest * 2).min(MAX_REST);
        }
        known.describe(&Description { report: window(8_192), is_open: false });
        assert_eq!((known.report(), known.capabilities().context_window), (Some(window(8_192)), 8_192));
    }

    #[test]
    fn owner_gets_no_more_than_the_model_is_made_for() {
        let check = |longest, expected| {
            let known = known(true);
            let report = SelfReport { longest_window: Some(longest), ..window(1_000) };
            known.describe(&Description { report, is_open: false });
            assert_eq!(known.capabilities().context_window, expected);
        };
        check(131_072, 32_768);
        check(8_192, 8_192);
    }

    #[test]
    fn lack_of_memory_halves_the_window_for_good() {
        let known = known(false);
        known.lacks_memory();
        known.describe(&Description { report: window(32_768), is_open: true });
        assert_eq!(known.capabilities().context_window, 16_384);
        for _ in 0..9 {
            known.lacks_memory();
        }
        assert_eq!(known.capabilities().context_window, MIN_WINDOW);
        let owners = self::known(true);
        owners.lacks_memory();
        assert_eq!(owners.capabilities().context_window, 32_768);
    }

    #[test]
    fn answer_cut_by_an_assumed_window_is_whole_in_a_larger_one() {
        let start = capabilities().with_sizes(4_096, 4_096);
        let owner = OwnerSizes { max_output: 8_192, ..OwnerSizes::default() };
        let known = LearnedCapabilities::new(Arc::new(start), owner, false);
        known.describe(&Description { report: window(32_768), is_open: false });
        assert_eq!(known.capabilities().max_output, 8_192);
        known.refused(window(16_384));
        assert_eq!(known.capabilities().max_output, 8_192);
    }

    #[test]
    fn abilities_are_taken_over_one_by_one() {
        let known = known(false);
        known.refused(SelfReport { tools: Some(false), ..SelfReport::default() });
        let found = known.capabilities();
        assert_eq!((found.tools, found.images, found.context_window), (false, capabilities().images, 32_768));
    }
}
