//! What is known of a model: the table of facts and the owner's word at first, then what its service says of it, and last
//! what the service's refusals give away.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use aethon_core::model::{Capabilities, SelfReport};

/// How often a service is asked that answers and leaves something open, such as one that has not loaded the model yet.
const MOST_INQUIRIES: u8 = 3;

/// The knowledge of one model.
pub(crate) struct Known {
    capabilities: RwLock<Arc<Capabilities>>,
    /// Whether the owner has said how many tokens it takes.
    is_window_set: bool,
    /// Whether nothing is known of the model at first.
    is_unknown: bool,
    report: OnceLock<SelfReport>,
    inquiries: AtomicU8,
}

/// An answer of a service to the question what its model can do.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Description {
    pub(crate) report: SelfReport,
    /// Whether asking again later may bring more.
    pub(crate) is_open: bool,
}

impl Known {
    pub(crate) fn new(capabilities: Arc<Capabilities>, is_window_set: bool, is_unknown: bool) -> Self {
        let capabilities = RwLock::new(capabilities);
        Self { capabilities, is_window_set, is_unknown, report: OnceLock::new(), inquiries: AtomicU8::new(0) }
    }

    pub(crate) fn capabilities(&self) -> Arc<Capabilities> {
        self.capabilities.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether it is only assumed that the model sees pictures.
    pub(crate) fn are_pictures_assumed(&self) -> bool {
        let said = self.report().and_then(|report| report.images);
        self.is_unknown && said.is_none() && self.capabilities().images
    }

    /// What the service said, once there is no more to ask.
    pub(crate) fn report(&self) -> Option<SelfReport> {
        self.report.get().copied()
    }

    /// Takes over what the service says. The owner's word on the window stands above it.
    pub(crate) fn describe(&self, description: &Description) {
        let Description { report, is_open } = description;
        let window = report.context_window.filter(|_| !self.is_window_set);
        self.learn(SelfReport { context_window: window, ..*report });
        let is_last = self.inquiries.fetch_add(1, Ordering::Relaxed) + 1 >= MOST_INQUIRIES;
        if !is_open || is_last {
            let _ = self.report.set(*report); // Somebody else may have asked at the same time.
        }
    }

    /// Takes over what a refusal gave away, whatever the owner thinks: it is what the service goes by. A window only
    /// shrinks by that.
    pub(crate) fn refused(&self, hint: SelfReport) {
        let known = self.capabilities().context_window;
        let window = hint.context_window.filter(|window| *window < known);
        self.learn(SelfReport { context_window: window, ..hint });
    }

    fn learn(&self, report: SelfReport) {
        let mut place = self.capabilities.write().unwrap_or_else(PoisonError::into_inner);
        let context_window = report.context_window.unwrap_or(place.context_window).max(1);
        let better = Capabilities {
            context_window,
            max_output: place.max_output.min(context_window),
            images: report.images.unwrap_or(place.images),
            tools: report.tools.unwrap_or(place.tools),
            ..Capabilities::clone(&place)
        };
        if better != **place {
            let Capabilities { provider, model, context_window, images, tools, .. } = &better;
            tracing::info!(provider, model, context_window, images, tools, "learnt what the model can do");
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

    fn known(is_window_set: bool) -> Known {
        let start = Capabilities { context_window: 32_768, max_output: 4_096, ..capabilities() };
        Known::new(Arc::new(start), is_window_set, false)
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
    fn an_open_answer_is_asked_for_again_and_not_for_ever() {
        let known = known(false);
        let open = || Description { report: window(4_096), is_open: true };
        for _ in 1..MOST_INQUIRIES {
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
