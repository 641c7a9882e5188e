//! What tests of other modules ask of the bench.

use super::*;

impl Seen {
    /// The body.
    pub(crate) fn text(&self) -> &str {
        &self.body
    }
}

impl Bench {
    /// Where it is told what happens.
    pub(crate) fn bus(&self) -> aethon_core::event::EventBus {
        self.app.deps.activity.bus.clone()
    }

    pub(crate) fn reload(&self, options: &Options) {
        self.app.reload(options, self.app.part());
    }
}
