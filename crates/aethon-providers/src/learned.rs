//! The knowledge about a model: first from the catalogue and the owner, then from its service, and last from the
//! service's refusals.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use aethon_core::model::{Capabilities, SelfReport};

/// How often a service is asked that responds but leaves something open, for example because the model is not loaded
/// yet.
const MAX_INQUIRIES: u8 = 3;

/// The knowledge about one model.
pub(crate) struct LearnedCapabilities {
    capabilities: RwLock<Arc<Capabilities>>,
    owner: OwnerSizes,
    /// Whether nothing was known about the model at first.
    was_unknown: bool,
    report: OnceLock<SelfReport>,
    inquiries: AtomicU8,
}

/// The sizes that the owner has set.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OwnerSizes {
    /// Whether the owner set the context window.
    pub(crate) is_window_set: bool,
    /// Whether the owner set the maximum response.
    pub(crate) is_output_set: bool,
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
        Self { capabilities, owner, was_unknown, report: OnceLock::new(), inquiries: AtomicU8::new(0) }
    }

    pub(crate) fn capabilities(&self) -> Arc<Capabilities> {
        self.capabilities.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether the model is only assumed to accept pictures.
    pub(crate) fn are_pictures_assumed(&self) -> bool {
        let said = self.report().and_then(|report| report.images);
        self.was_unknown && said.is_none() && self.capabilities().images
    }

    /// Returns the service's description, once it is complete.
    pub(crate) fn report(&self) -> Option<SelfReport> {
        self.report.get().copied()
    }

    /// Applies the service's description. The owner's sizes take precedence.
    pub(crate) fn describe(&self, description: &Description) {
        let Description { report, is_open } = description;
        let context_window = report.context_window.filter(|_| !self.owner.is_window_set);
        let max_output = report.max_output.filter(|_| !self.owner.is_output_set);
        // A service that states the context window knows the model.
        let is_known = report.context_window.is_some();
        self.learn(SelfReport { context_window, max_output, ..*report }, is_known);
        let is_last = self.inquiries.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_INQUIRIES;
        if !is_open || is_last {
            let _ = self.report.set(*report); // Someone else may have asked at the same time.
        }
    }

    /// Applies the facts from a refusal, even against the owner's settings, because the service acts on it. This only
    /// ever shrinks the context window.
    pub(crate) fn refused(&self, hint: SelfReport) {
        let known = self.capabilities().context_window;
        let window = hint.context_window.filter(|window| *window < known);
        self.learn(SelfReport { context_window: window, ..hint }, false);
    }

    fn learn(&self, report: SelfReport, is_known: bool) {
        let mut place = self.capabilities.write().unwrap_or_else(PoisonError::into_inner);
        let mut better = Capabilities::clone(&place);
        better.context_window = report.context_window.unwrap_or(place.context_window).max(1);
        better.max_output = report.max_output.unwrap_or(place.max_output).min(better.context_window);
        better.images = report.images.unwrap_or(place.images);
        better.tools = report.tools.unwrap_or(place.tools);
        better.price = report.price.or(place.price);
        better.is_known |= is_known;
        if better != **place {
            let Capabilities { provider, model, context_window, images, tools, .. } = &better;
            tracing::info!(provider, model, context_window, images, tools, "learnt the model's abilities");
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
        let owner = OwnerSizes { is_window_set, is_output_set: is_window_set };
        LearnedCapabilities::new(Arc::new(start), owner, false)
    }

    #[test]
    fn the_owner_stands_above_a_description_and_a_refusal_above_both() {
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
    fn the_limit_of_an_answer_is_the_owners_then_the_services_and_fits_the_window() {
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

    #[test]
    fn an_open_answer_is_asked_for_again_and_not_for_ever() {
        let known = known(false);
        let open = || Description { report: window(4_096), is_open: true };
        for _ in 1..MAX_INQUIRIES {
            known.describe(&open());
            assert_eq!(known.report(), None);
        }
        known.describe(&open());
        assert_eq!(known.report(), Some(window(4_096)));
    }

    #[test]
    fn abilities_are_taken_over_one_by_one() {
        let known = known(false);
        known.refused(SelfReport { tools: Some(false), ..SelfReport::default() });
        let found = known.capabilities();
        assert_eq!((found.tools, found.images, found.context_window), (false, capabilities().images, 32_768));
    }
}
