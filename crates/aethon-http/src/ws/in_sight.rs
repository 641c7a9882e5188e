//! Whether a page of the owner is in sight: open in a browser, and not behind another tab or a locked screen.
//!
//! Each socket says so for its page. What is in sight needs no notification on other devices.

use tokio::sync::watch::{Receiver, Sender};

/// Counts the pages that are in sight.
#[derive(Debug, Clone, Default)]
pub(crate) struct InSight(Sender<usize>);

impl InSight {
    /// Returns whether there is one.
    pub(crate) fn is_any(&self) -> bool {
        *self.0.borrow() > 0
    }

    /// Returns the count, and how it changes.
    pub(crate) fn count(&self) -> Receiver<usize> {
        self.0.subscribe()
    }

    /// Returns the state of a page, which is not in sight until it says so.
    pub(super) fn page(&self) -> PageInSight {
        PageInSight { all: self.clone(), is_in_sight: false }
    }
}

/// The state of one page. A page whose socket ends is out of sight.
pub(super) struct PageInSight {
    all: InSight,
    is_in_sight: bool,
}

impl PageInSight {
    /// Notes what the page says.
    pub(super) fn set(&mut self, is_in_sight: bool) {
        if std::mem::replace(&mut self.is_in_sight, is_in_sight) != is_in_sight {
            self.all.0.send_modify(|count| if is_in_sight { *count += 1 } else { *count -= 1 });
        }
    }
}

impl Drop for PageInSight {
    fn drop(&mut self) {
        self.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_in_sight_from_its_word_to_its_end() {
        let all = InSight::default();
        let (mut one, mut other) = (all.page(), all.page());
        assert!(!all.is_any());
        one.set(true);
        one.set(true);
        other.set(true);
        one.set(false);
        assert!(all.is_any(), "the other one is");
        drop(other);
        assert!(!all.is_any(), "a page counts once, however often it says so");
        drop(one);
        assert!(!all.is_any());
    }
}
